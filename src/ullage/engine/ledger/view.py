"""What a decision may ask of a ledger, whether it is the ledger as it is or as it would be."""

from collections.abc import Mapping
from typing import Protocol

from ullage.model.disk_plan import DiskCapacity
from ullage.model.ledger import Capacity, Reserve
from ullage.model.ledger_entry import LedgerEntry

Key = tuple[str, str, str]
"""Reservation, request and capacity of an entry."""


class LedgerView(Protocol):
    """The questions. Answers with several entries are in order of their keys, whatever happened before."""

    @property
    def at_seconds(self) -> int:
        """When the last step was taken; time does not go backwards."""

    @property
    def waiting(self) -> tuple[Reserve, ...]:
        """Who waits for their turn, the first first."""

    def capacity(self, name: str) -> Capacity | None:
        """Return what is known of a capacity."""

    def disks_of(self, node: str) -> Mapping[str, DiskCapacity]:
        """Return the drives and groups of a node as planners see them, by name of the capacity."""

    def held_amount(self, capacity: str, resource: str) -> int:
        """Return how much of a resource is promised there."""

    def promised_on_drive(self, drive: str) -> set[str]:
        """Return the groups that were made of a drive when something was promised there."""

    def entry(self, key: Key) -> LedgerEntry | None:
        """Return a live entry."""

    def entries_of(self, reservation: str) -> list[LedgerEntry]:
        """Return what a reservation has or waits for."""

    def entries_on(self, capacity: str) -> list[LedgerEntry]:
        """Return who has or waits for something of a capacity."""

    def sharing(self, claim: str) -> list[LedgerEntry]:
        """Return who holds the volume of a claim: one of them has its bytes."""

    def due(self, at_seconds: int) -> list[LedgerEntry]:
        """Return the entries whose time has come."""

    def reserved_shares(self) -> list[LedgerEntry]:
        """Return the logical volumes that are promised and not made yet."""


def key_of(entry: LedgerEntry) -> Key:
    """Return what an entry is known by; no two texts run into each other."""
    return (entry.reservation, entry.request, entry.capacity)
