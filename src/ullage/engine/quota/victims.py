"""The best legal set of victims for one workload: exact, with a certificate, or the best found with a bound.

A set is legal if each victim, lowest priority and last in label order first, may be taken on the state left
by those before it. Adding victims never makes an illegal set legal and never makes a set better, so a search
that adds one victim at a time may cut both. The hard thing is the rule against taking turns (mode nos): a set
that makes enough room may fall to it while a larger one does not, so such sets are extended further.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Member, Terms
from ullage.engine.quota.rights import Claim, Refusal, Rules
from ullage.engine.quota.standing import OVER_QUOTA

STEPS_MAX: Final = 200_000
"""How many sets a search looks at before it settles for the best it has."""

USELESS_MAX: Final = 14
"""Up to how many members that free nothing needed are tried as well, where only they could help."""


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


class Found(NamedTuple):
    """The best set that was found and the node it makes room on; `proven` if no other can be better."""

    victims: tuple[Member, ...]
    node: str
    cost: Cost
    proven: bool


class Nodes(NamedTuple):
    """Where a workload could go: what is free on each node, and whether more than room stands against it."""

    free: Mapping[str, Mapping[str, int]]
    capacity: Mapping[str, int]
    verify: Callable[[str, Sequence[Member]], bool] = lambda _node, _victims: True


class Search(NamedTuple):
    """What came of a search: the best set if any, and whether turns would have been taken by some."""

    found: Found | None
    turns: bool
    proven: bool


class _Need(NamedTuple):
    """Something short, by how much, and how much of it a member gives back."""

    short: int
    given: Callable[[Member], int]


class Victims:
    """A search for the victims of one claim of one member over all nodes that may have it."""

    def __init__(
        self,
        rules: Rules,
        claim: Claim,
        nodes: Nodes,
        *,
        budgets: Sequence[int] = (),
        steps_max: int = STEPS_MAX,
    ) -> None:
        self._rules = rules
        self._standing = rules.standing
        self._claim = claim
        self._nodes = nodes
        self._budgets = budgets
        self._left = steps_max
        self._used_before = [list(used) for used in self._standing.used]
        self._promised: list[Terms] = [
            rules.bound_of(quota, "min") for quota in range(len(rules.book.quotas))
        ]
        self._labels = {
            key: label
            for quota in range(len(rules.book.quotas))
            for key, label in self._standing.labels(quota).items()
        }
        self._kinds: dict[str, tuple[object, ...]] = {}
        self._best: Found | None = None
        self._turns = False
        self._cut_short = False

    def best(self, candidates: Sequence[Member]) -> Search:
        """Return the best legal set out of these running members."""
        candidates = sorted(
            (each for each in candidates if self._rules.may_be_taken(each, self._claim)), key=self._preference
        )
        self._kinds = self._kinds_of(candidates)
        refusals = self._rules.refusals(self._claim.quota, self._claim.amounts)
        quota_needs = [self._quota_need(each) for each in refusals]
        places = range(len(candidates))
        anywhere = {place for place in places if any(need.given(candidates[place]) for need in quota_needs)}
        on_node: dict[str, set[int]] = {}
        for place in places:
            on_node.setdefault(candidates[place].node, set()).add(place)
        for node in self._nodes.free:
            needs = [*self._room_needs(node), *quota_needs]
            here = {
                place
                for place in on_node.get(node, ())
                if any(need.given(candidates[place]) for need in needs)
            }
            useful = sorted(anywhere | here)
            if self._try(node, needs, [candidates[place] for place in useful]):
                self._try_with_useless(node, needs, candidates, useful)
        proven = not self._cut_short and self._left > 0
        found = self._best._replace(proven=proven) if self._best else None
        return Search(found, self._turns, proven)

    def _try_with_useless(
        self, node: str, needs: "Sequence[_Need]", candidates: Sequence[Member], useful: Sequence[int]
    ) -> None:
        """Look once more with those that free nothing needed, where a set that is enough fell to a rule."""
        useless = sorted(set(range(len(candidates))).difference(useful))
        if len(useless) > USELESS_MAX:
            self._cut_short = True
        elif useless:
            self._try(node, needs, [candidates[place] for place in (*useful, *useless)])

    def _preference(self, member: Member) -> tuple[object, ...]:
        """Return the order in which members are tried: good sets are found early, so that others are cut."""
        return (
            member.quota == self._claim.quota,
            self._labels.get(member.key) != OVER_QUOTA,
            bool(member.budgets),
            member.priority,
            -member.created_seconds,
            member.key,
        )

    def _room_needs(self, node: str) -> Iterator[_Need]:
        free = self._nodes.free[node]
        for resource, amount in self._claim.members[0].takes.items():
            short = amount - free.get(resource, 0)
            if amount and short > 0:
                yield _Need(short, _taken_from(node, resource))

    def _quota_need(self, refusal: Refusal) -> _Need:
        place, chains = refusal.resource, self._rules.book.chains
        if refusal.barrier == "sum-of-min":
            pool = frozenset(self._rules.book.nos_places)
            return _Need(refusal.short, lambda each: each.amounts[place] if each.quota in pool else 0)
        within = frozenset(quota for quota, chain in enumerate(chains) if refusal.quota in chain)
        return _Need(refusal.short, lambda each: each.amounts[place] if each.quota in within else 0)

    def _try(self, node: str, needs: Sequence[_Need], candidates: Sequence[Member]) -> bool:
        """Look at all sets that make room on a node; whether one that is enough fell to another rule."""
        given = [tuple(need.given(each) for need in needs) for each in candidates]
        rest = [tuple(0 for _ in needs)] * (len(candidates) + 1)
        for place in range(len(candidates) - 1, -1, -1):
            rest[place] = tuple(one + more for one, more in zip(given[place], rest[place + 1], strict=True))
        fell = False

        def extend(start: int, chosen: list[Member], short: tuple[int, ...]) -> None:
            nonlocal fell
            self._left -= 1
            if self._left <= 0 or (chosen and not self._is_promising(chosen)):
                return
            if max(short, default=0) <= 0:
                if self._is_allowed(node, chosen):
                    self._keep(node, chosen)
                    return
                fell = True
            skipped: set[tuple[object, ...]] = set()
            for place in range(start, len(candidates)):
                if any(lack > left for lack, left in zip(short, rest[place], strict=True)):
                    return
                member = candidates[place]
                kind = self._kinds[member.key]
                if kind in skipped:
                    continue
                skipped.add(kind)
                after = tuple(lack - more for lack, more in zip(short, given[place], strict=True))
                extend(place + 1, [*chosen, member], after)

        extend(0, [], tuple(need.short for need in needs))
        return fell

    def _kinds_of(self, candidates: Sequence[Member]) -> dict[str, tuple[object, ...]]:
        """Return what makes two members the same for every rule but the last ties: the first of them goes.

        They are alike only where nobody of another kind stands between them, in the order in which they are
        visited and in the order of labels: whose turn comes before decides what is legal.
        """
        alike: dict[str, tuple[object, ...]] = {
            member.key: (
                member.quota,
                member.amounts,
                member.takes,
                member.node,
                member.priority,
                member.budgets,
                self._labels.get(member.key),
            )
            for member in candidates
        }
        counted = [member for member in candidates if member.quota != NO_QUOTA]
        by_label = [member.key for member in sorted(counted, key=self._standing.order_of)]
        visited = [member.key for member in self._in_visiting_order(counted)]
        kinds = dict(alike)
        for order in (by_label, visited):
            run = 0
            for place, key in enumerate(order):
                run += place > 0 and alike[order[place - 1]] != alike[key]
                kinds[key] += (run,)
        return kinds

    def _in_visiting_order(self, members: Sequence[Member]) -> list[Member]:
        ordered = sorted(members, key=self._standing.order_of, reverse=True)
        return sorted(ordered, key=lambda each: each.priority)

    def _is_promising(self, chosen: Sequence[Member]) -> bool:
        """Whether a set is legal, and could with what is added to it still be the best."""
        if self._best is not None and self._cost(chosen)[:7] > self._best.cost[:7]:
            return False
        return self._is_legal(chosen)

    def _is_legal(self, chosen: Sequence[Member]) -> bool:
        standing = self._standing
        counted = [each for each in chosen if each.quota != NO_QUOTA]
        taken: list[Member] = []
        try:
            for victim in self._in_visiting_order(counted):
                if not self._rules.may_be_taken(victim, self._claim):
                    return False
                standing.remove(victim)
                taken.append(victim)
        finally:
            for victim in taken:
                standing.add(victim)
        return True

    def _is_allowed(self, node: str, chosen: Sequence[Member]) -> bool:
        """Whether nothing but room stands against a set that makes enough of it."""
        standing = self._standing
        member = self._claim.members[0]._replace(node=node)
        for victim in chosen:
            standing.remove(victim)
        standing.add(member)
        try:
            if not self._ends_in_bounds(chosen):
                return False
            if any(self._could_come_back(victim, member) for victim in chosen):
                self._turns = True
                return False
        finally:
            standing.remove(member)
            for victim in chosen:
                standing.add(victim)
        return self._nodes.verify(node, chosen)

    def _ends_in_bounds(self, chosen: Sequence[Member]) -> bool:
        """Whether quotas of the claim that gave victims end within their entitlement, or their use before."""
        book = self._rules.book
        if self._claim.quota == NO_QUOTA:
            return True
        gave = {quota for victim in chosen if victim.quota != NO_QUOTA for quota in book.chains[victim.quota]}
        for quota in book.chains[self._claim.quota]:
            if quota in gave and book.modes[quota] == "fair":
                for after, before, most in zip(
                    self._standing.used[quota],
                    self._used_before[quota],
                    self._rules.entitlements[quota],
                    strict=True,
                ):
                    if most is not None and after > max(most, before):
                        return False
        return True

    def _could_come_back(self, victim: Member, newcomer: Member) -> bool:
        """Whether a victim in mode nos could take the newcomer in its turn, room on nodes left aside."""
        if victim.quota == NO_QUOTA or self._rules.book.modes[victim.quota] != "nos":
            return False
        return self._rules.may_be_taken(newcomer, self._rules.claim([victim]), newest=newcomer)

    def _keep(self, node: str, chosen: Sequence[Member]) -> None:
        cost = self._cost(chosen)
        if self._best is None or (cost, node) < (self._best.cost, self._best.node):
            ordered = tuple(sorted(chosen, key=lambda each: each.key))
            self._best = Found(ordered, node, cost, proven=False)

    def _cost(self, chosen: Sequence[Member]) -> Cost:
        under: dict[int, int] = {}
        taken: dict[str, int] = {}
        lowered: dict[int, list[int]] = {}
        for victim in chosen:
            for budget in victim.budgets:
                under[budget] = under.get(budget, 0) + 1
            for resource, amount in victim.takes.items():
                taken[resource] = taken.get(resource, 0) + amount
            for quota in self._rules.book.chains[victim.quota] if victim.quota != NO_QUOTA else ():
                used = lowered.setdefault(quota, list(self._used_before[quota]))
                for place, amount in enumerate(victim.amounts):
                    used[place] -= amount
        own = self._claim.quota
        return Cost(
            sum(victim.quota == own for victim in chosen),
            sum(self._ends_below(quota, used) for quota, used in lowered.items()),
            sum(
                victim.quota not in (own, NO_QUOTA) and self._labels[victim.key] != OVER_QUOTA
                for victim in chosen
            ),
            sum(max(0, number - self._budgets[budget]) for budget, number in under.items()),
            len(chosen),
            max(
                (Fraction(amount, self._nodes.capacity.get(name) or 1) for name, amount in taken.items()),
                default=Fraction(0),
            ),
            max(victim.priority for victim in chosen),
            tuple(sorted(-victim.created_seconds for victim in chosen)),
            tuple(sorted(victim.key for victim in chosen)),
        )

    def _ends_below(self, quota: int, used: Sequence[int]) -> bool:
        """Whether a quota that gave victims, other than the claim's, ends below what is its own."""
        if self._claim.quota != NO_QUOTA and quota in self._rules.book.chains[self._claim.quota]:
            return False
        return any(
            most is not None and after < most for after, most in zip(used, self._promised[quota], strict=True)
        )


def _taken_from(node: str, resource: str) -> Callable[[Member], int]:
    return lambda member: member.takes.of(resource) if member.node == node else 0
