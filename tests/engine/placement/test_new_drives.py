"""New nodes come with empty drives, and remedies name those that are needed."""

import pytest

from builders import batch, cluster, node, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.new_drives import drive_words, with_drives_for, with_new_drives
from ullage.model.disk_plan import DiskRequest
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.settings import Rules

GIB = 1 << 30
USED = node("n1", cpu="8").with_(
    drives=(
        Drive("d1", "HDD", 100 * GIB, health="BAD", clean=False),
        Drive("d2", "HDD", 100 * GIB),
        Drive("s", "SSD", 10 * GIB, system=True, clean=False),
    ),
    volume_groups=(
        VolumeGroup("vg", "HDD", 99 * GIB, 0, drives=("d2",)),
        VolumeGroup("sys", "SSD", 9 * GIB, 4 * GIB, drives=("s",), system=True),
    ),
    placed_volumes=(PlacedVolume("a", "vg", 99 * GIB), PlacedVolume("b", "sys", 5 * GIB)),
)


def test_a_new_node_has_empty_drives_and_what_is_of_the_system():
    new = with_new_drives(USED.record)
    assert [drive.offers_space for drive in new.drives] == [True, True, False]
    assert [group.name for group in new.volume_groups] == ["sys"]
    assert [each.name for each in new.placed_volumes] == ["b"]


@pytest.mark.parametrize(
    ("requests", "told"),
    [
        ([DiskRequest("v", "HDD", GIB)], "2 HDD drives of 100Gi"),
        ([DiskRequest("v", "HDD", 101 * GIB)], "2 HDD drives of 100Gi, 1 HDD drive of 101Gi"),
        ([DiskRequest("v", "SSDLVG", GIB)], "1 SSD drive of 1025Mi"),
        ([DiskRequest("v", "NVME", GIB), DiskRequest("w", "NVME", GIB)], "2 NVME drives of 1Gi"),
        ([DiskRequest("v", "SYSLVG", GIB)], ""),
    ],
)
def test_a_node_made_to_measure_has_the_drives_that_its_volumes_need(requests, told):
    assert drive_words(with_drives_for(USED.record, requests, Rules()), requests) == told


def test_a_remedy_names_the_drives_of_the_nodes_that_help():
    one = node("n1", cpu="8").with_(drives=(Drive("d1", "HDD", 100 * GIB),))
    own = volume("data", "50Gi", storage_class="HDD", inline=True)
    wanted = batch(3, waiting("web/new", cpu="1", volumes=(own,)))
    (outcome,) = fit(Columns(cluster(one)), [wanted]).outcomes
    told = [each.text for each in outcome.refusal.remedies if each.kind == "node"]
    assert told == ["add 2 nodes with 8 of cpu, 1 HDD drive of 100Gi each: all 3 then fit"]
