"""What many use together, summed moment by moment: containers as pods, pods as workloads, nodes as groups.

The most that a crowd used is not the sum of what each used at most. So peaks of the same slot are added up,
and the sum is what is observed of the crowd in that slot. Points come in any order, in batches that are cut
anywhere: what each stream has in a slot waits for more of it. Only so much can wait; what comes after that is
a dropped point of the crowd, and never counts a second time.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.book import COARSE_SECONDS, FINE_SECONDS, Book, Samples, Stream
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.gathered import Gathered
from ullage.engine.usage.homes import NO_RUN, Belonging, InOneRun, pod_of
from ullage.engine.usage.levels import DAY_SECONDS, MISSING
from ullage.engine.usage.summaries import AMOUNT_MAX, spans
from ullage.engine.usage.waiting_peaks import SLOT_BITS, WAITING_MAX, WaitingPeaks
from ullage.model.errors import InputError
from ullage.model.usage import EVENTS, USAGE

_SLOT_MASK: Final = (1 << SLOT_BITS) - 1
_SUMS_MAX: Final = 1 << 20
SUBJECT_BITS: Final = 25
_SUBJECT_MASK: Final = (1 << SUBJECT_BITS) - 1
_RESOURCE_MAX: Final = (1 << (62 - SUBJECT_BITS - SLOT_BITS)) - 1
NOBODY: Final = -1
_INSIDE: Final = "container/"
DROPPED: Final = -1
"""What stands for a point that did not count."""
_AT_ONCE: Final = 2000
"""Streams whose peaks are added up together."""
_TOLD_AT_ONCE: Final = 1 << 18
"""Sums that are told together, about."""
Parts = tuple[Integers, Integers]
Flags = npt.NDArray[np.bool_]
_NONE: Final[Integers] = np.empty(0, np.int64)
NOTHING: Final[Parts] = (_NONE, _NONE)


class Rollup:
    """Sums over all subjects of one kind, by who they belong to.

    `homes` says to whom, in runs: each is looked at once, however many subjects have it in common.
    """

    def __init__(
        self,
        kind: str,
        homes: Belonging,
        slot_seconds: int = FINE_SECONDS,
        waiting_max: int = WAITING_MAX,
    ) -> None:
        self._kind = f"{kind}/"
        self._homes = homes
        self._slot_seconds = slot_seconds
        self._subjects: dict[str, int] = {}
        self._resources: dict[str, int] = {}
        self._above: list[list[Integers]] = []
        self._crowds: dict[str, int] = {}
        self._run_crowds, self._run_ends = array("q"), array("q", [0])
        self._last: tuple[Sequence[str], Integers] = ((), _NONE)
        self._peaks = WaitingPeaks(waiting_max)
        self._late: list[Parts] = []
        self._sums: list[Parts] = []
        self._sums_count = 0

    def add(self, samples: Samples) -> None:
        """Take in what was used at moments; what is no use, or of another kind, is left alone."""
        if samples.measure != USAGE:
            return
        keys, amounts = self._keys(samples)
        if len(keys):
            self._peaks.add(keys, amounts)
            if self._peaks.is_full():
                self._close()

    def add_peaks(self, samples: Samples) -> None:
        """Take in peaks, of each stream and slot at most one: nothing has to wait for more of them."""
        slots, amounts = self._keys(samples)
        for keys, which in self._crowd_keys(slots):
            self._wait(keys, amounts[which])

    def sums(self, known: Book | Gathered) -> Iterator[Samples]:
        """Yield what crowds used in each slot, but for those that were observed as such, many at a time."""
        self._close(everything=True)
        keys, amounts = _reduced(self._sums, np.add)
        self._sums, self._sums_count = [(keys, amounts)], len(keys)
        late, counts = _reduced(self._late, np.add)
        late = np.repeat(late, counts)
        names = [*self._crowds]
        for resource, number in sorted(self._resources.items()):
            observed = _observed(known, resource, set(names))
            is_meant = np.array([name not in observed for name in names], np.bool_)
            ends = np.array((number, number + 1)) << (SUBJECT_BITS + SLOT_BITS)
            first, last = np.searchsorted(keys, ends)
            told, dropped = keys[first:last], late[slice(*np.searchsorted(late, ends))]
            for begin, end in _cuts(told):
                yield from self._samples(
                    resource, names, is_meant, told[begin:end], amounts[first:last][begin:end]
                )
            yield from self._samples(
                resource, names, is_meant, dropped, np.full(len(dropped), DROPPED, np.int64)
            )

    def _samples(
        self, resource: str, names: Sequence[str], is_meant: Flags, keys: Integers, amounts: Integers
    ) -> Iterator[Samples]:
        """Yield what those crowds used that are meant, if there are any."""
        crowds = keys >> SLOT_BITS & _SUBJECT_MASK
        meant = is_meant[crowds]
        if meant.any():
            used, numbers = np.unique(crowds[meant], return_inverse=True)
            moments = (keys[meant] & _SLOT_MASK) * self._slot_seconds
            yield Samples(
                resource, USAGE, [names[each] for each in used.tolist()], numbers, moments, amounts[meant]
            )

    def _keys(self, samples: Samples) -> Parts:
        """Return streams with slots of those points that count, and their amounts."""
        subjects, numbers = self._last
        if subjects is not samples.subjects:
            numbers = np.full(len(samples.subjects), NOBODY, np.int64)
            if f"\n{self._kind}" in "\n".join(("", *samples.subjects)):
                meant = [place for place, each in enumerate(samples.subjects) if each.startswith(self._kind)]
                numbers[meant] = self._numbers([samples.subjects[each] for each in meant])
            self._last = samples.subjects, numbers
        number = self._resources.setdefault(samples.resource, len(self._resources))
        if number > _RESOURCE_MAX or len(self._subjects) > _SUBJECT_MASK:
            raise InputError("too many resources or subjects are observed", remedy="observe fewer of them")
        streams = numbers[samples.numbers]
        good = (streams >= 0) & (samples.amounts >= 0) & (samples.amounts <= AMOUNT_MAX)
        slots = samples.at_seconds[good] // self._slot_seconds
        return (((number << SUBJECT_BITS) + streams[good]) << SLOT_BITS) + slots, samples.amounts[good]

    def _numbers(self, subjects: Sequence[str]) -> Integers:
        """Return the numbers of subjects of the kind; new ones get theirs, and the crowds they belong to."""
        known = self._subjects
        before = len(known)
        numbers = [known.setdefault(each, len(known)) for each in subjects]
        if len(known) > before:
            self._add_homes([*islice(known, before, None)], before)
        return np.array(numbers, np.int64)

    def _add_homes(self, subjects: Sequence[str], before: int) -> None:
        """Note where subjects count, of which the first has a number."""
        numbers = self._homes.numbers(subjects)
        self._add_runs()
        owners, columns = np.nonzero(numbers != NO_RUN)
        runs = numbers[owners, columns]
        ends = np.array(self._run_ends, np.int64)
        lengths = np.diff(ends)[runs]
        flat = np.array(self._run_crowds, np.int64)[spans(ends[runs], lengths)]
        sizes = np.bincount(owners, lengths, minlength=len(numbers)).astype(np.int64)
        begins = np.cumsum(sizes) - sizes
        while len(self._above) < int(sizes.max()):
            self._above.append([np.full(before, NOBODY, np.int64)])
        for place, parts in enumerate(self._above):
            has = sizes > place
            column = np.full(len(sizes), NOBODY, np.int64)
            column[has] = flat[begins[has] + place]
            parts.append(column)

    def _add_runs(self) -> None:
        """Note the crowds of runs that are new."""
        crowds = self._crowds
        new = self._homes.runs[len(self._run_ends) - 1 :]
        self._run_crowds.extend([crowds.setdefault(each, len(crowds)) for run in new for each in run])
        self._run_ends.extend([*islice(accumulate(map(len, new), initial=self._run_ends[-1]), 1, None)])

    def _close(self, *, everything: bool = False) -> None:
        """Add up what waits no longer, and note what came too late."""
        closed = self._peaks.close(everything=everything)
        for keys, which in self._crowd_keys(closed.keys):
            self._wait(keys, closed.amounts[which])
        for keys, _ in self._crowd_keys(closed.late):
            self._late = [_reduced([*self._late, (keys, np.ones(len(keys), np.int64))], np.add)]

    def _crowd_keys(self, keys: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield the keys of the crowds in which some count, and which of them these are."""
        subjects = keys >> SLOT_BITS & _SUBJECT_MASK
        rest = keys - (subjects << SLOT_BITS)
        for columns in self._above if len(keys) else ():
            columns[:] = [np.concatenate(columns)]
            crowds = columns[0][subjects]
            meant = np.flatnonzero(crowds >= 0)
            yield (crowds[meant] << SLOT_BITS) + rest[meant], meant

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


