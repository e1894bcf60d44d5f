"""What policies keep back of disks: TopoLVM's spare and thin pools, Longhorn's percentages of a shared drive.

The hard thing is what never goes below nothing: a pool over its ratio offers nothing, where TopoLVM's own
subtraction wraps round, and a drive that takes no new volumes still has those that exist.
"""

from ullage.engine.storage.components import BYTES_MAX
from ullage.model.drives import Drive, ThinPool, VolumeGroup
from ullage.model.quantity import INT64_MAX
from ullage.model.settings import Rules


def bytes_beside_spare(group: VolumeGroup, rules: Rules) -> int:
    """Return what a volume group has free beside its spare."""
    return max(0, group.free_bytes - rules.volume_group_spare_bytes)


def thin_bytes(pool: ThinPool, rules: Rules) -> int:
    """Return the virtual size that new volumes of a thin pool may have, whatever is written of it."""
    limit_bytes = min(BYTES_MAX, int(rules.thin_pool_ratio * pool.size_bytes))
    return max(0, limit_bytes - pool.virtual_bytes)


def shared_bytes(drive: Drive, used_bytes: int, rules: Rules) -> int:
    """Return what all volumes that share a drive may have, beside `used_bytes` of those that exist.

    A new volume has nothing written, so what has to be available is no bound on its size: either there is
    that much, or no volume comes at all. Where nobody says what is available, volumes count as full.
    """
    full_bytes = max(0, drive.size_bytes - used_bytes)
    available_bytes = full_bytes if drive.available_bytes is None else drive.available_bytes
    limit_bytes = min(INT64_MAX, drive.size_bytes * rules.drive_over_provisioning_percent // 100)
    if available_bytes <= drive.size_bytes * rules.drive_minimal_available_percent // 100:
        return min(limit_bytes, used_bytes)
    return limit_bytes
