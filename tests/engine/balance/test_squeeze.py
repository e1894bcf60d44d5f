"""Squeezing: hosts are switched off while every other keeps room, and on where one has too little."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.search import follow
from ullage.engine.balance.squeeze import TO_THE_END, Squeezed, SqueezeOptions, squeeze
from ullage.model.ganeti import (
    MIB,
    Disk,
    DiskTemplate,
    GanetiCluster,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
    Size,
)

POLICY = InstancePolicy(standard=Size(100 * MIB, 1, 100 * MIB))
STANDBY = ("htools:standby:spare",)


def node(name: str, *, free: int = 1000, offline: bool = False, tags: tuple[str, ...] = ()) -> GanetiNode:
    """Return a node with this many MiB free, and 100 more for each instance it is given; the master is m."""
    return GanetiNode(
        name, "one", 4000 * MIB, 0, free * MIB, 4000 * MIB, 1000 * MIB, 16000, 0,
        offline=offline, master=name == "m", tags=tags,
    )  # fmt: skip


def instance(primary: str, template: DiskTemplate = "ext", secondary: str = "") -> Instance:
    return Instance(
        f"on-{primary}", 100 * MIB, (Disk(100 * MIB),), 1000, primary, secondary, template=template
    )


def squeezed(
    nodes: list[GanetiNode], *instances: Instance, options: SqueezeOptions | None = None
) -> Squeezed:
    groups = (GanetiGroup("default", "one", policy=POLICY),)
    fleet = Fleet(GanetiCluster(groups, tuple(nodes), instances, policy=POLICY))
    return squeeze(fleet, options or SqueezeOptions())


def names(found: Squeezed, numbers: tuple[int, ...]) -> str:
    return " ".join(found.after.hosts[number].name for number in numbers)


MABC = [node(name) for name in "mabc"]


@pytest.mark.parametrize(
    ("instances", "expected"),
    [
        pytest.param([], "a b c", id="every host but the master"),
        pytest.param(
            [instance("b"), instance("c"), instance("c")], "c b a", id="with the most machines first"
        ),
        pytest.param([instance("a", "plain"), instance("b", "drbd", "c")], "", id="not where disks are"),
        pytest.param([instance("a", "file")], "a b c", id="files are not disks of a host"),
    ],
)
def test_hosts_that_may_be_switched_off(instances: list[Instance], expected: str) -> None:
    found = squeezed(MABC, *instances)
    assert names(found, found.off_candidates) == expected


def test_hosts_with_disks_still_to_come_stay_on_except_by_htools_rule() -> None:
    to_come = msgspec.structs.replace(instance("a", "drbd", "b"), forthcoming=True)
    found = squeezed(MABC, to_come)
    assert names(found, found.off_candidates) == "c"
    by_htools = squeezed(MABC, to_come, options=SqueezeOptions(as_htools=True))
    assert names(by_htools, by_htools.off_candidates) == "a b c"


def test_hosts_that_may_be_switched_on_are_offline_and_tagged() -> None:
    nodes = [*MABC, node("d", offline=True), node("e", offline=True, tags=STANDBY), node("f", tags=STANDBY)]
    found = squeezed(nodes)
    assert names(found, found.on_candidates) == "e"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param(2.0, "a b c", id="room for two on the master, which takes all three machines"),
        pytest.param(7.0, "b c", id="no room for seven with all three there, so one host stays"),
        pytest.param(8.99, "b c", id="sizes are rounded down to whole MiB"),
        pytest.param(9.0, "", id="nor for nine with one, for memory is never filled exactly"),
    ],
)
def test_a_host_stays_where_another_would_have_too_little_room(target: float, expected: str) -> None:
    nodes = [node("m"), *(node(name, free=1500) for name in "abc")]
    machines = [instance(name) for name in "abc"]
    found = squeezed(nodes, *machines, options=SqueezeOptions(minimal=0.0, target=target))
    assert (names(found, found.off), found.on, found.lacks_room) == (expected, (), False)


def test_a_machine_that_cannot_leave_keeps_its_host_on() -> None:
    found = squeezed(MABC, instance("b", "file"), options=SqueezeOptions(target=0.0))
    assert names(found, found.off) == "a c"


@pytest.mark.parametrize(
    ("minimal", "expected", "is_enough"),
    [
        pytest.param(3.0, "", True, id="balancing alone makes room"),
        pytest.param(3.5, "e", True, id="one more host is enough"),
        pytest.param(5.0, "e f", False, id="all that there are, though these are not enough"),
    ],
)
def test_hosts_are_switched_on_where_one_has_too_little_room(
    minimal: float, expected: str, *, is_enough: bool
) -> None:
    nodes = [
        node("m", free=200),
        node("a", free=510),
        node("e", offline=True, tags=STANDBY),
        node("f", offline=True, tags=STANDBY),
    ]
    machines = [instance("m") for _ in range(4)]
    found = squeezed(nodes, *machines, options=SqueezeOptions(minimal=minimal))
    assert (names(found, found.on), found.off, found.lacks_room) == (expected, (), True)
    assert found.is_enough == is_enough


def test_only_htools_asks_hosts_that_are_offline_for_room() -> None:
    nodes = [*MABC, node("d", free=0, offline=True)]
    assert not squeezed(nodes).lacks_room
    assert squeezed(nodes, options=SqueezeOptions(as_htools=True)).lacks_room


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), target=st.sampled_from((0.0, 1.0, 4.0)))
def test_moves_lead_to_a_fleet_with_all_machines_online(seed: int, target: float) -> None:
    before = Fleet(random_cluster(seed, Kind(nodes=4, instances=8, storage="ext")))
    found = squeeze(before, SqueezeOptions(minimal=0.0, target=target))
    states = list(before.states)
    assert set(found.off) <= set(found.off_candidates)
    assert [host.number for host in found.after.hosts if host.offline] == sorted(found.off)
    assert all(not found.after.hosts[place.primary].offline for place in found.after.places)
    again = before.copy()
    again.hosts = found.after.hosts
    for step in found.steps:
        follow(again, step, TO_THE_END)
    assert again.places == found.after.places
    assert before.states == states
