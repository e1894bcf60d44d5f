"""What many use together, summed moment by moment: containers as pods, pods as workloads, nodes as groups.

The most that a crowd used is not the sum of what each used at most. So what members used in the same slot
is added up: their means are what is observed of the crowd in that slot, and their peaks the most that it may
have used in it. Points come in any order, in batches that are cut anywhere: what each stream has in a slot
waits for more of it. Only so much can wait; what comes after that is a dropped point of the crowd, and never
counts a second time. Where points of a member were dropped, what it used before stands for them if anything
was observed after, and the crowd has a dropped point too: nobody used nothing because nobody looked.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.book import FINE_SECONDS, Book, Samples
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.gathered import Gathered
from ullage.engine.usage.homes import NO_RUN, Belonging
from ullage.engine.usage.levels import DAY_SECONDS
from ullage.engine.usage.means import rounded
from ullage.engine.usage.summaries import AMOUNT_MAX, spans
from ullage.engine.usage.waiting_peaks import SLOT_BITS, WAITING_MAX, Closed, WaitingPeaks
from ullage.model.errors import InputError
from ullage.model.usage import MAX_USAGE, USAGE

_SLOT_MASK: Final = (1 << SLOT_BITS) - 1
_SUMS_MAX: Final = 1 << 20
SUBJECT_BITS: Final = 25
_SUBJECT_MASK: Final = (1 << SUBJECT_BITS) - 1
_RESOURCE_MAX: Final = (1 << (62 - SUBJECT_BITS - SLOT_BITS)) - 1
NOBODY: Final = -1
DROPPED: Final = -1
"""What stands for a point that did not count."""
_TOLD_AT_ONCE: Final = 1 << 18
"""Sums that are told together, about."""
Parts = tuple[Integers, Integers]
Flags = npt.NDArray[np.bool_]
_NONE: Final[Integers] = np.empty(0, np.int64)
NOTHING: Final[Parts] = (_NONE, _NONE)


class _Sums(NamedTuple):
    """Slots of crowds in order, each once: means, what they are more in parts, and peaks above them."""

    keys: Integers
    means: Integers
    parts: Integers
    above: Integers


_NO_SUMS: Final = _Sums(_NONE, _NONE, _NONE, _NONE)


class Sum(NamedTuple):
    """What crowds used in slots, and how much more of it may have been used at a time."""

    used: Samples
    above: Integers


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
        self._dropped = _NONE
        """Slots of crowds in which a member has nothing but dropped points."""
        self._sums: list[_Sums] = []
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

    def add_sums(self, some: Sum) -> None:
        """Take in what is a sum already, of each stream and slot at most one: nothing has to wait."""
        slots, amounts = self._keys(some.used)
        good = amounts >= 0
        above = some.above[self._meant(some.used)]
        self._wait(_Sums(slots[good], amounts[good], np.zeros(int(good.sum()), np.int64), above[good]))
        self._drop(slots[~good])

    def sums(self, known: Book | Gathered) -> Iterator[Samples]:
        """Yield what crowds used in each slot, but for those that were observed as such, many at a time.

        Where members used more at a time than on the average of a slot, the most of it is yielded too.
        """
        for each in self.told(known):
            yield each.used
            if each.above.any():
                yield most_of(each)

    def told(self, known: Book | Gathered) -> Iterator[Sum]:
        """Yield the same as sums that others can take in."""
        self._close(everything=True)
        sums = _summed(self._sums)
        self._sums, self._sums_count = [sums], len(sums.keys)
        late, counts = _reduced(self._late, np.add)
        late = np.sort(np.concatenate((np.repeat(late, counts), self._dropped)))
        names = [*self._crowds]
        for resource, number in sorted(self._resources.items()):
            observed = observed_of(known, resource, set(names))
            is_meant = np.array([name not in observed for name in names], np.bool_)
            ends = np.array((number, number + 1)) << (SUBJECT_BITS + SLOT_BITS)
            first, last = np.searchsorted(sums.keys, ends)
            told = _Sums(*(each[first:last] for each in sums))
            for begin, end in _cuts(told.keys):
                part = _Sums(*(each[begin:end] for each in told))
                amounts = np.minimum(rounded(part.means, part.parts), AMOUNT_MAX)
                yield from self._samples(resource, names, is_meant, part._replace(means=amounts))
            dropped = late[slice(*np.searchsorted(late, ends))]
            nothing = np.zeros(len(dropped), np.int64)
            lost = _Sums(dropped, np.full(len(dropped), DROPPED, np.int64), nothing, nothing)
            yield from self._samples(resource, names, is_meant, lost)

    def _samples(self, resource: str, names: Sequence[str], is_meant: Flags, sums: _Sums) -> Iterator[Sum]:
        """Yield what those crowds used that are meant, if there are any."""
        crowds = sums.keys >> SLOT_BITS & _SUBJECT_MASK
        meant = is_meant[crowds]
        if meant.any():
            used, numbers = np.unique(crowds[meant], return_inverse=True)
            moments = (sums.keys[meant] & _SLOT_MASK) * self._slot_seconds
            subjects = [names[each] for each in used.tolist()]
            yield Sum(
                Samples(resource, USAGE, subjects, numbers, moments, sums.means[meant]), sums.above[meant]
            )

    def _keys(self, samples: Samples) -> Parts:
        """Return streams with slots of points of the kind, and their amounts: DROPPED if they are none."""
        number = self._resources.setdefault(samples.resource, len(self._resources))
        meant = self._meant(samples)
        if number > _RESOURCE_MAX or len(self._subjects) > _SUBJECT_MASK:
            raise InputError("too many resources or subjects are observed", remedy="observe fewer of them")
        streams = self._last[1][samples.numbers[meant]]
        slots, amounts = samples.at_seconds[meant] // self._slot_seconds, samples.amounts[meant]
        amounts = np.where((amounts >= 0) & (amounts <= AMOUNT_MAX), amounts, DROPPED)
        return (((number << SUBJECT_BITS) + streams) << SLOT_BITS) + slots, amounts

    def _meant(self, samples: Samples) -> Flags:
        """Say which points are of the kind."""
        subjects, numbers = self._last
        if subjects is not samples.subjects:
            numbers = np.full(len(samples.subjects), NOBODY, np.int64)
            if f"\n{self._kind}" in "\n".join(("", *samples.subjects)):
                meant = [place for place, each in enumerate(samples.subjects) if each.startswith(self._kind)]
                numbers[meant] = self._numbers([samples.subjects[each] for each in meant])
            self._last = samples.subjects, numbers
        found: Flags = numbers[samples.numbers] >= 0
        return found

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
        self._drop(closed.keys[closed.peaks < 0])
        closed = _stood_for(closed, DAY_SECONDS // self._slot_seconds)
        above = np.maximum(closed.peaks - closed.means, 0)
        self._wait(_Sums(closed.keys, closed.means, closed.parts, above))
        for keys, _ in self._crowd_keys(closed.late):
            self._late = [_reduced([*self._late, (keys, np.ones(len(keys), np.int64))], np.add)]

    def _drop(self, slots: Integers) -> None:
        """Note slots of members in which all points were dropped."""
        for keys, _ in self._crowd_keys(slots):
            self._dropped = np.union1d(self._dropped, keys)

    def _crowd_keys(self, keys: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield the keys of the crowds in which some count, and which of them these are."""
        subjects = keys >> SLOT_BITS & _SUBJECT_MASK
        rest = keys - (subjects << SLOT_BITS)
        for columns in self._above if len(keys) else ():
            columns[:] = [np.concatenate(columns)]
            crowds = columns[0][subjects]
            meant = np.flatnonzero(crowds >= 0)
            yield (crowds[meant] << SLOT_BITS) + rest[meant], meant

    def _wait(self, members: _Sums) -> None:
        """Add what members used to what their crowds did."""
        for keys, which in self._crowd_keys(members.keys):
            self._sums.append(_summed([_Sums(keys, *(each[which] for each in members[1:]))]))
            self._sums_count += len(keys)
            if self._sums_count >= _SUMS_MAX:
                self._sums = [_summed(self._sums)]
                self._sums_count = len(self._sums[0].keys)


