"""What was observed of one container of a crew, over all its replicas: on this every advice about it rests.

Replicas are not added up and not averaged: requests are the same for all, so the one that needs most decides.
Old observations count less (decaying.py). The hard thing is what was not seen. A peak between two samples is
known only where samples are close, or the source tells the most that was used since the one before
(`maxusage`); the peak of a start only where a start fell among them besides.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.decaying import decayed
from ullage.engine.usage.owners import Crew
from ullage.engine.usage.summaries import NO_FIGURES, Figures
from ullage.engine.usage.summary import percentile
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


class Evidence(NamedTuple):
    """What was observed of one resource; `most` includes the peaks that the source itself has noted.

    `percentile` is that of the replica that needs most. `sees_peaks` says that samples are close, or peaks
    were noted of all replicas; `sees_starts` that one of them started besides, while it was observed.
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


def evidence_of(
    book: Book, crew: Crew, container: Container, resource: str, share: Fraction, *, decays: bool = True
) -> Evidence:
    """Return what is known of a container's use; `share` names the percentile as a part of 1.

    Where only the most that was used decides, the percentile need not decay.
    """
    subjects = _subjects(book, crew, container, resource)
    figures = _figures(book, subjects, Stream("", resource, USAGE))
    seen = [(stream, each) for stream, each in figures if each.points]
    dropped = sum(each.dropped for _, each in figures)
    noted = dict(_figures(book, subjects, Stream("", resource, MAX_USAGE)))
    if not seen:
        return NOTHING_SEEN._replace(dropped=dropped)
    first = min(each.first_seconds for _, each in seen)
    last = max(each.last_seconds for _, each in seen)
    points = sum(each.points for _, each in seen)
    step = _step_seconds([each for _, each in seen])
    sees_peaks = step <= CLOSE_SECONDS or all(_is_noted(noted, stream, each) for stream, each in seen)
    started = restarts_of(book, crew, container) > 0 or _saw_a_start(crew, container, seen, step)
    return Evidence(
        replicas=len(seen),
        points=points,
        dropped=dropped,
        window_seconds=last - first,
        step_seconds=step,
        mean=round(Fraction(sum(each.total for _, each in seen), points)),
        percentile=_largest(book, seen, share, decays=decays),
        most=max(each.high for _, each in [*seen, *noted.items()] if each.points),
        sees_peaks=sees_peaks,
        sees_starts=sees_peaks and started,
        first_seconds=first,
    )


def _figures(book: Book, subjects: Sequence[str], like: Stream) -> list[tuple[Stream, Figures]]:
    """Return what subjects come to, of those that were observed by a measure of a resource."""
    wanted = (like._replace(subject=subject) for subject in subjects)
    return [(stream, book.figures(stream)) for stream in wanted if stream in book.streams_of(stream.subject)]


def _is_noted(noted: dict[Stream, Figures], stream: Stream, samples: Figures) -> bool:
    """Whether the source noted the peaks of a replica, as often as it was looked at."""
    peaks = noted.get(stream._replace(measure=MAX_USAGE), NO_FIGURES)
    return peaks.points >= NOTED_MIN * samples.points


def _saw_a_start(
    crew: Crew, container: Container, seen: Sequence[tuple[Stream, Figures]], step_seconds: int
) -> bool:
    """Whether a replica started after the first observation and was observed from then on."""
    begun = {stream.subject: figures.first_seconds for stream, figures in seen}
    first = min(begun.values())
    for pod in crew.pods:
        started = _started(pod)
        begins = [begun[each] for each in _names(_key(pod), container) if each in begun]
        soon = started + START_SECONDS + step_seconds
        if started >= first and any(each <= soon for each in begins):
            return True
    return False


def kills_of(book: Book, crew: Crew, container: Container) -> int:
    """Return how many kills a source has counted of a container, in the replica that has most."""
    return _events_of(book, crew, container, OOM_KILLS)


