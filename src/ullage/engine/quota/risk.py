"""Who is evicted when owners claim back what they lend: in which order, and after how much.

The order is that of claims that take one workload each: no disruption budget broken, lowest priority,
youngest, name. It holds among workloads that free the same; a claim may rather take one of its own size, so
only `free` is sure whatever is claimed: what claims find without any eviction.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import Amounts, Member, Terms, within
from ullage.engine.quota.contention import Contention, Way
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.shares import unused
from ullage.engine.quota.standing import OVER_QUOTA
from ullage.engine.requests import with_gpu_memory
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import Resources

Outcome = Literal["claimable", "too-little", "within-bounds", "frees-nothing"]
"""Whether it can be claimed now; if not: others may not claim so much, its quota or itself is within what it
is safe for by then, or it holds nothing that owners could claim."""


class PodRisk(NamedTuple):
    """A workload that goes as the `rank`-th of its quota, when more of something is claimed than is said.

    `claimed_first` is what claims find free and what those before it free, which is `before`. In mode fair
    others must also ask for `asked_first` of something beyond their demand; None where no demand is enough.
    """

    member: Member
    rank: int
    before: Amounts
    claimed_first: Terms
    asked_first: Terms | None
    outcome: Outcome


class Claimant(NamedTuple):
    """Another quota: what it leaves of its min, and how much it may claim at most, if nobody else does.

    None where its min names no bound.
    """

    quota: int
    within_min: Amounts
    at_most: Terms


class QuotaRisk(NamedTuple):
    """The workloads above the min of a quota in the order in which they go."""

    quota: int
    free: Terms
    claimants: tuple[Claimant, ...]
    pods: tuple[PodRisk, ...]


def risks(accounts: Accounts) -> list[QuotaRisk]:
    """Return the risks of every quota that has workloads above its min which could be evicted."""
    return risks_of(accounts).of_all(accounts.evictable)


def risks_of(accounts: Accounts) -> "Risks":
    """Return the risks of the quotas of a cluster."""
    room = node_room(accounts.columns)
    allowed = [each.allowed for each in accounts.budgets.all]
    return Risks(accounts.rules, accounts.waiting.values(), accounts.capacity, room, allowed)


class Risks:
    """The risks of the quotas of one standing; `room` is what nodes that take workloads have left in all."""

    def __init__(
        self,
        rules: Rules,
        waiting: Iterable[Member],
        capacity: Mapping[str, int],
        room: Mapping[str, int],
        budgets: Sequence[int] = (),
    ) -> None:
        self._rules = rules
        self._standing = rules.standing
        self._book = rules.book
        self._room = room
        self._budgets = budgets
        fair = "fair" in self._book.modes
        self._contention = Contention(self._standing, waiting, capacity) if fair else None
        self._claimants: list[Claimant] = []

    def of_all(self, evictable: Sequence[Member]) -> list[QuotaRisk]:
        """Return the risk of every quota that has some, by name."""
        self._claimants = [self.claimant(place) for place in range(len(self._book.quotas))]
        by_quota: dict[int, list[Member]] = {}
        for member in evictable:
            by_quota.setdefault(member.quota, []).append(member)
        found = (self._of(place, by_quota.get(place, ())) for place in range(len(self._book.quotas)))
        return [each for each in found if each.pods]

    def _of(self, quota: int, evictable: Sequence[Member]) -> QuotaRisk:
        labels = self._standing.labels(quota)
        over = [each for each in evictable if labels[each.key] == OVER_QUOTA]
        claimants = tuple(each for each in self._claimants if each.quota != quota and _can_claim(each))
        if not over:
            return QuotaRisk(quota, (), claimants, ())
        free, reach = self._free(quota), _reach(claimants, len(self._book.resources))
        judge = _NosJudge(self._rules, quota) if self._is_nos(quota) else self._fair_judge(quota)
        taken = [0] * len(self._book.resources)
        pods = []
        for rank, member in enumerate(eviction_order(over, self._budgets), 1):
            before = tuple(taken)
            first = tuple(
                None if most is None else max(0, most + gone) for most, gone in zip(free, before, strict=True)
            )
            asked = judge.asked_first(before)
            outcome = self._outcome(member, first, reach, judge, before)
            pods.append(PodRisk(member, rank, before, first, asked, outcome))
            for place, amount in enumerate(member.amounts):
                taken[place] += amount
            judge.take(member)
        sure = tuple(None if most is None else max(0, most) for most in free)
        return QuotaRisk(quota, sure, claimants, tuple(pods))

    def _outcome(
        self, member: Member, first: Terms, reach: "_Reach", judge: "_NosJudge | _FairJudge", before: Amounts
    ) -> Outcome:
        named = [place for place, most in enumerate(first) if most is not None and member.amounts[place]]
        if not named:
            return "frees-nothing"
        if not judge.may_go(member, before):
            return "within-bounds"
        limits = reach.at_most if judge.is_above_entitlement(before) else reach.within_min
        for place in named:
            most = limits[place]
            if most is None or most > (first[place] or 0):
                return "claimable"
        return "too-little"

    def _free(self, quota: int) -> Terms:
        """Return what claims find without an eviction; below 0 where more is used than all mins together."""
        book = self._book
        if not self._is_nos(quota):
            return tuple(self._room.get(name, 0) if name in book.shared else None for name in book.resources)
        sums, used = self._standing.book.sum_of_mins, self._standing.sum_of_use()
        found: list[int | None] = []
        for place, name in enumerate(book.resources):
            if all(book.mins[each][place] is None for each in book.nos_places):
                found.append(None)
            else:
                left = sums[place] - used[place]
                found.append(min(left, self._room[name]) if name in self._room else left)
        return tuple(found)

    def claimant(self, quota: int) -> Claimant:
        """Return how much a quota may claim, by its right and within the max of all above it."""
        book, standing = self._book, self._standing
        own = standing.own_used[quota]
        bound = self._rules.bound_of(quota, "guaranteed")
        used: Sequence[int] = own
        if self._contention is not None and not self._is_nos(quota):
            bound, used = self._contention.alone(quota), standing.used[quota]
        at_most = []
        for place, most in enumerate(bound):
            rooms = [
                limit - standing.used[above][place]
                for above in book.chains[quota]
                if (limit := book.maxes[above][place]) is not None
            ]
            rooms += [] if most is None else [most - used[place]]
            at_most.append(max(0, min(rooms)) if rooms else None)
        return Claimant(quota, unused(own, book.own_mins[quota]), tuple(at_most))

    def _is_nos(self, quota: int) -> bool:
        return self._book.modes[quota] == "nos"

    def _fair_judge(self, quota: int) -> "_FairJudge":
        assert self._contention is not None  # noqa: S101 - made where some quota is in mode fair
        return _FairJudge(self._rules, self._contention, self._contention.way_of(quota), quota)


class _Reach(NamedTuple):
    """What all claimants together may claim within their mins, and at most; None where one has no bound."""

    within_min: Terms
    at_most: Terms


def _reach(claimants: Sequence[Claimant], resources: int) -> _Reach:
    within_min: list[int | None] = [0] * resources
    at_most = list(within_min)
    for claimant in claimants:
        for place, (least, most) in enumerate(zip(claimant.within_min, claimant.at_most, strict=True)):
            unbounded = most is None or at_most[place] is None
            at_most[place] = None if unbounded else (at_most[place] or 0) + (most or 0)
            within_min[place] = None if unbounded else (within_min[place] or 0) + least
    return _Reach(tuple(within_min), tuple(at_most))


def _can_claim(claimant: Claimant) -> bool:
    return any(most is None or most > 0 for most in claimant.at_most)


def eviction_order(members: Sequence[Member], budgets: Sequence[int] = ()) -> list[Member]:
    """Return members in the order in which claims that each take one of them take them.

    `budgets` says how many each disruption budget still lets go; those that would break one go last.
    """
    left = list(budgets)
    going: list[Member] = []
    protected: list[Member] = []
    for member in sorted(members, key=lambda each: (each.priority, -each.created_seconds, each.key)):
        if any(left[budget] <= 0 for budget in member.budgets):
            protected.append(member)
            continue
        going.append(member)
        for budget in member.budgets:
            left[budget] -= 1
    return [*going, *protected]


class _NosJudge:
    """Mode nos: a workload goes while its quota is above its min and it is itself above it, in label order.

    The sum up to a workload in label order, less those that went, is kept in a tree of partial sums.
    """

    def __init__(self, rules: Rules, quota: int) -> None:
        standing = rules.standing
        self._bound = rules.book.own_mins[quota]
        self._entitlement = rules.bound_of(quota, "guaranteed")
        self._used = tuple(standing.own_used[quota])
        members = standing.members[quota]
        self._place = {key: number for number, key in enumerate(standing.labels(quota), 1)}
        self._sums = [[0] * len(self._bound) for _ in range(len(members) + 1)]
        for member in members.values():
            self._add(member, 1)

    def _add(self, member: Member, sign: int) -> None:
        number = self._place[member.key]
        while number < len(self._sums):
            for place, amount in enumerate(member.amounts):
                self._sums[number][place] += sign * amount
            number += number & -number

    def take(self, member: Member) -> None:
        """Count a member as gone."""
        self._add(member, -1)

    def asked_first(self, before: Amounts) -> None:
        """Return nothing: claims within min need no demand beside them."""
        del before

    def may_go(self, member: Member, before: Amounts) -> bool:
        """Whether a member is above the min when those before it are gone."""
        total = [0] * len(self._bound)
        number = self._place[member.key]
        while number:
            total = [each + more for each, more in zip(total, self._sums[number], strict=True)]
            number -= number & -number
        left = [used - gone for used, gone in zip(self._used, before, strict=True)]
        return not within(total, self._bound) and not within(left, self._bound)

    def is_above_entitlement(self, before: Amounts) -> bool:
        """Whether the quota is above what claims beyond the min of others respect."""
        left = [used - gone for used, gone in zip(self._used, before, strict=True)]
        return not within(left, self._entitlement)


class _FairJudge:
    """Mode fair: a workload goes while its quota is above its entitlement, which demand of others lowers."""

    def __init__(self, rules: Rules, contention: Contention, way: Way, quota: int) -> None:
        self._least = contention.least[quota]
        self._way = way
        self._used = tuple(rules.standing.used[quota])

    def take(self, member: Member) -> None:
        """Do nothing: what counts is the use of the quota alone."""

    def asked_first(self, before: Amounts) -> Terms:
        """Return what others must ask for more before the quota is above its entitlement."""
        return self._way.until_below([used - gone for used, gone in zip(self._used, before, strict=True)])

    def may_go(self, member: Member, before: Amounts) -> bool:
        """Whether the quota is above what it is entitled to if everybody asks for everything."""
        del member
        return not within([used - gone for used, gone in zip(self._used, before, strict=True)], self._least)

    def is_above_entitlement(self, before: Amounts) -> bool:
        """Whether others may claim as much as they are entitled to: in this mode always."""
        del before
        return True


def node_room(columns: Columns) -> dict[str, int]:
    """Return what the nodes that take workloads have left in all, GPU memory included."""
    total: dict[str, int] = {}
    free, bounded = columns.free, columns.bounded
    for row, node in enumerate(columns.nodes):
        if node.state != "ready":
            continue
        left = {
            name: int(free[row, column]) if bounded[row, column] else INT64_MAX
            for name, column in columns.resource_index.items()
            if name in node.capacity
        }
        gigabytes = columns.rules_of(node).gpu_memory_gigabytes
        for name, amount in with_gpu_memory(Resources(left), gigabytes).items():
            total[name] = min(INT64_MAX, total.get(name, 0) + amount)
    return total
