"""LVM's volume groups from vgs, pvs and lvs, whose JSON reports hold every value as a string.

One row per object is asked for: fields of segments (such as segtype) would repeat a volume once per segment.
"""

from typing import TypeVar

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.facts import Amount, LogicalVolume, LvmFacts, PhysicalVolume, VolumeGroup
from ullage.sources.host.machine import Machine
from ullage.sources.host.reading import TEXT_CHARACTERS_MAX

_REPORT = ("--reportformat", "json", "--units", "b", "--nosuffix", "-o")
_VG = "vg_name,vg_uuid,vg_size,vg_free,vg_extent_size,vg_extent_count,vg_free_count,vg_attr"
VGS = ("vgs", *_REPORT, _VG)
PVS = ("pvs", *_REPORT, "pv_name,vg_name,pv_uuid,pv_size,pv_free,pv_pe_count,pv_pe_alloc_count,pv_attr")
LVS = ("lvs", *_REPORT, "lv_name,vg_name,lv_uuid,lv_size,lv_attr,lv_layout,pool_lv,origin")
COMMANDS = (VGS, PVS, LVS)
ROWS_MAX = 65536


class VgRow(msgspec.Struct, frozen=True):
    """A row of vgs."""

    vg_name: str
    vg_uuid: str
    vg_size: Amount
    vg_free: Amount
    vg_extent_size: Amount
    vg_extent_count: Amount
    vg_free_count: Amount
    vg_attr: str = ""


class PvRow(msgspec.Struct, frozen=True):
    """A row of pvs; an empty group name means that it belongs to none."""

    pv_name: str
    vg_name: str
    pv_uuid: str
    pv_size: Amount
    pv_free: Amount
    pv_pe_count: Amount
    pv_pe_alloc_count: Amount
    pv_attr: str


class LvRow(msgspec.Struct, frozen=True):
    """A row of lvs."""

    lv_name: str
    vg_name: str
    lv_uuid: str
    lv_size: Amount
    lv_attr: str
    lv_layout: str
    pool_lv: str
    origin: str


class _Rows(msgspec.Struct):
    vg: tuple[VgRow, ...] = ()
    pv: tuple[PvRow, ...] = ()
    lv: tuple[LvRow, ...] = ()


class _Report(msgspec.Struct):
    report: tuple[_Rows, ...]


Row = TypeVar("Row", VgRow, PvRow, LvRow)


def read_lvm(machine: Machine) -> LvmFacts:
    """Return all groups with their volumes; half an answer would be wrong, so any failure is one of all."""
    groups = parse_vgs(machine.run(VGS))
    return assemble(groups, parse_pvs(machine.run(PVS)), parse_lvs(machine.run(LVS)))


def parse_vgs(text: str) -> tuple[VgRow, ...]:
    """Return the rows of vgs."""
    rows = _rows(text, "vgs")
    return _bounded([row for part in rows for row in part.vg], "vgs")


def parse_pvs(text: str) -> tuple[PvRow, ...]:
    """Return the rows of pvs."""
    rows = _rows(text, "pvs")
    return _bounded([row for part in rows for row in part.pv], "pvs")


def parse_lvs(text: str) -> tuple[LvRow, ...]:
    """Return the rows of lvs."""
    rows = _rows(text, "lvs")
    return _bounded([row for part in rows for row in part.lv], "lvs")


def _rows(text: str, where: str) -> tuple[_Rows, ...]:
    if len(text) > TEXT_CHARACTERS_MAX:
        raise InputError(f"{len(text)} characters, more than {TEXT_CHARACTERS_MAX}", where=where)
    try:
        return msgspec.json.decode(text, type=_Report, strict=False).report
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(f"unusable report: {error}", where=where) from error


def _bounded(rows: list[Row], where: str) -> tuple[Row, ...]:
    if len(rows) > ROWS_MAX:
        raise InputError(f"{len(rows)} rows, more than {ROWS_MAX}", where=where)
    return tuple(rows)


def assemble(groups: tuple[VgRow, ...], physical: tuple[PvRow, ...], logical: tuple[LvRow, ...]) -> LvmFacts:
    """Return groups by name with their volumes by name; a volume of an unknown group is bad input."""
    members: dict[str, list[PhysicalVolume]] = {"": []}
    volumes: dict[str, list[LogicalVolume]] = {}
    for group in groups:
        if group.vg_name in members or group.vg_free_count > group.vg_extent_count:
            raise InputError(
                f"group {group.vg_name!r} appears twice or has more free than total", where="vgs"
            )
        members[group.vg_name], volumes[group.vg_name] = [], []
    for pv in physical:
        if pv.vg_name not in members or pv.pv_pe_alloc_count > pv.pv_pe_count:
            raise InputError(f"{pv.pv_name!r} is in no known group or has more used than total", where="pvs")
        members[pv.vg_name].append(_physical_volume(pv))
    for lv in logical:
        if lv.vg_name not in volumes:
            raise InputError(f"{lv.lv_name!r} is in group {lv.vg_name!r}, which vgs lacks", where="lvs")
        volumes[lv.vg_name].append(_logical_volume(lv))
    return LvmFacts(
        volume_groups=tuple(
            VolumeGroup(
                name=group.vg_name,
                uuid=group.vg_uuid,
                size_bytes=group.vg_size,
                free_bytes=group.vg_free,
                extent_size_bytes=group.vg_extent_size,
                total_extents=group.vg_extent_count,
                free_extents=group.vg_free_count,
                attributes=group.vg_attr,
                physical_volumes=tuple(sorted(members[group.vg_name], key=lambda pv: (pv.name, pv.uuid))),
                logical_volumes=tuple(sorted(volumes[group.vg_name], key=lambda lv: (lv.name, lv.uuid))),
            )
            for group in sorted(groups, key=lambda group: group.vg_name)
        ),
        unassigned_physical_volumes=tuple(sorted(members[""], key=lambda pv: (pv.name, pv.uuid))),
    )


def _physical_volume(row: PvRow) -> PhysicalVolume:
    return PhysicalVolume(
        name=row.pv_name,
        uuid=row.pv_uuid,
        size_bytes=row.pv_size,
        free_bytes=row.pv_free,
        total_extents=row.pv_pe_count,
        used_extents=row.pv_pe_alloc_count,
        allocatable=row.pv_attr[:1] == "a",
        missing=row.pv_attr[2:3] == "m",
    )


def _logical_volume(row: LvRow) -> LogicalVolume:
    return LogicalVolume(
        name=row.lv_name,
        uuid=row.lv_uuid,
        size_bytes=row.lv_size,
        layout=tuple(part for part in row.lv_layout.split(",") if part),
        pool=row.pool_lv or None,
        origin=row.origin or None,
        attributes=row.lv_attr,
    )
