"""What many use together, summed moment by moment: containers as pods, pods as workloads, nodes as groups.

The most that a crowd used is not the sum of what each used at most. So peaks of the same slot are added up,
and the sum is what is observed of the crowd in that slot. Points come in any order, in batches that are cut
anywhere: what each stream has in a slot waits for more of it. Only so much can wait; what comes after that is
a dropped point of the crowd, and never counts a second time.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from ullage.engine.usage.book import COARSE_SECONDS, FINE_SECONDS, Book, Samples, Stream
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.homes import pod_of
from ullage.engine.usage.levels import DAY_SECONDS, MISSING
from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.engine.usage.waiting_peaks import SLOT_BITS, WAITING_MAX, WaitingPeaks
from ullage.model.usage import EVENTS, USAGE, kind_of

_SLOT_MASK: Final = (1 << SLOT_BITS) - 1
_SUMS_MAX: Final = 1 << 20
DROPPED: Final = -1
"""What stands for a point that did not count."""
_AT_ONCE: Final = 2000
"""Streams whose peaks are added up together."""
Parts = tuple[Integers, Integers]
_NONE: Final[Integers] = np.empty(0, np.int64)
NOTHING: Final[Parts] = (_NONE, _NONE)


class Rollup:
    """Sums over all subjects of one kind, by who they belong to; `homes` says to whom."""

    def __init__(
        self,
        kind: str,
        homes: Callable[[str], tuple[str, ...]],
        slot_seconds: int = FINE_SECONDS,
        waiting_max: int = WAITING_MAX,
    ) -> None:
        self._kind = kind
        self._homes = homes
        self._slot_seconds = slot_seconds
        self._streams: dict[tuple[str, str], int] = {}
        self._above: list[tuple[int, ...]] = []
        self._crowds: dict[Stream, int] = {}
        self._peaks = WaitingPeaks(waiting_max)
        self._late: list[Parts] = []
        self._sums: list[Parts] = []
        self._sums_count = 0

    def add(self, samples: Samples) -> None:
        """Take in what was used at moments; what is no use, or of another kind, is left alone."""
        if samples.measure != USAGE:
            return
        streams = np.array([self._stream(each, samples.resource) for each in samples.subjects], np.int64)
        numbers = streams[samples.numbers]
        good = (numbers >= 0) & (samples.amounts >= 0) & (samples.amounts <= AMOUNT_MAX)
        if not good.any():
            return
        slots = samples.at_seconds[good] // self._slot_seconds
        self._peaks.add((numbers[good] << SLOT_BITS) + slots, samples.amounts[good])
        if self._peaks.is_full():
            self._close()

    def add_peaks(self, samples: Samples) -> None:
        """Take in peaks, of each stream and slot at most one: nothing has to wait for more of them."""
        streams = np.array([self._stream(each, samples.resource) for each in samples.subjects], np.int64)
        good = (samples.amounts >= 0) & (samples.amounts <= AMOUNT_MAX)
        amounts, slots = samples.amounts[good], samples.at_seconds[good] // self._slot_seconds
        for keys, which in self._crowd_keys((streams[samples.numbers[good]] << SLOT_BITS) + slots):
            self._wait(keys, amounts[which])

    def sums(self, known: Book) -> Iterator[Samples]:
        """Yield what every crowd used in each slot, but for those that a book has observed as such."""
        self._close(everything=True)
        keys, amounts = _reduced(self._sums, np.add)
        self._sums, self._sums_count = [(keys, amounts)], len(keys)
        late, counts = _reduced(self._late, np.add)
        late = np.repeat(late, counts)
        observed = set(known.streams(measure=USAGE))
        crowds = [(stream, number) for stream, number in self._crowds.items() if stream not in observed]
        for stream, number in sorted(crowds):
            begin, end = number << SLOT_BITS, (number + 1) << SLOT_BITS
            first, last = np.searchsorted(keys, (begin, end))
            dropped = late[slice(*np.searchsorted(late, (begin, end)))]
            moments = (np.concatenate((keys[first:last], dropped)) & _SLOT_MASK) * self._slot_seconds
            told = np.concatenate((amounts[first:last], np.full(len(dropped), DROPPED, np.int64)))
            yield Samples(
                stream.resource, USAGE, (stream.subject,), np.zeros(len(told), np.int64), moments, told
            )

    def _stream(self, subject: str, resource: str) -> int:
        """Return the number of a stream, -1 where it is of another kind."""
        if kind_of(subject) != self._kind:
            return -1
        number = self._streams.get((subject, resource))
        if number is None:
            number = self._streams[subject, resource] = len(self._streams)
            crowds = (Stream(each, resource) for each in self._homes(subject))
            self._above.append(tuple(self._crowds.setdefault(each, len(self._crowds)) for each in crowds))
        return number

    def _close(self, *, everything: bool = False) -> None:
        """Add up what waits no longer, and note what came too late."""
        closed = self._peaks.close(everything=everything)
        for keys, which in self._crowd_keys(closed.keys):
            self._wait(keys, closed.amounts[which])
        for keys, _ in self._crowd_keys(closed.late):
            self._late = [_reduced([*self._late, (keys, np.ones(len(keys), np.int64))], np.add)]

    def _crowd_keys(self, keys: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield the keys of the crowds in which some count, and which of them these are."""
        streams, slots = keys >> SLOT_BITS, keys & _SLOT_MASK
        for place in range(max(map(len, self._above), default=0) if len(keys) else 0):
            crowd_of = np.array([each[place] if place < len(each) else -1 for each in self._above], np.int64)
            crowds = crowd_of[streams]
            meant = np.flatnonzero(crowds >= 0)
            yield (crowds[meant] << SLOT_BITS) + slots[meant], meant

    def _wait(self, keys: Integers, amounts: Integers) -> None:
        self._sums.append(_reduced([(keys, amounts)], np.add))
        self._sums_count += len(keys)
        if self._sums_count >= _SUMS_MAX:
            self._sums = [_reduced(self._sums, np.add)]
            self._sums_count = len(self._sums[0][0])


