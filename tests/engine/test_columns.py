"""Columns: the same numbers as node by node, kept right by deltas, refused when stale."""

import msgspec
import numpy as np
import pytest

from builders import GPU, cluster, node, pod, policy, resources, waiting
from engine.same_columns import assert_same
from ullage.engine.capacity.bounds import figures_of
from ullage.engine.columns import Columns, RulesByPlace
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING
from ullage.model.settings import rules_for

SNAPSHOT = cluster(
    node("n2", cpu="8", memory="100").reserving(memory="10").holding(pod("a", cpu="1", memory="30")),
    node("n1", cpu="4", memory="50").using(memory="45").holding(pod("b", cpu="2"), pod("c", gpu=1)),
    waiting("d", cpu="9", more={"example.com/licences": "5"}),
    policy=policy(
        groups={"default": {"cpu-ratio": "2"}},
        nodes={"n1": {"committed": "actual", "fill": "below", "memory-reserve": "5"}},
        memory_ratio="unlimited",
    ),
    revision=7,
)


class TestBuilding:
    def test_nodes_and_resources_are_in_order_of_names(self):
        columns = Columns(SNAPSHOT)
        assert [each.name for each in columns.nodes] == ["n1", "n2"]
        assert columns.node_index == {"n1": 0, "n2": 1}
        assert columns.resources == ["cpu", "memory", GPU]
        assert columns.resource_index == {"cpu": 0, "memory": 1, GPU: 2}

    def test_every_array_holds_its_term(self):
        columns = Columns(SNAPSHOT)
        assert columns.capacity.tolist() == [[4000, 50, 0], [8000, 100, 0]]
        assert columns.reserve.tolist() == [[0, 5, 0], [0, 10, 0]]
        assert columns.allocatable.tolist() == [[4000, 45, 0], [8000, 90, 0]]
        assert columns.limit.tolist() == [[8000, 0, 0], [16000, 0, 0]]
        assert columns.bounded.tolist() == [[True, False, True], [True, False, True]]
        assert columns.promised.tolist() == [[2000, 0, 1], [1000, 30, 0]]
        assert columns.actual.tolist() == [[0, 45, 0], [0, 0, 0]]
        assert columns.counts_actual.tolist() == [[True], [False]]
        assert columns.strict.tolist() == [[1], [0]]
        assert columns.committed.tolist() == [[2000, 40, 1], [1000, 30, 0]]
        assert columns.free.tolist() == [[6000, 0, 0], [15000, 0, 0]]

    def test_the_arrays_are_64_bit_integers(self):
        columns = Columns(SNAPSHOT)
        for name in ("capacity", "reserve", "allocatable", "limit", "promised", "actual", "strict"):
            assert getattr(columns, name).dtype == np.int64, name
        assert columns.bounded.dtype == columns.counts_actual.dtype == np.bool_

    def test_a_node_has_the_terms_that_it_has_alone(self):
        columns = Columns(SNAPSHOT)
        promised = {"n1": resources(cpu="2", gpu=1), "n2": resources(cpu="1", memory="30")}
        for row, each in enumerate(columns.nodes):
            rules = rules_for(SNAPSHOT.policy, SNAPSHOT.resource_types, each.group, each.name)
            assert columns.rules_of(columns.nodes[row]) == rules
            assert columns.figures(row) == figures_of(each, rules, promised[each.name])

    def test_what_waits_or_is_gone_is_not_counted(self):
        states = ("ok", "paused", "init", "error", "deleted")
        held = node("n1", cpu="9").holding(*(pod(state, cpu="1", state=state) for state in states))
        assert Columns(cluster(held)).promised.tolist() == [[2000]]

    def test_actual_use_of_what_a_node_does_not_have_has_a_column(self):
        columns = Columns(cluster(node("n1", cpu="1").using(memory="3")))
        assert columns.resources == ["cpu", "memory"]
        assert columns.actual.tolist() == [[0, 3]]

    def test_a_cluster_of_nothing_has_columns_too(self):
        columns = Columns(cluster())
        assert columns.resources == []
        assert columns.free.shape == (0, 0)

    def test_nodes_that_name_no_resource_have_rows(self):
        assert Columns(cluster(node("n1").holding(pod("a")))).promised.shape == (1, 0)

    def test_equal_requests_of_several_objects_are_one_shape(self):
        held = node("n1", cpu="9").holding(*(pod(f"p{index}", cpu="1") for index in range(4)))
        assert Columns(cluster(held)).promised.tolist() == [[4000]]

    def test_a_workload_on_an_unknown_node_is_refused(self):
        broken = msgspec.structs.replace(
            SNAPSHOT, nodes=SNAPSHOT.nodes.changed(drop=["n2"]), workloads=SNAPSHOT.workloads
        )
        with pytest.raises(InputError) as caught:
            Columns(broken)
        assert str(caught.value) == (
            "workload a runs on node 'n2', which is unknown; add the node, or remove the workload"
        )

    def test_nodes_of_equal_shape_and_different_rules_differ(self):
        snapshot = cluster(
            node("n1", cpu="4"), node("n2", cpu="4"), node("n3", cpu="4").in_group("g"),
            policy=policy(nodes={"n1": {"cpu-ratio": "2"}}, groups={"g": {"cpu-ratio": "3"}}),
        )  # fmt: skip
        assert Columns(snapshot).limit.tolist() == [[8000], [4000], [12000]]


