"""Rules of editing a node's disks: what can be added, taken away, converted and given back."""

import msgspec
import pytest

from ullage.engine.storage import edits
from ullage.engine.storage.extents import group_bytes
from ullage.model.cluster import Node
from ullage.model.drives import Drive, PlacedVolume, ThinPool, VolumeGroup
from ullage.model.errors import InputError

GIB = 1 << 30


def node(
    *drives: Drive, groups: tuple[VolumeGroup, ...] = (), volumes: tuple[PlacedVolume, ...] = ()
) -> Node:
    """Return a node with these disks."""
    return Node("n1", drives=drives, volume_groups=groups, placed_volumes=volumes)


def drive(uuid: str, size_bytes: int = 10 * GIB, *, clean: bool = True) -> Drive:
    """Return a spinning drive."""
    return Drive(uuid, "HDD", size_bytes, clean=clean)


def converted(uuid: str, used_bytes: int = 0) -> VolumeGroup:
    """Return the group that one drive of 10 GiB became."""
    size = group_bytes(10 * GIB)
    return VolumeGroup("vg", "HDD", size, size - used_bytes, drives=(uuid,))


def test_new_drives_are_empty_and_never_take_a_name_that_is_there() -> None:
    before = node(Drive("n1-ssd-new1", "SSD", GIB))
    after = edits.with_drives(before, "SSD", 2 * GIB, 2)
    assert [each.uuid for each in after.drives] == ["n1-ssd-new1", "n1-ssd-new2", "n1-ssd-new3"]
    assert all(edits.is_empty(after, each) for each in after.drives)
    assert {each.size_bytes for each in after.drives[1:]} == {2 * GIB}


@pytest.mark.parametrize(
    ("size", "count", "what"), [(0, 1, "0 bytes"), (GIB, 0, "0 drives"), (GIB, 1001, "1001 drives")]
)
def test_drives_without_size_or_in_absurd_numbers_are_bad_input(size: int, count: int, what: str) -> None:
    with pytest.raises(InputError, match=what):
        edits.with_drives(node(), "HDD", size, count)


def test_a_drive_goes_with_its_plain_volume() -> None:
    before = node(drive("a", clean=False), drive("b"), volumes=(PlacedVolume("v", "a", GIB),))
    after = edits.without_drive(before, "a")
    assert [each.uuid for each in after.drives] == ["b"]
    assert after.placed_volumes == ()


def test_a_drive_goes_with_the_group_that_it_alone_was() -> None:
    volumes = (PlacedVolume("v", "vg", GIB), PlacedVolume("w", "b", GIB))
    before = node(drive("a", clean=False), drive("b"), groups=(converted("a", GIB),), volumes=volumes)
    after = edits.without_drive(before, "a")
    assert after.volume_groups == ()
    assert [each.name for each in after.placed_volumes] == ["w"]


def test_a_drive_of_a_group_of_several_stays_while_the_group_has_volumes() -> None:
    size = 2 * group_bytes(10 * GIB)
    group = VolumeGroup("vg", "HDD", size, size - GIB, drives=("a", "b"))
    with pytest.raises(InputError, match="one of 2 of volume group vg, which has volumes"):
        edits.without_drive(node(drive("a"), drive("b"), groups=(group,)), "a")


