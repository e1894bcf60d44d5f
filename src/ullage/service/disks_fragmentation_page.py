"""The page of `disks fragmentation`: by class, what is free beside what can be had, and cheapest repacks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ullage.model.quantity import readable_bytes
from ullage.render import view
from ullage.service.disks_list_page import bytes_cell
from ullage.service.words import nothing_cell, plural

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.disks_fragmentation import ClassFragmentation, FragmentationReport


def disks_fragmentation_page(report: "FragmentationReport", asked: "Asked") -> view.Page:
    """Return the page of what can be had."""
    blocks: list[view.Block] = [_table(report.classes), _bars(report.classes)]
    repacked = [each for each in report.classes if each.repack]
    if repacked:
        blocks.append(_repack_table(repacked))
    return view.Page(
        title=f"Free disk space of {report.cluster}",
        verdict=view.Verdict(_verdict(report), "no" if report.without_place else "info"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command("disks list"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=0,
    )


def _verdict(report: "FragmentationReport") -> str:
    asked = [each for each in report.classes if each.asked and (each.volumes or each.pieces)]
    if report.without_place:
        missing = [
            (readable_bytes(each.size_bytes), each.storage_class or "any class")
            for each in report.without_place
        ]
        parts = [f"no volume of {size} has a place in {where}" for size, where in missing]
        return "; ".join([*parts, *_largest_words(report.classes)])
    if asked:
        return "; ".join(
            f"{_name(each)}: {plural(each.volumes, 'volume')} of {readable_bytes(each.size_bytes)}, "
            f"{readable_bytes(each.stranded_bytes)} stranded"
            for each in asked
        )
    return "; ".join(_largest_words(report.classes)) or "nothing is free"


def _largest_words(classes: "Sequence[ClassFragmentation]") -> list[str]:
    """Return for each class of groups what is free and what one volume could have of it; else for drives."""
    shown = [each for each in classes if each.largest and each.storage_class.endswith("LVG")]
    return [
        f"{_name(each)}: {readable_bytes(each.free_bytes)} free in {plural(each.pieces, 'piece')}, "
        f"the largest {readable_bytes(each.largest.size_bytes)}"
        for each in shown or classes
        if each.largest
    ]


def _name(space: "ClassFragmentation") -> str:
    if not space.storage_group:
        return space.storage_class
    return f"{space.storage_class} of storage group {space.storage_group}"


def _table(classes: "Sequence[ClassFragmentation]") -> view.Table:
    grouped = any(each.storage_group for each in classes)
    columns = (
        view.Column("class", priority=9, key="storageClass"),
        view.Column("storage group", wide_only=not grouped, priority=5, key="storageGroup"),
        view.Column("free", "right", priority=9, key="freeBytes"),
        view.Column("pieces", "right", priority=8),
        view.Column("largest volume", "right", priority=9, key="largestBytes"),
        view.Column("on", priority=7, key="largestOn"),
        view.Column("volumes of", "right", priority=6, key="sizeBytes"),
        view.Column("fit", "right", priority=6, key="volumes"),
        view.Column("stranded", "right", priority=8, key="strandedBytes"),
        view.Column("blocked", "right", priority=4, key="blockedBytes"),
    )
    rows = tuple(_row(each) for each in classes)
    caption = (
        "a fresh drive can be had whole (HDD) or become a group (HDDLVG): it counts for both; stranded: what "
        "is left of all pieces when as many volumes of that size are there as fit"
    )
    if any(each.blocked_bytes for each in classes):
        caption += "; blocked: free on nodes that take nothing new"
    return view.Table("Free space by class", columns, rows, caption)


def _row(space: "ClassFragmentation") -> tuple[view.Cell, ...]:
    largest = space.largest
    place = f"{largest.node}/{largest.place}" if largest else ""
    share = view.Share(space.stranded_bytes, space.free_bytes) if space.free_bytes else None
    return (
        view.Cell(space.storage_class),
        view.Cell(space.storage_group) if space.storage_group else nothing_cell(),
        bytes_cell(space.free_bytes),
        view.Cell(str(space.pieces)),
        bytes_cell(largest.size_bytes) if largest else nothing_cell(),
        view.Cell(place) if place else nothing_cell(),
        bytes_cell(space.size_bytes),
        view.Cell(str(space.volumes), tone="bad" if space.asked and not space.volumes else "plain"),
        view.Cell(readable_bytes(space.stranded_bytes), share, value=str(space.stranded_bytes)),
        bytes_cell(space.blocked_bytes),
    )


def _bars(classes: "Sequence[ClassFragmentation]") -> view.Bars:
    """Return what volumes of the size could have, and what is stranded, as bars."""
    rows = []
    for each in classes:
        whole_bytes = each.free_bytes + each.blocked_bytes
        parts: tuple[tuple[str, int, view.Tone], ...] = (
            ("usable", each.free_bytes - each.stranded_bytes, "ok"),
            ("stranded", each.stranded_bytes, "warn"),
            ("blocked", each.blocked_bytes, "bad"),
        )
        segments = tuple(
            view.Segment(word, readable_bytes(amount), amount, tone) for word, amount, tone in parts
        )
        if whole_bytes:
            rows.append(view.BarRow(_name(each), segments, whole_bytes, readable_bytes(whole_bytes)))
    return view.Bars("What volumes of that size could have", tuple(rows))


def _repack_table(classes: "Sequence[ClassFragmentation]") -> view.Table:
    columns = (
        view.Column("class", priority=6, key="storageClass"),
        view.Column("node", priority=7),
        view.Column("volume", priority=9),
        view.Column("from", priority=8),
        view.Column("to", priority=8),
        view.Column("frees drive", priority=9, key="drive"),
        view.Column("of", "right", priority=7, key="driveBytes"),
        view.Column("moves in all", "right", priority=7, key="movedBytes"),
    )
    rows = tuple(
        (
            view.Cell(_name(each)),
            view.Cell(each.repack.node),
            view.Cell(move.volume),
            view.Cell(each.repack.group),
            view.Cell(move.to),
            view.Cell(each.repack.drive),
            bytes_cell(each.repack.drive_bytes),
            bytes_cell(each.repack.moved_bytes),
        )
        for each in classes
        if each.repack
        for move in each.repack.moves
    )
    caption = "moved within their node, without opening a drive: the drive can then be had whole"
    return view.Table("Cheapest repack", columns, rows, caption)
