"""The best legal set of victims for one workload: exact, with a certificate, or the best found with a bound.

A set is legal if each victim, lowest priority and last in label order first, may be taken on the state left
by those before it. Adding victims never makes an illegal set legal and never makes a set better, so a search
that adds one victim at a time may cut both. The hard thing is the rule against taking turns (mode nos): a set
that makes enough room may fall to it while a larger one does not, so such sets are extended further.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.rights import Claim, Refusal, Rules
from ullage.engine.quota.victim_gangs import NO_GANGS, Gangs
from ullage.engine.quota.victim_order import candidates_of
from ullage.engine.quota.victim_search import Needs, NodeSearch
from ullage.engine.quota.victim_tally import Candidate, Cost, Tally

STEPS_MAX: Final = 200_000
"""How many steps a search makes before it settles for the best it has: one is one candidate looked at."""

USELESS_MAX: Final = 14
"""Up to how many members that free nothing needed are tried as well, where only they could help."""

DIVES_MAX: Final = 32
"""Nodes for which a good set is looked for before all sets are."""


class Found(NamedTuple):
    """The best set that was found and the node it makes room on; `proven` if no other can be better.

    Else no set has fewer victims than `victims_min`.
    """

    victims: tuple[Member, ...]
    node: str
    cost: Cost
    proven: bool
    victims_min: int = 1


class Nodes(NamedTuple):
    """Where a workload could go: what is free on each node, and whether more than room stands against it."""

    free: Mapping[str, Mapping[str, int]]
    capacity: Mapping[str, int]
    verify: Callable[[str, Sequence[Member]], bool] = lambda _node, _victims: True


class Search(NamedTuple):
    """What came of a search: the best set if any, whether turns would have been taken by some, its steps."""

    found: Found | None
    turns: bool
    proven: bool
    steps: int = 0


class _Shortage(NamedTuple):
    """Something that quotas lack, by how much, and how much of it each candidate gives back, by key."""

    short: int
    place: int
    given: Mapping[str, int]


class Victims:
    """A search for the victims of one claim of one member over all nodes that may have it."""

    def __init__(
        self,
        rules: Rules,
        claim: Claim,
        nodes: Nodes,
        *,
        budgets: Sequence[int] = (),
        gangs: Gangs = NO_GANGS,
        steps_max: int = STEPS_MAX,
    ) -> None:
        self._rules = rules
        self._standing = rules.standing
        self._claim = claim
        self._nodes = nodes
        self._budgets = budgets
        self._gangs = gangs
        self._left = self._steps_max = steps_max
        self._used_before = [list(used) for used in self._standing.used]
        self._best: Found | None = None
        self._turns = False
        self._cut_short = False
        self._more_than_room = False
        self._node = ""

    def best(self, candidates: Sequence[Member], start: Found | None = None) -> Search:
        """Return the best legal set out of these running members; `start` is one that is known."""
        self._best = start
        found = candidates_of(self._rules, self._claim, candidates, self._gangs)
        self._tally = self._tally_of(found)
        least = self._look(found)
        told_apart = [each._replace(kind=place) for place, each in enumerate(found)]
        if self._more_than_room and found != told_apart:
            self._look(told_apart)
        proven = not self._cut_short and self._left > 0
        steps = self._steps_max - self._left
        if self._best is None:
            return Search(None, self._turns, proven, steps)
        least = len(self._best.victims) if proven else least
        return Search(self._best._replace(proven=proven, victims_min=least), self._turns, proven, steps)

    def _look(self, candidates: list[Candidate]) -> int:
        """Look at all nodes, those that need few victims first; return how many go at least."""
        shortages = [
            self._shortage(each, candidates)
            for each in self._rules.refusals(self._claim.quota, self._claim.amounts)
        ]
        searches: list[tuple[int, str, NodeSearch, list[int]]] = []
        on_node: dict[str, list[int]] = {}
        for place, each in enumerate(candidates):
            for node in {one.node for one in each.members}:
                on_node.setdefault(node, []).append(place)
        helpful = [any(each.given[candidate.member.key] for each in shortages) for candidate in candidates]
        anywhere = {place for place, helps in enumerate(helpful) if helps}
        for node in self._nodes.free:
            rooms = self._room(node)
            here = on_node.get(node, [])
            given = {name: [candidates[place].gives_on(node, name) for place in here] for name in rooms}
            if any(sum(given[name]) < short for name, short in rooms.items()):
                continue
            gives = {place for number, place in enumerate(here) if any(given[name][number] for name in rooms)}
            useful = sorted(anywhere | gives)
            search = self._search(node, rooms, shortages, [candidates[place] for place in useful])
            least = search.victims_min()
            if least is not None:
                searches.append((least, node, search, useful))
        searches.sort(key=lambda each: each[:2])
        for _, node, search, _ in searches[:DIVES_MAX]:
            self._run(node, search, search.dive)
        for _, node, search, useful in searches:
            self._run(node, search, search.run)
            if search.fell:
                self._look_with_useless(node, shortages, candidates, useful)
        return max(1, searches[0][0]) if searches else 1

    def _look_with_useless(
        self,
        node: str,
        shortages: Sequence[_Shortage],
        candidates: Sequence[Candidate],
        useful: Iterable[int],
    ) -> None:
        """Look once more with those that free nothing needed, where a set that is enough fell to a rule."""
        useless = len(candidates) - len(set(useful))
        if useless > USELESS_MAX:
            self._cut_short = True
        elif useless:
            search = self._search(node, self._room(node), shortages, candidates)
            self._run(node, search, search.run)

    def _run(self, node: str, search: NodeSearch, look: Callable[[], None]) -> None:
        self._node = node
        search.work_left = self._left
        look()
        self._left = search.work_left

    def _search(
        self,
        node: str,
        rooms: Mapping[str, int],
        shortages: Sequence[_Shortage],
        candidates: Sequence[Candidate],
    ) -> NodeSearch:
        given = [
            (
                *(each.gives_on(node, name) for name in rooms),
                *(shortage.given[each.member.key] for shortage in shortages),
            )
            for each in candidates
        ]
        needs = Needs(
            (*rooms.values(), *(each.short for each in shortages)),
            given,
            (*(self._tally.room_place(name) for name in rooms), *(-1 for _ in shortages)),
            (*(self._place_of(name, candidates) for name in rooms), *(each.place for each in shortages)),
        )
        return NodeSearch(self._tally, candidates, needs, self._accepts, lambda: self._cost_known)

    def _place_of(self, name: str, candidates: Sequence[Candidate]) -> int:
        """Return where quotas count a resource of nodes; -1 where they count it in another way."""
        resources = self._rules.book.resources
        place = resources.index(name) if name in resources else -1
        members = (each.member for each in candidates if not each.own)
        return place if all(each.takes.of(name) <= each.amounts[place] for each in members) else -1

    @property
    def _cost_known(self) -> Cost | None:
        return self._best.cost if self._best else None

    def _room(self, node: str) -> dict[str, int]:
        """Return what is short on a node."""
        free = self._nodes.free[node]
        wanted = self._claim.members[0].takes.items()
        short = {name: amount - free.get(name, 0) for name, amount in wanted if amount}
        return {name: lack for name, lack in short.items() if lack > 0}

    def _shortage(self, refusal: Refusal, candidates: Sequence[Candidate]) -> _Shortage:
        place, book = refusal.resource, self._rules.book
        if refusal.barrier == "sum-of-min":
            within = frozenset(book.nos_places)
        else:
            within = frozenset(quota for quota, chain in enumerate(book.chains) if refusal.quota in chain)
        members = (each.member for each in candidates)
        return _Shortage(
            refusal.short,
            place,
            {each.key: each.amounts[place] if each.quota in within else 0 for each in members},
        )

    def _tally_of(self, candidates: Sequence[Candidate]) -> Tally:
        taken = (name for each in candidates for name in each.member.takes)
        asked = self._claim.members[0].takes
        capacity = {name: self._nodes.capacity.get(name) or 1 for name in (*taken, *asked)}
        return Tally(self._rules, self._claim, capacity, self._budgets, self._gangs)

    def _accepts(self) -> bool:
        """Whether the chosen set may be it, or no larger one is better; the best is kept."""
        cost = self._tally.cost()
        if self._best is not None and (cost, self._node) >= (self._best.cost, self._best.node):
            return True
        members = [each for chosen in self._tally.chosen for each in chosen.members]
        if not self._is_allowed(members):
            return False
        self._best = Found(tuple(sorted(members, key=lambda each: each.key)), self._node, cost, proven=False)
        return True

    def _is_allowed(self, chosen: Sequence[Member]) -> bool:
        """Whether nothing but room stands against a set that makes enough of it."""
        standing = self._standing
        member = self._claim.members[0]._replace(node=self._node)
        for victim in chosen:
            standing.remove(victim)
        is_outranked = self._is_outranked()
        standing.add(member)
        try:
            if not self._ends_in_bounds(chosen):
                return False
            if is_outranked or self._could_come_back(member):
                self._turns = True
                return False
        finally:
            standing.remove(member)
            for victim in chosen:
                standing.add(victim)
        if self._nodes.verify(self._node, chosen):
            return True
        self._more_than_room = True
        return False

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

    def _kinds(self) -> list[tuple[Member, ...]]:
        """Return the chosen in mode nos, one of each kind."""
        modes = self._rules.book.modes
        kinds = {
            (victim.quota, victim.amounts, min(each.priority for each in chosen.members)): chosen.members
            for chosen in self._tally.chosen
            if (victim := chosen.member).quota != NO_QUOTA and modes[victim.quota] == "nos"
        }
        return list(kinds.values())

    def _could_come_back(self, newcomer: Member) -> bool:
        """Whether a victim in mode nos could take the newcomer in its turn, room on nodes left aside."""
        return any(
            self._rules.may_be_taken(newcomer, self._rules.claim(members), newest=newcomer)
            for members in self._kinds()
        )

    def _is_outranked(self) -> bool:
        """Whether a victim of the claim's own quota has a better right than it, once it has gone."""
        return any(
            self._rules.is_outranked(self._claim, members)
            for members in self._kinds()
            if members[0].quota == self._claim.quota
        )
