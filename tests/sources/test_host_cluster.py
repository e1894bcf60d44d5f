from datetime import UTC, datetime

import pytest

from builders import resources
from ullage.model.cluster import Device
from ullage.model.drives import Drive, VolumeGroup
from ullage.model.errors import InputError
from ullage.sources.host.facts import (
    CpuFacts,
    DiskFacts,
    GanetiFacts,
    GpuFacts,
    HostFacts,
    HugePages,
    LvmFacts,
    MemoryFacts,
    MountFacts,
    PhysicalVolume,
    Problem,
    encode_host_facts,
)
from ullage.sources.host.facts import VolumeGroup as LvmGroup
from ullage.sources.host_cluster import HostsSource, host_node, host_unknowns, hosts_snapshot

GIB = 1 << 30
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MEMORY = MemoryFacts(
    memory_total_bytes=64 * GIB,
    memory_available_bytes=40 * GIB,
    memory_actual_bytes=24 * GIB,
    swap_total_bytes=8 * GIB,
    swap_free_bytes=8 * GIB,
    huge_pages=(
        HugePages(page_size_bytes=2 << 20, total_pages=512, free_pages=0, reserved_pages=0, surplus_pages=0),
        HugePages(page_size_bytes=GIB, total_pages=0, free_pages=0, reserved_pages=0, surplus_pages=0),
    ),
)


def host(**fields):
    known = {"hostname": "h1", "cpu": CpuFacts(logical_cores=16), "memory": MEMORY}
    return HostFacts(collected_at=NOON, **{**known, **fields})


def disk(name, drive_class="HDD", **fields):
    return DiskFacts(name=name, kernel_name=name, size_bytes=1 << 40, drive_class=drive_class, **fields)


def lvm(*volumes, name="data"):
    physical = tuple(
        PhysicalVolume(name=each, uuid="u", size_bytes=GIB, free_bytes=0, total_extents=256, used_extents=256)
        for each in volumes
    )
    group = LvmGroup(
        name=name,
        uuid="u",
        size_bytes=10 * GIB,
        free_bytes=4 * GIB,
        extent_size_bytes=4 << 20,
        total_extents=2560,
        free_extents=1024,
        physical_volumes=physical,
    )
    return LvmFacts(volume_groups=(group,))


def test_a_host_is_a_node_with_what_it_has_and_what_is_in_use():
    node = host_node(
        host(
            architecture="x86_64",
            kernel="6.1.0",
            mounts=(
                MountFacts(
                    source="/dev/sda1",
                    mount_point="/",
                    file_system="ext4",
                    size_bytes=100 * GIB,
                    used_bytes=30 * GIB,
                    available_bytes=65 * GIB,
                ),
                MountFacts(
                    source="/dev/sdb1",
                    mount_point="/srv",
                    file_system="ext4",
                    size_bytes=GIB,
                    used_bytes=GIB,
                    available_bytes=0,
                ),
            ),
        ),
        group="lab",
        domain="r1",
    )
    assert (node.name, node.group, node.domain) == ("h1", "lab", "r1")
    assert node.capacity == resources(
        {"hugepages-2Mi": "1Gi"}, cpu=16, memory="64Gi", ephemeral_storage="100Gi"
    )
    assert node.actual == resources(memory="24Gi", ephemeral_storage="30Gi")
    assert node.reserve is None
    assert node.swap_bytes == 8 * GIB
    assert node.labels == {"kubernetes.io/hostname": "h1", "kubernetes.io/arch": "x86_64"}
    assert node.qualities == {"kernel": "6.1.0"}


def test_what_is_not_known_is_left_out():
    node = host_node(HostFacts(collected_at=NOON, hostname="h1"))
    assert (node.capacity, node.actual, node.swap_bytes) == (resources(), None, None)


def test_the_hypervisor_knows_the_machine_where_the_kernel_knows_only_its_domain():
    ganeti = GanetiFacts(
        origin="xl", memory_total_bytes=128 * GIB, memory_free_bytes=100 * GIB, logical_cores=32
    )
    node = host_node(host(xen_control_domain=True, ganeti=ganeti))
    assert node.capacity.only(["cpu", "memory"]) == resources(cpu=32, memory="128Gi")
    assert node.actual == resources(memory="28Gi")