def _stood_for(closed: Closed, slots_max: int) -> Closed:
    """Return closed slots without those that were dropped, unless something stands for them.

    What was used before does, where anything was observed after it, at most so many slots later.
    """
    good = closed.peaks >= 0
    if good.all():
        return closed
    before = np.maximum.accumulate(np.where(good, np.arange(len(good)), -1))
    after = np.minimum.accumulate(np.where(good, np.arange(len(good)), len(good))[::-1])[::-1]
    first, last = closed.keys[np.maximum(before, 0)], closed.keys[np.minimum(after, len(good) - 1)]
    is_between = (before >= 0) & (after < len(good)) & (last - first <= slots_max)
    kept = is_between & (first >> SLOT_BITS == last >> SLOT_BITS)
    of = np.maximum(before, 0)[kept]
    return Closed(closed.keys[kept], closed.peaks[of], closed.means[of], closed.parts[of], closed.late)


def most_of(some: Sum) -> Samples:
    """Return the most that crowds may have used in slots, where that is more than the mean."""
    used, which = some.used, some.above > 0
    amounts = np.minimum(used.amounts[which] + some.above[which], AMOUNT_MAX)
    return used._replace(
        measure=MAX_USAGE, numbers=used.numbers[which], at_seconds=used.at_seconds[which], amounts=amounts
    )


def _summed(several: Sequence[_Sums]) -> _Sums:
    """Return all keys in order, each once, with the sums of its columns."""
    found = _Sums(*map(np.concatenate, zip(_NO_SUMS, *several, strict=True)))
    if not len(found.keys):
        return found
    order = np.argsort(found.keys, kind="stable")
    keys = found.keys[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    columns = (np.add.reduceat(each[order], starts) for each in found[1:])
    means, parts, above = (np.minimum(each, AMOUNT_MAX) for each in columns)
    return _Sums(keys[starts], means, parts, above)


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


def observed_of(book: Book | Gathered, resource: str, names: set[str]) -> set[str]:
    """Return those of some subjects whose use of a resource was observed as such."""
    if isinstance(book, Book):
        return names & book.numbers(resource, USAGE).keys()
    return book.observed(resource, names)


def _cuts(keys: Integers) -> Iterator[tuple[int, int]]:
    """Yield where parts of keys in order begin and end, about as long as what is told at once."""
    wanted = keys[_TOLD_AT_ONCE::_TOLD_AT_ONCE] >> SLOT_BITS << SLOT_BITS
    yield from pairwise(np.unique([0, *np.searchsorted(keys, wanted), len(keys)]).tolist())
