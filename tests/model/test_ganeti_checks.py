from fractions import Fraction

import pytest

from ullage.model.errors import InputError
from ullage.model.ganeti import Disk, GanetiGroup, GanetiNode, Instance, InstancePolicy, Size
from ullage.model.ganeti_checks import check_group, check_host, check_instance, check_policy
from ullage.model.quantity import INT64_MAX


def node(**changed):
    return GanetiNode("n", "u", **changed)


def instance(**changed):
    return Instance(**{"name": "i", "memory_bytes": 1, "disks": (), "cpu_milli": 1} | changed)


BAD = [
    (check_host, node(memory_bytes=-1), "x: host: a size is negative"),
    (check_host, node(disk_bytes=INT64_MAX + 1), "x: host: a size is negative or does not fit 64 bits"),
    (check_host, node(memory_free_bytes=-INT64_MAX - 1), "x: host: a size"),
    (check_host, node(cpu_speed=Fraction(0)), "x: host: cpuSpeed: the speed is out of range"),
    (check_instance, instance(memory_bytes=-1), "x: instance: a size"),
    (check_instance, instance(disks=(Disk(-1),)), "x: instance: a size"),
    (check_instance, instance(disks=(Disk(1, -1),)), "x: instance: a size"),
    (check_instance, instance(disks=(Disk(INT64_MAX), Disk(1))), "x: instance: a size"),
    (check_instance, instance(disk_bytes=-1), "x: instance: a size"),
    (check_policy, InstancePolicy(Size(-1, 1, 1)), "x: a size"),
    (check_policy, InstancePolicy(bounds=((Size(1, 1, 1), Size(1, 1, -1)),)), "x: a size"),
    (check_policy, InstancePolicy(memory_ratio=Fraction(-1)), "x: a ratio is out of range"),
    (check_policy, InstancePolicy(cpu_ratio=Fraction(10**7)), "x: a ratio is out of range"),
    (
        check_group,
        GanetiGroup("g", "u", policy=InstancePolicy(spindle_ratio=Fraction(-1))),
        "x: ganeti: policy: a ratio is out of range",
    ),
]


@pytest.mark.parametrize(("check", "record", "said"), BAD)
def test_what_nothing_can_have_is_refused(check, record, said):
    with pytest.raises(InputError) as raised:
        check(record, "x")
    assert str(raised.value).startswith(said)


def test_free_sizes_may_be_below_zero():
    check_host(node(memory_free_bytes=-5, disk_free_bytes=-5, spindles_free=-5), "x")
    check_instance(instance(disks=(Disk(1, None), Disk(1, 2))), "x")
    check_policy(InstancePolicy(), "x")
    check_group(GanetiGroup("g", "u"), "x")
