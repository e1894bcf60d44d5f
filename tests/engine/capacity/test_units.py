"""What each kind of workload takes from its node."""

import pytest

from builders import policy, resources
from ullage.engine.capacity.units import (
    LEAST,
    UNIT_RESOURCES,
    consumption,
    refused_by_kind,
    root_bytes,
)
from ullage.model.resources import ADDRESSES, HDD_SPACE, NOTHING, SSD_SPACE, Resources, ResourceTypes
from ullage.model.settings import rules_for

GIB = 1 << 30
SMALL_ROOT = 500 << 20
LARGE_ROOT = 2 * GIB
ZOS = rules_for(
    policy(
        consumption="by-kind", machine_memory="250Mi", machine_root_small="500Mi", machine_root_large="2Gi"
    ),
    ResourceTypes(),
)
PLAIN = rules_for(policy(), ResourceTypes())
EVERYTHING = resources({SSD_SPACE: "7Gi", HDD_SPACE: "9Gi", ADDRESSES: "2"}, cpu="3", memory="5Gi")


def test_units_are_names_for_resources():
    assert UNIT_RESOURCES == {
        "CU": "cpu",
        "MU": "memory",
        "SU": "ullage.dev/ssd-space",
        "HU": "ullage.dev/hdd-space",
        "addresses": "ullage.dev/public-addresses",
    }


@pytest.mark.parametrize(
    ("cpus", "memory", "root"),
    [
        (1, 8 * GIB, LARGE_ROOT),
        (1, 8 * GIB - 1, SMALL_ROOT),
        (1, 4 * GIB, SMALL_ROOT),
        (2, 4 * GIB, LARGE_ROOT),
        (2, 4 * GIB - 1, SMALL_ROOT),
        (3, 4 * GIB, LARGE_ROOT),
        (4, 5 * GIB, LARGE_ROOT),
        (1, GIB, SMALL_ROOT),
        (1, 250 << 20, SMALL_ROOT),
        (0, 1 << 50, SMALL_ROOT),
        (16, 1 << 40, LARGE_ROOT),
    ],
)
def test_a_root_disk_is_small_while_cpus_times_memory_is_under_8_gibibytes(cpus, memory, root):
    assert root_bytes(cpus, memory, ZOS) == root


@pytest.mark.parametrize(
    "kind",
    ["zmount", "volume", "zdb", "ip", "network", "zlogs", "gateway", "Pod", "qsfs", "ipv4", "zmachine"],
)
def test_what_is_asked_for_is_always_taken(kind):
    assert consumption(kind, EVERYTHING, ZOS) == EVERYTHING
    assert consumption(kind, EVERYTHING, PLAIN) is EVERYTHING


@pytest.mark.parametrize(
    ("kind", "taken"),
    [
        ("zmount", {}),
        ("volume", {}),
        ("zdb", {}),
        ("ip", {}),
        ("network", {}),
        ("zlogs", {}),
        ("gateway", {}),
        ("Pod", {}),
        ("ipv4", {ADDRESSES: 1}),
        ("qsfs", {"cpu": 1000, "memory": GIB}),
        ("zmachine", {SSD_SPACE: SMALL_ROOT}),
    ],
)
def test_some_kinds_take_something_though_they_ask_for_nothing(kind, taken):
    assert consumption(kind, NOTHING, ZOS) == Resources(taken)
    assert consumption(kind, NOTHING, PLAIN) is NOTHING


def test_the_table_names_the_kinds_that_take_more_than_they_ask_for():
    assert sorted(LEAST) == ["ipv4", "qsfs", "zmachine"]


@pytest.mark.parametrize(
    ("asked", "root"),
    [
        (resources(cpu="1", memory="4Gi"), SMALL_ROOT),
        (resources({SSD_SPACE: "499Mi"}, cpu="1", memory="4Gi"), SMALL_ROOT),
        (resources({SSD_SPACE: "501Mi"}, cpu="1", memory="4Gi"), 501 << 20),
        (resources(cpu="2", memory="4Gi"), LARGE_ROOT),
        (resources({SSD_SPACE: "3Gi"}, cpu="2", memory="4Gi"), 3 * GIB),
        (resources(cpu="1999m", memory="4Gi"), SMALL_ROOT),
        (resources(memory="100Gi"), SMALL_ROOT),
    ],
)
def test_a_machine_takes_at_least_its_root_disk(asked, root):
    assert consumption("zmachine", asked, ZOS) == Resources({**asked, SSD_SPACE: root})


def test_a_machine_keeps_what_else_it_asks_for():
    assert consumption("zmachine", resources(cpu="1", memory="1Gi", gpu=1), ZOS) == resources(
        {SSD_SPACE: "500Mi"}, cpu="1", memory="1Gi", gpu=1
    )


@pytest.mark.parametrize(
    ("kind", "memory", "rules", "reason"),
    [
        ("zmachine", 250 << 20, ZOS, ""),
        (
            "zmachine",
            (250 << 20) - 1,
            ZOS,
            "a machine needs at least 250Mi of memory (asked 262143999)",
        ),
        (
            "zmachine",
            0,
            ZOS,
            "a machine needs at least 250Mi of memory (asked 0)",
        ),
        ("zmachine", 0, PLAIN, ""),
        ("Pod", 0, ZOS, ""),
    ],
)
def test_a_machine_asks_for_the_least_memory_that_its_policy_names(kind, memory, rules, reason):
    assert refused_by_kind(kind, Resources({"memory": memory}), rules) == reason
