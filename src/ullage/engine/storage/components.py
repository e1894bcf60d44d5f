"""The volumes that are asked for, cut into parts that share no drive and can be planned apart.

Volumes of different storage groups never meet on a drive, nor do those of different classes of drives, unless
somebody in the storage group takes ANY drive; the system's group stands alone. Within a part, volumes that
are alike are one sort: shares of one class and size, and whole drives of one class.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.engine.storage.extents import MEBIBYTE
from ullage.model.disk_plan import DiskRequest, drive_class_of
from ullage.model.drives import ANY, DRIVE_CLASSES, GROUP_SUFFIX, SYSTEM_GROUP, LocalClass
from ullage.model.errors import InputError
from ullage.model.quantity import print_bytes

if TYPE_CHECKING:
    from ullage.engine.storage.lattice import Counts

BYTES_MAX: Final = 1 << 62
SYSTEM: Final = "SYS"
ANY_CLASS: Final = -1

Item = tuple[DiskRequest, ...]
"""One volume, or several that stay together."""


class Sort(NamedTuple):
    """Volumes that are alike, in order: `drive_class` is a place in the classes of their component."""

    drive_class: int
    items: tuple[Item, ...]

    def suits(self, drive_class: int) -> bool:
        """Whether they may be on drives of a class."""
        return self.drive_class in {drive_class, ANY_CLASS}

    def extents(self, extent_bytes: int) -> int:
        """Return what each of them takes of a group, if they are shares."""
        return sum([-(-request.size_bytes // extent_bytes) for request in self.items[0]])

    def mebibytes(self, which: int) -> int:
        """Return what one of them needs of a whole drive."""
        return -(-self.items[which][0].size_bytes // MEBIBYTE)


class Component(NamedTuple):
    """Requests that may meet on a drive, in their stable order, and as sorts."""

    storage_group: str
    classes: tuple[str, ...]
    requests: tuple[DiskRequest, ...]
    shares: tuple[Sort, ...]
    wholes: tuple[Sort, ...]

    @property
    def share_counts(self) -> "Counts":
        """How many there are of each sort of shares."""
        return tuple(len(sort.items) for sort in self.shares)

    @property
    def whole_counts(self) -> "Counts":
        """How many there are of each sort of whole drives."""
        return tuple(len(sort.items) for sort in self.wholes)


def components_of(requests: Iterable[DiskRequest]) -> list[Component]:
    """Return the parts of what is asked for, in the order of their first requests."""
    return components_in_order(in_order(requests))


def components_in_order(ordered: Sequence[DiskRequest]) -> list[Component]:
    """Return the same for requests that stand in their stable order."""
    with_any = {request.storage_group for request in ordered if request.storage_class == ANY}
    parts: dict[tuple[str, str], list[DiskRequest]] = {}
    for request in ordered:
        drive_class = _class_name(request.storage_class)
        joined = ANY if drive_class != SYSTEM and request.storage_group in with_any else drive_class
        parts.setdefault((request.storage_group, joined), []).append(request)
    return [
        component(group, DRIVE_CLASSES if name == ANY else (name,), part)
        for (group, name), part in parts.items()
    ]


def in_order(requests: Iterable[DiskRequest]) -> list[DiskRequest]:
    """Return requests in the stable order, shares first, then by size and name."""
    ordered = sorted(requests, key=stable_order)
    for request in ordered:
        if request.size_bytes > BYTES_MAX:
            raise InputError(
                f"volume {request.name} asks for {print_bytes(request.size_bytes)}",
                remedy=f"ask for at most {print_bytes(BYTES_MAX)}",
            )
    return ordered


def stable_order(request: DiskRequest) -> tuple[bool, int, str]:
    """Return what requests are ordered by."""
    return not request.is_share, request.size_bytes, request.name


def component(
    storage_group: str, classes: tuple[str, ...], requests: Sequence[DiskRequest], *, apart: bool = False
) -> Component:
    """Return requests that stand in their stable order as one component.

    Whole drives of one class are one sort, of which a set always has the smallest ones. Where sets of any of
    them matter, they are kept `apart` by their sizes.
    """
    shares: dict[tuple[int, int], list[Item]] = {}
    wholes: dict[tuple[int, int], list[Item]] = {}
    for request in requests:
        name = _class_name(request.storage_class)
        drive_class = ANY_CLASS if name == ANY else classes.index(name)
        if request.is_share:
            shares.setdefault((drive_class, request.size_bytes), []).append((request,))
        else:
            key = drive_class, request.size_bytes if apart else 0
            wholes.setdefault(key, []).append((request,))
    return Component(storage_group, classes, tuple(requests), _sorts(shares), _sorts(wholes))


def group_class(drive_class: str) -> str:
    """Return the class of groups on drives of a class: HDDLVG for HDD."""
    return drive_class + GROUP_SUFFIX


def _sorts(found: dict[tuple[int, int], list[Item]]) -> tuple[Sort, ...]:
    return tuple(Sort(drive_class, tuple(items)) for (drive_class, _), items in found.items())


@cache
def _class_name(storage_class: LocalClass) -> str:
    if storage_class == SYSTEM_GROUP:
        return SYSTEM
    return drive_class_of(storage_class) or ANY
