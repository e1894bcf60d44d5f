"""What of the free disk space can be had: pieces, the largest volume, stranded space, the cheapest repack."""

from collections.abc import Sequence
from typing import Final

from ullage.engine.storage.fragmentation import CLASSES, ClassSpace, Piece, space_of
from ullage.engine.storage.repacking import Repack
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.drives import LocalClass
from ullage.model.errors import InputError
from ullage.model.quantity import parse_amount
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster
from ullage.service.disks_list import with_disks

SIZE_REMEDY: Final = f"write 100Gi, or CLASS=100Gi with one of {', '.join(CLASSES)}"
NOT_SIMULATED: Final = (
    "how long it takes to move volumes, and whether they may be moved while in use",
    "how much is really written to thin pools and shared drives",
)


class LargestVolume(Record, frozen=True):
    """The largest volume that has a place; `fresh` where a drive would be opened for it."""

    node: str
    place: str
    size_bytes: int
    fresh: bool


class VolumeMove(Record, frozen=True):
    """A volume and the group of its node that it moves to."""

    volume: str
    to: str


class RepackReport(Record, frozen=True):
    """Volumes moved into other groups of their node, so that a drive is empty again."""

    node: str
    group: str
    drive: str
    drive_bytes: int
    moved_bytes: int
    moves: tuple[VolumeMove, ...]


class ClassFragmentation(Record, frozen=True):
    """What is free of one class of volumes, and what of it can be had.

    `volumes` of `size_bytes` have a place, and `stranded_bytes` are left then. `asked` says that this size
    was asked for; otherwise it is the middle one of the volumes that exist, or the largest that has a place.
    `blocked_bytes` are free on nodes that take nothing new. A fresh drive counts as a whole and as a group.
    """

    storage_class: LocalClass
    storage_group: str
    free_bytes: int
    pieces: int
    largest: LargestVolume | None
    size_bytes: int
    asked: bool
    volumes: int
    stranded_bytes: int
    blocked_bytes: int
    repack: RepackReport | None


class SizeWithoutPlace(Record, frozen=True):
    """A size of volumes that was asked for and has no place in a class; no class means in none of them."""

    storage_class: str
    size_bytes: int


class FragmentationReport(Record, frozen=True):
    """The answer to `ullage disks fragmentation`."""

    cluster: str
    revision: int
    policy: str
    classes: tuple[ClassFragmentation, ...]
    without_place: tuple[SizeWithoutPlace, ...]
    not_simulated: tuple[str, ...]


def disks_fragmentation(asked: Asked, sizes: Sequence[str]) -> Answer:
    """Answer what of the free disk space can be had."""
    wanted = sizes_of(sizes)
    return disks_fragmentation_of(read_cluster(asked), asked, wanted)


def disks_fragmentation_of(snapshot: Snapshot, asked: Asked, sizes: dict[str, int]) -> Answer:
    """Answer what of the free disk space of a cluster can be had that was read already."""
    from ullage.service.disks_fragmentation_page import disks_fragmentation_page

    report = fragmentation_report(snapshot, sizes)
    types = snapshot.resource_types
    return Answer(
        lambda: disks_fragmentation_page(report, asked),
        lambda: versioned("DiskFragmentation", report, types),
        not report.without_place,
    )


def sizes_of(texts: Sequence[str]) -> dict[str, int]:
    """Return sizes in bytes by class; that of every class has an empty name."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, equal, amount = text.rpartition("=")
        storage_class = name.upper()
        if (equal and storage_class not in CLASSES) or storage_class in sizes:
            what = "is given twice" if storage_class in sizes else "names no class of volumes"
            raise InputError(f"{text!r} {what}", where="--size", remedy=SIZE_REMEDY)
        try:
            size_bytes = parse_amount(amount, 0)
        except InputError as error:
            raise error.at("--size") from None
        if size_bytes <= 0:
            raise InputError(f"{text!r} is no size of a volume", where="--size", remedy=SIZE_REMEDY)
        sizes[storage_class] = size_bytes
    return sizes


def fragmentation_report(snapshot: Snapshot, sizes: dict[str, int]) -> FragmentationReport:
    """Return every number of the answer."""
    every = sizes.get("")
    spaces = space_of(with_disks(snapshot), sizes=lambda storage_class: sizes.get(storage_class, every))
    served = {name for each in spaces for name in ("", each.storage_class) if each.volumes}
    return FragmentationReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        classes=tuple(
            _of_class(each, asked=each.storage_class in sizes or every is not None) for each in spaces
        ),
        without_place=tuple(SizeWithoutPlace(*each) for each in sizes.items() if each[0] not in served),
        not_simulated=(*NOT_SIMULATED, *snapshot.unknowns),
    )


def _of_class(space: ClassSpace, *, asked: bool) -> ClassFragmentation:
    return ClassFragmentation(
        space.storage_class,
        space.storage_group,
        space.free_bytes,
        space.pieces,
        _largest(space.largest) if space.largest else None,
        space.size_bytes,
        asked,
        space.volumes,
        space.stranded_bytes,
        space.blocked_bytes,
        _repack(space.repack) if space.repack else None,
    )


def _largest(piece: Piece) -> LargestVolume:
    return LargestVolume(piece.node, piece.place, piece.free_bytes, piece.fresh)


def _repack(repack: Repack) -> RepackReport:
    return RepackReport(
        repack.node,
        repack.group,
        repack.drive,
        repack.drive_bytes,
        repack.moved_bytes,
        tuple(VolumeMove(*each) for each in repack.moves),
    )
