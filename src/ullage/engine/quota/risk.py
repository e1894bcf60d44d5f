"""Who is evicted when owners claim back what they lend: in which order, and after how much.

The order is that of claims as small as can be, by each quota that may claim: it may differ from one to the
other, so every place in it says whose claims it is about. What no quota reaches alone is looked for by all
together, and by one large claim: a claim takes one workload of its size rather than several small ones.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import Amounts, Member, Terms
from ullage.engine.quota.claimed_back import NO_LIMIT, ClaimedBack
from ullage.engine.quota.gpu_sizes import GpuSizes
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.room import quota_room
from ullage.engine.quota.shares import unused
from ullage.engine.quota.standing import OVER_QUOTA
from ullage.engine.requests import with_gpu_memory
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING, Resources

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
    """A workload that runs above the min of its quota, or can be claimed all the same."""

    member: Member
    goes: tuple[Going, ...]
    outcome: Outcome


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
        room=node_room(accounts.columns),
        evictable=accounts.evictable,
        budgets=[each.allowed for each in accounts.budgets.all],
    )


class Risks:
    """The risks of one standing; `room` is what nodes that take workloads have left in all."""

    def __init__(
        self,
        rules: Rules,
        waiting: Iterable[Member],
        capacity: Mapping[str, int],
        *,
        room: Mapping[str, int],
        evictable: Sequence[Member],
        budgets: Sequence[int] = (),
    ) -> None:
        self._rules = rules
        self._book = rules.book
        self._waiting = tuple(waiting)
        self._capacity = capacity
        self._room = room
        self._evictable = evictable
        self.back = ClaimedBack(
            rules, self._waiting, capacity, room=room, candidates=evictable, budgets=budgets
        )

    def of_all(self) -> QuotaRisks:
        """Return everybody who is above a min or could be claimed."""
        book, standing = self._book, self._rules.standing
        labels = [standing.labels(place) for place in range(len(book.quotas))]
        over = {
            each.key: each
            for each in self._evictable
            if each.quota >= 0 and labels[each.quota][each.key] == OVER_QUOTA
        }
        claimants = self.claimants() if self._evictable else ()
        walks = _Walks(self.back, claimants)
        walks.alone()
        for key, member in over.items():
            if key not in walks.reached:
                walks.one_claim(member)
        if not over.keys() <= walks.reached:
            walks.together({each.quota for each in over.values()})
        found = walks.places()
        members = {each.key: each for each in self._evictable if each.key in found} | over
        pods = [PodRisk(each, found.get(key, ()), walks.outcome(each)) for key, each in members.items()]
        return QuotaRisks(claimants, tuple(sorted(pods, key=_in_order)), not self.back.cut_short)

    def claimants(self) -> tuple[Claimant, ...]:
        """Return the quotas that could claim something."""
        found = (self.claimant(place) for place in range(len(self._book.quotas)))
        return tuple(each for each in found if any(most is None or most > 0 for most in each.at_most))

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
        book = self._book
        offered = book.amounts({name: self._capacity.get(name, 0) for name in book.shared})
        everything = tuple(0 if each >= INT64_MAX else min(each, NO_LIMIT) for each in offered)
        asking = Member("", quota, everything, NOTHING)
        return self._rules.standing.entitlements((*self._waiting, asking), self._capacity)[quota]


class _Key(NamedTuple):
    """A workload that goes at one place for one resource."""

    member: str
    rank: int
    way: Way
    claimed_first: int


class _Walks:
    """The orders of all claimants for all resources, as places of workloads."""

    def __init__(self, back: ClaimedBack, claimants: Sequence[Claimant]) -> None:
        self._back = back
        self._claimants = claimants
        self._count = len(back.rules.book.resources)
        self._found: list[dict[_Key, list[int]]] = [{} for _ in range(self._count)]
        self._lengths: dict[tuple[int, int], int] = {}
        self._nobody_left: set[int] = set()
        self.reached: set[str] = set()

    def alone(self) -> None:
        """Let each quota claim by itself."""
        for claimant, resource in self._claims():
            order = self._back.order([claimant.quota], resource)
            self._lengths[claimant.quota, resource] = len(order.gone)
            if order.has_right:
                self._nobody_left.add(resource)
            for rank, gone in enumerate(order.gone, 1):
                key = _Key(gone.member.key, rank, "in-order", gone.claimed_first)
                self._found[resource].setdefault(key, []).append(claimant.quota)
                self.reached.add(gone.member.key)

    def _claims(self) -> list[tuple[Claimant, int]]:
        """Return who may claim more of which resource than is free."""
        found = []
        for claimant in self._claimants:
            for resource, (free, most) in enumerate(zip(claimant.free, claimant.at_most, strict=True)):
                if free is not None and free < NO_LIMIT and (most is None or most > free):
                    found.append((claimant, resource))
        return found

    def together(self, borrowers: Collection[int]) -> None:
        """Let all quotas that borrow nothing themselves claim what is their own, one after the other."""
        quotas = [each.quota for each in self._claimants if each.quota not in borrowers]
        for resource in range(self._count):
            order = self._back.order(quotas, resource, own=True)
            for rank, gone in enumerate(order.gone, 1):
                if gone.member.key not in self.reached:
                    key = _Key(gone.member.key, rank, "together", gone.claimed_first)
                    self._found[resource][key] = list(gone.claimants)
            for quota in quotas:
                length = self._lengths.get((quota, resource), 0)
                self._lengths[quota, resource] = max(length, len(order.gone))
        self.reached |= {key.member for found in self._found for key in found}

    def one_claim(self, member: Member) -> None:
        """Look for one claim that takes a workload."""
        for claimant, resource in self._claims():
            amount = claim_that_takes(self._back, claimant, resource, [member])
            if amount is not None:
                key = _Key(member.key, 0, "one-claim", amount)
                self._found[resource].setdefault(key, []).append(claimant.quota)
                self.reached.add(member.key)

    def places(self) -> dict[str, tuple[Going, ...]]:
        """Return the places of each workload; those of one rank for the same claimants are one."""
        merged: dict[tuple[str, int, Way, tuple[int, ...]], dict[int, int]] = {}
        for resource, found in enumerate(self._found):
            for key, quotas in found.items():
                place = (key.member, key.rank, key.way, tuple(quotas))
                merged.setdefault(place, {})[resource] = key.claimed_first
        places: dict[str, list[Going]] = {}
        for (name, rank, way, claimants), first in merged.items():
            of = max(self._lengths.get((quota, each), 0) for quota in claimants for each in first)
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


def claim_that_takes(
    back: ClaimedBack, claimant: Claimant, resource: int, members: Sequence[Member]
) -> int | None:
    """Return how much one claim asks for that takes one of these equal workloads; None without one.

    Of claims for which one of them is enough the largest leaves the fewest others in its stead; beyond that,
    the largest claim that is granted takes most.
    """
    quota, free, most = claimant.quota, claimant.free[resource], claimant.at_most[resource]
    size = members[0].amounts[resource]
    if free is None or not size or members[0].quota == quota:
        return None
    names = {each.key for each in members}
    least = min(free + size, most or 0) if most is not None else free + size
    if names & back.by_one(quota, resource, least):
        return least
    largest = back.largest(quota, resource, free, free + size * len(members) if most is None else most)
    return largest if names & back.by_one(quota, resource, largest) else None


def _in_order(pod: PodRisk) -> tuple[object, ...]:
    """Return the place of a workload among all: by rank, those in no order last."""
    ranks = [each.rank for each in pod.goes if each.rank]
    return not pod.goes, min(ranks) if ranks else INT64_MAX, pod.member.quota, pod.member.key


def node_room(columns: Columns) -> dict[str, int]:
    """Return what the nodes that take workloads have left in all, GPU memory included."""
    total: dict[str, int] = {}
    free, bounded = columns.free, columns.bounded
    sizes = GpuSizes(columns.snapshot)
    for row, node in enumerate(columns.nodes):
        if node.state != "ready":
            continue
        left = {
            name: int(free[row, column]) if bounded[row, column] else INT64_MAX
            for name, column in columns.resource_index.items()
            if name in node.capacity
        }
        for name, amount in with_gpu_memory(Resources(left), sizes.of(node)).items():
            total[name] = min(INT64_MAX, total.get(name, 0) + amount)
    return total
