"""Classes of requests and capacities: what is a share, and of which kind of drive."""

import pytest

from ullage.model.disk_plan import DiskCapacity, DiskRequest, drive_class_of, is_share


@pytest.mark.parametrize(
    ("storage_class", "share", "drive_class"),
    [
        ("ANY", False, ""),
        ("HDD", False, "HDD"),
        ("SSD", False, "SSD"),
        ("NVME", False, "NVME"),
        ("HDDLVG", True, "HDD"),
        ("SSDLVG", True, "SSD"),
        ("NVMELVG", True, "NVME"),
        ("SYSLVG", True, ""),
    ],
)
def test_classes_of_groups_are_shares_of_their_kind_of_drive(storage_class, share, drive_class):
    assert is_share(storage_class) is share
    assert drive_class_of(storage_class) == drive_class
    assert DiskRequest("v", storage_class, 1).is_share is share
    assert DiskCapacity("c", "n", storage_class, 1).is_group is share