class TestRulesByPlace:
    def test_rules_are_resolved_once_for_a_group_and_for_a_node_of_its_own(self):
        snapshot = cluster(
            node("n1").in_group("g"), node("n2").in_group("g"), node("n3"), node("n4").in_group("g"),
            policy=policy(nodes={"n4": {"fill": "below"}}, groups={"g": {"spare-nodes": "2"}}),
        )  # fmt: skip
        rules = RulesByPlace(snapshot)
        first, second, third, fourth = (rules.of(each) for each in snapshot.nodes)
        assert first is second
        assert (first.spare_nodes, first.fill) == (2, "exact")
        assert (third.spare_nodes, third.fill) == (0, "exact")
        assert (fourth.spare_nodes, fourth.fill) == (2, "below")
        assert rules.of(snapshot.nodes["n4"]) is fourth


class TestOverflow:
    def test_promises_of_one_node_may_add_up_to_64_bits_and_no_further(self):
        most = node("n1", memory=1).holding(pod("a", memory=INT64_MAX - 1), pod("b", memory=1))
        assert Columns(cluster(most)).promised.tolist() == [[INT64_MAX]]
        with pytest.raises(InputError) as caught:
            Columns(cluster(most.holding(pod("c", memory=1))))
        assert str(caught.value) == (
            "the promises of memory add up beyond 64 bits; correct the largest request"
        )

    def test_promises_of_different_nodes_do_not_add_up(self):
        huge = (1 << 62) + 1
        nodes = [
            node(f"n{index}", memory=1).holding(pod(f"p{index}", memory=huge, cpu="1")) for index in range(4)
        ]
        assert Columns(cluster(*nodes)).promised.tolist() == [[1000, huge]] * 4

    def test_the_resource_that_is_too_much_is_named(self):
        over = node("n1", cpu=1).holding(
            pod("a", memory=INT64_MAX, cpu="1", pods=1 << 62), pod("b", memory=1, cpu="1", pods=1)
        )
        with pytest.raises(InputError, match=r"^the promises of memory add up"):
            Columns(cluster(over))

    def test_a_delta_is_refused_at_the_same_sum(self):
        columns = Columns(cluster(node("n1", memory=1).holding(pod("a", memory=INT64_MAX - 1))))
        columns = columns.advance(Delta(workloads=(pod("b", memory=1, node="n1"),)))
        assert columns.promised.tolist() == [[INT64_MAX]]
        with pytest.raises(InputError, match=r"^the promises of memory add up beyond 64 bits; correct the"):
            columns.advance(Delta(workloads=(pod("c", memory=1, node="n1"),)))
        assert columns.promised.tolist() == [[INT64_MAX]]

    def test_a_limit_beyond_64_bits_is_refused(self):
        with pytest.raises(InputError, match="does not fit 64 bits; use a smaller ratio"):
            Columns(cluster(node("n1", memory=INT64_MAX), policy=policy(memory_ratio="2")))


class TestPromise:
    def test_amounts_are_added_and_given_back(self):
        columns = Columns(SNAPSHOT)
        columns.promise("n2", resources(cpu="1500m", gpu=2))
        assert columns.promised.tolist() == [[2000, 0, 1], [2500, 30, 2]]
        columns.promise("n2", resources(cpu="-1500m", gpu="-2"))
        assert columns.promised.tolist() == [[2000, 0, 1], [1000, 30, 0]]

    def test_nothing_of_an_unknown_resource_is_nothing(self):
        columns = Columns(SNAPSHOT)
        columns.promise("n2", resources(pods=0, cpu="1"))
        assert columns.promised.tolist()[1] == [2000, 30, 0]


