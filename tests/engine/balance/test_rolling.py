"""Rolling maintenance: which hosts may be down together, and where machines are meanwhile."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganeti_clusters import random_cluster, random_kind
from ullage.engine.balance.facts import View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Place
from ullage.engine.balance.rolling import Batch, RollingOptions, Unrollable, rolling_groups
from ullage.model.ganeti import MIB, Disk, DiskTemplate, GanetiCluster, GanetiGroup, GanetiNode, Instance

GROUPS = (GanetiGroup("default", "one"), GanetiGroup("other", "two"))


def node(
    name: str, *, group: str = "one", free: int = 1000, disk_free: int = 1000, tag: str = ""
) -> GanetiNode:
    """Return a node with this many MiB free; the master is m."""
    return GanetiNode(
        name, group, 4000 * MIB, 0, free * MIB, 4000 * MIB, disk_free * MIB, 16000, 0,
        master=name == "m", tags=(tag,) if tag else (),
    )  # fmt: skip


def instance(name: str, primary: str, secondary: str = "", template: DiskTemplate = "drbd") -> Instance:
    template = template if secondary else "ext"
    return Instance(name, 100 * MIB, (Disk(100 * MIB),), 1000, primary, secondary, template=template)


def fleet_of(nodes: list[GanetiNode], *instances: Instance, offline: str = "") -> Fleet:
    cluster = GanetiCluster(GROUPS, tuple(nodes), instances)
    return Fleet(cluster, View(offline=frozenset(offline.split())))


def planned(fleet: Fleet, options: RollingOptions | None = None) -> list[Batch]:
    rolling = rolling_groups(fleet, options or RollingOptions())
    assert not isinstance(rolling, Unrollable)
    return rolling.batches


def batches(fleet: Fleet, options: RollingOptions | None = None) -> list[str]:
    """Return the names of the hosts of each batch."""
    return [" ".join(fleet.hosts[number].name for number in batch.hosts) for batch in planned(fleet, options)]


ABCD = [node(name) for name in "abcd"]


@pytest.mark.parametrize(
    ("instances", "halts", "expected"),
    [
        pytest.param([], False, ["a b c d"], id="hosts that share nothing may be down together"),
        pytest.param(
            [("a", "b")],
            False,
            ["a c d", "b"],
            id="the two hosts of a mirrored machine may not be down together",
        ),
        pytest.param(
            [("a", "c"), ("b", "c")],
            False,
            ["b d", "a", "c"],
            id="nor two hosts that fail over to the same one",
        ),
        pytest.param(
            [("a", "c"), ("b", "c")],
            True,
            ["c d", "a b"],
            id="unless machines are shut down, so that none does",
        ),
    ],
)
def test_hosts_that_depend_on_each_other_are_kept_apart(
    instances: list[tuple[str, str]], *, halts: bool, expected: list[str]
) -> None:
    made = [instance(f"i{number}", *pair) for number, pair in enumerate(instances)]
    found = batches(fleet_of(ABCD, *made), RollingOptions(halts_machines=halts))
    assert found == expected


def test_large_batches_come_first() -> None:
    machines = [instance(f"i{name}", "a", name) for name in "bcd"]
    assert batches(fleet_of(ABCD, *machines)) == ["b c d", "a"]


def test_the_master_is_the_last_of_the_last_batch() -> None:
    nodes = [node(name) for name in "mabc"]
    found = batches(fleet_of(nodes, instance("i", "a", "b")), RollingOptions())
    assert found == ["b", "a c m"]


TWO_GROUPS = [node("a", tag="old"), node("b"), node("c", tag="old"), node("d", group="two", tag="old")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(RollingOptions(tags=frozenset(["old", "x"])), ["a c d"], id="one of the tags is enough"),
        pytest.param(RollingOptions(group=1), ["d"], id="of one group"),
        pytest.param(
            RollingOptions(tags=frozenset(["old"]), skips_unmirrored=True),
            ["c d"],
            id="without machines that stay",
        ),
        pytest.param(RollingOptions(ignores_unmirrored=True), ["a b c d"], id="as if these did not exist"),
    ],
)
def test_hosts_are_chosen(options: RollingOptions, expected: list[str]) -> None:
    assert batches(fleet_of(TWO_GROUPS, instance("i", "a")), options) == expected


def test_hosts_that_are_offline_are_not_maintained() -> None:
    assert batches(fleet_of(ABCD, offline="b"), RollingOptions()) == ["a c d"]


def test_a_machine_without_standby_goes_to_the_first_host_of_the_group_that_is_not_down_and_takes_it() -> (
    None
):
    nodes = [node("a"), node("b", group="two"), node("c", free=100), node("d")]
    assert planned(fleet_of(nodes, instance("i", "a"), instance("k", "d"))) == [
        Batch((0, 1, 2), ((0, Place(3)),)),
        Batch((3,), ((1, Place(0)),)),
    ]


def test_hosts_take_turns_where_there_is_room_for_the_machines_of_one() -> None:
    nodes = [node("a", free=50), node("b", free=50), node("c", free=150)]
    machines = [instance("i", "a"), instance("k", "b")]
    assert batches(fleet_of(nodes, *machines), RollingOptions()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("nodes", "instances", "options", "reason"),
    [
        pytest.param(ABCD, [], RollingOptions(group=1), "hosts", id="no host is wanted"),
        pytest.param(
            [node("a"), node("b", free=100)],
            [("a", "")],
            RollingOptions(),
            "machines",
            id="no host takes a machine",
        ),
        pytest.param(
            [node("a"), node("b", free=100), node("c")],
            [("a", "b")],
            RollingOptions(evacuates=True),
            "migration",
            id="a standby has no room to take over",
        ),
        pytest.param(
            [node("a"), node("b", free=100)],
            [("a", "b"), ("b", "a")],
            RollingOptions(evacuates=True),
            "migration",
            id="that is told before disks that have no place to go, of whatever batch",
        ),
        pytest.param(
            [node("a"), node("b"), node("c", disk_free=100)],
            [("a", "b")],
            RollingOptions(evacuates=True),
            "standbys",
            id="no host has disk for a new standby",
        ),
    ],
)
def test_without_a_plan_the_reason_is_named(
    nodes: list[GanetiNode], instances: list[tuple[str, str]], options: RollingOptions, reason: str
) -> None:
    fleet = fleet_of(nodes, *(instance(f"i{number}", *pair) for number, pair in enumerate(instances)))
    found = rolling_groups(fleet, options)
    assert isinstance(found, Unrollable)
    assert found.reason == reason
    assert bool(found.graph) == (reason != "hosts")


def test_a_standby_that_is_offline_is_none_except_for_htools() -> None:
    fleet = fleet_of(ABCD, instance("i", "a", "b"), offline="b")
    assert planned(fleet, RollingOptions(as_htools=True)) == [Batch((0, 2, 3), ())]
    assert planned(fleet) == [Batch((0, 2), ((0, Place(3, 1)),)), Batch((3,), ())]


def test_htools_clears_hosts_between_those_that_are_wanted_too() -> None:
    nodes = [node("a", tag="old"), node("b", free=50), node("c", tag="old", free=50)]
    fleet = fleet_of(nodes, instance("i", "b"))
    asked = RollingOptions(tags=frozenset(["old"]))
    assert batches(fleet, asked) == ["a c"]
    assert batches(fleet, asked._replace(as_htools=True)) == ["a c", ""]


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), evacuates=st.booleans(), halts=st.booleans())
def test_no_machine_is_where_a_host_is_down(seed: int, *, evacuates: bool, halts: bool) -> None:
    fleet = Fleet(random_cluster(seed, random_kind(seed)))
    rolling = rolling_groups(fleet, RollingOptions(evacuates=evacuates, halts_machines=halts))
    if isinstance(rolling, Unrollable):
        return
    online = [host.number for host in fleet.hosts if not host.offline]
    assert sorted(number for batch in rolling.batches for number in batch.hosts) == online
    for batch in rolling.batches:
        moved = dict(batch.moved)
        for machine, place in zip(fleet.machines, fleet.places, strict=True):
            if machine.forthcoming:
                continue
            down = set(moved.get(machine.number, place)) & set(batch.hosts)
            assert len(down) <= (1 if machine.has_standby and not evacuates else 0)
        if not halts:
            assert_failovers_are_apart(fleet, batch)


def assert_failovers_are_apart(fleet: Fleet, batch: Batch) -> None:
    standbys = [
        {
            fleet.places[each].standby
            for each in fleet.states[host].primaries
            if fleet.machines[each].has_standby
        }
        for host in batch.hosts
    ]
    online = [{each for each in found if not fleet.hosts[each].offline} for found in standbys]
    assert sum(map(len, online)) == len(set().union(*online))
