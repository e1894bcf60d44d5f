"""What local disks have: every drive and volume group with what is in use, promised and free, or why not.

A drive of a volume group is counted there; sums are by class of drives.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.storage.capacities import entries_by_node
from ullage.engine.storage.disk_terms import DiskTerms, disk_terms
from ullage.engine.storage.hollow_promises import hollow_promises
from ullage.model.cluster import Node, Snapshot
from ullage.model.constraints import Record
from ullage.model.drives import DRIVE_CLASSES
from ullage.model.errors import InputError
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.verdict import Finding
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster, unknown
from ullage.service.held import columns_of

DRIVES_REMEDY: Final = (
    "a dump needs drives,logicalvolumegroups of csi-baremetal; `ullage inspect` reads those of a host"
)


class DiskTotals(Record, frozen=True):
    """All disks of one class of drives, each counted once; what thin pools offer beyond their size is not.

    `closed_bytes` is what nobody can have: of disks that offer nothing and hold nothing that is known, on
    nodes that take nothing new, and what groups lose to extents. `largest_on` is the node and disk that the
    largest volume could be put on.
    """

    drive_class: str
    drives: int
    groups: int
    failing: int
    size_bytes: int
    used_bytes: int
    promised_bytes: int
    free_bytes: int
    closed_bytes: int
    largest_bytes: int
    largest_on: str


class DiskListReport(Record, frozen=True):
    """The answer to `ullage disks list`: disks by node, groups before their drives.

    `findings` are promises that disks cannot keep.
    """

    cluster: str
    revision: int
    policy: str
    disks: tuple[DiskTerms, ...]
    totals: tuple[DiskTotals, ...]
    not_simulated: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def disks_list(asked: Asked, subject: str = "") -> Answer:
    """Answer what the disks of a cluster have, or those of one node."""
    node = node_of(subject)
    return disks_list_of(read_cluster(asked), asked, node)


def disks_list_of(snapshot: Snapshot, asked: Asked, node: str = "") -> Answer:
    """Answer what the disks of a cluster have that was read already."""
    from ullage.service.disks_list_page import disks_list_page

    report = disks_list_report(snapshot, node)
    types = snapshot.resource_types
    return Answer(
        lambda: disks_list_page(report, asked),
        lambda: versioned("DiskList", report, types),
        shortened=lambda: disks_list_page(report, asked, shortened=True),
    )


def disks_list_report(snapshot: Snapshot, node: str = "") -> DiskListReport:
    """Return every number of the answer; with a node, only of its disks."""
    columns = with_disks(snapshot, node)
    disks = disks_of(columns)
    kept = tuple(each for each in disks if not node or each.node == node)
    return DiskListReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        disks=kept,
        totals=tuple(totals_of(kept)),
        not_simulated=snapshot.unknowns,
        findings=tuple(hollow_promises(columns, node)),
    )


def node_of(subject: str) -> str:
    """Return the node that node/NAME means; nothing means all of them."""
    if not subject:
        return ""
    kind, _, name = subject.partition("/")
    if kind != "node" or not name:
        raise InputError(f"{subject!r} has no disks", remedy="write node/NAME, or leave it out")
    return name


def with_disks(snapshot: Snapshot, node: str = "") -> Columns:
    """Return the columns of a cluster that has disks, on a node if one is named; else refuse."""
    if node and node not in snapshot.nodes:
        raise unknown("node", node, [each.name for each in snapshot.nodes])
    asked = [snapshot.nodes[node]] if node else snapshot.nodes
    if not any(each.drives or each.volume_groups for each in asked):
        where = f"node {node}" if node else snapshot.name or "the cluster"
        raise InputError(f"{where} has no drives", remedy=DRIVES_REMEDY)
    return columns_of(snapshot)


def disks_of(columns: Columns) -> list[DiskTerms]:
    """Return the disks of all nodes."""
    entries = entries_by_node(columns.snapshot.reservations)
    return [disk for node in columns.nodes for disk in _terms(columns, node, entries)]


def disks_on(columns: Columns, node: Node) -> tuple[DiskTerms, ...]:
    """Return the disks of one node."""
    return _terms(columns, node, entries_by_node(columns.snapshot.reservations))


def _terms(
    columns: Columns, node: Node, entries: Mapping[str, Sequence[LedgerEntry]]
) -> tuple[DiskTerms, ...]:
    rules = columns.rules_of(node)
    return disk_terms(node, entries.get(node.name, ()), shared=rules.storage_mode == "zos", rules=rules)


def totals_of(disks: Sequence[DiskTerms]) -> Iterator[DiskTotals]:
    """Yield what each class of drives has in all."""
    for drive_class in DRIVE_CLASSES:
        mine = [each for each in disks if each.drive_class == drive_class]
        if mine:
            yield _totals(drive_class, mine)


def _totals(drive_class: str, disks: Sequence[DiskTerms]) -> DiskTotals:
    drives = [each for each in disks if each.kind == "drive"]
    known = {(each.node, each.name) for each in drives}
    unknown_groups = [
        each
        for each in disks
        if each.kind == "group" and not any((each.node, uuid) in known for uuid in each.drives)
    ]
    size_bytes = sum(each.size_bytes for each in (*drives, *unknown_groups))
    real = [each for each in disks if each.kind != "pool"]
    used_bytes = sum(each.used_bytes for each in real)
    promised_bytes = sum(each.promised_bytes for each in real)
    free_bytes = sum(each.free_bytes for each in real if each.largest_bytes)
    largest = min(disks, key=lambda each: (-each.largest_bytes, each.node, each.name))
    return DiskTotals(
        drive_class,
        len(drives),
        len(real) - len(drives),
        sum(each.failing for each in drives),
        size_bytes,
        used_bytes,
        promised_bytes,
        free_bytes,
        max(0, size_bytes - used_bytes - promised_bytes - free_bytes),
        largest.largest_bytes,
        f"{largest.node}/{largest.name}" if largest.largest_bytes else "",
    )
