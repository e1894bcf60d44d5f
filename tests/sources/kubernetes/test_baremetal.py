"""Drives and volume groups of csi-baremetal on their nodes."""

import pytest

from sources.kubernetes.kube import dumped, node, refused, thing
from ullage.model.drives import Drive, VolumeGroup

API = "csi-baremetal.dell.com/v1"
GIB = 1 << 30
LABEL = "nodes.csi-baremetal.dell.com/uuid"


def drive(name="d1", node_id="id-1", **spec):
    fields = {"UUID": name, "Type": "HDD", "Size": 10 * GIB, "NodeId": node_id, "Health": "GOOD"}
    fields |= {"Status": "ONLINE", "Usage": "IN_USE", "IsClean": True}
    return thing(API, "Drive", name, spec=fields | spec)


def group(name="g1", **spec):
    fields = {"Name": name, "Node": "id-1", "Locations": ["d1"], "Size": 9 * GIB}
    return thing(API, "LogicalVolumeGroup", name, spec=fields | spec)


def available(location, size, **spec):
    fields = {"Location": location, "Size": size} | spec
    return thing(API, "AvailableCapacity", f"ac-{location}", spec=fields)


def marked(item, where="labels", **texts):
    """An object with what the driver's labels say: a taint, a storage group."""
    prefix = "drive.csi-baremetal.dell.com/"
    item["metadata"][where] = {f"{prefix}{name.replace('_', '-')}": text for name, text in texts.items()}
    return item


NODE = node("n1", labels={LABEL: "id-1"})


def test_a_drive_is_read_field_by_field():
    wire = drive(Type="NVME", Path="/dev/nvme0n1", VID="ACME", PID="Fast", IsSystem=True)
    assert dumped(NODE, wire).nodes["n1"].drives == (
        Drive("d1", "NVME", 10 * GIB, system=True, path="/dev/nvme0n1", model="ACME Fast"),
    )


def test_what_the_driver_leaves_out_is_false_or_unknown():
    wire = thing(API, "Drive", "d1", spec={"Type": "SSD", "Size": 5, "NodeId": "id-1"})
    assert dumped(NODE, wire).nodes["n1"].drives == (
        Drive("d1", "SSD", 5, health="UNKNOWN", status="OFFLINE", usage="", clean=False),
    )


DRIVER_NODE = thing(API, "Node", "csibmnode-1", spec={"UUID": "id-1", "Addresses": {"Hostname": "n1"}})
# Each row: what ties the node to the identifier that its drives name.
TIES = {
    "a label": [NODE],
    "an annotation": [node("n1", annotations={LABEL: "id-1"})],
    "an older annotation": [node("n1", annotations={"csibmnodes.csi-baremetal.dell.com/uuid": "id-1"})],
    "the node's UID": [node("n1", uid="id-1")],
    "the driver's own node": [DRIVER_NODE, node("n1")],
}


@pytest.mark.parametrize("tie", TIES)
def test_a_drive_finds_its_node(tie):
    for items in ([drive(), *TIES[tie]], [*TIES[tie], drive()]):
        snapshot = dumped(*items)
        assert [each.uuid for each in snapshot.nodes["n1"].drives] == ["d1"]
        assert not snapshot.unknowns


def test_the_drivers_own_node_is_no_node_of_the_cluster():
    assert list(dumped(DRIVER_NODE).nodes.keys()) == []


# Each row: the available capacity, and the free space of the group.
FREE = {
    "as much as is available": ([available("g1", 4 * GIB)], 4 * GIB),
    "nothing where nothing is available": ([], 0),
    "nothing where a group is full": ([available("g1", 0)], 0),
    "never less than nothing": ([available("g1", -1)], 0),
    "never more than there is": ([available("g1", 40 * GIB)], 9 * GIB),
    "that of a drive is not that of its group": ([available("d1", 4 * GIB)], 0),
}
# Each row: what the driver says of a group of which 4 GiB are available, and its free space.
HEALTH = {
    "a good one": ({"Health": "GOOD", "Status": "CREATED"}, 4 * GIB),
    "one that failed": ({"Health": "GOOD", "Status": "FAILED"}, 0),
    "a suspect one": ({"Health": "SUSPECT"}, 0),
    "one of unknown health": ({"Health": "UNKNOWN"}, 0),
    "one of which nothing is said": ({"Health": ""}, 4 * GIB),
}


@pytest.mark.parametrize("rule", FREE)
def test_the_free_space_of_a_volume_group(rule):
    items, expected = FREE[rule]
    assert dumped(NODE, drive(), group(), *items).nodes["n1"].volume_groups == (
        VolumeGroup("g1", "HDD", 9 * GIB, expected, drives=("d1",)),
    )


@pytest.mark.parametrize(("spec", "free_bytes"), HEALTH.values(), ids=HEALTH)
def test_only_a_sound_volume_group_has_free_space(spec, free_bytes):
    found = dumped(NODE, drive(), group(**spec), available("g1", 4 * GIB))
    assert [each.free_bytes for each in found.nodes["n1"].volume_groups] == [free_bytes]


