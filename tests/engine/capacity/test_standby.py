"""What nodes hold for failover: the largest sum over one node that may fail, as balancing has it."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from builders import cluster, node, pod, policy, resources, workload
from engine.same_columns import assert_same
from fleet_strategies import rare_kinds, seeds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance.rebalance import fleet_of
from ullage.engine.capacity.admission import Place, admit, explain_shortfalls, shortfall_of
from ullage.engine.capacity.bounds import figures_of
from ullage.engine.capacity.standby import Standbys, kept_for
from ullage.engine.columns import SUM_MAX, Columns
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.ganeti import MIB, Instance, InstancePolicy
from ullage.model.policy import Layer
from ullage.model.resources import Amount, ResourceTypes
from ullage.model.settings import rules_for
from ullage.sources.ganeti.snapshot import snapshot_of

NODES = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]


def held(*instances):
    columns = Columns(snapshot_of(ganeti_cluster(NODES, *instances)))
    memory = columns.standby[:, columns.resource_index["memory"]] // MIB
    return dict(zip([each.name for each in columns.nodes], memory.tolist(), strict=True))


class TestRules:
    def test_sums_are_made_by_the_node_that_may_fail_and_the_largest_is_held(self):
        found = held(
            instance("a", "n1", "n3", memory=100),
            instance("b", "n1", "n3", memory=150),
            instance("c", "n2", "n3", memory=200),
            instance("d", "n3", "n1", memory=10),
        )
        assert found == {"n1": 10, "n2": 0, "n3": 250}

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({}, 100),
            ({"status": "ADMIN_down"}, 100),
            ({"status": "ERROR_down"}, 100),
            ({"status": "ADMIN_offline"}, 0),
            ({"auto_balance": False}, 0),
            ({"forthcoming": True}, 100),
            ({"forthcoming": True, "auto_balance": False}, 0),
        ],
    )
    def test_memory_is_held_unless_it_is_switched_off_or_left_alone_even_before_it_comes(
        self, fields, expected
    ):
        assert held(instance("a", "n1", "n2", **fields))["n2"] == expected

    def test_only_a_standby_holds_memory(self):
        assert set(held(instance("a", "n1"), instance("b", "n2", template="plain")).values()) == {0}

    def test_a_workload_that_ganeti_says_nothing_of_is_held_with_what_it_asks_for(self):
        workload = pod("a", memory="5", node="n1", standby="n2")
        assert kept_for(workload) == 5
        found = Columns(cluster(node("n1", memory="9").holding(workload), node("n2", memory="9")))
        assert found.free.tolist() == [[4], [4]]

    def test_its_own_node_is_no_standby(self):
        standbys = Standbys()
        standbys.count(pod("a", memory="5", node="n1", standby="n1"))
        assert (standbys.nodes(), standbys.held("n1"), standbys.held_for("n1")) == ([], 0, "")


class TestSums:
    def test_what_is_taken_away_is_held_no_more(self):
        standbys = Standbys()
        small, large = (pod(name, memory=size, node=at, standby="s") for name, size, at in
                        (("a", "5", "n1"), ("b", "7", "n2")))  # fmt: skip
        standbys.count(small)
        standbys.count(large)
        assert (standbys.held("s"), standbys.held_for("s"), standbys.nodes()) == (7, "n2", ["s"])
        standbys.count(large, -1)
        assert (standbys.held("s"), standbys.held_for("s")) == (5, "n1")
        standbys.count(small, -1)
        assert (standbys.held("s"), standbys.held_for("s")) == (0, "")

    def test_what_was_never_counted_is_not_held(self):
        standbys = Standbys()
        standbys.count(pod("a", memory="5", node="n1", standby="s"), -1)
        assert standbys.held("s") == 0

    def test_of_equal_nodes_the_first_by_name_needs_it(self):
        standbys = Standbys()
        for at in ("n2", "n1"):
            standbys.count(pod(at, memory="5", node=at, standby="s"))
        assert standbys.held_for("s") == "n1"

    def test_a_copy_has_sums_of_its_own(self):
        standbys = Standbys()
        workload = pod("a", memory="5", node="n1", standby="s")
        standbys.count(workload)
        other = standbys.copy()
        other.count(workload, -1)
        assert (standbys.held("s"), other.held("s")) == (5, 0)


def all_come(found):
    """A cluster in which every instance is there that was still to come."""
    return replace(found, instances=tuple(replace(each, forthcoming=False) for each in found.instances))


@given(seeds, rare_kinds)
@settings(max_examples=40)
def test_it_is_the_memory_that_balancing_reserves_once_all_instances_are_there(seed, kind):
    found = random_cluster(seed, kind)
    columns, fleet = Columns(snapshot_of(found)), fleet_of(snapshot_of(all_come(found)))
    column = columns.resource_index["memory"]
    for host in fleet.hosts:
        assert columns.standby[columns.node_index[host.name], column] == fleet.states[host.number].reserved
        peers = fleet.states[host.number].peers
        worst = sorted(fleet.hosts[number].name for number, needed in peers.items() if needed)
        assert columns.standbys.held_for(host.name) in [*worst, ""]


@given(seeds, rare_kinds)
@settings(max_examples=30)
def test_memory_is_admitted_exactly_while_used_is_at_most_the_ratio_of_what_is_available(seed, kind):
    found = random_cluster(seed, kind._replace(down_share=0.0))
    found = replace(found, groups=tuple(replace(each, policy=None) for each in found.groups),
                    policy=InstancePolicy(memory_ratio=Fraction(3, 2)))  # fmt: skip
    columns, fleet = Columns(snapshot_of(found)), fleet_of(snapshot_of(all_come(found)))
    for host in fleet.hosts:
        state = fleet.states[host.number]
        place = columns.place_of(columns.node_index[host.name])
        room = state.now.memory_free - state.reserved - host.memory_floor
        for amount in {1, MIB, max(1, room - 1), max(1, room), max(1, room + 1)}:
            used = host.memory - host.memory_node - state.now.memory_free + state.reserved + amount
            allowed = Fraction(used, host.memory - host.memory_node) <= Fraction(3, 2)
            assert (shortfall_of(place, "memory", amount) is None) == allowed
            assert host.refuses_memory(state.now.memory_free - state.reserved - amount) == (not allowed)


def test_the_ratio_of_a_node_bounds_what_it_holds_too():
    found = ganeti_cluster(
        [ganeti_node("n1"), ganeti_node("n2")],
        instance("a", "n1", "n2", memory=1000),
        instance("b", "n2", "n1", memory=1000),
    )
    snapshot = snapshot_of(found)
    layer = Layer("test", nodes={"n1": {"memory-ratio": "2.5"}}, stated=True)
    columns = Columns(replace(snapshot, policy=snapshot.policy.with_layer(layer)))
    assert columns.free[:, columns.resource_index["memory"]].tolist() == [500 * MIB, 0]


PAIRED = cluster(
    node("n1", memory="20").holding(pod("a", memory="5", standby="n2"), pod("b", memory="2", standby="n2")),
    node("n2", memory="20").holding(pod("c", memory="4", standby="n1")),
    node("n3", memory="20").holding(pod("d", memory="6", standby="n2")),
    revision=7,
)
STANDBY_DELTAS = {
    "nothing": (Delta(), [4, 7, 0]),
    "the largest goes": (Delta(dropped={"workloads": ("a",)}), [4, 6, 0]),
    "all of a node go": (Delta(dropped={"workloads": ("a", "b", "d")}), [4, 0, 0]),
    "one grows": (Delta(workloads=(pod("d", memory="9", node="n3", standby="n2"),)), [4, 9, 0]),
    "its standby changes": (Delta(workloads=(pod("a", memory="5", node="n1", standby="n3"),)), [4, 6, 5]),
    "it moves": (Delta(workloads=(pod("d", memory="6", node="n1", standby="n2"),)), [4, 13, 0]),
    "it is without a standby": (Delta(workloads=(pod("a", memory="5", node="n1"),)), [4, 6, 0]),
    "it fails": (Delta(workloads=(pod("c", memory="4", node="n2", standby="n1", state="error"),)), [0, 7, 0]),
    "a standby changes": (Delta(nodes=(node("n2", memory="9").cordoned().record,)), [4, 7, 0]),
    "a standby is dropped and put": (
        Delta(nodes=(node("n2", memory="9").record,), dropped={"nodes": ("n2",)}), [4, 7, 0],
    ),
    "a standby goes": (Delta(dropped={"nodes": ("n2",), "workloads": ("c",)}), [0, 0]),
}  # fmt: skip


class TestColumns:
    @pytest.mark.parametrize(("delta", "expected"), STANDBY_DELTAS.values(), ids=STANDBY_DELTAS)
    def test_what_is_held_follows_every_delta(self, delta, expected):
        advanced = Columns(PAIRED).advance(delta)
        assert advanced.standby[:, 0].tolist() == expected
        assert_same(advanced, Columns(advanced.snapshot))

    def test_a_standby_that_comes_back_holds_again(self):
        columns = Columns(PAIRED).advance(Delta(dropped={"nodes": ("n2",), "workloads": ("c",)}))
        columns = columns.advance(Delta(nodes=(node("n2", memory="20").record,)))
        assert columns.standby[:, 0].tolist() == [0, 7, 0]

    def test_a_copy_goes_on_alone(self):
        columns = Columns(PAIRED)
        columns.copy().advance(Delta(dropped={"workloads": ("a", "b", "d")}))
        assert_same(columns, Columns(PAIRED))
        assert_same(columns.advance(Delta()), Columns(PAIRED))

    def test_free_is_without_it_in_all_figures(self):
        columns = Columns(PAIRED)
        assert columns.free[:, 0].tolist() == [20 - 7 - 4, 20 - 4 - 7, 20 - 6]
        assert [columns.figures(row)["memory"].standby for row in range(3)] == [4, 7, 0]
        assert [columns.figures(row)["memory"].free for row in range(3)] == columns.free[:, 0].tolist()

    def test_columns_without_it_hold_nothing_and_leave_the_others(self):
        columns = Columns(PAIRED)
        without = columns.without_standby()
        assert without.free[:, 0].tolist() == [13, 16, 14]
        assert [without.figures(row)["memory"].free for row in range(3)] == [13, 16, 14]
        assert_same(columns, Columns(PAIRED))
        assert without.without_standby() is without

    def test_memory_that_only_a_standby_holds_has_a_column(self):
        stopped = Instance("a", 5, (), 0, "n1", "n2", status="ADMIN_down")
        found = workload("a", node="n1", standby="n2", instance=stopped)
        columns = Columns(cluster(node("n1", cpu="1"), node("n2", cpu="1"), found))
        assert columns.resources == ["cpu", "memory"]
        assert columns.standby.tolist() == [[0, 0], [0, 5]]
        advanced = Columns(cluster(node("n1", cpu="1"), node("n2", cpu="1"))).advance(
            Delta(workloads=(found,))
        )
        assert advanced.standby.tolist() == [[0, 0], [0, 5]]

    def test_too_much_to_be_counted_is_refused(self):
        half = str(SUM_MAX)
        pair = (pod("a", memory=half, standby="n2"), pod("b", memory="1", standby="n2"))
        with pytest.raises(InputError, match="the promises of memory add up beyond 64 bits"):
            Columns(cluster(node("n1", memory="1").holding(*pair), node("n2", memory="1")))
        Columns(cluster(node("n1", memory="1").holding(pair[0]), node("n2", memory="1")))


TYPES = ResourceTypes()


def place(machine, promised=None, standby=None, **settings) -> Place:
    """A node as admission sees it, with what is promised on it, held for failover, and a policy."""
    rules = rules_for(policy(**settings), TYPES)
    held = standby or resources()
    return Place(
        machine.record.name,
        figures_of(machine.record, rules, promised or resources(), standby=held),
        rules,
        TYPES,
    )


def admitted(where: Place, **requests) -> bool:
    return admit(where, workload("w", **requests)).admitted


class TestAdmission:
    @pytest.mark.parametrize(
        ("promised", "standby", "ratio", "most"),
        [
            ("4", "0", "1", 6),
            ("4", "3", "1", 3),
            ("4", "6", "1", 0),
            ("4", "3", "1.5", 8),
            ("0", "10", "2", 10),
        ],
    )
    def test_used_is_what_is_promised_and_what_is_held(self, promised, standby, ratio, most):
        where = place(
            node("n1", memory="10"), resources(memory=promised), resources(memory=standby), memory_ratio=ratio
        )
        assert most == 0 or admitted(where, memory=str(most))
        assert not admitted(where, memory=str(most + 1))
        assert shortfall_of(where, "memory", most + 1).missing == Amount("memory", 1)

    def test_a_refusal_says_what_is_held(self):
        where = place(
            node("n1", memory="12").reserving(memory="2"), resources(memory="4"), resources(memory="3")
        )
        verdict = admit(where, workload("w", memory="5"))
        assert verdict.reason == (
            "node n1: memory short by 2 (asked 5, free 3 of 12 after 2 reserve and 3 held for failover); "
            "fits if the request is at most 3"
        )
        assert verdict.shortfalls[0].standby == Amount("memory", 3)
        assert verdict.terms[0].standby == Amount("memory", 3)

    def test_what_is_held_beyond_the_limit_is_missing_too(self):
        where = place(node("n1", memory="10"), resources(memory="4"), resources(memory="8"))
        short = shortfall_of(where, "memory", 1)
        assert (short.missing, short.free) == (Amount("memory", 3), Amount("memory", 0))
        assert explain_shortfalls([short], where) == (
            "node n1: memory short by 3 (asked 1, free 0 of 10 after 8 held for failover)"
        )
        assert shortfall_of(where, "memory", 5, held=4).missing == Amount("memory", 1)

    @pytest.mark.parametrize(("asked", "could"), [(7, True), (8, False)])
    def test_eviction_frees_nothing_of_what_is_held(self, asked, could):
        where = place(node("n1", memory="10"), resources(memory="4"), resources(memory="3"))
        assert shortfall_of(where, "memory", asked).eviction_could_help is could

    def test_where_nothing_is_held_nothing_is_said_of_it(self):
        where = place(node("n1", memory="10"), resources(memory="8"))
        verdict = admit(where, workload("w", memory="5"))
        assert verdict.shortfalls[0].standby is verdict.terms[0].standby is None