def _reduced(parts: list[Parts], combine: np.ufunc) -> Parts:
    """Return all keys in order, each once, with what its amounts come to."""
    keys = np.concatenate([each[0] for each in (NOTHING, *parts)])
    amounts = np.concatenate([each[1] for each in (NOTHING, *parts)])
    if not len(keys):
        return NOTHING
    order = np.argsort(keys, kind="stable")
    keys, amounts = keys[order], amounts[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return keys[starts], np.minimum(combine.reduceat(amounts, starts), AMOUNT_MAX)


class Containers:
    """Sums of containers as their pods, of which nothing was observed as such."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._rollup = Rollup("container", pod_of)

    def add(self, samples: Samples) -> None:
        """Take in what was used by containers whose pods were not observed so far; events are no use."""
        known = self._book.numbers(samples.resource, USAGE)
        pods = {pod for each in samples.subjects for pod in pod_of(each)}
        if samples.resource not in EVENTS and not pods <= known.keys():
            self._rollup.add(samples)

    def close(self, crowds: Rollup) -> None:
        """Put the pods into the book, and to those with whom they count."""
        for samples in [*self._rollup.sums(self._book)]:
            self._book.add(samples)
            crowds.add_peaks(samples)


def add_crowds(book: Book, homes: Callable[[str], tuple[str, ...]], pods: Rollup | None = None) -> None:
    """Put into a book what crowds used of which nothing was observed as such.

    What nodes say of groups and the cluster counts before what pods say: pods are not all that runs there.
    Without a rollup of the pods, their peaks by the hour are added up.
    """
    for kind in ("node", "pod"):
        known = pods if kind == "pod" else None
        for samples in [*(known or _of_peaks(book, kind, homes)).sums(book)]:
            book.add(samples)


def _of_peaks(book: Book, kind: str, homes: Callable[[str], tuple[str, ...]]) -> Rollup:
    """Return a rollup of the peaks that a book has of whoever counts where not all was observed as such."""
    found = Rollup(kind, homes, COARSE_SECONDS if kind == "pod" else FINE_SECONDS)
    observed = set(book.streams(measure=USAGE))
    by_resource: dict[str, list[Stream]] = {}
    for stream in book.streams(kind, measure=USAGE):
        if not all(Stream(each, stream.resource) in observed for each in homes(stream.subject)):
            by_resource.setdefault(stream.resource, []).append(stream)
    for streams in by_resource.values():
        for start in range(0, len(streams), _AT_ONCE):
            found.add_peaks(_peaks(book, streams[start : start + _AT_ONCE]))
    return found


def _peaks(book: Book, streams: Sequence[Stream]) -> Samples:
    """Return the peaks of streams of one resource."""
    owners, days, slots = book.peaks_of(streams)
    rows, places = np.nonzero(slots != MISSING)
    moments = days[rows] * DAY_SECONDS + places * book.slot_seconds(streams[0])
    subjects = [each.subject for each in streams]
    return Samples(streams[0].resource, USAGE, subjects, owners[rows], moments, slots[rows, places])
