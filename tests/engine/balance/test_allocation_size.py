"""The sizes that policies allow: the first mismatch names the failure, one pair of bounds is enough."""

import pytest
from msgspec.structs import replace

from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.facts import machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.model.ganeti import MIB, Disk, InstancePolicy, Size

LOW, HIGH = Size(100 * MIB, 1, 100 * MIB, 1, 1, 2), Size(200 * MIB, 4, 200 * MIB, 2, 8, 3)
LARGE = (Size(500 * MIB, 2, 100 * MIB, 1, 1, 2), Size(900 * MIB, 2, 200 * MIB, 2, 8, 3))
FITTING = replace(instance("new", memory=150, spindle_use=2), cpu_milli=2000)


def host_of(policy: InstancePolicy, *, exclusive: bool = False):
    node = ganeti_node("n1", exclusive_storage=exclusive)
    return Fleet(ganeti_cluster([node], groups=[ganeti_group("g", policy=policy)])).hosts[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        ({"memory_bytes": 99 * MIB}, ("FailMem", "memory", MIB)),
        ({"memory_bytes": 201 * MIB}, ("FailMem", "memory", MIB)),
        ({"disks": (Disk(100 * MIB), Disk(99 * MIB))}, ("FailDisk", "disk", MIB)),
        ({"disks": (Disk(201 * MIB),)}, ("FailDisk", "disk", MIB)),
        ({"cpu_milli": 5000}, ("FailCPU", "cpu", 1000)),
        ({"spindle_use": 1}, ("FailSpindles", "spindles", 1)),
        ({"spindle_use": 5}, ("FailSpindles", "spindles", 2)),
        ({"disks": ()}, ("FailDiskCount", "disks", 1)),
        ({"disks": (), "template": "diskless"}, None),
        ({"template": "plain"}, ("FailDisk", "template", 0)),
        ({"memory_bytes": 99 * MIB, "cpu_milli": 9000}, ("FailMem", "memory", MIB)),
    ],
)
def test_the_first_mismatch_names_the_failure(changes, expected):
    host = host_of(InstancePolicy(bounds=((LOW, HIGH),), templates=("ext", "diskless")))
    assert size_failure(machine_of(replace(FITTING, **changes)), host) == expected


@pytest.mark.parametrize(
    ("memory", "expected"), [(150, None), (600, None), (300, ("FailMem", "memory", 100 * MIB))]
)
def test_one_pair_of_bounds_is_enough_and_the_first_tells_why_not(memory, expected):
    host = host_of(InstancePolicy(bounds=((LOW, HIGH), LARGE)))
    assert size_failure(machine_of(replace(FITTING, memory_bytes=memory * MIB)), host) == expected


def test_without_bounds_every_size_is_allowed():
    assert size_failure(machine_of(FITTING), host_of(InstancePolicy(bounds=()))) is None


@pytest.mark.parametrize(
    ("spindles", "expected"),
    [(2, None), (1, ("FailSpindles", "spindles", 1)), (None, ("FailSpindles", "spindles", 1))],
)
def test_with_exclusive_storage_the_spindles_of_disks_count(spindles, expected):
    host = host_of(InstancePolicy(bounds=((LOW, HIGH),)), exclusive=True)
    assert size_failure(machine_of(replace(FITTING, disks=(Disk(100 * MIB, spindles),))), host) == expected
