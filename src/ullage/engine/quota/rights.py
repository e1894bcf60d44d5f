"""What quotas say to a claim: whether it may run beside those that run, and whose members it may take.

Two questions, two answers: `refusals` are about running (max, borrowing limit, sum of the mins), `right_of`
and `may_be_taken` are about evicting. Both modes are read here and nowhere else. In a tree, two quotas meet
at their lowest common parent: below it the claimant's side must stay within what it is entitled to, and the
victim's side must be above it.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Amounts, Member, Terms, plus, within
from ullage.engine.quota.standing import Right, Standing
from ullage.model.quantity import INT64_MAX

Barrier = Literal["max", "borrowing-limit", "sum-of-min"]
NEVER: Final = "Never"
LOWER_PRIORITY: Final = "LowerPriority"
PRIORITY_LEAST: Final = -INT64_MAX
"""No priority is below it."""

_RANKS: Final[Mapping[Right | None, int]] = {None: 0, "guaranteed": 1, "min": 2, "entitlement": 2}
"""Which right is better: what stands on the better one can take what stands on the other."""


class Refusal(NamedTuple):
    """The bound that stands against a claim, and by how much it would be passed."""

    barrier: Barrier
    quota: int
    resource: int
    short: int


class Rules:
    """The rules of both modes over a standing; `entitlements` hold for quotas in mode fair."""

    def __init__(self, standing: Standing, entitlements: Sequence[Terms]) -> None:
        self.standing = standing
        self.book = standing.book
        self.entitlements = entitlements
        self._sum_of_mins = standing.book.sum_of_mins
        self._in_some_min = [
            any(self.book.mins[quota][place] is not None for quota in self.book.nos_places)
            for place in range(len(self.book.resources))
        ]

    def refusals(self, quota: int, amounts: Sequence[int]) -> list[Refusal]:
        """Return every bound that these amounts would pass beside what runs; none without a quota."""
        if quota == NO_QUOTA:
            return []
        book, used = self.book, self.standing.used
        found: list[Refusal] = []
        for above in book.chains[quota]:
            total = plus(used[above], amounts)
            found += [
                Refusal("max", above, place, total[place] - most)
                for place, most in enumerate(book.maxes[above])
                if most is not None and total[place] > most
            ]
            found += [
                Refusal("borrowing-limit", above, place, total[place] - (least or 0) - most)
                for place, (least, most) in enumerate(
                    zip(book.mins[above], book.most_borrowed[above], strict=True)
                )
                if most is not None and total[place] > (least or 0) + most
            ]
        if book.modes[quota] == "nos":
            total = plus(self.standing.sum_of_use(), amounts)
            found += [
                Refusal("sum-of-min", quota, place, total[place] - most)
                for place, most in enumerate(self._sum_of_mins)
                if self._in_some_min[place] and amounts[place] and total[place] > most
            ]
        return found

    def right_of(self, quota: int, amounts: Sequence[int]) -> Right | None:
        """Return on what a claim of these amounts could take from others, judged on the use as it is."""
        if self.book.modes[quota] == "fair":
            stays = within(plus(self.standing.used[quota], amounts), self.entitlements[quota])
            return "entitlement" if stays else None
        total = plus(self.standing.own_used[quota], amounts)
        if within(total, self.book.own_mins[quota]):
            return "min"
        return "guaranteed" if within(total, self._with_guaranteed(quota)) else None

    def bound_of(self, quota: int, right: Right | None) -> Terms:
        """Return up to where a quota is safe from a claim that stands on a right."""
        if self.book.modes[quota] == "fair":
            return self.entitlements[quota]
        return self.book.own_mins[quota] if right == "min" else self._with_guaranteed(quota)

    def _with_guaranteed(self, quota: int) -> Terms:
        return tuple(
            None if least is None or more is None else least + more
            for least, more in zip(self.book.own_mins[quota], self.standing.guaranteed(quota), strict=True)
        )

    def claim(self, members: Sequence[Member]) -> "Claim":
        """Return members that ask to run together, with the right they have as things stand now.

        Where their quota never evicts workloads of others, they have none, whatever they are entitled to.
        """
        quota = members[0].quota
        amounts = [sum(each) for each in zip(*(member.amounts for member in members), strict=True)]
        right = self.right_of(quota, amounts) if quota != NO_QUOTA else None
        reach = 0
        if right is not None:
            reach = 1
            for above in self.book.chains[quota][1:]:
                total = plus(self.standing.used[above], amounts)
                if self.book.modes[above] == "fair" and not within(total, self.entitlements[above]):
                    break
                reach += 1
        priority = min(member.priority for member in members)
        own_below, others_below = priority, None
        if quota != NO_QUOTA:
            terms = self.book.quotas[quota]
            right = None if terms.evicts_others == NEVER else right
            own_below = PRIORITY_LEAST if terms.evicts_own == NEVER else priority
            others_below = priority if terms.evicts_others == LOWER_PRIORITY else None
        return Claim(tuple(members), quota, tuple(amounts), priority, right, reach, own_below, others_below)

    def is_outranked(self, claim: "Claim", displaced: Sequence[Member]) -> bool:
        """Whether members of a claim's own quota would have a better right than it, as things stand.

        To be asked while neither runs. Once somebody has taken what stands on the lesser right, they would
        take others, be displaced again for it, and so on for ever.
        """
        own = self.right_of(claim.quota, claim.amounts)
        return _RANKS[self.claim(displaced).right] > _RANKS[own]

    def may_be_taken(self, victim: Member, claim: "Claim", newest: Member | None = None) -> bool:
        """Whether a claim may take a running member as things stand now; `newest` counts as created last.

        Inside one quota only those of lower priority go, whatever the right.
        """
        if victim.quota == claim.quota:
            return victim.priority < claim.own_below
        if claim.right is None or victim.quota == NO_QUOTA or not claim.is_below(victim.priority):
            return False
        if self.book.modes[victim.quota] == "nos":
            bound = self.bound_of(victim.quota, claim.right)
            if within(self.standing.own_used[victim.quota], bound):
                return False
            return self.standing.is_over_quota(victim, newest)
        chain = self.book.chains[claim.quota]
        for quota in self.book.chains[victim.quota]:
            if quota in chain:
                return chain.index(quota) <= claim.reach
            if within(self.standing.used[quota], self.entitlements[quota]):
                return False
        return claim.reach == len(chain)


class Claim(NamedTuple):
    """Members of one quota that ask to run together.

    `right` is judged before anything is evicted; `reach` is how many quotas, from their own upwards, stay
    within what they are entitled to: a victim must meet the claim no higher than that. Only those go whose
    priority is below `own_below` in the claim's own quota, and below `others_below`, if any, in another.
    """

    members: tuple[Member, ...]
    quota: int
    amounts: Amounts
    priority: int
    right: Right | None
    reach: int
    own_below: int
    others_below: int | None

    def is_below(self, priority: int) -> bool:
        """Whether a member of another quota is not protected from the claim by its priority."""
        return self.others_below is None or priority < self.others_below


def is_above(rules: Rules, one: Member) -> bool:
    """Whether quotas use more than their bounds on what a member counts for, as things stand."""
    refusals = rules.refusals(one.quota, one.amounts)
    return any(each.short > one.amounts[each.resource] for each in refusals)
