"""What everybody uses at one moment, added up by who they belong to: for a source that knows only of now.

Such a source tells of each when it was measured last, which is not the same second for all, and tells it
again where it was not measured since. A crowd uses what all of its members were told to use, whether that is
new or not; but only a crowd of which some member was measured anew is told, so that nothing counts twice.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.book import Samples
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.homes import NO_RUN, Belonging
from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.model.usage import USAGE

MEMBERS: Final = ("node", "pod")
"""Who is added up: what nodes say of groups and the cluster counts before what pods say."""
_INSIDE: Final = "container/"
_LOW_BITS: Final = 32
_LOW_MASK: Final = (1 << _LOW_BITS) - 1
Flags = npt.NDArray[np.bool_]


class _Members(NamedTuple):
    """Those of some subjects who are added up, by the place of each subject.

    `runs` says where each counts, a row for each; where one is nobody's, the row is empty.
    """

    subjects: Sequence[str]
    runs: dict[str, Integers]
    told: frozenset[str]


class _Part(NamedTuple):
    """Amounts of members, the runs in which each counts, and which of them are new."""

    runs: Integers
    amounts: Integers
    is_new: Flags


class Now:
    """What a source tells of everybody, as it comes."""

    def __init__(self, homes: Belonging) -> None:
        self._homes = homes
        self._last = _Members((), {}, frozenset())
        self._parts: dict[tuple[str, str], list[_Part]] = {}
        self._told: dict[str, set[str]] = {}
        self._at_seconds = -1

    def add(self, samples: Samples, is_new: Flags) -> None:
        """Take in what is used, of each subject at most one point, and which of it is new."""
        if samples.measure != USAGE or not len(samples.numbers):
            return
        if self._last.subjects is not samples.subjects:
            self._last = self._members(samples.subjects)
        self._told.setdefault(samples.resource, set()).update(self._last.told)
        self._at_seconds = int(samples.at_seconds[is_new].max(initial=self._at_seconds))
        good = (samples.amounts >= 0) & (samples.amounts <= AMOUNT_MAX)
        for kind, runs in self._last.runs.items():
            of_points = runs[samples.numbers]
            meant = good & (of_points != NO_RUN).any(axis=1)
            part = _Part(of_points[meant], samples.amounts[meant], is_new[meant])
            self._parts.setdefault((kind, samples.resource), []).append(part)

    def taking(self, told: Iterable[Samples]) -> Iterator[Samples]:
        """Yield what is told, all of which is new, when it was taken in."""
        for each in told:
            self.add(each, np.ones(len(each.numbers), np.bool_))
            yield each

    def sums(self) -> Iterator[Samples]:
        """Yield what crowds use that were not told of as such, and of which some member is new."""
        for resource, told in sorted(self._told.items()):
            known = set(told)
            for kind in MEMBERS:
                totals, moved = self._totals(self._parts.get((kind, resource), ()))
                names = [each for each in totals if each in moved and each not in known]
                known.update(totals)
                if names:
                    amounts = [min(totals[each], AMOUNT_MAX) for each in names]
                    moments = np.full(len(names), self._at_seconds, np.int64)
                    yield Samples(
                        resource, USAGE, names, np.arange(len(names)), moments, np.array(amounts, np.int64)
                    )

    def _members(self, subjects: Sequence[str]) -> _Members:
        outside = [place for place, each in enumerate(subjects) if not each.startswith(_INSIDE)]
        pods = [place for place in outside if subjects[place].startswith("pod/")]
        others = sorted({*outside}.difference(pods)) if len(pods) < len(outside) else []
        nodes = [place for place in others if subjects[place].startswith("node/")]
        runs: dict[str, Integers] = {}
        for kind, meant in zip(MEMBERS, (nodes, pods), strict=True):
            if meant:
                found = self._homes.numbers([subjects[place] for place in meant])
                runs[kind] = np.full((len(subjects), found.shape[1]), NO_RUN, np.int64)
                runs[kind][meant] = found
        return _Members(subjects, runs, frozenset(subjects[place] for place in others))

    def _totals(self, parts: Sequence[_Part]) -> tuple[dict[str, int], Collection[str]]:
        """Return what crowds use, and those of them of which some member is new.

        Those who count in the same run are added up once: exactly, in two halves.
        """
        size = len(self._homes.runs)
        high, low, count, new = (np.zeros(size, np.int64) for _ in range(4))
        for runs, amounts, is_new in parts:
            for column in runs.T:
                has = column != NO_RUN
                of, some = column[has], amounts[has]
                np.add.at(high, of, some >> _LOW_BITS)
                np.add.at(low, of, some & _LOW_MASK)
                np.add.at(count, of, 1)
                np.add.at(new, of, is_new[has])
        used = np.flatnonzero(count)
        all_runs = self._homes.runs
        totals: dict[str, int] = {}
        for run, upper, lower in zip(used.tolist(), high[used].tolist(), low[used].tolist(), strict=True):
            total = (upper << _LOW_BITS) + lower
            for name in all_runs[run]:
                totals[name] = totals.get(name, 0) + total
        if new[used].all():
            return totals, totals.keys()
        return totals, {name for run in np.flatnonzero(new).tolist() for name in all_runs[run]}
