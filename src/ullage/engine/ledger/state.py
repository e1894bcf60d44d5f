"""The ledger as it is: what can be promised, what is, who waits, and since when.

The hard thing is speed without a second truth. Sums per capacity are kept beside the entries, for a quota may
have a hundred thousand of them; they change in one place only, together with the entry that they count, and
`summed` adds up the entries themselves, which is what an audit compares with. The indexes are made when the
first question needs them: who only reads the entries does not pay for them.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from ullage.engine.ledger.indexes import Indexes
from ullage.engine.ledger.view import Key, key_of
from ullage.model.disk_plan import DiskCapacity
from ullage.model.ledger import Capacity, Reserve
from ullage.model.ledger_entry import HOLDING, LedgerEntry

_NO_KEYS: Final[frozenset[Key]] = frozenset()
_NO_DISKS: Final[Mapping[str, DiskCapacity]] = MappingProxyType({})


class LedgerState:
    """Live entries, capacities and the line of those who wait."""

    __slots__ = ("_capacities", "_disks", "_entries", "_indexes", "at_seconds", "revision", "waiting")

    def __init__(
        self,
        capacities: Iterable[Capacity] = (),
        entries: Iterable[LedgerEntry] = (),
        waiting: tuple[Reserve, ...] = (),
        *,
        revision: int = 0,
        at_seconds: int = 0,
    ) -> None:
        self.revision = revision
        self.at_seconds = at_seconds
        self.waiting = waiting
        self._capacities: dict[str, Capacity] = {}
        self._disks: dict[str, dict[str, DiskCapacity]] = {}
        self._entries: dict[Key, LedgerEntry] = {key_of(entry): entry for entry in entries}
        self._indexes: Indexes | None = None
        for capacity in capacities:
            self.supply(capacity)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        """Whether two ledgers have come to the same, on whatever way."""
        return isinstance(other, LedgerState) and all(
            getattr(self, name) == getattr(other, name)
            for name in ("revision", "at_seconds", "waiting", "_capacities", "_entries")
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def capacities(self) -> tuple[Capacity, ...]:
        """All capacities, by name."""
        return tuple(self._capacities[name] for name in sorted(self._capacities))

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All live entries, by key."""
        return tuple(self._named(self._entries))

    @property
    def promised_capacities(self) -> tuple[str, ...]:
        """The names under which anything is promised or waited for, in order."""
        return tuple(sorted(self._index().on_capacity))

    def capacity(self, name: str) -> Capacity | None:
        """Return what is known of a capacity."""
        return self._capacities.get(name)

    def disks_of(self, node: str) -> Mapping[str, DiskCapacity]:
        """Return the drives and groups of a node as planners see them, by name of the capacity."""
        return self._disks.get(node, _NO_DISKS)

    def held(self, capacity: str) -> dict[str, int]:
        """Return what is promised of a capacity; resources of which nothing is are left out."""
        return dict(self._index().held.get(capacity, ()))

    def held_amount(self, capacity: str, resource: str) -> int:
        """Return how much of a resource is promised there."""
        held = self._index().held.get(capacity)
        return held.get(resource, 0) if held else 0

    def promised_on_drive(self, drive: str) -> set[str]:
        """Return the groups that were made of a drive when something was promised there."""
        return {capacity for _, _, capacity in self._index().on_drive.get(drive, _NO_KEYS)}

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims whose volumes are held, in order."""
        return tuple(sorted(self._index().of_claim))

    def summed(self, capacity: str) -> dict[str, int]:
        """Return the same as `held`, added up from the entries now."""
        sums: dict[str, int] = {}
        for entry in self.entries_on(capacity):
            if entry.state in HOLDING:
                for resource in entry.resources:
                    sums[resource] = sums.get(resource, 0) + entry.resources[resource]
        return {resource: amount for resource, amount in sums.items() if amount}

    def entry(self, key: Key) -> LedgerEntry | None:
        """Return a live entry."""
        return self._entries.get(key)

    def entries_of(self, reservation: str) -> list[LedgerEntry]:
        """Return what a reservation has or waits for."""
        return self._named(self._index().of_reservation.get(reservation, _NO_KEYS))

    def entries_on(self, capacity: str) -> list[LedgerEntry]:
        """Return who has or waits for something of a capacity."""
        return self._named(self._index().on_capacity.get(capacity, _NO_KEYS))

    def entries_owned_by(self, owner: str) -> list[LedgerEntry]:
        """Return what an owner has or waits for."""
        return self._named(self._index().of_owner.get(owner, _NO_KEYS))

    def sharing(self, claim: str) -> list[LedgerEntry]:
        """Return who holds the volume of a claim: one of them has its bytes."""
        return self._named(self._index().of_claim.get(claim, _NO_KEYS))

    def due(self, at_seconds: int) -> list[LedgerEntry]:
        """Return the entries whose time has come."""
        return self._named(self._index().deadlines.due(at_seconds))

    def reserved_shares(self) -> list[LedgerEntry]:
        """Return the logical volumes that are promised and not made yet."""
        return self._named(self._index().reserved_shares)

    def copy(self) -> "LedgerState":
        """Return a ledger of its own that is the same now."""
        return LedgerState(
            self._capacities.values(),
            self._entries.values(),
            self.waiting,
            revision=self.revision,
            at_seconds=self.at_seconds,
        )

    def supply(self, capacity: Capacity) -> None:
        """Take a capacity as described from here on."""
        self.withdraw(capacity.name)
        self._capacities[capacity.name] = capacity
        if capacity.disk is not None:
            # Planners name what they choose; the name of the capacity is the one that nothing else has.
            disk = msgspec.structs.replace(capacity.disk, name=capacity.name)
            self._disks.setdefault(disk.node, {})[capacity.name] = disk

    def withdraw(self, name: str) -> None:
        """Forget a capacity, if it is known; what is promised of it stays."""
        known = self._capacities.pop(name, None)
        if known is not None and known.disk is not None:
            del self._disks[known.disk.node][name]

    def put(self, entry: LedgerEntry) -> None:
        """Add a live entry, or replace the one of the same key."""
        key = key_of(entry)
        self.end(key)
        self._entries[key] = entry
        if self._indexes is not None:
            self._indexes.add(key, entry)

    def end(self, key: Key) -> None:
        """Take away an entry, if it is live."""
        entry = self._entries.pop(key, None)
        if entry is not None and self._indexes is not None:
            self._indexes.remove(key, entry)

    def _index(self) -> Indexes:
        if self._indexes is None:
            self._indexes = Indexes(self._entries)
        return self._indexes

    def _named(self, keys: Iterable[Key]) -> list[LedgerEntry]:
        return [self._entries[key] for key in sorted(keys)]
