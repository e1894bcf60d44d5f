"""Promises that disks cannot keep: of drives and groups that have gone, fail, are taken, or too small now.

The ledger promises nothing that is not there, but a drive may die or shrink under a promise that stands. Only
volumes that do not exist yet are looked at: those that do are told with their drive.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.storage.capacities import by_ledger_name, capacities_of, disk_name, entries_by_node
from ullage.engine.storage.extents import group_bytes
from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskCapacity
from ullage.model.drives import Drive
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.quantity import readable_bytes
from ullage.model.verdict import Finding

NAMES_SHOWN: Final = 3


def hollow_promises(columns: Columns, of_node: str = "") -> Iterator[Finding]:
    """Yield a finding for every disk, perhaps of one node, of which more is promised than it can give."""
    found = entries_by_node(each for each in columns.snapshot.reservations if each.state == "RESERVED")
    for name in sorted(found) if not of_node else sorted({of_node} & set(found)):
        node = columns.snapshot.nodes.get(name)
        if node is None:
            yield _finding(name, f"node {name}", found[name], "gone", "the cluster does not have it any more")
        else:
            yield from _of_node(columns, node, found[name])


def promises_on(columns: Columns, drives: Iterable[tuple[str, str]]) -> list[LedgerEntry]:
    """Return what is reserved on drives, or in groups that they are part of, each as its node and name."""
    names: set[str] = set()
    for name, uuid in drives:
        groups = [each.name for each in columns.snapshot.nodes[name].volume_groups if uuid in each.drives]
        names |= {f"drive/{name}/{uuid}", *(f"group/{name}/{group}" for group in groups)}
    reserved = (each for each in columns.snapshot.reservations if each.state == "RESERVED")
    return [each for each in reserved if each.capacity in names]


def promised_words(entries: Iterable[LedgerEntry]) -> str:
    """Return how much entries hold of disks, and for whom."""
    held = list(entries)
    names = sorted({each.reservation for each in held})
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    total_bytes = sum(each.resources.of(VOLUME_SPACE) for each in held)
    return f"{readable_bytes(total_bytes)} promised to {', '.join(names[:NAMES_SHOWN])}{more}"


def _of_node(columns: Columns, node: Node, entries: Iterable[LedgerEntry]) -> Iterator[Finding]:
    rules = columns.rules_of(node)
    shared = rules.storage_mode == "zos"
    known = by_ledger_name(node, capacities_of(node, shared=shared, rules=rules))
    offered: dict[str, DiskCapacity] = {}
    by_disk: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        # What was promised of a group that has gone is promised on the drives that it was made of.
        names = (entry.capacity,) if entry.capacity in known else entry.drives
        disk = next(filter(None, map(known.get, names)), None)
        name = entry.capacity if disk is None else disk_name(disk)
        if disk is not None:
            offered[name] = disk
        by_disk.setdefault(name, []).append(entry)
    for capacity, held in sorted(by_disk.items()):
        kind, _, place = capacity.split("/", 2)
        what = f"{'drive' if kind == 'drive' else 'volume group'} {place} on node {node.name}"
        if capacity not in offered:
            yield _finding(node.name, what, held, *_why_not(node, kind, place))
            continue
        room_bytes = _room_bytes(offered[capacity], shared=shared)
        lack_bytes = sum(each.resources.of(VOLUME_SPACE) for each in held) - room_bytes
        if lack_bytes > 0:
            why = f"it has {readable_bytes(room_bytes)} for volumes now, {readable_bytes(lack_bytes)} less"
            yield _finding(node.name, what, held, "short", why)


def _room_bytes(disk: DiskCapacity, *, shared: bool) -> int:
    """Return what new volumes can have of a disk in all."""
    if shared:
        return max(0, disk.size_bytes - disk.used_bytes)
    return disk.size_bytes if disk.is_group else group_bytes(disk.size_bytes)


def _why_not(node: Node, kind: str, place: str) -> tuple[str, str]:
    """Return in a word and in words why a disk of a node gives nothing to new volumes."""
    drives = {drive.uuid: drive for drive in node.drives}
    if kind == "drive":
        group, below = None, [drives[place]] if place in drives else []
    else:
        # A thin pool is named with its group.
        group = next((each for each in node.volume_groups if f"{place}/".startswith(f"{each.name}/")), None)
        below = [drives[uuid] for uuid in group.drives if uuid in drives] if group else []
    if group is None and not below:
        return "gone", "the node does not have it any more"
    trouble = next(filter(None, map(_trouble, below)), "")
    if trouble:
        return "failing", trouble
    return ("short", "it has nothing for volumes now") if group else ("taken", "it is in use by others")


def _trouble(drive: Drive) -> str:
    """Return why no volume should be put on a drive; nothing where it is sound."""
    if not drive.is_healthy:
        return f"drive {drive.uuid} is {drive.health} and {drive.status}"
    return "" if drive.usage == "IN_USE" else f"drive {drive.uuid} is {drive.usage}"


def _finding(node: str, what: str, entries: Iterable[LedgerEntry], code: str, why: str) -> Finding:
    held = list(entries)
    return Finding(
        f"drive-promise-{code}",
        "error",
        f"node/{node}",
        f"{what}: {promised_words(held)}, but {why}",
        f"release {to_release(held)}, or bring the disk back",
    )


def to_release(entries: Iterable[LedgerEntry]) -> str:
    """Return what to release of entries to be served elsewhere: the first, with all who share its claims."""
    held = list(entries)
    first = min(each.reservation for each in held)
    claims = {each.claim for each in held if each.reservation == first and each.claim}
    names = sorted({first, *(each.reservation for each in held if each.claim in claims)})
    together = " for all of them" if len(names) > 1 else ""
    return f"{', '.join(names)} and ask again{together}"
