"""The page of `disks list`: disks with their terms, the volumes on them, promises, and the sums."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.quantity import readable_bytes
from ullage.render import view
from ullage.service.clock import told_time
from ullage.service.words import findings_block, nothing_cell, plural

if TYPE_CHECKING:
    from ullage.engine.storage.disk_terms import DiskTerms, PromiseTerms, VolumeTerms
    from ullage.service.asked import Asked
    from ullage.service.disks_list import DiskListReport, DiskTotals

ROWS_SHOWN: Final = 60
INDENT: Final = "└ "
"""What stands before a drive of the group above it."""


def disks_list_page(report: "DiskListReport", asked: "Asked", *, shortened: bool = False) -> view.Page:
    """Return the page of disks; shortened, system drives are left out and many disks fit a few screens."""
    rows_max = ROWS_SHOWN if shortened else None
    shown = [each for each in report.disks if not each.system] if shortened else report.disks
    blocks: list[view.Block] = [disk_table(shown, rows_max, hidden=len(report.disks) - len(shown))]
    volumes = [(disk, volume) for disk in report.disks for volume in disk.volumes]
    if volumes:
        blocks.append(_volume_table(volumes, rows_max))
    promises = [(disk, promise) for disk in report.disks for promise in disk.promises]
    if promises:
        blocks.append(_promise_table(promises, rows_max))
    blocks.append(_totals(report.totals))
    if report.findings:
        blocks.append(findings_block("Promises that cannot be kept", report.findings))
    return view.Page(
        title=f"Disks of {report.cluster}",
        verdict=view.Verdict(_verdict(report)),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=0,
    )


def bytes_cell(amount_bytes: int, *, tone: view.Tone = "plain") -> view.Cell:
    """Return bytes for people, with the exact number for machines."""
    return view.Cell(readable_bytes(amount_bytes), tone=tone, value=str(amount_bytes))


def _verdict(report: "DiskListReport") -> str:
    drives = sum(each.kind == "drive" for each in report.disks)
    groups = sum(each.kind == "group" for each in report.disks)
    nodes = len({each.node for each in report.disks})
    also = f" and {plural(groups, 'volume group')}" if groups else ""
    parts = [f"{plural(drives, 'drive')}{also} on {plural(nodes, 'node')}"]
    parts += [
        f"{each.drive_class} {readable_bytes(each.free_bytes)} free, "
        f"at most {readable_bytes(each.largest_bytes)} for one volume"
        for each in report.totals
        if each.free_bytes
    ]
    if report.findings:
        parts.append(f"{plural(len(report.findings), 'promise')} cannot be kept")
    failing = sum(each.failing for each in report.totals)
    if failing:
        parts.append(f"{plural(failing, 'drive')} failing")
    return "; ".join(parts)


def _next_words(report: "DiskListReport") -> str:
    """Return the loss that hurts most: that of a drive with volumes, a failing one first."""
    groups = {(each.node, each.name): each for each in report.disks if each.kind == "group"}
    holding = [
        each
        for each in report.disks
        if each.kind == "drive" and (each.volumes or (each.group and groups[each.node, each.group].volumes))
    ]
    first = min(holding, key=lambda each: not each.failing, default=None)
    return f"check --lose drive/{first.name}" if first else "disks fragmentation"


def disk_table(
    disks: "Sequence[DiskTerms]", rows_max: int | None = None, *, hidden: int = 0, by_node: bool = True
) -> view.Table:
    """Return a row for each disk; those of one node need no column for it."""
    columns = (
        *((view.Column("node", priority=9),) if by_node else ()),
        view.Column("disk", priority=9),
        view.Column("class", priority=8, key="storageClass"),
        view.Column("size", "right", priority=8, key="sizeBytes"),
        view.Column("used", "right", priority=7, key="usedBytes"),
        view.Column("promised", "right", priority=5, key="promisedBytes"),
        view.Column("free", "right", priority=8, key="freeBytes"),
        view.Column("largest", "right", wide_only=True, priority=4, key="largestBytes"),
        view.Column("closed because", priority=7, key="closed"),
        view.Column("volumes", "right", priority=3),
        view.Column("storage group", wide_only=True, priority=1, key="storageGroup"),
        view.Column("path", wide_only=True, priority=2),
        view.Column("model", wide_only=True, priority=1),
    )
    rows = [_row(each)[not by_node :] for each in disks]
    caption = "a volume has a whole drive, or a share of a volume group; a drive of a group is counted there"
    if hidden:
        caption += f"; {plural(hidden, 'disk')} of the system not shown, -o wide shows all"
    if rows_max is not None and len(rows) > rows_max:
        caption += f"; the first {rows_max} of {len(rows)}, -o wide shows all"
        rows = rows[:rows_max]
    return view.Table("Disks", columns, tuple(rows), caption)


def _row(disk: "DiskTerms") -> tuple[view.Cell, ...]:
    counted = not disk.group
    used = view.Share(disk.used_bytes, disk.size_bytes) if counted and disk.size_bytes else None
    return (
        view.Cell(disk.node),
        view.Cell(f"{INDENT}{disk.name}" if disk.group else disk.name, value=disk.name),
        view.Cell(disk.storage_class),
        bytes_cell(disk.size_bytes),
        view.Cell(readable_bytes(disk.used_bytes), used, value=str(disk.used_bytes))
        if counted
        else nothing_cell(),
        bytes_cell(disk.promised_bytes) if counted else nothing_cell(),
        bytes_cell(disk.free_bytes) if counted else nothing_cell(),
        bytes_cell(disk.largest_bytes) if counted else nothing_cell(),
        view.Cell(
            _closed(disk),
            tone="bad" if disk.failing else "muted",
            value="; ".join(disk.closed),
        ),
        view.Cell(str(len(disk.volumes))) if counted else nothing_cell(),
        view.Cell(disk.storage_group) if disk.storage_group else nothing_cell(),
        view.Cell(disk.path) if disk.path else nothing_cell(),
        view.Cell(disk.model) if disk.model else nothing_cell(),
    )


def _closed(disk: "DiskTerms") -> str:
    """Return why a disk offers nothing; which group a drive is part of shows by the row that it is under."""
    reasons = (each.removesuffix(f" {disk.group}") if disk.group else each for each in disk.closed)
    return ", ".join(reasons) or "-"


def _volume_table(volumes: "Sequence[tuple[DiskTerms, VolumeTerms]]", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("volume", priority=9),
        view.Column("size", "right", priority=8, key="sizeBytes"),
        view.Column("node", priority=7),
        view.Column("disk", priority=8),
        view.Column("for", priority=6),
    )
    rows = tuple(
        (
            view.Cell(volume.name),
            bytes_cell(volume.size_bytes),
            view.Cell(disk.node),
            view.Cell(disk.name),
            _serves(volume),
        )
        for disk, volume in volumes[:rows_max]
    )
    return view.Table("Volumes", columns, rows, _shortened(len(rows), len(volumes)))


def _serves(volume: "VolumeTerms") -> view.Cell:
    """Return the claim that a volume serves, or the workload that it goes with."""
    if volume.claim:
        return view.Cell(f"claim {volume.claim}", value=volume.claim)
    return view.Cell(volume.owner) if volume.owner else nothing_cell()


def _promise_table(promises: "Sequence[tuple[DiskTerms, PromiseTerms]]", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("reservation", priority=9),
        view.Column("for", priority=8, key="owner"),
        view.Column("volume", priority=7, key="request"),
        view.Column("size", "right", priority=8, key="sizeBytes"),
        view.Column("node", priority=6),
        view.Column("disk", priority=7),
        view.Column("until", priority=4, key="expiresSeconds"),
    )
    rows = tuple(
        (
            view.Cell(promise.reservation),
            view.Cell(promise.owner),
            view.Cell(promise.request),
            bytes_cell(promise.size_bytes),
            view.Cell(disk.node),
            view.Cell(disk.name),
            _until(promise),
        )
        for disk, promise in promises[:rows_max]
    )
    notes = filter(None, ("reserved and not yet bound", _shortened(len(rows), len(promises))))
    return view.Table("Promised", columns, rows, "; ".join(notes))


def _until(promise: "PromiseTerms") -> view.Cell:
    if promise.expires_seconds is None:
        return nothing_cell()
    return view.Cell(told_time(promise.expires_seconds), value=str(promise.expires_seconds))


def _shortened(shown: int, count: int) -> str:
    return f"the first {shown} of {count}, -o wide shows all" if shown < count else ""


def _totals(totals: "Sequence[DiskTotals]") -> view.Table:
    columns = (
        view.Column("class", priority=9, key="driveClass"),
        view.Column("drives", "right", priority=7),
        view.Column("groups", "right", priority=4),
        view.Column("failing", "right", priority=5),
        view.Column("size", "right", priority=8, key="sizeBytes"),
        view.Column("used", "right", priority=8, key="usedBytes"),
        view.Column("promised", "right", priority=6, key="promisedBytes"),
        view.Column("free", "right", priority=8, key="freeBytes"),
        view.Column("closed", "right", priority=6, key="closedBytes"),
        view.Column("largest volume", "right", priority=7, key="largestBytes"),
        view.Column("on", priority=5, key="largestOn"),
    )
    rows = tuple(
        (
            view.Cell(each.drive_class),
            view.Cell(str(each.drives)),
            view.Cell(str(each.groups)),
            view.Cell(str(each.failing), tone="bad" if each.failing else "plain"),
            bytes_cell(each.size_bytes),
            bytes_cell(each.used_bytes),
            bytes_cell(each.promised_bytes),
            bytes_cell(each.free_bytes),
            bytes_cell(each.closed_bytes),
            bytes_cell(each.largest_bytes),
            view.Cell(each.largest_on) if each.largest_on else nothing_cell(),
        )
        for each in totals
    )
    caption = "closed: disks that offer nothing and hold nothing known, and what groups lose to extents"
    return view.Table("In all", columns, rows, caption)
