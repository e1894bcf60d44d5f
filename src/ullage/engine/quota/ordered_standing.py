"""A standing that keeps its members in label order: labels are read off, not sorted, each time."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence

from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.standing import DEFAULT_ORDER, Label, Standing


class OrderedStanding(Standing):
    """The same answers as a standing; a change costs a place in a list, and labels cost one walk."""

    def __init__(self, book: Book, running: Iterable[Member], order: Sequence[str] = DEFAULT_ORDER) -> None:
        self._orders: dict[str, tuple[Member, tuple[object, ...]]] = {}
        super().__init__(book, running, order)
        self._lines: list[list[tuple[tuple[object, ...], Member]]] = [
            sorted((self.order_of(each), each) for each in members.values()) for members in self.members
        ]

    def add(self, member: Member) -> None:
        """Let a member run."""
        super().add(member)
        if member.quota != NO_QUOTA:
            insort(self._lines[member.quota], (self.order_of(member), member))

    def remove(self, member: Member) -> None:
        """Take a running member away."""
        super().remove(member)
        if member.quota != NO_QUOTA:
            line = self._lines[member.quota]
            del line[bisect_left(line, (self.order_of(member), member))]

    def order_of(self, member: Member) -> tuple[object, ...]:
        """Return the place of a member in the label order of its quota: least first."""
        known = self._orders.get(member.key)
        if known is None or known[0] is not member:
            known = self._orders[member.key] = (member, super().order_of(member))
        return known[1]

    def labels(self, quota: int, newest: Member | None = None) -> Mapping[str, Label]:
        """Return the labels of a quota's own members in label order; `newest` counts as created last."""
        if newest is not None:
            return super().labels(quota, newest)
        return self._labels_of(quota, (member for _, member in self._lines[quota]))
