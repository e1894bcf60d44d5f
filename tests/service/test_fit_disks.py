"""How `fit` tells which disks serve volumes."""

import pytest

from builders import BUILT_IN_TYPES, batch, cluster, node, policy, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.bench import Bench
from ullage.engine.placement.fit import fit
from ullage.model.drives import Drive, VolumeGroup
from ullage.service.fit import fit_report
from ullage.service.fit_disks import disk_blocks
from ullage.service.wanted import Wanted

GIB = 1 << 30


def blocks(storage_class, *rows_max, groups=(), replicas=1, drives=4, mode="exact"):
    made = tuple(Drive(f"d{number}", "HDD", 10 * GIB) for number in range(drives))
    rules = policy(storage_mode=mode)
    snapshot = cluster(node("n1", cpu="8").with_(drives=made, volume_groups=groups), policy=rules)
    own = volume("data", "4Gi", storage_class=storage_class, inline=True)
    wanted = Wanted(
        (batch(replicas, waiting("web/new", cpu="1", volumes=(own,))),), atomic=False, types=BUILT_IN_TYPES
    )
    columns = Columns(snapshot)
    found = fit_report(Bench(columns), fit(columns, wanted.batches), wanted).outcomes
    return disk_blocks(found, columns, *rows_max)


def rows(storage_class, **options):
    (table,) = blocks(storage_class, **options)
    return [[cell.text for cell in row] for row in table.rows], table.caption


@pytest.mark.parametrize(
    ("storage_class", "groups", "how", "opened"),
    [
        ("HDDLVG", (), ["d0", "opened for it"], 1),
        ("HDDLVG", (VolumeGroup("vg", "HDD", 8 * GIB, 5 * GIB),), ["vg", "shared"], 0),
        ("HDD", (), ["d0", "its own"], 0),
    ],
)
def test_each_volume_has_its_disk_and_how_it_is_had(storage_class, groups, how, opened):
    (row,), caption = rows(storage_class, groups=groups)
    assert row == ["web/new", "new-data", storage_class, "4Gi", "n1", *how]
    assert caption == f"fresh drives opened: {opened}"


def test_where_drives_are_shared_no_volume_has_one_of_its_own():
    found, _ = rows("HDD", mode="zos", replicas=2, drives=1)
    assert [row[5:] for row in found] == [["d0", "shared"], ["d0", "shared"]]


def test_a_drive_that_two_volumes_open_is_counted_once():
    found, caption = rows("HDDLVG", replicas=2)
    assert [row[5] for row in found] == ["d0", "d0"]
    assert caption == "fresh drives opened: 1"


def test_many_volumes_are_cut_and_say_so():
    (table,) = blocks("HDD", 2, replicas=3)
    assert len(table.rows) == 2
    assert table.caption == "the first 2 of 3, -o wide shows all; fresh drives opened: 0"


def test_without_volumes_on_local_disks_there_is_nothing_to_tell():
    assert blocks("elsewhere") == []
