"""Holding everything that a reservation asks for at once, or nothing of it.

Plan and hold are one step: volumes are planned on what the ledger has promised so far, and what the plan
chose is summed up like any other hold, so that a wrong plan could not promise a byte twice.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ullage.engine.ledger.entries import asked_entries
from ullage.engine.ledger.room import SHORTFALLS_MAX, Lack, Wanted, lacking, names_of_bytes, refused, want
from ullage.engine.ledger.sharing import Beside, beside, carried, carrier
from ullage.engine.ledger.view import LedgerView
from ullage.engine.storage.capacities import holds_of, taken
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskPlan, DiskRequest
from ullage.model.drives import ANY
from ullage.model.ledger import (
    COMPUTE,
    WHOLE_DRIVE,
    Decision,
    Hold,
    Reserve,
    node_capacity,
    node_of,
)
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources


class _Choice(NamedTuple):
    """A node that would serve, and what would be held there."""

    node: str
    holds: tuple[Hold, ...]


def hold_now(view: LedgerView, command: Reserve, at_seconds: int) -> Decision:
    """Decide a reservation whose turn it is."""
    found = _held(view, _with_shared(view, command))
    if isinstance(found, Lack):
        return refused(found, asked_entries(command, "REJECTED", at_seconds, found.reason))
    entries = (
        LedgerEntry(
            command.reservation,
            hold.request,
            hold.capacity,
            command.owner,
            resources=part.own,
            state="RESERVED",
            created_seconds=at_seconds,
            expires_seconds=command.expires_seconds,
            drives=_drives_of(view, hold.capacity),
            claim=hold.claim,
        )
        for hold, part in found
    )
    grown = (part.grown for _, part in found if part.grown is not None)
    return Decision(accepted=True, changed=(*entries, *grown))


def _held(view: LedgerView, command: Reserve | Lack) -> list[tuple[Hold, Beside]] | Lack:
    """Return all that is to be held, the volumes on the disks that were chosen; or why it cannot be."""
    if isinstance(command, Lack):
        return command
    found: list[tuple[Hold, Beside]] = []
    wanted: Wanted = {}
    for hold in command.holds:
        part = beside(view, hold)
        if isinstance(part, Lack):
            return part
        found.append((hold, part))
        if part.more or not hold.claim:
            want(wanted, hold.capacity, part.more)
    lack = lacking(view, wanted)
    if lack is None and (command.requests or command.volumes):
        chosen = _choose(view, command, wanted)
        if isinstance(chosen, Lack):
            return chosen
        holds = (hold for choice in chosen for hold in choice.holds)
        found += ((hold, Beside(hold.resources, hold.resources)) for hold in holds)
    return found if lack is None else lack


def _with_shared(view: LedgerView, command: Reserve) -> Reserve | Lack:
    """Return a reservation that holds volumes of claims where others hold them, and goes to their node."""
    has = {each.claim: carrier(view, each.claim) for each in command.volumes if each.claim}
    shared = {claim: entry for claim, entry in has.items() if entry is not None}
    if not shared:
        return command
    nodes = command.nodes
    holds = []
    for volume in command.volumes:
        if volume.claim not in shared:
            continue
        entry = shared[volume.claim]
        node = node_of(entry.capacity)
        if node not in nodes:
            where = f"claim {volume.claim} is promised on {entry.capacity} to {entry.reservation}"
            return Lack(f"{where}, and {command.reservation} cannot go there; release {entry.reservation}")
        nodes = (node,)
        disk = view.disks_of(node).get(entry.capacity)
        asked = entry.resources if disk is None else taken(volume, disk, command.mode)
        holds.append(Hold(volume.name, entry.capacity, asked, volume.claim))
    left = tuple(each for each in command.volumes if each.claim not in shared)
    return msgspec.structs.replace(command, holds=(*command.holds, *holds), nodes=nodes, volumes=left)


def _drives_of(view: LedgerView, name: str) -> tuple[str, ...]:
    capacity = view.capacity(name)
    return capacity.drives if capacity is not None else ()


def is_held_already(view: LedgerView, command: Reserve) -> bool:
    """Whether what a reservation holds is what this command asks for: then it is the same one, repeated."""
    entries = view.entries_of(command.reservation)
    if any(
        (entry.state, entry.owner, entry.expires_seconds)
        != ("RESERVED", command.owner, command.expires_seconds)
        for entry in entries
    ):
        return False
    rest = {(entry.request, entry.capacity): carried(view, entry) for entry in entries}
    if any(rest.pop((hold.request, hold.capacity), None) != hold.resources for hold in command.holds):
        return False
    volumes = {volume.name: volume for volume in command.volumes}
    places: dict[str, set[str]] = {name: set() for name in volumes}
    if command.requests:
        places[COMPUTE] = set()
    for (request, capacity), resources in rest.items():
        node = node_of(capacity)
        if request in volumes:
            disk = view.disks_of(node).get(capacity)
            serves = disk is not None and _serves(disk, volumes[request], command, resources)
        else:
            serves = request in places and capacity == node_capacity(node) and resources == command.requests
        if not serves or node not in command.nodes:
            return False
        places[request].add(node)
    return all(len(nodes) == command.copies for nodes in places.values())


def _serves(disk: DiskCapacity, volume: DiskRequest, command: Reserve, resources: Resources) -> bool:
    """Whether what is held of a disk is what this volume would have there."""
    if volume.is_share or command.mode == "zos":
        return resources == taken(volume, disk, command.mode)
    return (
        resources.of(WHOLE_DRIVE) > 0
        and volume.storage_class in {ANY, disk.storage_class}
        and volume.size_bytes <= disk.size_bytes
    )


def _choose(view: LedgerView, command: Reserve, wanted: Wanted) -> list[_Choice] | Lack:
    """Return the best nodes with room for everything, as many as asked for."""
    lacks: list[Lack] = []
    roomy = []
    for node in command.nodes:
        lack = lacking(view, _with(wanted, node, _compute(command, node)))
        if lack is None:
            roomy.append(node)
        else:
            lacks.append(lack)
    chosen = []
    for choice in _served(view, command, roomy, lacks):
        lack = lacking(view, _with(wanted, choice.node, choice.holds)) if command.volumes else None
        if lack is None:
            chosen.append(choice)
        else:
            lacks.append(lack)
        if len(chosen) == command.copies:
            return chosen
    return _nowhere(command, len(chosen), lacks)


def _served(view: LedgerView, command: Reserve, nodes: list[str], lacks: list[Lack]) -> Iterator[_Choice]:
    """Yield the nodes that serve the volumes, the best first; note why others do not."""
    if not command.volumes:
        yield from (_Choice(node, _compute(command, node)) for node in nodes)
        return
    plan = _planned(view, command, nodes) if nodes else DiskPlan()
    for each in plan.nodes:
        disks = view.disks_of(each.node)
        volumes = tuple(
            Hold(volume.name, name, taken(volume, disks[name], command.mode), volume.claim)
            for volume in command.volumes
            for name in (each.chosen[volume.name],)
        )
        yield _Choice(each.node, (*_compute(command, each.node), *volumes))
    lacks += (
        Lack(f"node {witness.node}: {witness.reason}" + (f"; {witness.remedy}" if witness.remedy else ""))
        for witness in plan.witnesses
    )


def _planned(view: LedgerView, command: Reserve, nodes: list[str]) -> DiskPlan:
    from ullage.engine.storage.planning import plan

    disks = {name: disk for node in nodes for name, disk in sorted(view.disks_of(node).items())}
    holds = [hold for name in disks for hold in _holds_on(view, name, disks[name])]
    # Whose turn it is has been decided with the whole ledger in view, not with these nodes alone.
    return plan(
        command.mode,
        tuple(disks.values()),
        tuple(holds),
        command.volumes,
        tuple(nodes),
        few_drives=False,
    )


def _holds_on(view: LedgerView, name: str, disk: DiskCapacity) -> Iterator[DiskHold]:
    """Yield what is promised of a disk, also under other names of the same bytes."""
    capacity = view.capacity(name)
    for each in names_of_bytes(view, capacity) if capacity is not None else ():
        yield from holds_of(view.entries_on(each), {each: disk}, bound=True)


def _compute(command: Reserve, node: str) -> tuple[Hold, ...]:
    return (Hold(COMPUTE, node_capacity(node), command.requests),) if command.requests else ()


def _with(wanted: Wanted, node: str, holds: tuple[Hold, ...]) -> Wanted:
    """Return what is wanted on a node, with what is wanted there anyhow."""
    together: Wanted = {name: dict(amounts) for name, amounts in wanted.items() if node_of(name) == node}
    for hold in holds:
        want(together, hold.capacity, hold.resources)
    return together


def _nowhere(command: Reserve, found: int, lacks: list[Lack]) -> Lack:
    first = f": {lacks[0].reason}" if lacks else ""
    count = len(command.nodes)
    had = (
        f"{found} of {count} nodes can"
        if found
        else f"none of {count} nodes can"
        if count > 1
        else "no node can"
    )
    asked = f", {command.copies} are asked for" if command.copies > 1 else ""
    shortfalls = tuple(short for lack in lacks for short in lack.shortfalls)
    return Lack(f"{had} hold {command.reservation}{asked}{first}", shortfalls[:SHORTFALLS_MAX])
