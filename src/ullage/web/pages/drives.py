"""Drives: what is on every disk as a map of its extents, and what of the free space cannot be had."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.model.errors import InputError
from ullage.model.quantity import readable_bytes
from ullage.render.view import BarRow, Bars, Segment, Tone
from ullage.service.disks_fragmentation import disks_fragmentation
from ullage.service.disks_list import disks_list_report
from ullage.service.words import findings_block
from ullage.web.pages.kept import kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.shell import Shell, draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.engine.storage.disk_terms import DiskTerms
    from ullage.service.asked import Asked
    from ullage.service.disks_list import DiskTotals

DISKS_SHOWN: Final = 120
_CLOSED: Final = "closed-disk"


class Piece(NamedTuple):
    """A part of a disk as it is drawn, in hundredths of the length, and what it is."""

    shade: str
    start: str
    width: str
    words: str


class Disk(NamedTuple):
    """A disk with its pieces; `failing` is where to see what its loss means."""

    node: str
    name: str
    storage_class: str
    size: str
    free: str
    note: str
    pieces: tuple[Piece, ...]
    failing: str
    is_bad: bool


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return the disks of a cluster, by a part of the name of disk or node, and by class."""
    shell = shell_of(parameters)
    snapshot, status = kept_status(asked)
    links = Links(shell, snapshot)
    try:
        report = disks_list_report(snapshot)
        space = disks_fragmentation(asked, ()).page()
    except InputError as error:
        return draw("drives", shell, report=status, problem=str(error), links=links)
    part, wanted = parameters.get("q", "").strip().lower(), parameters.get("class", "")
    found = [
        disk
        for disk in report.disks
        if not disk.group
        and (parameters.get("system") or not disk.system)
        and (part in disk.name.lower() or part in disk.node.lower())
        and wanted in {"", disk.storage_class}
    ]
    return draw(
        "drives",
        shell,
        links=links,
        report=report,
        problem="",
        q=parameters.get("q", ""),
        chosen=wanted,
        system=bool(parameters.get("system")),
        classes=sorted({disk.storage_class for disk in report.disks}),
        totals=totals_bars(report.totals),
        findings=findings_block("", report.findings, 3, rest="ullage disks list tells all"),
        disks=tuple(_disks(shell, found[:DISKS_SHOWN])),
        found=len(found),
        space=space,
        command=terminal(asked, "disks list"),
    )


def totals_bars(totals: "Sequence[DiskTotals]") -> Bars:
    """Return what all disks of a class have, as bars."""
    rows = []
    for each in totals:
        parts: tuple[tuple[str, int, Tone], ...] = (
            ("used", each.used_bytes, "strong"),
            ("promised", each.promised_bytes, "warn"),
            ("free", each.free_bytes, "ok"),
            ("closed", each.closed_bytes, "muted"),
        )
        segments = tuple(Segment(word, readable_bytes(part), part, tone) for word, part, tone in parts)
        rows.append(BarRow(each.drive_class, segments, each.size_bytes, readable_bytes(each.size_bytes)))
    return Bars("By class", tuple(rows))


def _disks(shell: Shell, disks: "Sequence[DiskTerms]") -> Iterator[Disk]:
    for disk in disks:
        lost = [disk.name] if disk.kind == "drive" else list(disk.drives)
        failing = shell.address("/what-breaks", lose=f"drive/{disk.node}/{lost[0]}") if lost else ""
        closed = ", ".join(disk.closed)
        kind = "" if disk.kind == "drive" else f"{disk.kind} of {len(disk.drives)}"
        yield Disk(
            disk.node,
            disk.name,
            disk.storage_class,
            readable_bytes(disk.size_bytes),
            readable_bytes(disk.free_bytes),
            closed or kind,
            tuple(pieces_of(disk)),
            failing,
            disk.failing,
        )


def pieces_of(disk: "DiskTerms") -> Iterator[Piece]:
    """Yield what a disk holds from its start: volumes, other use, promises, what is free or closed."""
    scale = max(disk.size_bytes, 1)
    known = sum(volume.size_bytes for volume in disk.volumes)
    parts = [
        (
            "bar-strong" if number % 2 == 0 else "bar-plain",
            volume.size_bytes,
            _volume_words(volume.name, volume.claim),
        )
        for number, volume in enumerate(disk.volumes)
    ]
    parts += [
        ("bar-muted", max(0, disk.used_bytes - known), "in use"),
        ("bar-warn", disk.promised_bytes, "promised"),
    ]
    rest = disk.size_bytes - sum(part for _, part, _ in parts)
    free = min(disk.free_bytes, rest)
    parts += [("bar-ok", free, "free"), (_CLOSED, rest - free, ", ".join(disk.closed) or "lost to extents")]
    start = 0
    for shade, size_bytes, words in parts:
        if size_bytes > 0:
            told = f"{words}: {readable_bytes(size_bytes)}"
            yield Piece(
                shade, f"{100 * start / scale:.2f}", f"{max(0.5, 100 * size_bytes / scale):.2f}", told
            )
        start += max(0, size_bytes)


def _volume_words(name: str, claim: str) -> str:
    return f"volume {name} of {claim}" if claim else f"volume {name}"