def test_gpus_are_devices_under_the_name_of_their_vendor():
    gpus = (
        GpuFacts(vendor="nvidia", origin="nvidia-smi", uuid="GPU-1", model="L4", memory_total_bytes=24 * GIB),
        GpuFacts(vendor="amd", origin="pci", pci_address="0000:03:00.0"),
    )
    node = host_node(host(gpus=gpus))
    assert node.capacity.only(["nvidia.com/gpu", "amd.com/gpu"]) == resources({"amd.com/gpu": "1"}, gpu=1)
    assert node.devices == (
        Device("GPU-1", "nvidia.com/gpu", "L4", 24 * GIB),
        Device("0000:03:00.0", "amd.com/gpu"),
    )


@pytest.mark.parametrize(
    ("fields", "clean"),
    [
        ({"clean": True}, True),
        ({"clean": False}, False),
        ({"clean": True, "system": True}, False),
        ({"clean": True, "read_only": True}, False),
        ({"clean": True, "removable": True}, False),
    ],
)
def test_a_disk_offers_space_only_if_nothing_else_has_it(fields, clean):
    (drive,) = host_node(host(disks=(disk("sdb", wwn="0x5", model="ST4", **fields),))).drives
    system = fields.get("system", False)
    assert drive == Drive("0x5", "HDD", 1 << 40, system=system, clean=clean, path="/dev/sdb", model="ST4")


def test_a_volume_group_has_the_class_of_the_disks_below_it():
    disks = (
        disk("sda", "SSD", serial="S1", system=True, children=("sda1", "sda2")),
        disk("sdb", serial="S2"),
    )
    (group,) = host_node(host(disks=disks, lvm=lvm("/dev/sda2"))).volume_groups
    assert group == VolumeGroup("data", "SSD", 10 * GIB, 4 * GIB, 4 << 20, ("S1",), system=True)


UNKNOWN_GROUPS = {
    "several classes": ((disk("sda", "SSD"), disk("sdb", "HDD")), lvm("/dev/sda", "/dev/sdb")),
    "no class": ((disk("sda", None),), lvm("/dev/sda")),
    "no disk": ((disk("sda"),), lvm("/dev/mapper/luks")),
    "no physical volume": ((disk("sda"),), lvm()),
}


@pytest.mark.parametrize(("disks", "volumes"), UNKNOWN_GROUPS.values(), ids=UNKNOWN_GROUPS)
def test_a_volume_group_of_no_one_class_is_left_out_and_said(disks, volumes):
    facts = host(disks=disks, lvm=volumes)
    assert host_node(facts).volume_groups == ()
    assert any(
        "volume group data lies on disks of no or several classes" in each for each in host_unknowns(facts)
    )


def test_what_could_not_be_told_is_said():
    facts = host(
        disks=(disk("vda", None),),
        virtualisation="container",
        problems=(Problem(probe="lvm", reason="vgs: command not found"),),
    )
    assert list(host_unknowns(facts)) == [
        "h1: lvm: vgs: command not found",
        "h1: disk vda has no known class and is left out",
        "h1: inspected in a container: sizes are those of the machine outside",
    ]
    assert host_node(facts).drives == ()


def test_two_hosts_of_one_name_are_an_error_that_names_both_places():
    with pytest.raises(InputError, match=r"b.json: host h1 is there twice, also in a.json; keep the newer"):
        hosts_snapshot([("a.json", host()), ("b.json", host())])


def test_a_host_without_a_name_is_an_error():
    with pytest.raises(InputError, match=r"a.json: the host has no name; set its hostname"):
        hosts_snapshot([("a.json", host(hostname=None))])


def test_a_folder_of_documents_is_a_cluster(tmp_path):
    for name in ("h1", "h2"):
        (tmp_path / f"{name}.json").write_bytes(encode_host_facts(host(hostname=name)))
    source = HostsSource(str(tmp_path))
    snapshot = source.read()
    assert (source.profile, snapshot.name) == ("zos", tmp_path.name)
    assert list(snapshot.nodes.keys()) == ["h1", "h2"]
    assert list(snapshot.groups.keys()) == ["default"]


def test_a_bad_document_is_named_with_its_field(tmp_path):
    path = tmp_path / "h1.json"
    path.write_bytes(encode_host_facts(host()).replace(b'"logicalCores":16', b'"logicalCores":"many"'))
    with pytest.raises(InputError, match=r"h1.json: cpu.logicalCores: expected a whole number, found text"):
        HostsSource(str(path)).read()
