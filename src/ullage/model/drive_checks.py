"""What disks of a node must satisfy: sizes that can be, names of their own, volumes that are somewhere."""

from collections import Counter
from collections.abc import Iterable

from ullage.model.cluster import Node
from ullage.model.drives import VolumeGroup
from ullage.model.errors import InputError
from ullage.model.row_checks import check_name, check_size


def check_disks(node: Node, where: str) -> None:
    """Raise where drives, volume groups or volumes of a node say what cannot be."""
    for drive in node.drives:
        check_name(drive.uuid, f"{where}: drive", "uuid")
        check_size(drive.size_bytes, where, f"drive {drive.uuid}: sizeBytes")
        if drive.available_bytes is not None:
            inside = f"drive {drive.uuid}: availableBytes"
            check_size(drive.available_bytes, where, inside, drive.size_bytes)
    for group in node.volume_groups:
        inside = f"volume group {group.name}"
        check_name(group.name, f"{where}: volume group")
        check_size(group.size_bytes, where, f"{inside}: sizeBytes")
        check_size(group.free_bytes, where, f"{inside}: freeBytes", group.size_bytes)
        check_size(group.extent_bytes, where, f"{inside}: extentBytes")
        if not group.extent_bytes:
            raise InputError("extentBytes is 0", where=f"{where}: {inside}", remedy="LVM's own is 4194304")
        _check_pools(group, f"{where}: {inside}")
    _check_once((drive.uuid for drive in node.drives), where, "drive")
    _check_once((group.name for group in node.volume_groups), where, "volume group")
    _check_once((volume.name for volume in node.placed_volumes), where, "volume")
    places = {drive.uuid for drive in node.drives} | {group.name for group in node.volume_groups}
    for volume in node.placed_volumes:
        check_name(volume.name, f"{where}: volume")
        check_size(volume.size_bytes, where, f"volume {volume.name}: sizeBytes")
        if volume.location not in places:
            raise InputError(
                f"location {volume.location!r} is none of its {len(places)} drives and volume groups",
                where=f"{where}: volume {volume.name}",
                remedy="add the drive or group, or correct the name",
            )


def _check_pools(group: VolumeGroup, where: str) -> None:
    for pool in group.thin_pools:
        check_name(pool.name, f"{where}: thin pool")
        check_size(pool.size_bytes, where, f"thin pool {pool.name}: sizeBytes", group.size_bytes)
        check_size(pool.virtual_bytes, where, f"thin pool {pool.name}: virtualBytes")
    _check_once((pool.name for pool in group.thin_pools), where, "thin pool")


def _check_once(names: Iterable[str], where: str, what: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            "is there twice",
            where=f"{where}: {what} {min(repeated)}",
            remedy="remove or rename one of the two",
        )
