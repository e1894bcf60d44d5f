"""What was observed of one container of a crew, over all its replicas: on this every advice about it rests.

Replicas are not added up and not averaged: requests are the same for all, so the one that needs most decides.
Old observations count less (decaying.py). The hard thing is what was not seen. A peak between two samples is
known only where samples are close, or the source tells the most that was used since the one before
(`maxusage`); the peak of a start only where a start fell among them besides.

It is found out of many containers at once: what is known of all their streams are a few columns.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple, Protocol

import numpy as np

from ullage.engine.usage.book import DAY_MAX, Book, OfStreams
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.decaying import weights_of
from ullage.engine.usage.owners import Crew
from ullage.engine.usage.percentiles import Histograms, combined, merged, percentiles
from ullage.engine.usage.rising import DAY_KNOWN, DAYS_MAX, growth_a_day
from ullage.engine.usage.student import Floats
from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.model.cluster import Container, Workload
from ullage.model.usage import MAX_USAGE, OOM_KILLS, RESTARTS, USAGE

DAY_SECONDS: Final = 86_400
CLOSE_SECONDS: Final = 300
"""Samples that are closer than this see what lasts."""
REPLICA_POINTS_MIN: Final = 20
"""A replica of fewer points is judged with all others, not by itself."""
NOTED_MIN: Final = Fraction(4, 5)
"""Peaks were noted where there are as many of them as this part of the samples."""
START_SECONDS: Final = 600
"""A start was seen where the first sample came so soon after it, or when it was due."""


class Listed(Protocol):
    """Which streams there are, without what they come to: a book is one, and the list of a record."""

    def subjects(self) -> Collection[str]:
        """Return of whom anything was observed."""

    def numbers(self, resource: str, measure: str) -> Mapping[str, int]:
        """Return the streams of a resource by a measure as numbers, by subject."""

    def points_of(self, number: int) -> int:
        """Return how many points a stream has that is given by its number."""


class Part(NamedTuple):
    """One container of a crew."""

    crew: Crew
    container: Container


class Evidence(NamedTuple):
    """What was observed of one resource; `most` includes the peaks that the source itself has noted.

    `percentile` is that of the replica that needs most. `sees_peaks` says that samples are close, or peaks
    were noted of all replicas; `sees_starts` that one of them started besides, while it was observed.
    `growth` is how much the highest peak of any replica rises a day, where that is looked at.
    """

    replicas: int
    points: int
    dropped: int
    window_seconds: int
    step_seconds: int
    mean: int
    percentile: int
    most: int
    sees_peaks: bool
    sees_starts: bool
    first_seconds: int
    growth: float = 0.0

    @property
    def confidence(self) -> Fraction:
        """The share of the points that were expected which arrived."""
        expected = self.points + self.dropped
        return Fraction(self.points, expected) if expected else Fraction(0)

    @property
    def days(self) -> Fraction:
        """How long it was observed: a week of hourly points is seven days, though the last ends it early."""
        return Fraction(self.window_seconds + self.step_seconds, DAY_SECONDS)


NOTHING_SEEN: Final = Evidence(0, 0, 0, 0, 0, 0, 0, 0, sees_peaks=False, sees_starts=False, first_seconds=0)


class Kill(NamedTuple):
    """That a container of a pod ran out of memory, and when it did so last, as far as that is told."""

    pod: str
    seconds: int | None


class Seen(NamedTuple):
    """What was observed of a container: by resource, where it was killed, how often it started again."""

    evidence: Mapping[str, Evidence]
    kills: tuple[Kill, ...]
    restarts: int


def seen_of(book: Book, parts: Sequence[Part], share: Fraction, decays: Mapping[str, bool]) -> list[Seen]:
    """Return what is known of the use of containers; `share` names the percentile as a part of 1.

    `decays` has the resources, and whether old observations count less in their percentile: where only the
    most that was used decides, they need not, and it matters whether that rises.
    """
    kills, restarts = _kills_of(book, parts), _restarts_of(book, parts)
    by_resource = {
        resource: _Looked(book, parts, resource, restarts).evidence(share, decays=each)
        for resource, each in decays.items()
    }
    return [
        Seen({resource: found[place] for resource, found in by_resource.items()}, *events)
        for place, events in enumerate(zip(kills, restarts, strict=True))
    ]


def needed_streams(listed: Listed, parts: Sequence[Part], resources: Collection[str]) -> set[int]:
    """Return the streams that are looked at for containers: nothing else changes what is known of them."""
    found: set[int] = set()
    for resource in (*resources, RESTARTS, OOM_KILLS):
        subjects, numbers, _ = _streams_of(listed, parts, resource)
        noted = listed.numbers(resource, MAX_USAGE)
        found.update(numbers.tolist(), (noted[each] for each in subjects if each in noted))
    return found


class _Looked:
    """What is known of one resource of containers, stream by stream."""

    def __init__(self, book: Book, parts: Sequence[Part], resource: str, restarts: Sequence[int]) -> None:
        self._parts, self._restarts = parts, restarts
        self._subjects, numbers, self._owners = _streams_of(book, parts, resource)
        self._known = book.of_streams(numbers)
        self._points, self._dropped, self._high, self._first, self._last = _extents(self._known, len(numbers))
        self._seen = self._points > 0
        noted = book.numbers(resource, MAX_USAGE)
        peaks = np.array([noted.get(subject, -1) for subject in self._subjects], np.int64)
        has_peaks = peaks >= 0
        found = _extents(book.of_streams(peaks[has_peaks], histograms=False), int(has_peaks.sum()))
        self._noted, self._noted_high = (np.zeros(len(numbers), np.int64) for _ in range(2))
        self._noted[has_peaks], self._noted_high[has_peaks] = found[0], found[2]
        self._book = book
        self._streams = np.concatenate((numbers, peaks[has_peaks]))
        self._stream_owners = np.concatenate((self._owners, self._owners[has_peaks]))

    def evidence(self, share: Fraction, *, decays: bool) -> list[Evidence]:
        """Return it, container by container."""
        seen, own = self._seen, self._owners[self._seen]
        unnoted = NOTED_MIN.denominator * self._noted < NOTED_MIN.numerator * self._points
        first = self._by_part(np.minimum, self._first[seen], own, AMOUNT_MAX)
        last = self._by_part(np.maximum, self._last[seen], own)
        columns: tuple[Integers | Floats, ...] = (
            self._by_part(np.add, np.ones(len(own), np.int64), own),
            self._by_part(np.add, self._points[seen], own),
            self._by_part(np.add, self._dropped, self._owners),
            self._by_part(np.add, (self._points + self._dropped - 1)[seen], own),
            self._by_part(np.add, (self._last - self._first)[seen], own),
            first,
            last,
            self._by_part(np.maximum, np.maximum(self._high, self._noted_high), self._owners),
            self._by_part(np.add, (unnoted & seen).astype(np.int64), self._owners),
            self._percentiles(share, decays=decays),
            np.zeros(len(self._parts)) if decays else self._growth(first, last),
        )
        rows = map(_Row, self._totals(), *(column.tolist() for column in columns))
        begun = self._begun()
        return [self._of_part(place, row, begun[place]) for place, row in enumerate(rows)]

    def _of_part(self, place: int, row: "_Row", begun: Mapping[str, int]) -> Evidence:
        if not row.replicas:
            return NOTHING_SEEN._replace(dropped=row.dropped)
        step = row.spans_seconds // row.gaps if row.gaps else 0
        sees_peaks = step <= CLOSE_SECONDS or not row.unnoted
        started = self._restarts[place] > 0 or _saw_a_start(self._parts[place], begun, row.first, step)
        return Evidence(
            replicas=row.replicas,
            points=row.points,
            dropped=row.dropped,
            window_seconds=row.last - row.first,
            step_seconds=step,
            mean=round(Fraction(row.total, row.points)),
            percentile=row.percentile,
            most=row.most,
            sees_peaks=sees_peaks,
            sees_starts=sees_peaks and started,
            first_seconds=row.first,
            growth=row.growth,
        )

    def _growth(self, first: Integers, last: Integers) -> Floats:
        """Return how much the highest peak of any replica rises, by days observed for the most part."""
        streams, days, amounts = self._book.days_of(self._streams)
        owners = self._stream_owners[streams]
        begins = days * DAY_SECONDS
        lasted = np.minimum(begins + DAY_SECONDS, last[owners]) - np.maximum(begins, first[owners])
        meant = (lasted >= DAY_KNOWN * DAY_SECONDS) & (begins > last[owners] - DAYS_MAX * DAY_SECONDS)
        keys, places = np.unique(owners[meant] * DAY_MAX + days[meant], return_inverse=True)
        highest = combined(np.maximum, amounts[meant], places, len(keys))
        return growth_a_day(highest, keys % DAY_MAX, keys // DAY_MAX, len(self._parts))

    def _by_part(self, combine: np.ufunc, values: Integers, owners: Integers, empty: int = 0) -> Integers:
        return combined(combine, values, owners, len(self._parts), empty)

    def _begun(self) -> list[dict[str, int]]:
        """Return when the streams of each container have their first point, by subject."""
        found: list[dict[str, int]] = [{} for _ in self._parts]
        columns = (self._owners.tolist(), self._subjects, self._first.tolist(), self._seen.tolist())
        for owner, subject, first, seen in zip(*columns, strict=True):
            if seen:
                found[owner][subject] = first
        return found

    def _totals(self) -> list[int]:
        """Return the exact sums of all points, which may have more than 64 bits."""
        found = [0] * len(self._parts)
        table = self._known.table
        owners = self._owners[self._known.owners].tolist()
        for owner, high, low in zip(owners, table.sum_high.tolist(), table.sum_low.tolist(), strict=True):
            found[owner] += (high << 32) + low
        return found

    def _percentiles(self, share: Fraction, *, decays: bool) -> Integers:
        """Return the percentile of all replicas together, or of the one that needs most."""
        streams, table, of_part = self._known.owners, self._known.table, self._owners
        weights = self._weights() if decays else np.ones(len(streams), np.int64)
        rows = Histograms(
            table.points * weights,
            table.low,
            table.high,
            table.owners,
            table.buckets,
            table.counts * weights[table.owners],
        )
        each = merged(rows, streams, len(of_part))
        replicas = self._by_part(np.add, self._seen.astype(np.int64), of_part)
        together = percentiles(merged(each, of_part, len(self._parts)), share)
        found = np.where(replicas > 1, together, 0)
        judged = (each.points > 0) & ((self._points >= REPLICA_POINTS_MIN) | (replicas[of_part] == 1))
        np.maximum.at(found, of_part[judged], percentiles(each, share)[judged])
        return found

    def _weights(self) -> Integers:
        """Return what points of each row count: ages are those of the last day of any replica."""
        streams, days = self._known.owners, self._known.days
        last = combined(np.maximum, days, streams, len(self._owners))
        last_of_part = self._by_part(np.maximum, last[self._seen], self._owners[self._seen])
        return weights_of(last_of_part[self._owners[streams]] - days)


def _extents(found: OfStreams, streams: int) -> tuple[Integers, Integers, Integers, Integers, Integers]:
    """Return points, dropped points, the largest amount, first and last moment of streams over all days."""
    table, owners = found.table, found.owners
    return (
        combined(np.add, table.points, owners, streams),
        combined(np.add, table.dropped, owners, streams),
        combined(np.maximum, table.high, owners, streams),
        combined(np.minimum, table.first_seconds, owners, streams, AMOUNT_MAX),
        combined(np.maximum, table.last_seconds, owners, streams),
    )


class _Row(NamedTuple):
    """What the streams of a container come to; but for `dropped` and `most`, of those that have points.

    `gaps` is how many points follow another one, `spans_seconds` the time between the first and the last of
    each stream, added up; `unnoted` how many have not their peaks noted.
    """

    total: int
    replicas: int
    points: int
    dropped: int
    gaps: int
    spans_seconds: int
    first: int
    last: int
    most: int
    unnoted: int
    percentile: int
    growth: float


def _saw_a_start(part: Part, begun: Mapping[str, int], first: int, step_seconds: int) -> bool:
    """Whether a replica started after the first observation and was observed from then on."""
    for pod in part.crew.pods:
        started = started_seconds(pod)
        if started < first:
            continue
        begins = [begun[each] for each in _names(key_of(pod), part.container) if each in begun]
        if any(each <= started + START_SECONDS + step_seconds for each in begins):
            return True
    return False


def _restarts_of(book: Book, parts: Sequence[Part]) -> list[int]:
    """Return how often containers were started again, in the replica to which it happened most often."""
    found = [0] * len(parts)
    for place, _, total, _ in _events_of(book, parts, RESTARTS):
        found[place] = max(found[place], total)
    return found


def _kills_of(book: Book, parts: Sequence[Part]) -> list[tuple[Kill, ...]]:
    """Return in which pods containers were killed."""
    found: list[list[Kill]] = [[] for _ in parts]
    for place, subject, _, last in _events_of(book, parts, OOM_KILLS):
        kind, _, names = subject.partition("/")
        found[place].append(Kill(names.rpartition("/")[0] if kind == "container" else names, last))
    return list(map(tuple, found))


def _events_of(book: Book, parts: Sequence[Part], event: str) -> Iterator[tuple[int, str, int, int]]:
    """Yield which part something happened to, as which subject, how often, and not after which moment.

    Each point says how often since the one before; moments are those of the last point of a day.
    """
    if not book.numbers(event, USAGE):
        return
    subjects, numbers, owners = _streams_of(book, parts, event)
    known = book.of_streams(numbers, histograms=False)
    totals, lasts = [0] * len(numbers), [0] * len(numbers)
    table = known.table
    columns = (known.owners, table.sum_high, table.sum_low, table.last_seconds)
    for stream, high, low, last in zip(*(each.tolist() for each in columns), strict=True):
        total = (high << 32) + low
        totals[stream] += total
        lasts[stream] = max(lasts[stream], last) if total else lasts[stream]
    for place, subject, total, last in zip(owners.tolist(), subjects, totals, lasts, strict=True):
        if total:
            yield place, subject, total, last


def observed_pods(listed: Listed) -> list[tuple[str, str]]:
    """Return namespace and name of every pod of which something was observed, in order."""
    found = set()
    for subject in listed.subjects():
        kind, *names = subject.split("/")
        if kind in {"pod", "container"}:
            found.add((names[0], names[1]) if len(names) > 1 else ("", names[0]))
    return sorted(found)


def _streams_of(listed: Listed, parts: Sequence[Part], resource: str) -> tuple[list[str], Integers, Integers]:
    """Return whose use of a resource is that of containers, their streams, and of which container each is."""
    found = [
        (subject, number, place)
        for place, part in enumerate(parts)
        for subject, number in _subjects(listed, part, resource)
    ]
    numbers, owners = (np.array([each[column] for each in found], np.int64) for column in (1, 2))
    return [subject for subject, _, _ in found], numbers, owners


def _subjects(listed: Listed, part: Part, resource: str) -> Iterator[tuple[str, int]]:
    """Yield whose use of a resource is that of a container: itself, or its pod where it is alone in it.

    Of the two, the one that was looked at more often is believed, first the container.
    """
    crew, container = part
    running = [each for each in crew.newest.containers if each.role != "init"]
    alone = not crew.newest.containers or (len(running) == 1 and running[0].name == container.name)
    known = listed.numbers(resource, USAGE)
    for key in (*(key_of(pod) for pod in crew.pods), *(_key_of(crew, name) for name in crew.gone)):
        itself, of_pod = _names(key, container)
        own = known.get(itself)
        other = known.get(of_pod) if alone else None
        if own is not None and (other is None or listed.points_of(own) >= listed.points_of(other)):
            yield itself, own
        elif other is not None:
            yield of_pod, other


def _names(key: str, container: Container) -> tuple[str, str]:
    """Return as what a container may have been observed: as itself, and as its pod."""
    return f"container/{key}/{container.name}", f"pod/{key}"


def key_of(pod: Workload) -> str:
    """Return how a pod is called in a kill."""
    return f"{pod.namespace}/{pod.name}"


def _key_of(crew: Crew, name: str) -> str:
    return f"{crew.owner.namespace}/{name}"


def started_seconds(pod: Workload) -> int:
    """Return when a pod started; what does not say so has always run."""
    seconds = pod.started_seconds if pod.started_seconds is not None else pod.created_seconds
    return -1 if seconds is None else seconds