DELTAS = {
    "nothing": Delta(),
    "a workload comes": Delta(workloads=(pod("e", cpu="1", memory="5", node="n2"),)),
    "a workload comes that waits": Delta(workloads=(waiting("e", cpu="1", node=""),)),
    "a workload goes": Delta(dropped={"workloads": ("a",)}),
    "a workload goes that held nothing": Delta(dropped={"workloads": ("d",)}),
    "a workload goes that was never there": Delta(dropped={"workloads": ("zzz",)}),
    "a workload grows": Delta(workloads=(pod("a", cpu="5", memory="31", node="n2"),)),
    "a workload moves": Delta(workloads=(pod("a", cpu="1", memory="30", node="n1"),)),
    "a workload is placed": Delta(
        workloads=(pod("d", cpu="9", more={"example.com/licences": "5"}, node="n1"),)
    ),
    "a workload is paused": Delta(workloads=(pod("a", cpu="1", memory="30", node="n2", state="paused"),)),
    "a workload fails": Delta(workloads=(pod("a", cpu="1", memory="30", node="n2", state="error"),)),
    "a workload is dropped and put": Delta(
        workloads=(pod("a", cpu="2", node="n2"),), dropped={"workloads": ("a",)}
    ),
    "a workload is put twice": Delta(workloads=(pod("a", cpu="2", node="n2"), pod("a", cpu="3", node="n1"))),
    "a new resource is requested": Delta(workloads=(pod("e", ephemeral_storage="7", pods=1, node="n2"),)),
    "a node comes first": Delta(nodes=(node("a", cpu="3", memory="4").using(cpu="1").record,)),
    "a node comes last": Delta(nodes=(node("z", cpu="3", memory="4").reserving(memory="1").record,)),
    "nodes come in between": Delta(nodes=(node("n1b", cpu="3").record, node("n1a", cpu="2").record)),
    "a node comes with a new resource": Delta(
        nodes=(node("n1a", {"example.com/licences": "3"}, pods="110").record,)
    ),
    "a node comes with new actual use": Delta(nodes=(node("n1a", cpu="1").using(pods="4").record,)),
    "a node comes with its workload": Delta(
        nodes=(node("n3", cpu="3").record,), workloads=(pod("e", cpu="1", node="n3"),)
    ),
    "a node changes": Delta(nodes=(node("n2", cpu="1", memory="1").using(memory="1").cordoned().record,)),
    "a node changes its group": Delta(nodes=(node("n2", cpu="8", memory="100").in_group("other").record,)),
    "a node loses a resource": Delta(nodes=(node("n1", cpu="4").record,)),
    "a node forgets its use": Delta(nodes=(node("n1", cpu="4", memory="50").record,)),
    "a node goes with its workload": Delta(dropped={"nodes": ("n2",), "workloads": ("a",)}),
    "a node goes and its workload moves": Delta(
        dropped={"nodes": ("n2",)}, workloads=(pod("a", cpu="1", node="n1"),)
    ),
    "a node goes and its workload fails": Delta(
        dropped={"nodes": ("n2",)}, workloads=(pod("a", cpu="1", node="n2", state="error"),)
    ),
    "a node goes and another comes": Delta(
        dropped={"nodes": ("n2",), "workloads": ("a",)}, nodes=(node("n0", memory="1").record,)
    ),
    "a node is dropped and put": Delta(nodes=(node("n2", cpu="9").record,), dropped={"nodes": ("n2",)}),
    "a node goes that was never there": Delta(dropped={"nodes": ("zzz",)}),
    "everything goes": Delta(dropped={"nodes": ("n1", "n2"), "workloads": ("a", "b", "c", "d")}),
}


