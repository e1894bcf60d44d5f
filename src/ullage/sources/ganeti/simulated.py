"""Clusters that are made up from one line a group, and the sizes of Ganeti's command lines.

The hard thing is units: lower-case letters are binary and upper-case ones decimal, so `8t` is more than
`8T`; what is left beyond a whole MiB is dropped.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from ullage.model.errors import InputError
from ullage.model.ganeti import MIB, AllocationPolicy, GanetiCluster, GanetiGroup, GanetiNode
from ullage.sources.ganeti import text_fields as kinds
from ullage.sources.ganeti.text import NODES_MAX
from ullage.sources.ganeti.text_fields import Field, FieldError, Table, quoted

POLICIES: Final[dict[str, AllocationPolicy]] = {
    "p": "preferred",
    "a": "last_resort",
    "u": "unallocable",
    "preferred": "preferred",
    "last_resort": "last_resort",
    "unallocable": "unallocable",
}
UNITS: Final = {"": MIB, "m": MIB, "g": 1 << 30, "t": 1 << 40, "M": 10**6, "G": 10**9, "T": 10**12}
LONG_UNITS: Final = {"MIB": "m", "GIB": "g", "TIB": "t", "MB": "M", "GB": "G", "TB": "T"}
SPECIFICATION_PARTS: Final = (5, 6, 7)
GROUPS_MAX: Final = 99


def parse_size(text: str) -> int:
    """Return the bytes of a size on a command line, whole MiB of it: `100`, `4g`, `8T`, `20 GiB`."""
    try:
        return _size(text)
    except FieldError as error:
        raise InputError(error.what, remedy=error.remedy) from None


def simulated(specifications: Sequence[str]) -> GanetiCluster:
    """Return an empty cluster, a group from each `policy,count,disk,memory,cpus[,spindles[,excl]]`."""
    if len(specifications) > GROUPS_MAX:
        raise InputError(f"{len(specifications)} groups are too many", remedy=f"the most is {GROUPS_MAX}")
    groups: list[GanetiGroup] = []
    nodes: list[GanetiNode] = []
    for number, specification in enumerate(specifications, 1):
        group, own = _group(number, specification, NODES_MAX - len(nodes))
        groups.append(group)
        nodes += own
    return GanetiCluster(groups=tuple(groups), nodes=tuple(nodes))


def _group(number: int, specification: str, count_max: int) -> tuple[GanetiGroup, list[GanetiNode]]:
    where = f"group {quoted(specification)}"
    parts = specification.split(",")
    if len(parts) not in SPECIFICATION_PARTS:
        raise InputError(
            f"there are {len(parts)} parts",
            where=where,
            remedy="write policy,count,disk,memory,cpus, then spindles and True or False if needed",
        )
    table = Table(
        Field("policy", _policy),
        Field("count", kinds.count),
        Field("disk", _size),
        Field("memory", _size),
        Field("cpus", kinds.cpus),
        Field("spindles", kinds.count, "1"),
        Field("exclusive storage", _truth, "False"),
    )
    policy, count, disk, memory, cpu, spindles, exclusive = table.read(parts, where)
    if count > count_max:
        raise InputError(f"{count} nodes are too many", where=where, remedy=f"the most is {NODES_MAX}")
    group = GanetiGroup(f"group-{number:02}", f"fake-uuid-{number:02}", policy)
    nodes = [
        GanetiNode(
            name=f"node-{number:02}-{index:03}",
            group=group.uuid,
            memory_bytes=memory,
            memory_free_bytes=memory,
            disk_bytes=disk,
            disk_free_bytes=disk,
            cpu_milli=cpu,
            master=number == index == 1,
            spindles=spindles,
            exclusive_storage=exclusive,
        )
        for index in range(1, count + 1)
    ]
    return group, nodes


def _size(text: str) -> int:
    digits = len(text) - len(text.lstrip("0123456789"))
    number, unit = text[:digits], text[digits:].lstrip(" ")
    unit_bytes = UNITS.get(LONG_UNITS.get(unit.upper(), unit))
    if unit_bytes is None:
        raise FieldError(f"{quoted(unit)} is no unit", "write m, g, t (binary) or M, G, T (decimal)")
    mib = Fraction(kinds.whole(number, kinds.MIB_MAX, remedy="write a size such as 100g") * unit_bytes, MIB)
    if mib > kinds.MIB_MAX:
        raise FieldError(f"{quoted(text)} is too large", f"the most is {kinds.MIB_MAX} MiB")
    return int(mib) * MIB


def _policy(text: str) -> AllocationPolicy:
    if text not in POLICIES:
        raise FieldError(f"{quoted(text)} is no allocation policy", "write p, a (last resort) or u")
    return POLICIES[text]


def _truth(text: str) -> bool:
    if text not in {"True", "False"}:
        raise FieldError(f"{quoted(text)} is neither True nor False", "write True or False")
    return text == "True"
