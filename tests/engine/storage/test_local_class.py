"""Which local disks a storage class means."""

import pytest

from ullage.engine.storage.local_class import local_class
from ullage.model.storage import StorageClass


def baremetal(**parameters: str) -> StorageClass:
    return StorageClass("fast", "csi-baremetal", parameters=parameters)


# Each row: the class that is known, the name that is asked for, and what it means.
CLASSES = {
    "the parameter of csi-baremetal counts": (baremetal(storageType="SSDLVG"), "fast", "SSDLVG"),
    "it may be written small": (baremetal(storageType="hddlvg"), "fast", "HDDLVG"),
    "the name does not count": (baremetal(storageType="NVME"), "HDD", "NVME"),
    "without it any drive is meant": (baremetal(fsType="xfs"), "fast", "ANY"),
    "a word that the driver does not know is any drive": (baremetal(storageType="TAPE"), "fast", "ANY"),
    "a class of somebody else means no disk of ours": (StorageClass("fast", "csi.example.com"), "fast", None),
    "not even under one of the names": (StorageClass("HDD", "csi.example.com"), "HDD", None),
    "a name that no class has stands for itself": (None, "SYSLVG", "SYSLVG"),
    "only as it is written": (None, "syslvg", None),
    "any other name means nothing": (None, "fast", None),
    "no name means nothing": (None, "", None),
}


@pytest.mark.parametrize(("known", "name", "expected"), CLASSES.values(), ids=CLASSES)
def test_a_class_means(known, name, expected):
    assert local_class(known, name) == expected
