"""What crowds used of which nobody told: put into a book from what it has of their members.

While single points are at hand they are summed moment by moment. Of what a book has kept only slots and days
are: the peak of each slot, and the figures of each day. The peaks of members add up to the most that a crowd
may have used, and their means to its mean. How its use was spread in between nobody knows any more: such a
crowd has no percentiles, unless there was at most one point of each member in a slot.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.aggregate import Rollup, Sum, most_of, observed_of
from ullage.engine.usage.book import FINE_SECONDS, Book, Peaks, Samples, Stream, slots_of
from ullage.engine.usage.buckets import Integers, bucket_of
from ullage.engine.usage.gathered import Gathered
from ullage.engine.usage.homes import Belonging, InOneRun, pod_of
from ullage.engine.usage.levels import DAY_SECONDS, MISSING
from ullage.engine.usage.means import LOW_BITS, LOW_MASK, means_of, rounded
from ullage.engine.usage.summaries import AMOUNT_MAX, Table, summed
from ullage.model.usage import EVENTS, USAGE

MEMBERS: Final = ("node", "pod")
"""Who is in crowds; what nodes say of groups and the cluster counts before what pods say: they run more."""
_INSIDE: Final = "container/"
_AT_ONCE: Final = 2000
"""Members that are added up together."""
_DAY_BITS: Final = 17
_BUCKET_BITS: Final = 12
Homes = Callable[[str], tuple[str, ...]]
Before = Callable[[Sequence[str], str], Integers]
Flags = npt.NDArray[np.bool_]


class Crowds:
    """Sums of nodes and pods, of all points that are at hand."""

    def __init__(self, homes: Belonging) -> None:
        self._rollups = [Rollup(kind, homes) for kind in MEMBERS]

    def add(self, samples: Samples) -> None:
        """Take in what members used."""
        for each in self._rollups:
            each.add(samples)

    def add_pods(self, some: Sum) -> None:
        """Take in what pods used that were summed already."""
        self._rollups[MEMBERS.index("pod")].add_sums(some)

    def put(self, book: Book | Gathered) -> None:
        """Put into a book what crowds used of which nothing was observed as such."""
        for rollup in self._rollups:
            for samples in [*rollup.sums(book)]:
                book.add(samples)


class Containers:
    """Sums of containers as their pods, of which nothing was observed as such.

    `before` says up to when use of subjects was recorded before, of those of an earlier reading: what is of a
    slot of which a pod has its sum already is in it, or is left out. Otherwise it would count as one more
    observation of the pod, and not as more of its use.
    """

    def __init__(self, book: Book | Gathered, before: Before | None = None) -> None:
        self._book = book
        self._before = before
        self._rollup = Rollup("container", InOneRun(pod_of))
        self._last: tuple[Sequence[str], set[str]] = ((), set())
        """Subjects, and the pods of those of them that are containers, without those that are there too."""

    def add(self, samples: Samples) -> None:
        """Take in what was used by containers whose pods were not observed so far; events are no use."""
        subjects, pods = self._last
        if subjects is not samples.subjects:
            inside = [each for each in samples.subjects if each.startswith(_INSIDE)]
            pods = {f"pod/{each[len(_INSIDE) : each.rindex('/')]}" for each in inside}
            pods.difference_update(samples.subjects)
            self._last = samples.subjects, pods
        is_use = bool(pods) and samples.resource not in EVENTS
        if is_use and pods - observed_of(self._book, samples.resource, pods):
            self._rollup.add(self._in_time(samples))

    def close(self, crowds: Crowds | None = None) -> list[Samples]:
        """Put the pods into the book, and to those with whom they count; return what was put."""
        put: list[Samples] = []
        for each in [*self._rollup.told(self._book)]:
            put.append(each.used)
            if each.above.any():
                put.append(most_of(each))
            if crowds is not None:
                crowds.add_pods(each)
        for samples in put:
            self._book.add(samples)
        return put

    def _in_time(self, samples: Samples) -> Samples:
        """Return what is not too late; sums of pods stand where slots begin, others were observed as such."""
        if self._before is None or samples.measure != USAGE:
            return samples
        pods = [next(iter(pod_of(each)), each) for each in samples.subjects]
        own, last = (
            self._before(each, samples.resource)[samples.numbers] for each in (samples.subjects, pods)
        )
        begins = samples.at_seconds // FINE_SECONDS * FINE_SECONDS
        good = (begins > last) | ((own >= begins) & (last % FINE_SECONDS == 0))
        return samples._replace(
            numbers=samples.numbers[good], at_seconds=samples.at_seconds[good], amounts=samples.amounts[good]
        )


def add_crowds(book: Book, homes: Homes) -> None:
    """Do the same where single points are not at hand, by what the book has kept of members."""
    for kind in MEMBERS:
        _add_kept(book, kind, homes)


def _add_kept(book: Book, kind: str, homes: Homes) -> None:
    """Add up what a book has kept of whoever counts where not all was observed as such."""
    observed = set(book.streams(measure=USAGE))
    by_resource: dict[str, list[Stream]] = {}
    for stream in book.streams(kind, measure=USAGE):
        if not all(Stream(each, stream.resource) in observed for each in homes(stream.subject)):
            by_resource.setdefault(stream.resource, []).append(stream)
    for resource, streams in by_resource.items():
        days = _CrowdDays(book, resource, slots_of(streams[0]), homes, observed)
        for start in range(0, len(streams), _AT_ONCE):
            days.add(streams[start : start + _AT_ONCE])
        days.put()


class _CrowdDays:
    """Days of crowds: a row for each, with the sums over its members."""

    def __init__(self, book: Book, resource: str, slots: int, homes: Homes, observed: set[Stream]) -> None:
        self._book = book
        self._resource = resource
        self._slots = slots
        self._homes = homes
        self._observed = observed
        self._crowds: dict[str, int] = {}
        self._rows: dict[int, int] = {}
        self._peaks = np.zeros((0, slots), np.int64)
        self._grid = np.zeros((0, slots), np.int64)
        """Of each slot, how much of the grid of five minutes a member was there, at most."""
        self._columns = np.zeros((0, 5), np.int64)
        """Sums of means over time in two halves and parts of one; what was dropped of the grid, of points."""
        self._gaps: list[tuple[Integers, Integers]] = []
        """Members of which points were dropped, and all others are known: their rows and peaks."""
        self._spans = np.zeros((0, 2), np.int64)
        self._seen = np.zeros((0, slots), np.bool_)
        self._exact = np.zeros(0, np.bool_)

    def add(self, streams: Sequence[Stream]) -> None:
        """Add up some members."""
        numbers = self._book.numbers(self._resource, USAGE)
        owners, days, table = self._book.of_streams(
            np.array([numbers[each.subject] for each in streams], np.int64), histograms=False
        )
        slots = self._slots_of(streams, owners, days)
        grid, columns = _times(table, owners, days, slots)
        seen = slots != MISSING
        exact = table.points == seen.sum(axis=1)
        for members, rows in self._members(streams, owners, days):
            np.add.at(self._peaks, rows, np.where(seen, slots, 0)[members])
            np.minimum(self._peaks, AMOUNT_MAX, out=self._peaks)
            np.maximum.at(self._grid, rows, grid[members])
            np.add.at(self._columns, rows, columns[members])
            np.logical_or.at(self._seen, rows, seen[members])
            np.logical_and.at(self._exact, rows, exact[members])
            gaps = np.flatnonzero((exact & (table.dropped > 0))[members])
            self._gaps.append((rows[gaps], slots[members[gaps]]))
            known = table.points[members] > 0
            np.minimum.at(self._spans[:, 0], rows[known], table.first_seconds[members[known]])
            np.maximum.at(self._spans[:, 1], rows[known], table.last_seconds[members[known]])

    def put(self) -> None:
        """Put what the crowds used into the book."""
        names = [*self._crowds]
        for rows, slots in self._gaps:
            np.add.at(self._peaks, rows, _filled(slots, self._seen[rows]))
        kept = np.flatnonzero(self._seen.any(axis=1))
        if not len(kept):
            return
        keys = np.array([*self._rows], np.int64)[kept]
        streams = [Stream(names[each], self._resource) for each in (keys >> _DAY_BITS).tolist()]
        slots = np.where(self._seen, self._peaks, MISSING)[kept]
        table = self._table(kept, slots)
        fine = np.full((len(kept), DAY_SECONDS // FINE_SECONDS), MISSING, np.int64)
        fine[:, :: fine.shape[1] // self._slots] = slots
        days = (keys & ((1 << _DAY_BITS) - 1)).tolist()
        self._book.put_table(streams, days, table, [Peaks(np.arange(len(kept)), fine)])

    def _table(self, kept: Integers, slots: Integers) -> Table:
        """Return the figures of rows: of points where these are known, else of time."""
        seen, exact = slots != MISSING, self._exact[kept]
        amounts = np.where(seen, slots, 0)
        high, low, parts, dropped, lost = self._columns[kept].T
        grid = self._grid[kept].sum(axis=1)
        owners, places = np.nonzero(seen & exact[:, None])
        points = (owners << _BUCKET_BITS) + bucket_of(slots[owners, places])
        keys, counts = summed([(points, np.ones(len(points), np.int64))])
        least = np.where(seen, slots, AMOUNT_MAX).min(axis=1)
        return Table(
            np.where(exact, seen.sum(axis=1), grid),
            np.where(exact, (amounts >> LOW_BITS).sum(axis=1), high),
            np.where(exact, (amounts & LOW_MASK).sum(axis=1), rounded(low, parts)),
            np.where(exact, least, 0),
            amounts.max(axis=1),
            np.where(exact, np.minimum(lost, seen.sum(axis=1)), np.minimum(dropped, grid)),
            self._spans[kept, 0],
            self._spans[kept, 1],
            keys >> _BUCKET_BITS,
            keys & ((1 << _BUCKET_BITS) - 1),
            counts,
        )

    def _slots_of(self, streams: Sequence[Stream], owners: Integers, days: Integers) -> Integers:
        """Return the peaks of members, a row for each of their days."""
        found = np.full((len(days), self._slots), MISSING, np.int64)
        peaks = self._book.peaks_of(streams)
        of_peaks = peaks.owners << _DAY_BITS | peaks.days
        found[np.isin(owners << _DAY_BITS | days, of_peaks)] = peaks.slots  # both are in the same order
        return found

    def _members(
        self, streams: Sequence[Stream], owners: Integers, days: Integers
    ) -> Iterator[tuple[Integers, Integers]]:
        """Yield days of members, and the rows of crowds in which they count."""
        above = [
            [
                self._crowds.setdefault(each, len(self._crowds))
                for each in self._homes(stream.subject)
                if Stream(each, self._resource) not in self._observed
            ]
            for stream in streams
        ]
        for place in range(max(map(len, above), default=0)):
            crowds = np.array([each[place] if len(each) > place else -1 for each in above], np.int64)[owners]
            members = np.flatnonzero(crowds >= 0)
            keys = (crowds[members] << _DAY_BITS) + days[members]
            known = self._rows
            rows = np.array([known.setdefault(key, len(known)) for key in keys.tolist()], np.int64)
            self._grow()
            yield members, rows

    def _grow(self) -> None:
        more = len(self._rows) - len(self._exact)
        if more > 0:
            more = max(more, len(self._exact) // 4)
            for name, empty in (("_peaks", 0), ("_grid", 0), ("_columns", 0), ("_seen", False)):
                old = getattr(self, name)
                new = np.full((more, old.shape[1]), empty, old.dtype)
                setattr(self, name, np.concatenate((old, new)))
            self._spans = np.concatenate((self._spans, np.tile((AMOUNT_MAX, 0), (more, 1))))
            self._exact = np.concatenate((self._exact, np.ones(more, np.bool_)))


def _times(table: Table, owners: Integers, days: Integers, slots: Integers) -> tuple[Integers, Integers]:
    """Return how much of the grid members were there in each slot, and sums of their means over it.

    They were there from their first point to the last, wherever they have a peak. No sum is more than that of
    their peaks, though a mean may be, where points were further apart while little was used.
    """
    per_slot = DAY_SECONDS // FINE_SECONDS // slots.shape[1]
    begins = np.arange(slots.shape[1]) * per_slot
    seen = slots != MISSING
    keys = owners << _DAY_BITS | days
    goes_on = np.isin(keys, keys[seen[:, -1]] + 1), np.isin(keys, keys[seen[:, 0]] - 1)
    first, last = (
        each // FINE_SECONDS - days * (DAY_SECONDS // FINE_SECONDS)
        for each in (table.first_seconds, table.last_seconds)
    )
    first, last = np.where(goes_on[0], 0, first), np.where(goes_on[1], DAY_SECONDS // FINE_SECONDS, last)
    grid = np.minimum(last[:, None], begins + per_slot - 1) - np.maximum(first[:, None], begins) + 1
    known = table.points > 0
    grid = np.where(seen & known[:, None], np.maximum(grid, 0), 0)
    points = np.maximum(table.points, 1)
    means, parts = means_of(np.where(known, table.sum_high, 0), np.where(known, table.sum_low, 0), points)
    time = grid.sum(axis=1)
    dropped = np.where(known, -(-table.dropped * time // (points + table.dropped)), table.dropped)
    peaks = np.where(seen, slots, 0)
    most = _halves(((peaks >> LOW_BITS) * grid).sum(axis=1), ((peaks & LOW_MASK) * grid).sum(axis=1))
    high, low = _halves((means >> LOW_BITS) * time, (means & LOW_MASK) * time)
    over = (high > most[0]) | ((high == most[0]) & (low >= most[1]))
    columns = (*np.where(over, most, (high, low)), np.where(over, 0, parts * time), dropped, table.dropped)
    return grid, np.stack(columns, axis=1)


def _filled(slots: Integers, wanted: Flags) -> Integers:
    """Return what members used before, where nothing is known of them though it is wanted; else 0.

    It stands for what they used where they used something after that, too.
    """
    seen = slots != MISSING
    before = np.maximum.accumulate(np.where(seen, np.arange(slots.shape[1]), -1), axis=1)
    after = np.maximum.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    amounts = np.take_along_axis(slots, np.maximum(before, 0), axis=1)
    return np.where(wanted & ~seen & (before >= 0) & after, amounts, 0)


def _halves(high: Integers, low: Integers) -> tuple[Integers, Integers]:
    """Return sums in halves of which the lower one is as small as can be."""
    return high + (low >> LOW_BITS), low & LOW_MASK
