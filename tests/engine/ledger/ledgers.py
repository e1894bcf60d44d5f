"""Ledgers for tests: capacities in a word, and a ledger that keeps its journal."""

from typing import Any

from simulation.linearizability import Sums
from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.decide import decide
from ullage.engine.ledger.state import LedgerState
from ullage.engine.storage.capacities import disk_name
from ullage.engine.storage.extents import group_bytes
from ullage.model.disk_plan import DiskCapacity, DiskRequest
from ullage.model.ledger import (
    VOLUME_SPACE,
    WHOLE_DRIVE,
    Capacity,
    Command,
    Decision,
    Hold,
    JournalRow,
    Reserve,
    Supply,
)
from ullage.model.resources import Resources

MIB = 1 << 20
GIB = 1 << 30


def capacity(name: str, *unbounded: str, **offers: int) -> Capacity:
    return Capacity(name, Resources(offers), unbounded)


def drive(node: str, uuid: str, size: int, drive_class: Any = "HDD", **facts: Any) -> Capacity:
    disk = DiskCapacity(uuid, node, drive_class, size, **facts)
    return Capacity(disk_name(disk), Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: group_bytes(size)}), disk=disk)


def group(node: str, name: str, size: int, group_class: Any = "HDDLVG", **facts: Any) -> Capacity:
    disk = DiskCapacity(name, node, group_class, size, **facts)
    return Capacity(disk_name(disk), Resources({VOLUME_SPACE: size}), disk=disk)


def hold(capacity: str, request: str = "web", **resources: int) -> Hold:
    return Hold(request, capacity, Resources(resources))


def volume(name: str, storage_class: Any, size: int) -> DiskRequest:
    return DiskRequest(name, storage_class, size)


def reserve(name: str, *holds: Hold, owner: str = "team", expires: int = 100, **more: Any) -> Reserve:
    return Reserve(name, owner, expires, holds=holds, **more)


class Ledger:
    """A ledger, its journal, and sums of its own that are followed beside it."""

    def __init__(self, *capacities: Capacity) -> None:
        self.state = LedgerState()
        self.rows: list[JournalRow] = []
        self.sums = Sums()
        self.at_seconds = 10
        if capacities:
            assert self.do(Supply(capacities)).accepted

    def do(self, command: Command, at_seconds: int | None = None) -> Decision:
        """Decide a command and take the step."""
        self.at_seconds = max(self.at_seconds, at_seconds or 0)
        decision = decide(self.state, command, self.at_seconds)
        if decision.accepted:
            assert self.sums.follow(decision) == []
        apply(self.state, decision, self.at_seconds)
        self.rows.append(JournalRow(self.state.revision, self.at_seconds, command, decision))
        return decision

    def states(self, reservation: str) -> dict[tuple[str, str], str]:
        """Return the states of a reservation's live entries by request and capacity."""
        entries = self.state.entries_of(reservation)
        return {(entry.request, entry.capacity): entry.state for entry in entries}

    def refuses(self, command: Command, at_seconds: int | None = None) -> str:
        """Return why a command is refused; nothing has changed by it."""
        before = self.state.copy()
        decision = self.do(command, at_seconds)
        assert not decision.accepted
        assert self.state.entries == before.entries
        assert (self.state.waiting, self.state.capacities) == (before.waiting, before.capacities)
        assert decision.reason.isprintable()
        return decision.reason
