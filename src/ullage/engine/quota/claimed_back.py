"""Who goes, and after how much, when a quota claims more and more of one resource: by the rules of decisions.

Claims are as small as can be, one unit after the other, so each takes one workload: the one that costs least
of those that may be taken on the state that the claims before have left. Room on nodes is one pool here, and
nobody could take the place of one unit back at once, so that rule is not asked. The hard thing is that every
claim moves the rules: use, guarantees, shares and labels are those of the moment. Where gangs run, each claim
is a search as decisions make it, for a claim may then take several at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Member, plus, within
from ullage.engine.quota.candidate_line import CandidateLine
from ullage.engine.quota.claim_needs import Need, needs_of
from ullage.engine.quota.claimable import everything
from ullage.engine.quota.claimed_gangs import NONE_RUN, ByGang, ClaimedGangs, Pool
from ullage.engine.quota.rights import Claim, Rules
from ullage.engine.quota.room import quota_room
from ullage.engine.quota.summed_standing import SummedStanding
from ullage.engine.quota.victims import Search, Victims
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import Resources

LOOKS_MAX: Final = 1_000_000
"""How many workloads are looked at for all orders together; after that orders end where they are."""
LOOKS_A_SHARE: Final = 2
"""What a share counts for: in mode fair those of all quotas are found anew for each claim."""
SEARCHED_MAX: Final = 400
"""Workloads that could go up to which single claims are looked at."""
STEPS_MAX: Final = 2_000
"""How many sets are looked at for one claim."""
STEPS_IN_ALL: Final = 40_000
"""How many are for all of them together; after that single claims take nobody."""
SEARCHES_COST: Final = 200_000
"""What the searches for orders cost in all, each its steps and those who could go; after that they end. Where
it could not be enough, orders are found without searches."""
NO_LIMIT: Final = INT64_MAX >> 2
"""What is claimed beyond this is taken to have no bound."""


Takes = tuple[tuple[str, int], ...]


class Gone(NamedTuple):
    """A workload that goes when more is claimed than `claimed_first`; `claimants` have claimed by then.

    Where all ask for their share at once, all of them are claimants: what one asks for is part of it.
    """

    member: Member
    claimed_first: int
    claimants: tuple[int, ...]


class Order(NamedTuple):
    """Who goes in order; `has_right` if claims ended with nobody left to take, not for want of a right."""

    gone: tuple[Gone, ...]
    has_right: bool


class ClaimedBack:
    """Claims on one standing, which is as it was after each question; `room` is what nodes have left."""

    def __init__(
        self,
        rules: Rules,
        waiting: Iterable[Member],
        capacity: Mapping[str, int],
        *,
        room: Mapping[str, int],
        candidates: Iterable[Member],
        budgets: Sequence[int] = (),
        gangs: ByGang = NONE_RUN,
        looks_max: int = LOOKS_MAX,
    ) -> None:
        self._standing = SummedStanding(rules.standing)
        self.rules = Rules(self._standing, rules.entitlements)
        self.room = room
        self.budgets = budgets
        self._fair = "fair" in rules.book.modes
        self._capacity = capacity
        self._waiting = tuple(waiting)
        self._looks = looks_max
        self._steps = STEPS_IN_ALL
        self._cost_left = SEARCHES_COST
        counted = [each for each in candidates if each.quota != NO_QUOTA]
        self.gangs = ClaimedGangs(gangs, counted)
        likely_cost = len(counted) ** 2 * len(rules.book.quotas)
        self.searches = bool(self.gangs) and len(counted) <= SEARCHED_MAX and likely_cost <= SEARCHES_COST
        self._guessed = bool(self.gangs) and not self.searches
        if self._guessed:
            counted = self.gangs.may_go(counted)
        known: dict[Takes, Fraction] = {}
        self.candidates = sorted(
            counted,
            key=lambda each: (
                self._share(tuple(each.takes.items()), known),
                each.priority,
                -each.created_seconds,
                each.key,
            ),
        )
        self.places = {member.key: place for place, member in enumerate(self.candidates)}
        self.kinds: dict[int, list[Member]] = {}
        """Workloads that count the same, by the place of the first of them, in the order in which they go."""
        self.kind_of: dict[str, int] = {}
        self.lowest: dict[int, Member] = {}
        """Who has the lowest priority in each quota."""
        firsts: dict[tuple[object, ...], int] = {}
        for place, member in enumerate(self.candidates):
            kind = firsts.setdefault((member.quota, member.amounts, member.budgets), place)
            self.kinds.setdefault(kind, []).append(member)
            self.kind_of[member.key] = kind
            if member.priority < self.lowest.setdefault(member.quota, member).priority:
                self.lowest[member.quota] = member

    def _share(self, takes: Takes, known: dict[Takes, Fraction]) -> Fraction:
        """Return the largest part of the cluster that is taken; many take the same."""
        found = known.get(takes)
        if found is None:
            parts = (Fraction(amount, self._capacity.get(name) or 1) for name, amount in takes)
            found = known[takes] = max(parts, default=Fraction(0))
        return found

    @property
    def cut_short(self) -> bool:
        """Whether some orders may go on beyond where they end, or not all single claims were looked at."""
        return self._looks <= 0 or self._steps <= 0 or self._cost_left <= 0 or self._guessed

    def order(
        self,
        claimants: Sequence[int],
        resource: int,
        until: frozenset[str] = frozenset(),
        *,
        own: bool = False,
    ) -> Order:
        """Return who goes when quotas, one after the other, claim as much of a resource as they can.

        With `own` all of them ask from the start, and claim only what is theirs: within their min, or their
        share. The order may end once all of `until` have gone.
        """
        asking = [everything(self.rules.book, quota, self._capacity) for quota in claimants] if own else ()
        state = _State(self, resource, until, asking)
        try:
            has_right = False
            for number, quota in enumerate(claimants, 1):
                if state.is_done:
                    break
                needed = claimants if own and self._fair else claimants[:number]
                has_right |= state.claim_all(quota, tuple(needed), own=own)
            return Order(tuple(state.gone), has_right)
        finally:
            state.undo()

    def by_one(self, quota: int, resource: int, amount: int) -> frozenset[str]:
        """Return whom one claim of so much takes, found as decisions find them."""
        state = _State(self, resource)
        free = state.free(quota)
        if free is None or amount <= free or self._steps <= 0 or len(self.candidates) > SEARCHED_MAX:
            return frozenset()
        claim, rules = state.claim(quota, amount)
        search = self._search(claim, rules, self.candidates, Pool(self.room, self.budgets))
        self._steps -= search.steps + 1
        return frozenset(each.key for each in search.found.victims) if search.found else frozenset()

    def searched(self, claim: Claim, rules: Rules, pool: Pool) -> list[Member]:
        """Return whom a claim takes of other quotas; nobody where searches have cost too much."""
        if self._cost_left <= 0:
            return []
        others = [each for each in self.candidates if each.quota != claim.quota]
        search = self._search(claim, rules, others, pool)
        self._cost_left -= search.steps + len(others) + 1
        victims = search.found.victims if search.found else ()
        return [self.candidates[self.places[each.key]] for each in victims]

    def _search(self, claim: Claim, rules: Rules, candidates: Sequence[Member], pool: Pool) -> Search:
        nodes, there = pool.for_claim(claim, rules.book, candidates, self._capacity)
        gangs = self.gangs.left(there, pool.gone)
        search = Victims(rules, claim, nodes, budgets=pool.budgets, gangs=gangs, steps_max=STEPS_MAX)
        return search.best(there)

    def look(self) -> bool:
        """Count a look; whether there are some left."""
        self._looks -= 1
        return self._looks > 0

    def claims_on(self) -> bool:
        """Count what one claim more costs before anybody is looked at; whether that is left."""
        self._looks -= LOOKS_A_SHARE * len(self.rules.book.quotas) if self._fair else 1
        return self._looks > 0

    def rules_with(self, asking: Sequence[Member]) -> Rules:
        """Return the rules where these ask beside all who wait."""
        if not self._fair:
            return self.rules
        waiting = (*self._waiting, *asking)
        return Rules(self._standing, self._standing.entitlements(waiting, self._capacity))


class _State:
    """The standing while claims of one resource go on."""

    def __init__(
        self,
        back: ClaimedBack,
        resource: int,
        until: frozenset[str] = frozenset(),
        asking: Sequence[Member] = (),
    ) -> None:
        self._back = back
        self._standing = back.rules.standing
        self._book = back.rules.book
        self._resource = resource
        self._name = self._book.resources[resource]
        self._room = dict(back.room)
        self._left = list(back.budgets)
        self._entered: list[Member] = []
        self._taken: dict[str, Member] = {}
        self._waits: dict[int, Member] = {}
        self._above = CandidateLine(back.kinds, back.places)
        self._inside = CandidateLine({}, back.places)
        """Who is within the min of its quota: one that was above it once and is not any more stays so."""
        self._claimed = 0
        self._until = until
        self._asking = tuple(asking)
        self.gone: list[Gone] = []

    @property
    def is_done(self) -> bool:
        """Whether all have gone who are asked about."""
        return bool(self._until) and self._until <= self._taken.keys()

    def undo(self) -> None:
        """Leave the standing as it was."""
        for member in self._entered:
            self._standing.remove(member)
        for member in self._taken.values():
            self._standing.add(member)

    def free(self, quota: int) -> int | None:
        """Return how much a quota finds of the resource without an eviction; None where nothing bounds it."""
        return quota_room(self._back.rules, quota, self._room).admitted[self._resource]

    def claim(self, quota: int, amount: int) -> tuple[Claim, Rules]:
        """Return a claim of so much as things stand, and the rules while it asks."""
        amounts = [0] * len(self._book.resources)
        amounts[self._resource] = amount
        takes = Resources({self._name: amount})
        key = f"#claim-{len(self._entered)}"
        asking = Member(key, quota, tuple(amounts), takes, created_seconds=INT64_MAX)
        rules = self._back.rules_with((*self._asking, *self._waits.values(), asking))
        return rules.claim([asking]), rules

    def claim_all(self, quota: int, claimants: tuple[int, ...], *, own: bool) -> bool:
        """Claim until nobody goes any more; whether the right to more is left.

        Where more is in use than bounds allow, a claim takes several: they go together or not at all.
        """
        together: list[Gone] = []
        while True:
            free = self.free(quota)
            if free is None or free >= NO_LIMIT or not self._back.claims_on():
                return True
            amount = self._own_left(quota, free) if own else free
            if amount:
                self._enter(self.claim(quota, amount)[0].members[0])
            claim, rules = self.claim(quota, 1)
            if claim.right is None or (own and claim.right == "guaranteed"):
                return False
            victims, is_enough = self._victims(claim, rules)
            if not victims:
                return True
            together += [Gone(victim, self._claimed, claimants) for victim in victims]
            for victim in victims:
                self._take(victim)
            if is_enough:
                self.gone += together
                if self.is_done:
                    return True
                together = []
                self._enter(claim.members[0])

    def _victims(self, claim: Claim, rules: Rules) -> tuple[Sequence[Member], bool]:
        """Return who goes next for a claim, with their gangs, and whether that is enough for it."""
        if self._back.searches:
            return self._back.searched(claim, rules, Pool(self._room, self._left, self._taken)), True
        enough = self.cheapest(claim, rules)
        victim = enough or self.cheapest(claim, rules, partly=True)
        if victim is None:
            return (), False
        return (victim, *self._back.gangs.dragged(victim, self._taken)), enough is not None

    def _own_left(self, quota: int, asked: int) -> int:
        """Return how much of what a quota asks for is within its min, or its share."""
        if self._book.modes[quota] == "nos":
            most, used = self._book.own_mins[quota], self._standing.own_used[quota]
        else:
            most, used = self.claim(quota, asked)[1].entitlements[quota], self._standing.used[quota]
        bound = most[self._resource]
        return asked if bound is None else min(asked, max(0, bound - used[self._resource]))

    def _enter(self, member: Member) -> None:
        amount = member.amounts[self._resource]
        self._standing.add(member)
        self._entered.append(member)
        self._claimed += amount
        if self._name in self._room:
            self._room[self._name] -= amount

    def _take(self, victim: Member) -> None:
        self._standing.remove(victim)
        self._taken[victim.key] = victim
        kind = self._back.kind_of[victim.key]
        (self._above if self._above.has(kind, victim) else self._inside).remove(kind, victim)
        waits = self._waits.get(victim.quota, victim._replace(amounts=(0,) * len(victim.amounts)))
        amounts = tuple(plus(waits.amounts, victim.amounts))
        self._waits[victim.quota] = waits._replace(amounts=amounts)
        for budget in victim.budgets:
            self._left[budget] = max(0, self._left[budget] - 1)
        if self._name in self._room:
            self._room[self._name] += victim.amounts[self._resource]

    def cheapest(self, claim: Claim, rules: Rules, *, partly: bool = False) -> Member | None:
        """Return the one workload that is enough for a claim, may be taken for it, and costs least.

        One that is `partly` enough gives some of something that is short. Kinds are looked at in the order
        of size, until none of the others could cost less.
        """
        left = self._room.get(self._name, INT64_MAX)
        needs = needs_of(claim, rules, self._resource, left)
        closed: dict[int, bool] = {claim.quota: True}
        found: tuple[tuple[int, int, int, int], Member] | None = None
        for is_inside, line in enumerate((self._above, self._inside)):
            for place, kind in line.kinds():
                if found is not None and found[0] <= (0, is_inside, 0, place):
                    break
                first = line.first(kind)
                if first.quota not in closed:
                    closed[first.quota] = self._is_closed(first.quota, claim, rules)
                if closed[first.quota] or not self._back.look():
                    continue
                if not self._gives(first, needs, partly=partly):
                    continue
                below, broken = self._cost(first, claim, rules)
                member = first if is_inside else self._first_above(kind)
                if member is None or not rules.may_be_taken(member, claim):
                    continue
                cost = (below, is_inside, broken, self._back.places[member.key])
                if found is None or cost < found[0]:
                    found = cost, member
        return found[1] if found is not None else None

    def _gives(self, member: Member, needs: Sequence[Need], *, partly: bool) -> bool:
        """Whether a workload gives what is short, or partly some of it."""
        given = [(need.given_by(member, self._book), need.short) for need in needs]
        return any(gives > 0 for gives, _ in given) and (
            partly or all(gives >= lack for gives, lack in given)
        )

    def _first_above(self, kind: int) -> Member | None:
        """Return who goes first of a kind of those above the min of their quota; others are told apart."""
        while kind in self._above:
            first = self._above.first(kind)
            if self._standing.is_over_quota(first) or not self._back.look():
                return first
            self._above.remove(kind, first)
            if self._book.modes[first.quota] == "fair":
                self._inside.add(kind, first)
        return None

    def _is_closed(self, quota: int, claim: Claim, rules: Rules) -> bool:
        """Whether nobody of a quota may be taken, whatever its label is."""
        if self._book.modes[quota] == "fair":
            return not rules.may_be_taken(self._back.lowest[quota], claim)
        return within(self._standing.own_used[quota], rules.bound_of(quota, claim.right))

    def _cost(self, member: Member, claim: Claim, rules: Rules) -> tuple[int, int]:
        """Return what weighs before size beside labels: quotas pushed below their own, budgets broken."""
        below = 0
        for quota in self._book.chains[member.quota]:
            if quota not in self._book.chains[claim.quota]:
                own = rules.bound_of(quota, "min")
                below += any(
                    most is not None and used - amount < most
                    for used, amount, most in zip(
                        self._standing.used[quota], member.amounts, own, strict=True
                    )
                )
        return below, sum(self._left[budget] <= 0 for budget in member.budgets)