class TestAdvance:
    @pytest.mark.parametrize("delta", DELTAS.values(), ids=DELTAS)
    def test_a_delta_gives_what_rebuilding_gives(self, delta):
        advanced = Columns(SNAPSHOT).advance(delta)
        assert advanced.snapshot.revision == 8
        assert_same(advanced, Columns(advanced.snapshot))

    @pytest.mark.parametrize("delta", DELTAS.values(), ids=DELTAS)
    def test_deltas_follow_each_other(self, delta):
        columns = Columns(SNAPSHOT).advance(Delta(nodes=(node("n5", cpu="7", memory="7").record,)))
        columns = columns.advance(delta)
        columns = columns.advance(Delta(workloads=(pod("late", cpu="1", memory="1", node="n5"),)))
        assert columns.snapshot.revision == 10
        assert_same(columns, Columns(columns.snapshot))

    def test_new_resources_get_their_columns_in_order_of_names(self):
        columns = Columns(SNAPSHOT).advance(
            Delta(workloads=(pod("e", ephemeral_storage="7", pods=1, node="n2"),))
        )
        assert columns.resources == ["cpu", "ephemeral-storage", "memory", GPU, "pods"]
        assert columns.promised.tolist() == [[2000, 0, 0, 1, 0], [1000, 7, 30, 0, 1]]
        assert columns.bounded.tolist() == [[True, True, False, True, True]] * 2
        assert columns.limit.tolist() == [[8000, 0, 0, 0, 0], [16000, 0, 0, 0, 0]]

    def test_the_advanced_columns_refuse_to_be_read(self):
        old = Columns(SNAPSHOT)
        new = old.advance(Delta())
        for read in (
            lambda: old.committed,
            lambda: old.free,
            lambda: old.figures(0),
            old.copy,
            lambda: old.advance(Delta()),
        ):
            with pytest.raises(RuntimeError) as caught:
                read()
            assert str(caught.value) == "columns of revision 7 were advanced: keep a copy()"
        assert new.free.shape == (2, 3)

    @pytest.mark.parametrize(
        ("delta", "message"),
        [
            (
                Delta(workloads=(pod("b", cpu="1", node="n1"), pod("e", cpu="1", node="zzz"))),
                "workload e runs on node 'zzz', which is unknown; add the node, or remove the workload",
            ),
            (
                Delta(dropped={"nodes": ("n2",)}, workloads=(pod("b", cpu="1", node="n1"),)),
                "workload a runs on node 'n2', which is unknown; add the node, or remove the workload",
            ),
            (
                Delta(
                    dropped={"nodes": ("n2",), "workloads": ("a",)},
                    workloads=(pod("e", cpu="1", node="n2"),),
                ),
                "workload e runs on node 'n2', which is unknown; add the node, or remove the workload",
            ),
            (
                Delta(
                    nodes=(node("n0", cpu="1").record, node("n1", cpu=str(INT64_MAX // 1500)).record),
                    dropped={"workloads": ("a",)},
                ),
                f"node n1: 2 times {INT64_MAX // 1500 * 1000} does not fit 64 bits; use a smaller ratio",
            ),
            (
                Delta(revision=6, dropped={"workloads": ("a",)}),
                "the delta is for revision 6, the snapshot is at 7; read the cluster again",
            ),
        ],
    )
    def test_a_delta_that_fails_leaves_the_old_columns_right(self, delta, message):
        columns = Columns(SNAPSHOT)
        with pytest.raises(InputError) as caught:
            columns.advance(delta)
        assert str(caught.value) == message
        assert columns.snapshot is SNAPSHOT
        assert_same(columns, Columns(SNAPSHOT))
        assert_same(columns.advance(Delta()), Columns(SNAPSHOT))


class TestCopy:
    def test_a_copy_stays_when_the_columns_go_on(self):
        columns = Columns(SNAPSHOT)
        kept = columns.copy()
        for delta in DELTAS.values():
            before = kept.copy()
            kept.advance(delta)
            kept = before
        columns.advance(DELTAS["a node changes"])
        assert_same(kept, Columns(SNAPSHOT))

    def test_the_columns_stay_when_a_copy_goes_on(self):
        columns = Columns(SNAPSHOT)
        for delta in DELTAS.values():
            columns.copy().advance(delta)
        assert_same(columns, Columns(SNAPSHOT))

    def test_promises_on_a_copy_are_its_own(self):
        columns = Columns(SNAPSHOT)
        columns.copy().promise("n1", resources(cpu="1"))
        assert_same(columns, Columns(SNAPSHOT))

    def test_a_copy_is_of_the_same_revision(self):
        assert Columns(SNAPSHOT).copy().snapshot is SNAPSHOT


def test_the_order_in_which_rows_are_given_does_not_matter():
    parts = [node(f"n{index}", cpu=index + 1, memory=9) for index in range(4)]
    pods = [pod(f"p{index}", cpu="1", memory=index, node=f"n{index % 4}") for index in range(9)]
    one = Columns(cluster(*parts, *pods))
    other = Columns(cluster(*reversed(pods), *reversed(parts)))
    assert_same(one, other)
    assert one.resources == other.resources


def test_nothing_promised_is_nothing():
    columns = Columns(cluster(node("n1", cpu="1").holding(pod("a", requests=NOTHING))))
    assert columns.promised.tolist() == [[0]]


def test_what_the_ledger_holds_of_nodes_is_followed():
    held = pod("r", cpu="3", promised=True)
    columns = Columns(cluster(node("n1", cpu="4").holding(held, pod("p", cpu="1")), node("n2", cpu="4")))
    assert columns.reserved.of("n1") == resources(cpu="3")
    kept = columns.copy()
    for change in (
        Delta(workloads=(msgspec.structs.replace(held, node="n2", requests=resources(cpu="2")),)),
        Delta(workloads=(msgspec.structs.replace(held, node="n2", promised=False),)),
        Delta(workloads=(msgspec.structs.replace(held, node="n1"),)),
        Delta(dropped={"workloads": ("r",)}),
    ):
        columns = columns.advance(change)
        assert_same(columns, Columns(columns.snapshot))
    assert (columns.reserved.nodes(), kept.reserved.nodes()) == ([], ["n1"])