def _observed(book: Book | Gathered, resource: str, names: set[str]) -> set[str]:
    """Return those of some subjects whose use of a resource was observed as such."""
    if isinstance(book, Book):
        return names & book.numbers(resource, USAGE).keys()
    return book.observed(resource, names)


def _cuts(keys: Integers) -> Iterator[tuple[int, int]]:
    """Yield where parts of keys in order begin and end, about as long as what is told at once."""
    wanted = keys[_TOLD_AT_ONCE::_TOLD_AT_ONCE] >> SLOT_BITS << SLOT_BITS
    yield from pairwise(np.unique([0, *np.searchsorted(keys, wanted), len(keys)]).tolist())


class Containers:
    """Sums of containers as their pods, of which nothing was observed as such."""

    def __init__(self, book: Book | Gathered) -> None:
        self._book = book
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
        if is_use and pods - _observed(self._book, samples.resource, pods):
            self._rollup.add(samples)

    def close(self, crowds: Rollup) -> None:
        """Put the pods into the book, and to those with whom they count."""
        for samples in [*self._rollup.sums(self._book)]:
            self._book.add(samples)
            crowds.add_peaks(samples)


def add_crowds(
    book: Book | Gathered, homes: Callable[[str], tuple[str, ...]], pods: Rollup | None = None
) -> None:
    """Put into a book what crowds used of which nothing was observed as such.

    What nodes say of groups and the cluster counts before what pods say: pods are not all that runs there.
    Without a rollup of the pods, their peaks by the hour are added up.
    """
    for kind in ("node", "pod"):
        known = pods if kind == "pod" else None
        for samples in [*(known or _rollup(book, kind, homes)).sums(book)]:
            book.add(samples)


def _rollup(book: Book | Gathered, kind: str, homes: Callable[[str], tuple[str, ...]]) -> Rollup:
    """Return a rollup of all that was observed of a kind."""
    if isinstance(book, Book):
        return _of_peaks(book, kind, homes)
    if book.is_book:
        return _of_peaks(book.book(), kind, homes)
    found = Rollup(kind, InOneRun(homes))
    for samples in book.parts:
        found.add(samples)
    return found


def _of_peaks(book: Book, kind: str, homes: Callable[[str], tuple[str, ...]]) -> Rollup:
    """Return a rollup of the peaks that a book has of whoever counts where not all was observed as such."""
    found = Rollup(kind, InOneRun(homes), COARSE_SECONDS if kind == "pod" else FINE_SECONDS)
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
