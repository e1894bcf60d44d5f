"""Who runs under which quota, and what follows from it alone: use, labels, guarantees, entitlements.

A standing changes by adding and removing members and is never copied: a search takes back what it tried.
Labels are derived from the members, anew once those of a quota have changed: output of a decision, never its
input.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

from ullage.engine.quota.book import NO_QUOTA, Amounts, Book, Member, Terms, within
from ullage.model.quantity import INT64_MAX

IN_QUOTA: Final = "in-quota"
OVER_QUOTA: Final = "over-quota"

Label = Literal["in-quota", "over-quota"]
Right = Literal["min", "guaranteed", "entitlement"]
"""On what a claim stands: within its min, within min and its guaranteed part of what is unused, or within the
share its demand entitles it to."""

DEFAULT_ORDER: Final = ("created", "requests", "name")
_CRITERIA: Final[Mapping[str, Callable[[Member, Amounts], object]]] = {
    "created": lambda member, _: member.created_seconds,
    "-created": lambda member, _: -member.created_seconds,
    "requests": lambda _, requested: requested,
    "-requests": lambda _, requested: tuple(-amount for amount in requested),
    "priority": lambda member, _: member.priority,
    "-priority": lambda member, _: -member.priority,
    "name": lambda member, _: member.key,
}
"""What a criterion compares of a member, given what it requests of that which its quota has a min of."""


class Standing:
    """The members that run, by quota."""

    def __init__(self, book: Book, running: Iterable[Member], order: Sequence[str] = DEFAULT_ORDER) -> None:
        self.book = book
        self.order = tuple(order)
        self._criteria = tuple(_CRITERIA[criterion] for criterion in self.order)
        self._compared = [
            tuple(place for place, least in enumerate(terms) if least is not None) for terms in book.mins
        ]
        self.used: list[list[int]] = [[0] * len(book.resources) for _ in book.quotas]
        self.own_used: list[list[int]] = [[0] * len(book.resources) for _ in book.quotas]
        self.members: list[dict[str, Member]] = [{} for _ in book.quotas]
        self._unused: list[int] = list(book.sum_of_mins)
        self._use: list[int] = [0] * len(book.resources)
        self._labels: dict[int, dict[str, Label]] = {}
        alike: dict[tuple[int, Amounts], int] = {}
        for member in running:
            if member.quota != NO_QUOTA:
                self.members[member.quota][member.key] = member
                key = (member.quota, member.amounts)
                alike[key] = alike.get(key, 0) + 1
        for (quota, amounts), count in alike.items():
            self._count(quota, amounts, count)

    def add(self, member: Member) -> None:
        """Let a member run."""
        if member.quota != NO_QUOTA:
            self.members[member.quota][member.key] = member
            self._count(member.quota, member.amounts, 1)

    def remove(self, member: Member) -> None:
        """Take a running member away."""
        if member.quota != NO_QUOTA:
            del self.members[member.quota][member.key]
            self._count(member.quota, member.amounts, -1)

    def _count(self, quota: int, amounts: Amounts, times: int) -> None:
        self._labels.pop(quota, None)
        own, least = self.own_used[quota], self.book.own_mins[quota]
        shares = self.book.modes[quota] == "nos"
        for place, amount in enumerate(amounts):
            before, bound = own[place], least[place]
            own[place] = after = before + times * amount
            if shares:
                self._use[place] += times * amount
                if bound is not None:
                    self._unused[place] += max(0, bound - after) - max(0, bound - before)
        for above in self.book.chains[quota]:
            used = self.used[above]
            for place, amount in enumerate(amounts):
                used[place] += times * amount

    def order_of(self, member: Member) -> tuple[object, ...]:
        """Return the place of a member in the label order of its quota: least first."""
        amounts = member.amounts
        requested = tuple([amounts[place] for place in self._compared[member.quota]])
        return (*[criterion(member, requested) for criterion in self._criteria], member.key)

    def labels(self, quota: int, newest: Member | None = None) -> Mapping[str, Label]:
        """Return the labels of a quota's own members in label order; `newest` counts as created last."""
        if newest is not None:
            return self._labels_of(quota, self._in_order(quota, newest))
        found = self._labels.get(quota)
        if found is None:
            found = self._labels[quota] = self._labels_of(quota, self._in_order(quota, None))
        return found

    def _labels_of(self, quota: int, ordered: Iterable[Member]) -> dict[str, Label]:
        """Return the labels of members in label order: after the first that is too much, all are over."""
        bound = self.book.own_mins[quota]
        if within(self.own_used[quota], bound):
            return {member.key: IN_QUOTA for member in ordered}
        total = [0] * len(bound)
        label: Label = IN_QUOTA
        found: dict[str, Label] = {}
        for member in ordered:
            if label == IN_QUOTA:
                for place, amount in enumerate(member.amounts):
                    total[place] += amount
                label = IN_QUOTA if within(total, bound) else OVER_QUOTA
            found[member.key] = label
        return found

    def over_quota(self, quota: int) -> tuple[str, ...]:
        """Return a quota's own members that are above its min, in label order."""
        if within(self.own_used[quota], self.book.own_mins[quota]):
            return ()
        return tuple(key for key, label in self.labels(quota).items() if label == OVER_QUOTA)

    def _in_order(self, quota: int, newest: Member | None) -> list[Member]:
        """Return a quota's own members in label order."""
        ordered = sorted(self.members[quota].values(), key=self.order_of)
        if newest is not None and self.members[quota].get(newest.key) is newest:
            ordered.remove(newest)
            ordered.append(newest)
        return ordered

    def sums_in_order(self, quota: int, newest: Member | None = None) -> dict[str, Amounts]:
        """Return what a quota's own members use up to each of them, in label order."""
        total = [0] * len(self.book.resources)
        found: dict[str, Amounts] = {}
        for member in self._in_order(quota, newest):
            for place, amount in enumerate(member.amounts):
                total[place] += amount
            found[member.key] = tuple(total)
        return found

    def is_over_quota(self, member: Member, newest: Member | None = None) -> bool:
        """Whether a running member is above the min of its quota, in label order."""
        bound = self.book.own_mins[member.quota]
        if within(self.own_used[member.quota], bound):
            return False
        if member is newest:
            return True
        return self.labels(member.quota, newest)[member.key] == OVER_QUOTA

    def unused(self) -> list[int]:
        """Return what the quotas in mode nos leave of their mins, in all."""
        return list(self._unused)

    def guaranteed(self, quota: int, unused: Sequence[int] | None = None) -> Terms:
        """Return the part of what is unused that a quota in mode nos has a right to, rounded down."""
        unused = self._unused if unused is None else unused
        return tuple(
            None if least is None else (least * free // whole if whole else 0)
            for least, free, whole in zip(
                self.book.own_mins[quota], unused, self.book.sum_of_mins, strict=True
            )
        )

    def sum_of_use(self) -> Amounts:
        """Return what the quotas in mode nos use in all."""
        return tuple(self._use)

    def entitlements(self, waiting: Iterable[Member], capacity: Mapping[str, int]) -> tuple[Terms, ...]:
        """Return what each quota is entitled to by the demand of those that run and those that wait."""
        demand = [list(own) for own in self.own_used]
        for member in waiting:
            if member.quota != NO_QUOTA:
                for place, amount in enumerate(member.amounts):
                    demand[member.quota][place] += amount
        table, places = self.book.fair_table, self.book.shared_places
        shares = table.shares(
            ([min(amounts[place], INT64_MAX) for place in places] for amounts in demand),
            [capacity.get(name, 0) for name in table.resources],
        )
        found = []
        for whole in shares.whole:
            terms: list[int | None] = [None] * len(self.book.resources)
            for place, amount in zip(places, whole, strict=True):
                terms[place] = amount
            found.append(tuple(terms))
        return tuple(found)
