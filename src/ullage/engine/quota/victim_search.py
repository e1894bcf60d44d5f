"""All sets of victims that could be the best for one node, each step on what the step before has left.

Candidates come in the order in which a set is judged: a set is then legal if each of them was when it was
added, so that a branch ends with its first illegal member, and nothing is counted anew. The hard thing is
what a set that is not yet enough costs at least: every need by itself, and all of them as one, say how many
more must go.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import lcm
from typing import Final, NamedTuple

from ullage.engine.quota.victim_tally import LEAST_PRIORITY, Candidate, Cost, Tally

PARTS: Final = 1 << 20
"""In how many parts of what is short it is weighed how much a candidate gives."""


class Needs(NamedTuple):
    """What is short for a workload on a node, and how much of each every candidate gives back.

    `rooms` says for each which resource of the node it is, as the tally counts them, -1 for one of quotas;
    `places` which resource of quotas it is, -1 where members count for more or less than they give.
    """

    short: tuple[int, ...]
    given: list[tuple[int, ...]]
    rooms: tuple[int, ...]
    places: tuple[int, ...]


def with_all_as_one(needs: Needs) -> Needs:
    """Return needs with one more that all of them together imply: each weighed by how much it is short."""
    short = needs.short
    if len(short) <= 1:
        return needs
    scale = lcm(*short)
    weights = [scale // each for each in short]

    def summed(amounts: tuple[int, ...]) -> tuple[int, ...]:
        return (*amounts, sum(one * two for one, two in zip(amounts, weights, strict=True)))

    return Needs(
        summed(short), [summed(each) for each in needs.given], (*needs.rooms, -1), (*needs.places, -1)
    )


def _plus(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([each + more for each, more in zip(one, other, strict=True)])


class _Suffix(NamedTuple):
    """The candidates from a place on: what they give in all, without some kinds, and by quota."""

    whole: tuple[int, ...]
    not_own: tuple[int, ...]
    unguarded: tuple[int, ...]
    by_quota: tuple[tuple[int, ...], ...]
    priority: int


class NodeSearch:
    """A search on one node; `accepts` is asked about a set that is enough, and keeps it or says no."""

    def __init__(
        self,
        tally: Tally,
        candidates: Sequence[Candidate],
        needs: Needs,
        accepts: Callable[[], bool],
        best: Callable[[], Cost | None],
    ) -> None:
        self._tally = tally
        self._candidates = candidates
        self._needs = with_all_as_one(needs)
        self._accepts = accepts
        self._best = best
        self.work_left = 0
        self.fell = False
        self._quotas = sorted({each.member.quota for each in candidates if not each.own})
        self._suffixes = self._suffixes_of()
        self._tops: dict[tuple[int, int], list[list[int]]] = {}
        self._ends: dict[int, int] = {}
        self._first: dict[int, tuple[list[int], list[str]]] = {}

    def _suffixes_of(self) -> list[_Suffix]:
        nothing = (0,) * len(self._needs.short)
        row = {quota: place for place, quota in enumerate(self._quotas)}
        last = _Suffix(nothing, nothing, nothing, (nothing,) * len(row), -LEAST_PRIORITY)
        found = [last]
        for candidate, given in zip(reversed(self._candidates), reversed(self._needs.given), strict=True):
            by_quota = list(last.by_quota)
            if not candidate.own:
                place = row[candidate.member.quota]
                by_quota[place] = _plus(by_quota[place], given)
            last = _Suffix(
                _plus(last.whole, given),
                last.not_own if candidate.own else _plus(last.not_own, given),
                last.unguarded if candidate.own or candidate.guarded else _plus(last.unguarded, given),
                tuple(by_quota),
                min(last.priority, candidate.member.priority),
            )
            found.append(last)
        return found[::-1]

    def victims_min(self) -> int | None:
        """Return how many go at least; None where all together are not enough."""
        if any(one > two for one, two in zip(self._needs.short, self._suffixes[0].whole, strict=True)):
            return None
        return self._more(0, len(self._candidates), self._needs.short)

    def run(self) -> None:
        """Look at every set that could be the best, for as long as there is work left."""
        self._extend(0, self._needs.short)

    def dive(self) -> None:
        """Offer one good set: who gives most of what is short, of the kinds that cost least."""
        for worst in range(3):
            open_places = [
                place
                for place, each in enumerate(self._candidates)
                if worst >= 2 * each.own + bool(each.guarded)
            ]
            chosen = self._most_giving(open_places)
            if chosen:
                self._offer(chosen)
                return

    def _most_giving(self, places: Sequence[int]) -> list[int]:
        """Return places that are enough and legal together, taken greedily; none where that fails."""
        given, short = self._needs.given, list(self._needs.short)
        chosen: list[int] = []
        left = list(places)
        while max(short, default=0) > 0 and left:
            self.work_left -= len(left)
            if self.work_left <= 0:
                return []
            wants = [(number, lack) for number, lack in enumerate(short) if lack > 0]
            left.sort(
                key=lambda place: -sum(min(given[place][one], lack) * PARTS // lack for one, lack in wants)
            )
            place = next((each for each in left if self._is_legal(sorted([*chosen, each]))), None)
            if place is None or not any(given[place][number] for number, _ in wants):
                return []
            chosen.append(place)
            left.remove(place)
            short = [lack - more for lack, more in zip(short, given[place], strict=True)]
        if max(short, default=0) > 0:
            return []
        for place in list(chosen):
            spare = [lack + more for lack, more in zip(short, given[place], strict=True)]
            if max(spare) <= 0:
                chosen.remove(place)
                short = spare
        return sorted(chosen)

    def _is_legal(self, chosen: Sequence[int]) -> bool:
        return self._replayed(chosen, lambda: True)

    def _offer(self, chosen: Sequence[int]) -> None:
        self._replayed(chosen, self._accepts)

    def _replayed(self, chosen: Sequence[int], look: Callable[[], bool]) -> bool:
        """Whether a set is legal and a look at it says yes; nobody is chosen before and after."""
        added = 0
        for place in chosen:
            if not self._tally.may_go(self._candidates[place]):
                break
            self._tally.add(self._candidates[place])
            added += 1
        found = added == len(chosen) and look()
        for _ in range(added):
            self._tally.drop()
        return found

    def _extend(self, start: int, short: tuple[int, ...]) -> None:
        tally = self._tally
        if tally.chosen and max(short, default=0) <= 0:
            if self._accepts():
                return
            self.fell = True
        skipped: set[int] = set()
        for place in range(start, len(self._candidates)):
            self.work_left -= 1
            if self.work_left <= 0 or not self._is_promising(place, short):
                return
            candidate = self._candidates[place]
            if candidate.kind in skipped:
                continue
            skipped.add(candidate.kind)
            if tally.may_go(candidate):
                tally.add(candidate)
                given = self._needs.given[place]
                self._extend(place + 1, tuple([one - two for one, two in zip(short, given, strict=True)]))
                tally.drop()

    def _more(self, place: int, end: int, short: tuple[int, ...]) -> int:
        """Return how many from a place up to an end must go at least; more than there are if all are few."""
        tops = self._tops.get((place, end))
        if tops is None:
            columns = zip(*self._needs.given[place:end], strict=True)
            tops = [list(accumulate(sorted(each, reverse=True))) for each in columns]
            tops = self._tops[place, end] = tops or [[] for _ in short]
        return max(
            (bisect_left(top, lack) + 1 for top, lack in zip(tops, short, strict=True) if lack > 0), default=0
        )

    def _is_promising(self, place: int, short: tuple[int, ...]) -> bool:
        """Whether those chosen could with some from a place on be enough, and the best."""
        suffix = self._suffixes[place]
        own = guarded = 0
        for number, lack in enumerate(short):
            if lack > 0:
                if lack > suffix.whole[number]:
                    return False
                if lack > suffix.not_own[number]:
                    own = 1
                elif lack > suffix.unguarded[number]:
                    guarded = 1
        best = self._best()
        if best is None:
            return True
        tally = self._tally
        more = max(self._more(place, len(self._candidates), short), 1)
        least = (
            tally.own + own,
            tally.below,
            tally.guarded + guarded,
            tally.broken,
            tally.victims + more,
        )
        known = best[:5]
        if least < known and own == guarded == 0 and tally.below < best.quotas_below:
            least = (least[0], tally.below + self._pushed(suffix, short), *least[2:])
        if least != known:
            return least < known
        return self._could_tie(place, short, more, best)

    def _pushed(self, suffix: _Suffix, short: tuple[int, ...]) -> int:
        """Return how many more quotas end at least below what is their own, if no worse members go."""
        found = 0
        for number, place in enumerate(self._needs.places):
            lack = short[number]
            if lack <= 0 or place < 0:
                continue
            further: list[int] = []
            for quota, given in zip(self._quotas, suffix.by_quota, strict=True):
                spare = self._tally.spare(quota, place)
                gives = given[number]
                lack -= min(gives, spare)
                further.append(max(0, gives - spare))
            if lack > 0:
                found = max(found, bisect_left(list(accumulate(sorted(further, reverse=True))), lack) + 1)
        return found

    def _could_tie(self, place: int, short: tuple[int, ...], more: int, best: Cost) -> bool:
        """Whether as many victims of the same kinds could be better by what is lost with them."""
        tally = self._tally
        share = max((one * two for one, two in zip(tally.taken, tally.weights, strict=True)), default=0)
        for lack, room in zip(short, self._needs.rooms, strict=True):
            if lack > 0 and room >= 0:
                share = max(share, (tally.taken[room] + lack) * tally.weights[room])
        known = best.share.numerator * (tally.whole // best.share.denominator)
        if share != known:
            return share < known
        priority = max(tally.priorities[-1], self._suffixes[place].priority)
        if priority > best.priority:
            return False
        if priority < best.priority and self._could_be_lower(place, short, more, best.priority):
            return True
        youth, names = self._first_of(place)
        chosen = [each for one in tally.chosen for each in one.members]
        ages = sorted([*(-each.created_seconds for each in chosen), *youth[:more]])
        if tuple(ages) != best.youth:
            return tuple(ages) < best.youth
        return tuple(sorted([*(each.key for each in chosen), *names[:more]])) <= best.names

    def _could_be_lower(self, place: int, short: tuple[int, ...], more: int, priority: int) -> bool:
        """Whether so many from a place on could be enough that are all of a lower priority."""
        end = self._ends.get(priority)
        if end is None:
            counted = enumerate(self._candidates)
            late = (number for number, each in counted if each.member.priority >= priority)
            end = self._ends[priority] = next(late, len(self._candidates))
        return place < end and self._more(place, end, short) <= more

    def _first_of(self, place: int) -> tuple[list[int], list[str]]:
        """Return the ages and the names of those from a place on, the preferred first, each by itself."""
        found = self._first.get(place)
        if found is None:
            members = [each for one in self._candidates[place:] for each in one.members]
            found = (
                sorted(-each.created_seconds for each in members),
                sorted(each.key for each in members),
            )
            self._first[place] = found
        return found
