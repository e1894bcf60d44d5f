"""A standing in which members only go: whether one is over quota is found without sorting its quota again.

The sums up to each member in label order are kept as a tree of partial sums, made when first asked for. Who
comes in later has no place in it: a quota with newcomers is looked at as ever.
"""

from ullage.engine.quota.book import NO_QUOTA, Member, Terms, within
from ullage.engine.quota.standing import Standing


class SummedStanding(Standing):
    """The same answers as a standing; a change costs a few steps where a quota was asked about."""

    def __init__(self, like: Standing) -> None:
        self._sums: dict[int, _Sums] = {}
        members = (member for each in like.members for member in each.values())
        super().__init__(like.book, members, like.order)

    def add(self, member: Member) -> None:
        """Let a member run."""
        super().add(member)
        self._count_in_order(member, 1)

    def remove(self, member: Member) -> None:
        """Take a running member away."""
        super().remove(member)
        self._count_in_order(member, -1)

    def _count_in_order(self, member: Member, sign: int) -> None:
        sums = self._sums.get(member.quota) if member.quota != NO_QUOTA else None
        if sums is not None:
            sums.add(member, sign)

    def is_over_quota(self, member: Member, newest: Member | None = None) -> bool:
        """Whether a running member is above the min of its quota, in label order."""
        bound = self.book.own_mins[member.quota]
        sums = self._sums.get(member.quota)
        if sums is None:
            sums = self._sums[member.quota] = _Sums(self, member.quota)
        if newest is not None or sums.newcomers or within(self.own_used[member.quota], bound):
            return super().is_over_quota(member, newest)
        return sums.is_above(member, bound)


class _Sums:
    """Sums of the members of a quota up to each of them, in label order."""

    def __init__(self, standing: Standing, quota: int) -> None:
        ordered = sorted(standing.members[quota].values(), key=standing.order_of)
        self._place = {member.key: number for number, member in enumerate(ordered, 1)}
        self._tree = [[0] * len(standing.book.resources) for _ in range(len(ordered) + 1)]
        self.newcomers = 0
        for member in ordered:
            self.add(member, 1)

    def add(self, member: Member, sign: int) -> None:
        """Count a member that comes back, or goes."""
        number = self._place.get(member.key)
        if number is None:
            self.newcomers += sign
            return
        while number < len(self._tree):
            row = self._tree[number]
            for place, amount in enumerate(member.amounts):
                row[place] += sign * amount
            number += number & -number

    def is_above(self, member: Member, bound: Terms) -> bool:
        """Whether the sum up to a member is above a bound."""
        total = [0] * len(bound)
        number = self._place[member.key]
        while number:
            for place, amount in enumerate(self._tree[number]):
                total[place] += amount
            number -= number & -number
        return not within(total, bound)
