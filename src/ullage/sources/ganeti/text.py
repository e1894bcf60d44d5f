"""Ganeti's text format, which its tools read with -t and write with -S: five sections, one line an object.

The hard thing: a blank line ends a section, so a stray one shifts everything that follows. Errors therefore
name the line and the field that the section expects there.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, get_args

from ullage.model.errors import InputError
from ullage.model.ganeti import (
    DRBD,
    AllocationPolicy,
    Disk,
    DiskTemplate,
    GanetiCluster,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
    Size,
    Status,
)
from ullage.sources.ganeti import text_fields as kinds
from ullage.sources.ganeti.text_fields import Field, FieldError, Kind, Reader, Table, quoted

CHARACTERS_MAX: Final = 256 << 20
GROUPS_MAX: Final = 10_000
NODES_MAX: Final = 100_000
INSTANCES_MAX: Final = 1_000_000
TAGS_MAX: Final = 100_000
BOUNDS_MAX: Final = 1_000
SECTIONS_MIN: Final = 4
CONTROL: Final = re.compile("[\\x00-\\x09\\x0b-\\x1f\\x7f]")
UNKNOWN: Final = "?"
OFFLINE_FLAG: Final = "Y"
MASTER_FLAG: Final = "M"
SIZE_FIELDS: Final = ("mem", "cpus", "disk", "disk_count", "nic_count", "spindle_use")
SECTIONS: Final = ("groups", "nodes", "instances", "cluster tags", "instance policies")

Lines = Sequence[tuple[int, str]]


def read_text(content: str, name: str = "", *, distinct: bool = False) -> GanetiCluster:
    """Return the cluster of a file's content; errors name the file as `name`, the line and the field.

    Ganeti's tools read instances of one name, and save them; `distinct` refuses them.
    """
    if len(content) > CHARACTERS_MAX:
        raise InputError(
            "the file is too large", where=name, remedy=f"the most is {CHARACTERS_MAX} characters"
        )
    groups, nodes, instances, tags, policies = _sections(content, name)
    place = f"{name} line " if name else "line "
    read_groups = _groups(groups, place)
    read_nodes = _nodes(nodes, place, frozenset(group.uuid for group in read_groups))
    read_instances = _instances(instances, place, frozenset(node.name for node in read_nodes))
    if distinct:
        _unique(instances, [instance.name for instance in read_instances], place, "name")
    own, of_groups = _policies(policies, place, frozenset(group.name for group in read_groups))
    return GanetiCluster(
        groups=tuple(_with_policy(group, of_groups.get(group.name)) for group in read_groups),
        nodes=tuple(read_nodes),
        instances=tuple(read_instances),
        tags=tuple(line for _, line in tags),
        policy=own or InstancePolicy(),
    )


def _sections(content: str, name: str) -> list[Lines]:
    """Return the five sections as numbered lines: policies may be left out, and a sixth is ignored."""
    if "\r" in content:
        content = content.replace("\r\n", "\n")
    control = CONTROL.search(content)
    if control:
        number = content.count("\n", 0, control.start()) + 1
        raise InputError(
            f"the control character {control[0]!r}",
            where=f"{name} line {number}" if name else f"line {number}",
            remedy="remove it",
        )
    lines = content.removesuffix("\n").split("\n") if content else []
    sections: list[list[tuple[int, str]]] = [[]]
    limits = (GROUPS_MAX, NODES_MAX, INSTANCES_MAX, TAGS_MAX, GROUPS_MAX + 1)
    for number, line in enumerate(lines, 1):
        section = sections[-1]
        if line:
            section.append((number, line))
        elif len(sections) == len(SECTIONS):
            break
        else:
            sections.append([])
    if len(sections) < SECTIONS_MIN:
        raise InputError(
            f"the file has {len(sections) if lines else 0} of the sections {', '.join(SECTIONS)}",
            where=name,
            remedy="put one blank line between sections, and leave an empty section empty",
        )
    for section, what, most in zip(sections, SECTIONS, limits, strict=False):
        if len(section) > most:
            raise InputError(f"there are too many {what}", where=name, remedy=f"the most is {most}")
    return [*sections, *([[]] * (len(SECTIONS) - len(sections)))]


def _rows(lines: Lines, table: Table, place: str) -> list[list[Any]]:
    return [table.read(line.split("|"), place, number) for number, line in lines]


def _unique(lines: Lines, names: Sequence[str], place: str, field: str) -> frozenset[str]:
    """Return names of which each is there once."""
    known = frozenset(names)
    if len(known) < len(names):
        seen: set[str] = set()
        for (number, _), each in zip(lines, names, strict=True):
            if each in seen:
                raise InputError(
                    f"{quoted(each)} is there twice",
                    where=f"{place}{number}, field {field}",
                    remedy="give each a name of its own",
                )
            seen.add(each)
    return known


def _groups(lines: Lines, place: str) -> list[GanetiGroup]:
    table = Table(
        Field("name", kinds.name),
        Field("uuid", kinds.name),
        Field("alloc_policy", kinds.one_of(get_args(AllocationPolicy), "allocation policy")),
        Field("tags", kinds.listed),
        Field("networks", kinds.listed, ""),
    )
    groups = [GanetiGroup(*values) for values in _rows(lines, table, place)]
    _unique(lines, [group.name for group in groups], place, "name")
    _unique(lines, [group.uuid for group in groups], place, "uuid")
    return groups


def _known(names: frozenset[str], what: str) -> Reader:
    """Return a reader of names that an earlier section lists."""

    def read(text: str) -> str:
        if text not in names:
            raise FieldError(f"there is no {what} {quoted(text)}", f"the section of {what}s above lists them")
        return text

    return read


def _nodes(lines: Lines, place: str, groups: frozenset[str]) -> list[GanetiNode]:
    total, free = Kind(kinds.total_size).__getitem__, Kind(kinds.free_size).__getitem__
    own, counted = Kind(kinds.size).__getitem__, Kind(kinds.count).__getitem__
    group = _known(groups, "group")
    table = Table(
        Field("name", kinds.name),
        Field("t_mem", total),
        Field("n_mem", own),
        Field("f_mem", free),
        Field("t_disk", total),
        Field("f_disk", free),
        Field("t_cpu", Kind(kinds.total_cpus).__getitem__),
        Field("flag", kinds.text_of),
        Field("group_uuid", group),
        Field("spindles", counted, "1"),
        Field("tags", kinds.listed, ""),
        Field("excl_storage", kinds.yes, "N"),
        Field("free_spindles", Kind(kinds.free_count).__getitem__, "0"),
        Field("node_cpus", Kind(kinds.cpus).__getitem__, "1"),
        Field("cpu_speed", Kind(kinds.speed).__getitem__, "1.0"),
    )
    nodes = []
    for number, line in lines:
        texts = line.split("|")
        if UNKNOWN in texts[1:7]:
            texts = [*texts[:1], *("0",) * 6, OFFLINE_FLAG, *texts[8:9], "0", "", "N", "0", "0"]
        nodes.append(_node(table.read(texts, place, number)))
    _unique(lines, [node.name for node in nodes], place, "name")
    return nodes


def _node(values: list[Any]) -> GanetiNode:
    name, total, own, free, disk, disk_free, cpu, flag, group = values[:9]
    spindles, tags, exclusive, spindles_free, cpu_own, speed = values[9:]
    return GanetiNode(
        name,
        group,
        total,
        own,
        free,
        disk,
        disk_free,
        cpu,
        cpu_own,
        speed,
        flag == OFFLINE_FLAG,
        flag == MASTER_FLAG,
        spindles,
        spindles_free,
        exclusive,
        tags,
    )


def _instances(lines: Lines, place: str, nodes: frozenset[str]) -> list[Instance]:
    sizes = Kind(kinds.size).__getitem__
    node = _known(nodes, "node")
    table = Table(
        Field("name", kinds.name),
        Field("mem", sizes),
        Field("disk", sizes),
        Field("vcpus", Kind(kinds.cpus).__getitem__),
        Field("status", kinds.one_of(get_args(Status), "status")),
        Field("auto_bal", kinds.yes),
        Field("pnode", node),
        Field("snode", lambda text: node(text) if text else text),
        Field("disk_template", kinds.one_of(get_args(DiskTemplate), "disk template")),
        Field("tags", kinds.listed),
        Field("spindle_use", Kind(kinds.count).__getitem__, "1"),
        Field("spindles", Kind(_spindles).__getitem__, "-"),
        Field("forthcoming", kinds.yes, "N"),
    )
    return [_instance(values, place, lines[at][0]) for at, values in enumerate(_rows(lines, table, place))]


def _spindles(text: str) -> int | None:
    return None if text == "-" else kinds.count(text)


def _instance(values: list[Any], place: str, number: int) -> Instance:
    name, memory, disk, cpu, status, balanced, primary, secondary, template, tags = values[:10]
    if primary == secondary and template == DRBD:
        raise InputError(
            f"{quoted(secondary)} is the primary node too",
            where=f"{place}{number}, field snode",
            remedy="a drbd instance has its copy on another node",
        )
    disks = (Disk(disk, values[11]),)
    return Instance(
        name, memory, disks, cpu, primary, secondary, status, balanced, template, tags, values[10], values[12]
    )


def _policies(
    lines: Lines, place: str, groups: frozenset[str]
) -> tuple[InstancePolicy | None, dict[str, InstancePolicy]]:
    """Return the policy of the cluster and those of groups by name; the last line of an owner holds."""
    group = _known(groups, "group")
    table = Table(
        Field("owner", lambda text: group(text) if text else text),
        Field("stdspec", _size),
        Field("minmaxspecs", _bounds),
        Field("templates", _templates),
        Field("vcpu_ratio", kinds.any_ratio),
        Field("spindle_ratio", kinds.ratio),
        Field("memory_ratio", lambda text: kinds.ratio(text) if text else None, ""),
    )
    policies = {values[0]: InstancePolicy(*values[1:]) for values in _rows(lines, table, place)}
    return policies.pop("", None), policies


def _size(text: str) -> Size:
    texts = text.split(",")
    readers = (kinds.size, kinds.count, kinds.size, kinds.count, kinds.count, kinds.count)
    if len(texts) < len(readers):
        raise FieldError(f"{quoted(text)} has fewer than six numbers", f"write {','.join(SIZE_FIELDS)}")
    values = []
    for what, read, each in zip(SIZE_FIELDS, readers, texts, strict=False):
        try:
            values.append(read(each))
        except FieldError as error:
            raise FieldError(f"{what} {error.what}", error.remedy) from None
    return Size(*values)


def _bounds(text: str) -> tuple[tuple[Size, Size], ...]:
    texts = text.split(";") if text else []
    if len(texts) % 2:
        raise FieldError(f"there are {len(texts)} sizes", "write pairs: min;max, or min;max;min;max")
    if len(texts) > BOUNDS_MAX:
        raise FieldError(f"there are {len(texts)} sizes", f"the most is {BOUNDS_MAX}")
    sizes = [_size(each) for each in texts]
    return tuple(zip(sizes[::2], sizes[1::2], strict=True))


def _templates(text: str) -> tuple[str, ...]:
    read = kinds.one_of(get_args(DiskTemplate), "disk template")
    return tuple(read(each) for each in kinds.listed(text))


def _with_policy(group: GanetiGroup, policy: InstancePolicy | None) -> GanetiGroup:
    """Return a group with the policy that a later section states."""
    if policy is None:
        return group
    return GanetiGroup(group.name, group.uuid, group.allocation, group.tags, group.networks, policy)
