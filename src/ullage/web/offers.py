"""What capacities of a cluster offer, by name, as one revision of the cluster has it.

The hard thing is which of them a command is about: a node that is to be chosen comes with its disks, and a
disk with all others of its node, for a volume group and its drives are the same bytes.
"""

from collections.abc import Iterable, Iterator

from ullage.model.ledger import Capacity, Command, Decision, Reserve, Supply, is_disk, node_capacity, node_of


class Offers:
    """Capacities by name, and beside them what a ledger knows: whatever differs is news to it."""

    def __init__(self, capacities: Iterable[Capacity], known: dict[str, Capacity]) -> None:
        self._by_name = {each.name: each for each in capacities}
        self._known = known
        self._disks: dict[str, list[str]] = {}
        for name in {**self._by_name, **self._known}:
            if is_disk(name):
                self._disks.setdefault(node_of(name), []).append(name)
        self._told: set[str] = set()

    def news(self, command: Command) -> Supply | None:
        """Return what the ledger has to be told before a command; it counts as told from here on."""
        if not isinstance(command, Reserve):
            return None
        told = self._told
        if not command.nodes and all(hold.capacity in told for hold in command.holds):
            return None
        names = [name for name in dict.fromkeys(self._named(command)) if name not in told]
        told.update(names)
        found = [name for name in names if self._by_name.get(name) != self._known.get(name)]
        if not found:
            return None
        offered = (self._by_name.get(name) for name in found)
        gone = tuple(name for name in found if name not in self._by_name)
        return Supply(tuple(each for each in offered if each is not None), gone)

    def untold(self, news: Supply | Decision) -> None:
        """Take back that the ledger knows this as it is here."""
        self._told.difference_update(each.name for each in news.capacities)
        self._told.difference_update(news.gone)

    def _named(self, command: Reserve) -> Iterator[str]:
        for hold in command.holds:
            yield hold.capacity
            if is_disk(hold.capacity):
                yield from self._disks.get(node_of(hold.capacity), ())
        for node in command.nodes:
            yield node_capacity(node)
            yield from self._disks.get(node, ())
