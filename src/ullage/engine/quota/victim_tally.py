"""What victims cost, and what they leave: kept up as one after the other is chosen, and taken back.

A candidate is judged on what those before it leave, so it must come in the order in which a set is judged:
lowest priority and last in label order first. The hard thing is labels in mode nos: one stays over-quota
unless those go first that stand before it in label order, which only those of a lower priority do.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Final, NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.rights import Claim, Rules
from ullage.engine.quota.victim_gangs import NO_GANGS, Gangs

LEAST_PRIORITY: Final = -(1 << 63)
NO_BOUND: Final = 1 << 80


class Cost(NamedTuple):
    """What a set of victims costs, by weight: the first that differs decides."""

    own: int
    quotas_below: int
    in_quota: int
    budgets_broken: int
    victims: int
    share: Fraction
    priority: int
    youth: tuple[int, ...]
    names: tuple[str, ...]


class Candidate(NamedTuple):
    """A member that may be taken as things stand, or a gang: `parts` are its members in label order.

    `free_of_rules` if it stays so whoever goes before it; else `chain` are the quotas that must be above
    their entitlement, none in mode nos. `sum_to` is what its quota uses up to it in label order, `ranks` are
    the places of its members there. Of members of one `kind` the first goes; `guarded` are in-quota.
    """

    member: Member
    own: bool
    guarded: int
    free_of_rules: bool
    chain: tuple[int, ...]
    rank: int
    sum_to: tuple[int, ...]
    kind: int
    parts: tuple[Member, ...] = ()
    ranks: tuple[int, ...] = ()

    @property
    def members(self) -> tuple[Member, ...]:
        """All that go with it."""
        return self.parts or (self.member,)

    def gives_on(self, node: str, resource: str) -> int:
        """Return what a node has more of a resource once it has gone."""
        if self.parts:
            return sum(each.takes.of(resource) for each in self.parts if each.node == node)
        return self.member.takes.of(resource) if self.member.node == node else 0


class _Parts(NamedTuple):
    """What changes with a member: of nodes, of its quota (with the min there), and of all quotas above.

    Of quotas that are not the claim's there are the bounds below which they must not end.
    """

    takes: list[tuple[int, int]]
    counts: list[tuple[int, int, int | None]]
    own_used: list[int]
    above: list[tuple[int, list[int], list[tuple[int, int]] | None]]


class Tally:
    """What the victims chosen so far cost, and what they leave of the use of quotas."""

    def __init__(
        self,
        rules: Rules,
        claim: Claim,
        capacity: Mapping[str, int],
        budgets: Sequence[int],
        gangs: Gangs = NO_GANGS,
    ) -> None:
        standing, book = rules.standing, rules.book
        self._rules = rules
        self._claim = claim
        self._used = [list(each) for each in standing.used]
        self._own_used = [list(each) for each in standing.own_used]
        self._unused = standing.unused()
        self._promised = [rules.bound_of(quota, "min") for quota in range(len(book.quotas))]
        self._in_claim = frozenset(book.chains[claim.quota] if claim.quota != NO_QUOTA else ())
        self._nos = [mode == "nos" for mode in book.modes]
        self._names = sorted(capacity)
        self._place = {name: place for place, name in enumerate(self._names)}
        self.whole = lcm(*(amount or 1 for amount in capacity.values()))
        self.weights = [self.whole // (capacity[name] or 1) for name in self._names]
        self._parts: dict[str, _Parts] = {}
        self.taken = [0] * len(self._names)
        self._left = list(budgets)
        self._below: list[int] = [0] * len(book.quotas)
        self.chosen: list[Candidate] = []
        self._to_spare = {name: gang.spare for name, gang in gangs.items()}
        self.own = self.guarded = self.below = self.broken = self.victims = 0
        self.priorities = [LEAST_PRIORITY]

    def room_place(self, resource: str) -> int:
        """Return where a resource is counted in `taken`."""
        return self._place[resource]

    def may_go(self, candidate: Candidate) -> bool:
        """Whether a candidate that comes after those chosen may be taken on what they leave."""
        if candidate.member.gang in self._to_spare and not self._leaves_enough(candidate):
            return False
        if candidate.free_of_rules:
            return True
        quota = candidate.member.quota
        if not self._nos[quota]:
            return all(
                any(
                    most is not None and amount > most
                    for amount, most in zip(self._used[above], self._rules.entitlements[above], strict=True)
                )
                for above in candidate.chain
            )
        used, least = self._own_used[quota], self._rules.book.own_mins[quota]
        if self._claim.right != "min":
            more = self._rules.standing.guaranteed(quota, self._unused)
            bound = [None if one is None else one + (two or 0) for one, two in zip(least, more, strict=True)]
        else:
            bound = list(least)
        if all(most is None or amount <= most for amount, most in zip(used, bound, strict=True)):
            return False
        return self._is_over(candidate, least)

    def _leaves_enough(self, candidate: Candidate) -> bool:
        """Whether a gang has enough left with what was chosen of it, or all of it goes at once."""
        gang = candidate.member.gang
        before = [each for each in self.chosen if each.member.gang == gang]
        if candidate.parts:
            return not before
        return len(before) < self._to_spare[gang] and not any(each.parts for each in before)

    def _is_over(self, candidate: Candidate, least: Sequence[int | None]) -> bool:
        """Whether a candidate is over-quota still: those before it that had a lower priority are gone.

        A gang that went has left with members of all places in label order.
        """
        quota, priority, rank = candidate.member.quota, candidate.member.priority, candidate.rank
        total = list(candidate.sum_to)
        for gone in self.chosen:
            if gone.member.quota == quota and (gone.member.priority < priority or gone.parts):
                for member, before in zip(gone.members, gone.ranks, strict=True):
                    if before < rank:
                        for place, amount in enumerate(member.amounts):
                            total[place] -= amount
        return any(most is not None and amount > most for amount, most in zip(total, least, strict=True))

    def spare(self, quota: int, place: int) -> int:
        """Return how much a quota can give of a resource before it ends below what is its own.

        No bound for one that is below it already, or names nothing of the resource.
        """
        most = self._promised[quota][place] if quota not in self._in_claim else None
        if most is None or self._below[quota] < 0:
            return NO_BOUND
        return max(0, self._used[quota][place] - most)

    def add(self, candidate: Candidate) -> None:
        """Let one more go."""
        self.chosen.append(candidate)
        self.priorities.append(max(self.priorities[-1], candidate.member.priority))
        self._count(candidate, 1)

    def drop(self) -> None:
        """Let the last of them stay."""
        self.priorities.pop()
        self._count(self.chosen.pop(), -1)

    def _count(self, candidate: Candidate, times: int) -> None:
        """Count one who goes, or who stays after all."""
        member = candidate.member
        count = len(candidate.parts) or 1
        self.victims += times * count
        self.own += times * count * candidate.own
        self.guarded += times * candidate.guarded
        for budget in member.budgets:
            before = self._left[budget]
            self._left[budget] = after = before - times
            self.broken += max(0, -after) - max(0, -before)
        parts = self._parts.get(member.key) or self._parts_of(member)
        for place, amount in parts.takes:
            self.taken[place] += times * amount
        for place, amount, bound in parts.counts:
            before = parts.own_used[place]
            parts.own_used[place] = after = before - times * amount
            if bound is not None:
                self._unused[place] += max(0, bound - after) - max(0, bound - before)
        for quota, used, bounds in parts.above:
            for place, amount, _ in parts.counts:
                used[place] -= times * amount
            if bounds is not None:
                self._push(quota, used, bounds, times)

    def _push(self, quota: int, used: list[int], bounds: Sequence[tuple[int, int]], times: int) -> None:
        """Count a quota that gives somebody, whether it is below what is its own then."""
        before = self._below[quota]
        number = abs(before) + times
        is_below = False
        if number:
            for place, most in bounds:
                if used[place] < most:
                    is_below = True
                    break
        self._below[quota] = -number if is_below else number
        self.below += is_below - (before < 0)

    def _parts_of(self, member: Member) -> _Parts:
        takes = [(self._place[name], amount) for name, amount in member.takes.items() if amount]
        if member.quota == NO_QUOTA:
            found = _Parts(takes, [], [], [])
        else:
            book = self._rules.book
            least = book.own_mins[member.quota] if self._nos[member.quota] else (None,) * len(member.amounts)
            counts = [
                (place, amount, bound)
                for place, (amount, bound) in enumerate(zip(member.amounts, least, strict=True))
                if amount
            ]
            above = [
                (quota, self._used[quota], None if quota in self._in_claim else self._bounds_of(quota))
                for quota in book.chains[member.quota]
            ]
            found = _Parts(takes, counts, self._own_used[member.quota], above)
        self._parts[member.key] = found
        return found

    def _bounds_of(self, quota: int) -> list[tuple[int, int]]:
        return [(place, most) for place, most in enumerate(self._promised[quota]) if most is not None]

    def cost(self) -> Cost:
        """Return what those chosen cost."""
        members = [each for chosen in self.chosen for each in chosen.members]
        share = max((one * two for one, two in zip(self.taken, self.weights, strict=True)), default=0)
        return Cost(
            self.own,
            self.below,
            self.guarded,
            self.broken,
            len(members),
            Fraction(share, self.whole),
            self.priorities[-1],
            tuple(sorted(-each.created_seconds for each in members)),
            tuple(sorted(each.key for each in members)),
        )
