"""Hosts and machines: which free memory counts, which instances may move, and what tags mean."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.engine.balance.facts import (
    UNBOUNDED,
    View,
    cpu_most_of,
    floor_of,
    hosts_of,
    machine_of,
    machines_of,
    memory_ratio_of,
    spindles_most_of,
)
from ullage.model.ganeti import MIB, GanetiCluster, InstancePolicy

RATIO = Fraction(3, 2)


@pytest.mark.parametrize(
    ("reported", "view", "missing"),
    [
        pytest.param(800, View(), 100, id="memory that a node does not report free is missing"),
        pytest.param(950, View(), 0, id="more than the records leave is not counted"),
        pytest.param(950, View(memory_ratio=RATIO), -50, id="with a ratio what a node reports counts"),
        pytest.param(950, View(exact=True, memory_ratio=RATIO), 0, id="by the exact rule it does not"),
    ],
)
def test_free_memory_is_what_the_records_leave_or_what_is_reported(reported, view, missing):
    node = ganeti_node("a", memory=1000)
    cluster = ganeti_cluster([node], instance("i", "a", memory=100))
    nodes = tuple(replace(each, memory_free_bytes=reported * MIB) for each in cluster.nodes)
    (host,) = hosts_of(GanetiCluster(cluster.groups, nodes, cluster.instances), view)
    assert host.memory_missing == missing * MIB


@pytest.mark.parametrize(
    ("ratio", "exact", "floor"),
    [
        (Fraction(1), False, 0),
        (Fraction(3, 2), False, -500 * MIB),
        (Fraction(10006, 10000), False, 0),
        (Fraction(10006, 10000), True, -(6 * MIB // 10)),
        (Fraction(1, 2), False, 500 * MIB),
        (Fraction(9994, 10000), False, 0),
        (Fraction(9994, 10000), True, 6 * MIB // 10 + 1),
        (Fraction(0), True, 1000 * MIB),
    ],
)
def test_the_floor_is_what_may_be_promised_beyond_what_is_there(ratio, exact, floor):
    assert floor_of(ratio, 1000 * MIB, exact=exact) == floor


@given(st.fractions(1, 4), st.fractions(1, 4), st.integers(0, 1 << 40))
def test_a_higher_ratio_never_has_a_higher_floor(one, other, available):
    low, high = sorted((one, other))
    for exact in (False, True):
        assert floor_of(high, available, exact=exact) <= floor_of(low, available, exact=exact)


@pytest.mark.parametrize(
    ("asked", "of_group", "of_cluster", "found"),
    [
        (None, None, None, None),
        (None, None, 2, 2),
        (None, 3, 2, 3),
        (4, 3, 2, 4),
    ],
)
def test_the_ratio_asked_for_goes_before_the_groups_and_that_before_the_clusters(
    asked, of_group, of_cluster, found
):
    policy = InstancePolicy(memory_ratio=None if of_group is None else Fraction(of_group))
    cluster = GanetiCluster(
        groups=(ganeti_group("g", policy=policy),),
        policy=InstancePolicy(memory_ratio=None if of_cluster is None else Fraction(of_cluster)),
    )
    view = View(memory_ratio=None if asked is None else Fraction(asked))
    assert memory_ratio_of(cluster, 0, view) == found


@pytest.mark.parametrize(
    ("fields", "view", "movable"),
    [
        pytest.param({"template": "drbd", "secondary": "b"}, View(), True, id="drbd moves"),
        pytest.param({"template": "ext"}, View(), True, id="shared storage moves"),
        pytest.param({"template": "plain"}, View(), False, id="a local disk does not"),
        pytest.param({"template": "file"}, View(), False, id="a local file does not"),
        pytest.param({"template": "diskless"}, View(), False, id="without a disk it does not"),
        pytest.param(
            {"template": "ext", "auto_balance": False}, View(), False, id="unless its owner says no"
        ),
        pytest.param({"template": "ext"}, View(excluded=frozenset({"i"})), False, id="or it is excluded"),
        pytest.param(
            {"template": "ext"}, View(selected=frozenset({"j"})), False, id="or others are selected"
        ),
        pytest.param({"template": "ext"}, View(selected=frozenset({"i"})), True, id="selected it moves"),
        pytest.param({"template": "drbd", "secondary": "c"}, View(), False, id="over two groups it does not"),
    ],
)
def test_an_instance_moves_if_its_storage_and_everyone_lets_it(fields, view, movable):
    nodes = [ganeti_node("a"), ganeti_node("b"), ganeti_node("c", "other")]
    secondary = fields.get("secondary", "")
    rest = {key: value for key, value in fields.items() if key != "secondary"}
    (machine,) = machines_of(ganeti_cluster(nodes, instance("i", "a", secondary, **rest)), view)
    assert machine.movable is movable


@pytest.mark.parametrize(
    ("status", "auto_balance", "uses", "reserves", "counts_cpu"),
    [
        ("running", True, True, True, True),
        ("running", False, True, False, True),
        ("ADMIN_down", True, False, True, True),
        ("ADMIN_offline", True, False, False, False),
        ("ERROR_up", True, True, True, True),
        ("USER_down", True, False, True, True),
    ],
)
def test_what_an_instance_takes_follows_from_its_status(status, auto_balance, uses, reserves, counts_cpu):
    machine = machine_of(instance("i", "a", "b", status=status, auto_balance=auto_balance))
    assert (machine.uses_memory, machine.reserves_memory, machine.counts_cpu) == (uses, reserves, counts_cpu)


def test_tags_of_named_families_exclude_instances_and_draw_them():
    tags = ("htools:iextags:service", "htools:desiredlocation:rack", "htools:iextags:")
    one = instance("i", "a", tags=("service:web", "rack:1", "other"))
    (machine,) = machines_of(
        ganeti_cluster([ganeti_node("a")], one, tags=tags), View(exclusion_tags=("oth",))
    )
    assert machine.exclusion_tags == ("service:web", "other")
    assert machine.desired_locations == {"rack:1"}


def test_a_node_takes_what_its_own_tags_and_the_allowed_ones_send():
    tags = ("htools:migration:v", "htools:allowmigration:v:1::v:2", "htools:nlocation:rack")
    nodes = [ganeti_node("a", tags=("v:1", "rack:9")), ganeti_node("b", tags=("v:2", "x")), ganeti_node("c")]
    one, two, three = hosts_of(ganeti_cluster(nodes, tags=tags), View())
    assert (one.sends, one.receives) == ({"v:1"}, {"v:1"})
    assert (two.sends, two.receives) == ({"v:2"}, {"v:1", "v:2"})
    assert (three.sends, three.receives) == (frozenset(), frozenset())
    assert (one.locations, two.locations) == ({"rack:9"}, frozenset())


def test_a_host_is_offline_if_it_is_or_the_user_says_so():
    nodes = [ganeti_node("a", offline=True), ganeti_node("b"), ganeti_node("c")]
    hosts = hosts_of(ganeti_cluster(nodes), View(offline=frozenset({"c"})))
    assert [host.offline for host in hosts] == [True, False, True]


@pytest.mark.parametrize(
    ("exact", "free", "refused"), [(False, 0, True), (False, 1, False), (True, 0, False), (True, -1, True)]
)
def test_the_last_byte_is_given_by_the_exact_rule_only(exact, free, refused):
    (host,) = hosts_of(ganeti_cluster([ganeti_node("a")]), View(exact=exact))
    assert host.refuses_memory(free) is refused
    assert host.refuses_disk(free) is refused


@given(
    st.one_of(st.fractions(0, 9, max_denominator=10**9), st.floats(0, 9)), st.integers(1, 64), st.booleans()
)
def test_processors_are_too_many_where_their_share_exceeds_the_ratio(ratio, cpus, exact):
    """By htools' rule shares and ratios are floats, by the exact rule fractions."""
    cpu = cpus * 1000
    most = cpu_most_of(ratio, cpu, exact=exact)
    allowed = Fraction(ratio) if exact else float(ratio)
    shares = [Fraction(each, cpu) if exact else each / cpu for each in (most, most + 1)]
    assert shares[0] <= allowed < shares[1]


@pytest.mark.parametrize("exact", [False, True])
def test_a_ratio_below_0_or_beyond_all_numbers_sets_no_bound(exact):
    assert cpu_most_of(Fraction(-1), 8000, exact=exact) == UNBOUNDED
    assert cpu_most_of(1e300, 8000, exact=exact) == UNBOUNDED


@given(st.fractions(0, 99, max_denominator=1000), st.integers(0, 99))
def test_disks_are_too_busy_beyond_the_spindles_times_the_ratio(ratio, spindles):
    assert spindles_most_of(ratio, spindles, exact=True) <= ratio * spindles
    assert spindles_most_of(ratio, spindles, exact=True) + 1 > ratio * spindles
    assert spindles_most_of(ratio, spindles, exact=False) <= float(ratio) * spindles
    assert spindles_most_of(ratio, spindles, exact=False) + 1 > float(ratio) * spindles