# Each row: objects of drive d1, group g1 on it and what they offer; who is tainted and in group gold.
MARKS = {
    "a drive that is marked": ([marked(drive(), taint="NoSchedule", storage_group="gold")], True, False),
    "by an annotation": (
        [marked(drive(), "annotations", taint="NoSchedule", storage_group="gold")], True, False,
    ),
    "what a drive offers is marked": (
        [drive(), marked(available("d1", 9), taint="NoSchedule", storage_group="gold")], True, False,
    ),
    "a group that is marked": (
        [drive(), marked(group(), taint="NoSchedule", storage_group="gold")], False, True,
    ),
    "what a group offers is marked": (
        [drive(), group(), marked(available("g1", 9), taint="NoSchedule", storage_group="gold")], False, True,
    ),
    "nobody": ([drive(), group(), available("g1", 9)], False, False),
    "another taint is none": ([marked(drive(), taint="PreferNoSchedule")], False, False),
}  # fmt: skip


@pytest.mark.parametrize(("items", "of_drive", "of_group"), MARKS.values(), ids=MARKS)
def test_taints_and_storage_groups_of_disks(items, of_drive, of_group):
    found = dumped(NODE, *items).nodes["n1"]
    for disks, is_marked in ((found.drives, of_drive), (found.volume_groups, of_group)):
        for each in disks:
            assert (each.tainted, each.storage_group) == (is_marked, "gold" if is_marked else "")


# Each row: what else is known of a clean drive d1, and whether it still is clean.
CLEAN = {
    "all of it is offered": ([available("d1", 10 * GIB)], True),
    "nobody says what is offered": ([], True),
    "nothing of it is offered: it is about to be used": ([available("d1", 0)], False),
    "others are offered, and it is not: its capacity is that of a group by now": (
        [available("g9", 10 * GIB)],
        False,
    ),
    "it is in a group": ([group()], False),
}


@pytest.mark.parametrize(("items", "clean"), CLEAN.values(), ids=CLEAN)
def test_a_clean_drive_stays_so_where(items, clean):
    assert [each.clean for each in dumped(NODE, drive(), *items).nodes["n1"].drives] == [clean]


def test_a_bad_drive_is_as_clean_as_it_says():
    items = (drive(Health="BAD"), available("d1", 0))
    assert [each.clean for each in dumped(NODE, *items).nodes["n1"].drives] == [True]


def test_a_group_that_is_offered_as_the_systems_is_so():
    items = (drive(), group(), available("g1", 9, storageClass="SYSLVG"))
    assert [each.system for each in dumped(NODE, *items).nodes["n1"].volume_groups] == [True]


def test_a_group_on_the_system_drive_is_the_systems():
    found = dumped(NODE, drive(IsSystem=True, Type="SSD"), group()).nodes["n1"].volume_groups
    assert [(each.system, each.drive_class) for each in found] == [(True, "SSD")]


# Each row: objects that cannot be put anywhere, and what is said of them.
UNPLACED = {
    "a drive of an unknown node": ([drive(node_id="other")], "drive d1"),
    "a drive of an unknown class": ([drive(Type="TAPE")], "drive d1"),
    "a drive of less than nothing": ([drive(Size=-1)], "drive d1"),
    "a group of less than nothing": ([drive(), group(Size=-1)], "volume group g1"),
    "a group of an unknown node": ([drive(), group(Node="other")], "volume group g1"),
    "a group on unknown drives": ([drive(), group(Locations=["d9"])], "volume group g1"),
    "a group on nothing": ([drive(), group(Locations=None)], "volume group g1"),
    "a second drive of one identifier": ([drive(), drive("d2", UUID="d1")], "drive d2"),
    "a second group of one name": ([drive(), group(), group("g2", Name="g1")], "volume group g2"),
    "a drive beyond 64 bits": ([drive(Size=1 << 63)], "drive d1"),
    "a drive of no name": ([drive(UUID="a\nb")], "drive d1"),
    "what is offered of an unknown disk": ([available("d9", 5)], "capacity ac-d9"),
}


@pytest.mark.parametrize("case", UNPLACED)
def test_what_cannot_be_put_on_a_node_is_named(case):
    items, named = UNPLACED[case]
    assert dumped(NODE, *items).unknowns == (f"not read: disks of unknown nodes or classes: {named}",)


def test_many_are_counted():
    drives = [drive(f"d{n}", node_id="other") for n in range(9)]
    assert dumped(NODE, *drives).unknowns == (
        "not read: disks of unknown nodes or classes: drive d0, drive d1, drive d2 and 6 more",
    )


def test_a_size_that_is_none_is_named_with_its_path():
    assert refused(NODE, drive(Size="10Gi")) == (
        "standard input: items[1].spec.Size: expected a whole number, found text; write a whole number"
    )
