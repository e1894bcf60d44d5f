"""Volume groups that real LVM made of drives of 22 sizes."""

from ullage.engine.storage.extents import group_bytes


def test_a_group_on_a_fresh_drive_has_the_size_that_lvm_gives_it(oracle):
    rows = oracle("lvm-vg-sizes")
    assert len(rows) == 22
    for row in rows:
        assert group_bytes(row["device_bytes"]) == row["lvm_vg_bytes"], row
