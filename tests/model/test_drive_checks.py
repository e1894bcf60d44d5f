"""What the disks of a node must satisfy."""

import pytest

from builders import cluster, node
from ullage.model.drives import PlacedVolume, ThinPool
from ullage.model.errors import InputError

N1 = node("n1").with_drive("d1", "HDD", "1Ti").with_volume_group("vg", "HDD", "10Gi", drives=("d1",))


def holding(*volumes):
    return N1.with_(placed_volumes=volumes)


def pooled(*pools):
    return node("n1").with_volume_group("vg", "HDD", "10Gi", thin_pools=pools)


GOOD = {
    "a volume on a drive": holding(PlacedVolume("pv", "d1", 5)),
    "a volume in a group": holding(PlacedVolume("pv", "vg", 0)),
}


@pytest.mark.parametrize("made", GOOD.values(), ids=GOOD)
def test_a_node_may_have(made):
    assert len(cluster(made).nodes["n1"].placed_volumes) == 1


BAD = {
    "a drive without a name": (node("n1").with_drive("", "HDD", "1Ti"), "node n1: drive: the uuid is empty"),
    "two drives of one name": (N1.with_drive("d1", "SSD", "1Ti"), "node n1: drive d1: is there twice"),
    "two groups of one name": (
        N1.with_volume_group("vg", "SSD", "1Gi"),
        "node n1: volume group vg: is there",
    ),
    "a group without a name": (
        node("n1").with_volume_group("", "HDD", "1Gi"),
        "volume group: the name is empty",
    ),
    "two volumes of one name": (
        holding(PlacedVolume("pv", "d1", 5), PlacedVolume("pv", "vg", 5)),
        "node n1: volume pv: is there twice; remove or rename one of the two",
    ),
    "a volume without a name": (holding(PlacedVolume("", "d1", 5)), "node n1: volume: the name is empty"),
    "a volume of less than nothing": (holding(PlacedVolume("pv", "d1", -1)), "volume pv: sizeBytes is -1"),
    "a drive with more available than there is": (
        node("n1").with_drive("d1", "HDD", "5", available_bytes=6),
        "node n1: drive d1: availableBytes 6 is above its size 5",
    ),
    "two pools of one name": (
        pooled(ThinPool("p", 5), ThinPool("p", 5)),
        "node n1: volume group vg: thin pool p: is there twice",
    ),
    "a pool without a name": (pooled(ThinPool("", 5)), "volume group vg: thin pool: the name is empty"),
    "a pool larger than its group": (
        pooled(ThinPool("p", (10 << 30) + 1)),
        "node n1: volume group vg: thin pool p: sizeBytes 10737418241 is above its size 10737418240",
    ),
    "a pool with volumes of less than nothing": (
        pooled(ThinPool("p", 5, -1)),
        "thin pool p: virtualBytes is -1",
    ),
    "a volume that is nowhere": (
        holding(PlacedVolume("pv", "d9", 5)),
        "node n1: volume pv: location 'd9' is none of its 2 drives and volume groups; add the drive or group",
    ),
}


@pytest.mark.parametrize(("made", "said"), BAD.values(), ids=BAD)
def test_no_node_has(made, said):
    with pytest.raises(InputError) as raised:
        cluster(made)
    assert said in str(raised.value)
