"""Who is evicted when owners claim back what they lend: in which order, and after how much.

The order is that of claims as small as can be, by each quota that may claim: it may differ from one to the
other, so every place in it says whose claims it is about. Whom small claims of a quota do not reach, one
large claim may: it takes one workload of its size rather than several small ones. What no quota reaches alone
is looked for by all together. Who has not run for the minimum is in no order now; its places are those of the
order once everybody may go.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, Amounts, Member, Terms
from ullage.engine.quota.claimable import claimable, everything, evicts
from ullage.engine.quota.claimed_back import LOOKS_MAX, NO_LIMIT, ClaimedBack
from ullage.engine.quota.claimed_gangs import NONE_RUN, ByGang
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.room import quota_room
from ullage.engine.quota.shares import unused
from ullage.engine.quota.single_claims import single_claims
from ullage.model.quantity import INT64_MAX

NOBODY_SPARED: Final[Mapping[str, int]] = {}

LATER_LOOKS_MAX: Final = 50_000
"""How many are looked at for what a preview leaves behind: whoever asks it waits for the answer."""
Way = Literal["in-order", "together", "one-claim"]
"""Whose claims take a workload: small ones of each claimant, of all claimants one after the other, or one
claim that is larger than what is claimed first."""
Outcome = Literal["claimable", "too-little", "within-bounds", "frees-nothing"]
"""Whether it can be claimed now; if not: others may not claim so much, its quota or itself is within what it
is safe for by then, or it holds nothing that owners could claim."""


class Going(NamedTuple):
    """A place in the order: it goes as the `rank`-th of `of` when of something more is claimed than is said.

    `claimed_first` is None for what its claimants do not take it for. One claim knows no order: rank is 0,
    and `claimed_first` what it asks for.
    """

    rank: int
    of: int
    way: Way
    claimants: tuple[int, ...]
    claimed_first: Terms


class PodRisk(NamedTuple):
    """A workload that runs above the min of its quota, or can be claimed all the same.

    One that is spared goes as is said only after so many seconds.
    """

    member: Member
    goes: tuple[Going, ...]
    outcome: Outcome
    is_over_quota: bool = True
    spared_seconds: int = 0


class Claimant(NamedTuple):
    """A quota that could claim: what it finds free, leaves of its min, and may claim at most if alone.

    None where nothing bounds it.
    """

    quota: int
    free: Terms
    within_min: Amounts
    at_most: Terms


class QuotaRisks(NamedTuple):
    """Everybody at risk, in order; `complete` if everything was looked at."""

    claimants: tuple[Claimant, ...]
    pods: tuple[PodRisk, ...]
    complete: bool


def risks(accounts: Accounts) -> QuotaRisks:
    """Return who is at risk in a cluster."""
    return risks_of(accounts).of_all()


def risks_of(accounts: Accounts) -> "Risks":
    """Return the risks of the quotas of a cluster."""
    return Risks(
        accounts.rules,
        accounts.waiting.values(),
        accounts.capacity,
        room=accounts.room,
        evictable=accounts.evictable,
        budgets=[each.allowed for each in accounts.budgets.all],
        spared=accounts.spared,
        gangs=accounts.gangs,
    )


class Risks:
    """The risks of one standing; `room` is what nodes that take workloads have left in all.

    Of those who are evictable some are `spared` for so many seconds.
    """

    def __init__(
        self,
        rules: Rules,
        waiting: Iterable[Member],
        capacity: Mapping[str, int],
        *,
        room: Mapping[str, int],
        evictable: Sequence[Member],
        budgets: Sequence[int] = (),
        spared: Mapping[str, int] = NOBODY_SPARED,
        gangs: ByGang = NONE_RUN,
    ) -> None:
        self._rules = rules
        self._book = rules.book
        self._waiting = tuple(waiting)
        self._capacity = capacity
        self._room = room
        self._evictable = [each for each in evictable if each.quota != NO_QUOTA]
        self._budgets = budgets
        self._spared = spared
        self._gangs = gangs
        self.later_complete = True
        standing = rules.standing
        places = range(len(self._book.quotas))
        self._over = {key for place in places for key in standing.over_quota(place)}
        self._over_gangs = {each.gang for each in self._evictable if each.gang and each.key in self._over}
        exposed = claimable(standing, self._waiting, capacity)
        self._borrowers = {place for place, amounts in enumerate(exposed) if any(amounts)}
        self._borrowers |= {each.quota for each in self._evictable if each.key in self._over}
        self._parents = {place for chain in self._book.chains for place in chain[1:]}
        self._found_claimants: tuple[Claimant, ...] | None = None

    def of_all(self) -> QuotaRisks:
        """Return everybody who is above a min or could be claimed, now or once it has run for the minimum."""
        now = [each for each in self._evictable if each.key not in self._spared]
        pods, complete = self._pods(now)
        if len(now) < len(self._evictable):
            later, all_of_them = self._pods(self._evictable)
            pods += [
                each._replace(spared_seconds=self._spared[each.member.key])
                for each in later
                if each.member.key in self._spared
            ]
            complete = complete and all_of_them
        claimants = self.claimants() if self._evictable else ()
        return QuotaRisks(claimants, tuple(sorted(pods, key=_in_order)), complete)

    def later(self, names: frozenset[str]) -> dict[str, tuple[Going, ...]]:
        """Return the places of some workloads once everybody has run for the minimum."""
        names = frozenset(each.key for each in self._evictable if each.key in names and self._may_go(each))
        if not names:
            return {}
        walks = self._walks(self._evictable, names, LATER_LOOKS_MAX)
        found = walks.places()
        self.later_complete = not walks.back.cut_short
        return {key: places for key, places in found.items() if key in names}

    def _may_go(self, member: Member) -> bool:
        """Whether a claim could take one: in mode nos by its label, in mode fair by the use of its quota.

        In mode nos one goes with its gang as soon as one of it is over-quota. The children of a quota may
        claim from it whatever others could.
        """
        if self._book.modes[member.quota] == "nos":
            return member.key in self._over or member.gang in self._over_gangs
        return member.quota in self._borrowers or member.quota in self._parents

    def _pods(self, candidates: Sequence[Member]) -> tuple[list[PodRisk], bool]:
        walks = self._walks(candidates)
        found = walks.places()
        pods = [
            PodRisk(each, found.get(each.key, ()), walks.outcome(each), each.key in self._over)
            for each in candidates
            if each.key in found or each.key in self._over
        ]
        return pods, not walks.back.cut_short

    def _walks(
        self,
        candidates: Sequence[Member],
        names: frozenset[str] = frozenset(),
        looks_max: int = LOOKS_MAX,
    ) -> "_Walks":
        """Return the orders in which candidates go; with names, as far as these go."""
        back = ClaimedBack(
            self._rules,
            self._waiting,
            self._capacity,
            room=self._room,
            candidates=[each for each in candidates if self._may_go(each)],
            budgets=self._budgets,
            gangs=self._gangs,
            looks_max=looks_max,
        )
        walks = _Walks(back, self.claimants() if candidates else (), names)
        walks.alone()
        walks.one_claim()
        if (names or back.places.keys()) - walks.reached:
            walks.together([each.quota for each in self.claimants() if each.quota not in self._borrowers])
        return walks

    def claimants(self) -> tuple[Claimant, ...]:
        """Return the quotas that could claim something."""
        if self._found_claimants is None:
            places = range(len(self._book.quotas))
            found = (self.claimant(place) for place in places if evicts(self._book, place))
            self._found_claimants = tuple(
                each for each in found if any(most is None or most > 0 for most in each.at_most)
            )
        return self._found_claimants

    def claimant(self, quota: int) -> Claimant:
        """Return how much a quota may claim, by its right and within every max, if others make room there."""
        book, standing = self._book, self._rules.standing
        own = standing.own_used[quota]
        used: Sequence[int] = own
        bound = self._rules.bound_of(quota, "guaranteed")
        if book.modes[quota] == "fair":
            bound, used = self._alone(quota), standing.used[quota]
        at_most = []
        for place, most in enumerate(bound):
            rooms = [
                limit - standing.used[quota][place]
                for above in book.chains[quota]
                if (limit := book.maxes[above][place]) is not None
            ]
            rooms += [] if most is None else [most - used[place]]
            at_most.append(max(0, min(rooms)) if rooms else None)
        free = quota_room(self._rules, quota, self._room).admitted
        return Claimant(quota, free, unused(own, book.own_mins[quota]), tuple(at_most))

    def _alone(self, quota: int) -> Terms:
        """Return what a quota is entitled to if it alone asks for everything."""
        asking = everything(self._book, quota, self._capacity)
        return self._rules.standing.entitlements((*self._waiting, asking), self._capacity)[quota]


class _Key(NamedTuple):
    """A workload that goes at one place for one resource."""

    member: str
    rank: int
    way: Way
    claimed_first: int


class _Walks:
    """The orders of all claimants for all resources, as places of workloads; with `names`, of these."""

    def __init__(
        self, back: ClaimedBack, claimants: Sequence[Claimant], names: frozenset[str] = frozenset()
    ) -> None:
        self.back = back
        self._claimants = claimants
        self._names = names
        self._count = len(back.rules.book.resources)
        self._found: list[dict[_Key, list[int]]] = [{} for _ in range(self._count)]
        self._lengths: dict[tuple[Way, int, int], int] = {}
        self._nobody_left: set[int] = set()
        self._reached_by: dict[int, set[str]] = {}
        self.reached: set[str] = set()

    def alone(self) -> None:
        """Let each quota claim by itself."""
        for claimant, resource, _ in self._claims():
            order = self.back.order([claimant.quota], resource, self._names)
            self._lengths["in-order", claimant.quota, resource] = len(order.gone)
            if order.has_right:
                self._nobody_left.add(resource)
            for rank, gone in enumerate(order.gone, 1):
                key = _Key(gone.member.key, rank, "in-order", gone.claimed_first)
                self._enter(resource, key, claimant.quota)

    def _enter(self, resource: int, key: _Key, quota: int) -> None:
        self._found[resource].setdefault(key, []).append(quota)
        self._reached_by.setdefault(quota, set()).add(key.member)
        self.reached.add(key.member)

    def _claims(self) -> list[tuple[Claimant, int, int]]:
        """Return who may claim more of which resource than is free, and what is."""
        found = []
        for claimant in self._claimants:
            for resource, (free, most) in enumerate(zip(claimant.free, claimant.at_most, strict=True)):
                if free is not None and free < NO_LIMIT and (most is None or most > free):
                    found.append((claimant, resource, free))
        return found

    def one_claim(self) -> None:
        """Look for single claims of each quota that take whom its small ones do not."""
        everyone = self._names or self.back.places.keys()
        in_order = {quota: set(keys) for quota, keys in self._reached_by.items()}
        for claimant, resource, free in self._claims():
            known = set(in_order.get(claimant.quota, ()))
            if known >= everyone:
                continue
            claims = single_claims(self.back, claimant.quota, resource, free, claimant.at_most[resource])
            for amount, taken in claims.items():
                for key in sorted(taken - known):
                    self._enter(resource, _Key(key, 0, "one-claim", amount), claimant.quota)
                known |= taken

    def together(self, quotas: Sequence[int]) -> None:
        """Let quotas claim what is their own, one after the other."""
        for resource in range(self._count):
            order = self.back.order(quotas, resource, self._names, own=True)
            for rank, gone in enumerate(order.gone, 1):
                if gone.member.key not in self.reached:
                    key = _Key(gone.member.key, rank, "together", gone.claimed_first)
                    self._found[resource][key] = list(gone.claimants)
            for quota in quotas:
                self._lengths["together", quota, resource] = len(order.gone)
        self.reached |= {key.member for found in self._found for key in found}

    def places(self) -> dict[str, tuple[Going, ...]]:
        """Return the places of each workload; those of one rank for the same claimants are one."""
        merged: dict[tuple[str, int, Way, tuple[int, ...]], dict[int, int]] = {}
        for resource, found in enumerate(self._found):
            for key, quotas in found.items():
                place = (key.member, key.rank, key.way, tuple(quotas))
                merged.setdefault(place, {})[resource] = key.claimed_first
        places: dict[str, list[Going]] = {}
        for (name, rank, way, claimants), first in merged.items():
            of = max(self._lengths.get((way, quota, each), 0) for quota in claimants for each in first)
            terms = tuple(first.get(resource) for resource in range(self._count))
            places.setdefault(name, []).append(Going(rank, of, way, claimants, terms))
        return {name: tuple(sorted(each)) for name, each in places.items()}

    def outcome(self, member: Member) -> Outcome:
        """Return whether a workload can be claimed, and why it cannot."""
        if member.key in self.reached:
            return "claimable"
        held = {resource for resource, amount in enumerate(member.amounts) if amount}
        asked = {
            resource
            for each in self._claimants
            for resource, most in enumerate(each.at_most)
            if most is None or most > 0
        }
        if asked and not held & asked:
            return "frees-nothing"
        return "within-bounds" if held & self._nobody_left else "too-little"


def _in_order(pod: PodRisk) -> tuple[object, ...]:
    """Return the place of a workload among all: by rank, those in no order last."""
    ranks = [each.rank for each in pod.goes if each.rank]
    first = min(ranks) if ranks else INT64_MAX
    return not pod.goes, pod.spared_seconds > 0, first, pod.member.quota, pod.member.key
