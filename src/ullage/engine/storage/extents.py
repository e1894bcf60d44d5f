"""Sizes as LVM counts them: volumes in whole extents, groups without the metadata of a drive."""

from typing import Final

from ullage.model.drives import EXTENT_BYTES

MEBIBYTE: Final = 1 << 20
METADATA_BYTES: Final = 1 << 20


def volume_bytes(asked_bytes: int, extent_bytes: int = EXTENT_BYTES) -> int:
    """Return what a logical volume takes: what was asked for, rounded up to extents."""
    return -(-asked_bytes // extent_bytes) * extent_bytes


def group_bytes(drive_bytes: int, extent_bytes: int = EXTENT_BYTES) -> int:
    """Return what a volume group on a fresh drive has: whole extents of what the metadata leaves."""
    return max(0, (drive_bytes - METADATA_BYTES) // extent_bytes * extent_bytes)


def whole_drive_bytes(drive_bytes: int) -> int:
    """Return the size of a volume that has a drive to itself."""
    return drive_bytes - drive_bytes % MEBIBYTE
