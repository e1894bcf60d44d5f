"""Records of disk space: their keys and what they say when nothing is stated."""

import pytest

from ullage.model.storage import Claim, PersistentVolume, StorageCapacity, StorageClass, StorageDriver


@pytest.mark.parametrize(
    ("row", "key"),
    [
        (Claim("data", "ml"), "ml/data"),
        (Claim("data"), "data"),
        (PersistentVolume("pv-1", claim="ml/data"), "pv-1"),
        (StorageClass("fast"), "fast"),
        (StorageCapacity("c1", "kube-system"), "kube-system/c1"),
        (StorageCapacity("c1"), "c1"),
        (StorageDriver("csi.example.com"), "csi.example.com"),
    ],
)
def test_a_row_is_known_by(row, key):
    assert row.key == key


def test_what_nobody_states():
    assert Claim("c") == Claim("c", "", "", 0, False, "", (), "Filesystem", None, "", False)  # noqa: FBT003 - in order of fields
    assert PersistentVolume("v") == PersistentVolume(
        "v", "", 0, (), "Filesystem", None, {}, "", "", "Available"
    )
    assert (StorageClass("s").binding, StorageClass("s").default) == ("Immediate", False)
    assert (StorageCapacity("c").topology, StorageCapacity("c").volume_bytes_max) == (None, None)
    assert not StorageDriver("d").checks_capacity