def test_an_empty_group_of_several_shrinks_by_the_drive_that_goes() -> None:
    size = 2 * group_bytes(10 * GIB)
    group = VolumeGroup("vg", "HDD", size, size, drives=("a", "b"))
    after = edits.without_drive(node(drive("a"), drive("b"), groups=(group,)), "a")
    (left,) = after.volume_groups
    assert (left.drives, left.size_bytes, left.free_bytes) == (("b",), size // 2, size // 2)


def test_a_class_changes_on_the_drive_and_on_the_group_that_it_alone_is() -> None:
    before = node(drive("a"), drive("b"), groups=(converted("a"),))
    after = edits.with_class(before, "a", "SSD")
    assert [each.drive_class for each in after.drives] == ["SSD", "HDD"]
    assert after.volume_groups[0].drive_class == "SSD"


def test_a_group_of_several_drives_has_one_class_only() -> None:
    group = VolumeGroup("vg", "HDD", GIB, GIB, drives=("a", "b"))
    with pytest.raises(InputError, match="one class only"):
        edits.with_class(node(drive("a"), drive("b"), groups=(group,)), "a", "SSD")


def test_an_empty_drive_becomes_a_group_of_the_size_that_lvm_gives_it() -> None:
    grouped = msgspec.structs.replace(drive("a"), storage_group="fast", tainted=True)
    after = edits.with_group(node(grouped), "a")
    (group,) = after.volume_groups
    assert group == VolumeGroup(
        "a",
        "HDD",
        10 * GIB - (4 << 20),
        10 * GIB - (4 << 20),
        drives=("a",),
        storage_group="fast",
        tainted=True,
    )
    assert not after.drives[0].clean


@pytest.mark.parametrize(
    "before",
    [
        node(drive("a", clean=False)),
        node(drive("a"), volumes=(PlacedVolume("v", "a", GIB),)),
        node(drive("a"), groups=(converted("a"),)),
        node(msgspec.structs.replace(drive("a"), health="BAD")),
    ],
    ids=["in use", "holds a volume", "in a group", "failing"],
)
def test_only_an_empty_usable_drive_becomes_a_group(before: Node) -> None:
    with pytest.raises(InputError, match="not empty or not usable"):
        edits.with_group(before, "a")


def test_removing_one_of_several_volumes_gives_its_space_back_to_the_group() -> None:
    volumes = (PlacedVolume("v", "vg", GIB), PlacedVolume("w", "vg", 2 * GIB))
    before = node(drive("a", clean=False), groups=(converted("a", 3 * GIB),), volumes=volumes)
    after = edits.without_volume(before, "w")
    assert after.volume_groups == (converted("a", GIB),)
    assert not after.drives[0].clean


def test_removing_the_last_volume_of_a_converted_group_gives_the_drive_back() -> None:
    before = node(
        drive("a", clean=False), groups=(converted("a", GIB),), volumes=(PlacedVolume("v", "vg", GIB),)
    )
    after = edits.without_volume(before, "v")
    assert after.volume_groups == ()
    assert edits.is_empty(after, after.drives[0])


def test_the_group_of_the_system_drive_stays_when_it_is_empty() -> None:
    group = msgspec.structs.replace(converted("a", GIB), system=True)
    before = node(drive("a", clean=False), groups=(group,), volumes=(PlacedVolume("v", "vg", GIB),))
    assert len(edits.without_volume(before, "v").volume_groups) == 1


def test_a_thin_pool_goes_with_its_volume() -> None:
    pools = (ThinPool("slim", GIB), ThinPool("other", GIB))
    group = VolumeGroup("vg", "HDD", 9 * GIB, GIB, drives=("a",), thin_pools=pools)
    before = node(drive("a", clean=False), groups=(group,), volumes=(PlacedVolume("vg/slim", "vg", GIB),))
    (after,) = edits.without_volume(before, "vg/slim").volume_groups
    assert (after.free_bytes, after.thin_pools) == (2 * GIB, pools[1:])


def test_removing_a_plain_volume_gives_the_whole_drive_back() -> None:
    before = node(drive("a", clean=False), volumes=(PlacedVolume("v", "a", GIB),))
    after = edits.without_volume(before, "v")
    assert edits.is_empty(after, after.drives[0])


def test_all_volumes_of_a_group_may_be_on_each_of_its_drives() -> None:
    group = VolumeGroup("vg", "HDD", 20 * GIB, GIB, drives=("a", "b"))
    volumes = (PlacedVolume("v", "vg", GIB), PlacedVolume("w", "c", GIB))
    before = node(drive("a"), drive("b"), drive("c"), groups=(group,), volumes=volumes)
    assert [each.name for each in edits.volumes_on(before, "b")] == ["v"]
    assert [each.name for each in edits.volumes_on(before, "c")] == ["w"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda it: edits.without_drive(it, "z"), "no drive z; its drives are: a"),
        (lambda it: edits.without_volume(it, "z"), "no volume z; its volumes are: none"),
    ],
)
def test_what_is_not_there_is_named_beside_what_is(change: object, what: str) -> None:
    with pytest.raises(InputError, match=what):
        change(node(drive("a")))  # type: ignore[operator]
