"""Drives: what is on every disk as a map of its extents, and what of the free space cannot be had."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.model.errors import InputError
from ullage.model.quantity import readable_bytes
from ullage.render.view import BarRow, Bars, Segment, Tone
from ullage.service.disks_fragmentation import disks_fragmentation
from ullage.service.disks_list import disks_list_report
from ullage.service.words import findings_block
from ullage.web.pages.answers import page_of
from ullage.web.pages.kept import kept_of, kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.paging import DOWN, Listing, paging
from ullage.web.pages.plain_words import in_plain_words
from ullage.web.pages.shell import Shell, draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.engine.storage.disk_terms import DiskTerms
    from ullage.service.asked import Asked
    from ullage.service.disks_list import DiskTotals

PAGE_DISKS: Final = 60
FILTERS: Final = ("q", "class", "standing", "system", "sort", "order")
STANDINGS: "Final[Mapping[str, Callable[[DiskTerms], bool]]]" = MappingProxyType(
    {
        "has room": lambda disk: disk.free_bytes > 0 and not disk.closed,
        "full": lambda disk: disk.free_bytes == 0 and not disk.closed,
        "promised": lambda disk: disk.promised_bytes > 0,
        "closed": lambda disk: bool(disk.closed),
        "failing": lambda disk: disk.failing,
    }
)
"""How a disk may stand, by the words of the filter."""
SORTS: "Final[Mapping[str, Callable[[DiskTerms], int]]]" = MappingProxyType(
    {
        "free": lambda disk: disk.free_bytes,
        "used": lambda disk: disk.used_bytes,
        "size": lambda disk: disk.size_bytes,
        "volumes": lambda disk: len(disk.volumes),
    }
)
"""What disks are sorted by, beside their names."""
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
    """Return the disks of a cluster, those that a filter leaves, sorted, in pages."""
    shell = shell_of(parameters)
    snapshot, status = kept_status(asked)
    links = Links(shell, snapshot)
    try:
        report = kept_of(snapshot, "disks", lambda: disks_list_report(snapshot))
        space = kept_of(snapshot, "space", lambda: page_of(disks_fragmentation(asked, ())))
    except InputError as error:
        problem = in_plain_words(str(error))
        return draw("drives", shell, report=status, problem=problem, links=links)
    filters = {key: parameters[key] for key in FILTERS if parameters.get(key)}
    listing = Listing(shell, "/drives", filters, "found")
    found = sorted_disks(
        filtered(report.disks, parameters),
        parameters.get("sort", ""),
        down=parameters.get("order", "up") == DOWN,
    )
    part = paging(listing, parameters.get("page", ""), len(found), PAGE_DISKS)
    return draw(
        "drives",
        shell,
        links=links,
        report=report,
        problem="",
        filters={key: parameters.get(key, "") for key in FILTERS},
        classes=sorted({disk.storage_class for disk in report.disks}),
        standings=tuple(STANDINGS),
        sorts=tuple(SORTS),
        totals=totals_bars(report.totals),
        findings=findings_block("", report.findings, 3, rest="the command below tells all"),
        disks=tuple(_disks(shell, found[part.first : part.end])),
        paging=part,
        space=space,
        command=terminal(shell, "disks list"),
    )


def filtered(disks: "Sequence[DiskTerms]", parameters: Mapping[str, str]) -> "list[DiskTerms]":
    """Return the disks that a filter leaves: disk or node by a part of the name, the class, how they stand.

    A class of drives has its volume groups too: the sums of a class are those of the disks that it leaves.
    """
    part, wanted = parameters.get("q", "").strip().lower(), parameters.get("class", "")
    stands = STANDINGS.get(parameters.get("standing", ""))
    return [
        disk
        for disk in disks
        if not disk.group
        and (parameters.get("system") or not disk.system)
        and (part in disk.name.lower() or part in disk.node.lower())
        and wanted in {"", disk.storage_class, disk.drive_class}
        and (stands is None or stands(disk))
    ]


def sorted_disks(disks: "list[DiskTerms]", key: str, *, down: bool) -> "list[DiskTerms]":
    """Return disks by a figure, equal ones in the order of nodes; by that alone where none is named."""
    disks = sorted(disks, key=lambda disk: disk.node)
    by = SORTS.get(key)
    if by is None:
        return disks[::-1] if down else disks
    return sorted(disks, key=by, reverse=down)


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