def restarts_of(book: Book, crew: Crew, container: Container) -> int:
    """Return how often a source saw a container start again, in the replica that did most often."""
    return _events_of(book, crew, container, RESTARTS)


def _events_of(book: Book, crew: Crew, container: Container, event: str) -> int:
    """Return how often something happened: each point says how often since the one before."""
    counted = _figures(book, _subjects(book, crew, container, event), Stream("", event, USAGE))
    return max((each.total for _, each in counted if each.points), default=0)


def observed_pods(book: Book) -> list[tuple[str, str]]:
    """Return namespace and name of every pod of which something was observed, in order."""
    found = set()
    for kind in ("pod", "container"):
        for stream in book.streams(kind):
            parts = stream.subject.split("/")
            found.add((parts[1], parts[2]) if len(parts) > 2 else ("", parts[1]))
    return sorted(found)


def _subjects(book: Book, crew: Crew, container: Container, resource: str) -> list[str]:
    """Return whose use of a resource is that of a container: itself, or its pod where it is alone in it.

    Of the two, the one that was looked at more often is believed, first the container.
    """
    running = [each for each in crew.newest.containers if each.role != "init"]
    alone = not crew.newest.containers or (len(running) == 1 and running[0].name == container.name)
    found = []
    for key in (*(_key(pod) for pod in crew.pods), *(_key_of(crew, name) for name in crew.gone)):
        names = _names(key, container)[: 2 if alone else 1]
        known = [name for name in names if Stream(name, resource, USAGE) in book.streams_of(name)]
        if len(known) > 1:
            known.sort(key=lambda name: -book.figures(Stream(name, resource, USAGE)).points)
        found += known[:1]
    return found


def _names(key: str, container: Container) -> tuple[str, str]:
    """Return as what a container may have been observed: as itself, and as its pod."""
    return f"container/{key}/{container.name}", f"pod/{key}"


def _key(pod: Workload) -> str:
    return f"{pod.namespace}/{pod.name}"


def _key_of(crew: Crew, name: str) -> str:
    return f"{crew.owner.namespace}/{name}"


def _started(pod: Workload) -> int:
    """Return when a pod started; what does not say so has always run."""
    seconds = pod.started_seconds if pod.started_seconds is not None else pod.created_seconds
    return -1 if seconds is None else seconds


def _step_seconds(figures: Sequence[Figures]) -> int:
    """Return how far samples are apart on the whole; 0 where there are none to compare."""
    gaps = sum(each.points + each.dropped - 1 for each in figures)
    return sum(each.last_seconds - each.first_seconds for each in figures) // gaps if gaps else 0


def _largest(book: Book, seen: Sequence[tuple[Stream, Figures]], share: Fraction, *, decays: bool) -> int:
    """Return the percentile of all replicas together, or of the one that needs most."""
    weighed = [each for _, each in seen]
    if decays:
        last_day = max(book.days(stream)[-1] for stream, _ in seen)
        weighed = [decayed(book, stream, last_day) for stream, _ in seen]
    found = [percentile(_together(weighed), share)] if len(weighed) > 1 else []
    for (_, plain), each in zip(seen, weighed, strict=True):
        if each.points and (plain.points >= REPLICA_POINTS_MIN or len(weighed) == 1):
            found.append(percentile(each, share))
    return max(found, default=0)


def _together(several: Sequence[Figures]) -> Figures:
    """Return histograms added up."""
    seen = [each for each in several if each.points]
    if not seen:
        return NO_FIGURES
    buckets, places = np.unique(np.concatenate([each.buckets for each in seen]), return_inverse=True)
    counts = np.zeros(len(buckets), np.int64)
    np.add.at(counts, places, np.concatenate([each.counts for each in seen]))
    return NO_FIGURES._replace(
        points=sum(each.points for each in seen),
        low=min(each.low for each in seen),
        high=max(each.high for each in seen),
        buckets=buckets,
        counts=counts,
    )
