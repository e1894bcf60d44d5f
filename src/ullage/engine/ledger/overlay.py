"""The ledger as it would be after some changes, without touching it: what trying a plan costs is its size.

An overlay is the ledger below, less a small ledger of entries that have changed, plus a small ledger of what
they have become. Every answer is put together from these three, sums too.
"""

from collections.abc import Mapping

import msgspec

from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import Key, LedgerView, key_of
from ullage.model.disk_plan import DiskCapacity
from ullage.model.ledger import Capacity
from ullage.model.ledger_entry import LedgerEntry


class Overlay:
    """A ledger that can be read and changed, while the one below stays as it is."""

    __slots__ = ("_added", "_below", "_capacities", "_hidden", "at_seconds", "waiting")

    def __init__(self, below: LedgerView) -> None:
        self.at_seconds = below.at_seconds
        self.waiting = below.waiting
        self._below = below
        self._hidden = LedgerState()
        self._added = LedgerState()
        self._capacities: dict[str, Capacity | None] = {}

    def capacity(self, name: str) -> Capacity | None:
        """Return what is known of a capacity."""
        return self._capacities[name] if name in self._capacities else self._below.capacity(name)

    def disks_of(self, node: str) -> Mapping[str, DiskCapacity]:
        """Return the drives and groups of a node as planners see them, by name of the capacity."""
        below = self._below.disks_of(node)
        if not self._capacities:
            return below
        disks = {name: disk for name, disk in below.items() if name not in self._capacities}
        for name, capacity in self._capacities.items():
            if capacity is not None and capacity.disk is not None and capacity.disk.node == node:
                disks[name] = msgspec.structs.replace(capacity.disk, name=name)
        return disks

    def held_amount(self, capacity: str, resource: str) -> int:
        """Return how much of a resource is promised there."""
        return (
            self._below.held_amount(capacity, resource)
            - self._hidden.held_amount(capacity, resource)
            + self._added.held_amount(capacity, resource)
        )

    def promised_on_drive(self, drive: str) -> set[str]:
        """Return the groups that were made of a drive; of one that all have left nothing is held."""
        return self._below.promised_on_drive(drive) | self._added.promised_on_drive(drive)

    def entry(self, key: Key) -> LedgerEntry | None:
        """Return a live entry."""
        added = self._added.entry(key)
        if added is not None:
            return added
        return None if self._hidden.entry(key) is not None else self._below.entry(key)

    def entries_of(self, reservation: str) -> list[LedgerEntry]:
        """Return what a reservation has or waits for."""
        return self._merged(self._below.entries_of(reservation), self._added.entries_of(reservation))

    def entries_on(self, capacity: str) -> list[LedgerEntry]:
        """Return who has or waits for something of a capacity."""
        return self._merged(self._below.entries_on(capacity), self._added.entries_on(capacity))

    def sharing(self, claim: str) -> list[LedgerEntry]:
        """Return who holds the volume of a claim: one of them has its bytes."""
        return self._merged(self._below.sharing(claim), self._added.sharing(claim))

    def due(self, at_seconds: int) -> list[LedgerEntry]:
        """Return the entries whose time has come."""
        return self._merged(self._below.due(at_seconds), self._added.due(at_seconds))

    def reserved_shares(self) -> list[LedgerEntry]:
        """Return the logical volumes that are promised and not made yet."""
        return self._merged(self._below.reserved_shares(), self._added.reserved_shares())

    def supply(self, capacity: Capacity) -> None:
        """Take a capacity as described from here on."""
        self._capacities[capacity.name] = capacity

    def withdraw(self, name: str) -> None:
        """Forget a capacity, if it is known; what is promised of it stays."""
        self._capacities[name] = None

    def put(self, entry: LedgerEntry) -> None:
        """Add a live entry, or replace the one of the same key."""
        self._hide(key_of(entry))
        self._added.put(entry)

    def end(self, key: Key) -> None:
        """Take away an entry, if it is live."""
        self._hide(key)
        self._added.end(key)

    def _hide(self, key: Key) -> None:
        below = self._below.entry(key)
        if below is not None:
            self._hidden.put(below)

    def _merged(self, below: list[LedgerEntry], added: list[LedgerEntry]) -> list[LedgerEntry]:
        kept = [entry for entry in below if self._hidden.entry(key_of(entry)) is None]
        return sorted([*kept, *added], key=key_of)
