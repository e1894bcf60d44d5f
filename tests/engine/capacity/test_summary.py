"""Sums by group and domain, what failover needs, and what is left after that."""

import pytest

from builders import GPU, cluster, node, pod, policy, resources
from ullage.engine.capacity.summary import (
    Summary,
    summarise_domains,
    summarise_groups,
    takes_workloads,
    total,
)
from ullage.engine.columns import Columns
from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING


def groups(*parts, **settings) -> list[Summary]:
    return summarise_groups(Columns(cluster(*parts, policy=policy(**settings))))


def test_every_term_is_summed_over_the_nodes_of_a_group():
    found = groups(
        node("n1", memory="20").reserving(memory="2").holding(pod("a", memory="5")),
        node("n2", memory="10").using(memory="9").holding(pod("b", memory="1"), pod("c", memory="3")),
        memory_ratio="1.5",
        committed="actual",
    )
    assert found == [
        Summary(
            name="default",
            nodes=2,
            ready=2,
            capacity=resources(memory="30"),
            reserve=resources(memory="2"),
            allocatable=resources(memory="28"),
            limit=resources(memory="42"),
            promised=resources(memory="9"),
            committed=resources(memory="14"),
            free=resources(memory="28"),
            blocked=resources(memory="0"),
            spare_nodes=0,
            spare=resources(memory="0"),
            ullage=resources(memory="28"),
        )
    ]


def test_groups_come_by_name_with_the_spare_of_their_own_policy():
    snapshot = cluster(
        node("n1", memory="20").in_group("b"),
        node("n2", memory="10").in_group("a"),
        node("n3", memory="7").in_group("b"),
        policy=policy(groups={"b": {"spare-nodes": "1"}}, spare_nodes="0"),
    )
    found = summarise_groups(Columns(snapshot))
    assert [(each.name, each.nodes, each.spare_nodes) for each in found] == [("a", 1, 0), ("b", 2, 1)]
    assert [each.spare for each in found] == [resources(memory="0"), resources(memory="20")]
    assert [each.ullage for each in found] == [resources(memory="10"), resources(memory="7")]


def test_a_reserve_beyond_the_capacity_counts_as_the_capacity():
    assert groups(node("n1", memory="10").reserving(memory="12"))[0].reserve == resources(memory="10")


class TestSpare:
    """The largest sum of free and committed over any k nodes, resource by resource."""

    machines = (
        node("n1", memory="10", cpu="1").holding(pod("a", memory="13")),
        node("n2", memory="12", cpu="4").holding(pod("b", memory="2")),
        node("n3", memory="11", cpu="2"),
    )

    @pytest.mark.parametrize(
        ("spare_nodes", "memory", "cpu"),
        [("0", "0", "0"), ("1", "13", "4"), ("2", "25", "6"), ("3", "36", "7"), ("4", "36", "7")],
    )
    def test_the_largest_nodes_of_each_resource_are_kept(self, spare_nodes, memory, cpu):
        found = groups(*self.machines, spare_nodes=spare_nodes)[0]
        assert found.spare_nodes == int(spare_nodes)
        assert found.spare == resources(memory=memory, cpu=cpu)
        assert found.ullage == found.free - found.spare

    def test_ullage_may_be_below_zero(self):
        assert groups(*self.machines, spare_nodes="2")[0].ullage.of("memory") == 21 - 25

    def test_a_cordoned_node_hands_over_what_it_holds_only(self):
        cordoned = node("n1", memory="20").cordoned().holding(pod("a", memory="3"))
        found = groups(cordoned, node("n2", memory="2"), spare_nodes="1")[0]
        assert found.spare == resources(memory="3")

    def test_an_offline_node_cannot_be_lost_again(self):
        offline = node("n1", memory="20").offline().holding(pod("a", memory="3"))
        found = groups(offline, node("n2", memory="2"), spare_nodes="1")[0]
        assert found.spare == resources(memory="2")


class TestBlocked:
    @pytest.mark.parametrize("state", ["cordoned", "offline"])
    def test_what_a_node_that_takes_nothing_has_left_is_blocked_and_not_free(self, state):
        kept = node("n1", memory="20").with_(state=state).holding(pod("a", memory="3"))
        found = groups(kept, node("n2", memory="5").holding(pod("b", memory="1")))[0]
        assert (found.nodes, found.ready) == (2, 1)
        assert found.free == resources(memory="4")
        assert found.blocked == resources(memory="17")
        assert found.limit == resources(memory="25")
        assert found.committed == resources(memory="4")
        assert found.ullage == resources(memory="4")

    @pytest.mark.parametrize(("state", "takes"), [("ready", True), ("cordoned", False), ("offline", False)])
    def test_only_a_ready_node_takes_workloads(self, state, takes):
        assert takes_workloads(node("n1").with_(state=state).record) is takes


class TestUnbounded:
    def test_a_resource_without_a_bound_is_in_no_sum_that_needs_one(self):
        found = groups(
            node("n1", cpu="4", memory="8").holding(pod("a", cpu="9")), cpu_ratio="unlimited", spare_nodes="1"
        )[0]
        assert found.capacity == resources(cpu="4", memory="8")
        assert found.promised == resources(cpu="9", memory="0")
        assert found.committed == resources(cpu="9", memory="0")
        for sums in (found.limit, found.free, found.blocked, found.spare, found.ullage):
            assert list(sums) == ["memory"]

    def test_where_one_node_has_a_bound_its_part_is_summed(self):
        snapshot = cluster(
            node("n1", cpu="4").holding(pod("a", cpu="1")),
            node("n2", cpu="4").holding(pod("b", cpu="2")),
            policy=policy(nodes={"n2": {"cpu-ratio": "unlimited"}}, spare_nodes="1"),
        )
        found = summarise_groups(Columns(snapshot))[0]
        assert found.limit == resources(cpu="4")
        assert found.free == resources(cpu="3")
        assert found.spare == resources(cpu="4")
        assert found.committed == resources(cpu="3")

    def test_a_resource_that_no_node_of_the_group_has_has_no_bound_there(self):
        found = groups(node("n1", memory="8").in_group("a"), node("n2").with_gpus(2).in_group("b"))
        assert found[0].capacity == resources(memory="8", gpu=0)
        assert list(found[0].limit) == ["memory"]
        assert list(found[1].limit) == [GPU]


class TestDomains:
    def test_domains_come_by_name_and_keep_no_spare(self):
        snapshot = cluster(
            node("n1", memory="8").in_domain("rack2").cordoned(),
            node("n2", memory="4").in_domain("rack1"),
            node("n3", memory="2").in_domain("rack2"),
            node("n4", memory="1"),
            policy=policy(spare_nodes="1"),
        )
        found = summarise_domains(Columns(snapshot))
        assert [(each.name, each.nodes, each.ready, each.spare_nodes) for each in found] == [
            ("rack1", 1, 1, 0),
            ("rack2", 2, 1, 0),
        ]
        assert [each.free.of("memory") for each in found] == [4, 2]
        assert found[1].blocked == resources(memory="8")
        assert found[1].spare == resources(memory="0")

    def test_nodes_without_a_domain_are_in_none(self):
        assert summarise_domains(Columns(cluster(node("n1", memory="8")))) == []


class TestTotal:
    def test_a_total_adds_every_number_of_its_parts(self):
        snapshot = cluster(
            node("n1", memory="20").in_group("a").holding(pod("p", memory="5")),
            node("n2", memory="10", cpu="1").in_group("b").cordoned(),
            node("n3", memory="3").in_group("b").reserving(memory="1"),
            policy=policy(spare_nodes="1"),
        )
        assert total(summarise_groups(Columns(snapshot)), "cluster") == Summary(
            name="cluster",
            nodes=3,
            ready=2,
            capacity=resources(memory="33", cpu="1"),
            reserve=resources(memory="1", cpu="0"),
            allocatable=resources(memory="32", cpu="1"),
            limit=resources(memory="32", cpu="1"),
            promised=resources(memory="5", cpu="0"),
            committed=resources(memory="5", cpu="0"),
            free=resources(memory="17", cpu="0"),
            blocked=resources(memory="10", cpu="1"),
            spare_nodes=2,
            spare=resources(memory="22", cpu="0"),
            ullage=resources(memory="-5", cpu="0"),
        )

    def test_the_total_of_nothing_is_nothing(self):
        found = total([], "cluster")
        assert (found.name, found.nodes, found.ready, found.spare_nodes) == ("cluster", 0, 0, 0)
        assert found.capacity == found.ullage == NOTHING

    def test_a_cluster_without_nodes_has_no_groups(self):
        assert groups() == []


class TestHugeSums:
    def test_sums_that_floating_point_would_round_are_exact(self):
        odd = (1 << 61) + 1
        found = groups(
            node("n1", memory=odd), node("n2", memory=odd), node("n3", memory=odd), spare_nodes="2"
        )[0]
        assert found.capacity.of("memory") == 3 * odd
        assert found.spare.of("memory") == 2 * odd
        assert found.ullage.of("memory") == odd

    def test_the_largest_sum_of_64_bits_is_exact(self):
        found = groups(node("n1", memory=INT64_MAX - 1), node("n2", memory=1))[0]
        assert found.free.of("memory") == INT64_MAX

    def test_a_sum_beyond_64_bits_is_refused(self):
        with pytest.raises(InputError) as caught:
            groups(node("n1", memory=INT64_MAX), node("n2", memory=1))
        assert str(caught.value) == f"memory: {INT64_MAX + 1} does not fit 64 bits; use a smaller amount"


class TestStandby:
    PAIR = (
        node("n1", memory="20").holding(pod("a", memory="5", standby="n2")),
        node("n2", memory="20").holding(pod("b", memory="3", standby="n1")),
        node("n3", memory="20"),
    )

    def test_what_is_held_for_failover_is_summed_and_not_free(self):
        (found,) = groups(*self.PAIR)
        assert (found.standby, found.free, found.ullage) == (
            resources(memory="8"), resources(memory="44"), resources(memory="44"),
        )  # fmt: skip
        assert total([found, found], "all").standby == resources(memory="16")

    def test_where_nothing_is_held_there_is_nothing_to_say(self):
        (found,) = groups(node("n1", memory="20"))
        assert found.standby is NOTHING
        assert total([found, found], "all").standby is NOTHING

    def test_what_is_held_counts_towards_the_spare(self):
        (found,) = groups(*self.PAIR, spare_nodes="1")
        assert (found.spare, found.ullage) == (resources(memory="12"), resources(memory="32"))
        (without,) = groups(
            node("n1", memory="20").holding(pod("a", memory="5")),
            node("n2", memory="20").holding(pod("b", memory="3")),
            node("n3", memory="20"),
            spare_nodes="1",
        )
        assert without.ullage == found.ullage

    def test_a_node_that_fails_takes_what_it_holds_with_it(self):
        (found,) = groups(
            node("n1", memory="20"),
            node("n2", memory="12").holding(pod("b", memory="8", standby="n1")),
            spare_nodes="1",
        )
        assert (found.free, found.spare, found.ullage) == (
            resources(memory="16"), resources(memory="12"), resources(memory="4"),
        )  # fmt: skip

    def test_more_held_than_the_spare_leaves_what_is_free(self):
        nodes = [node(f"n{at}", memory="20").holding(pod(f"p{at}", memory="9", standby=f"n{(at + 1) % 3}"))
                 for at in range(3)]  # fmt: skip
        (found,) = groups(*nodes, spare_nodes="1")
        assert (found.standby, found.free) == (resources(memory="27"), resources(memory="6"))
        assert (found.spare, found.ullage) == (resources(memory="0"), resources(memory="6"))

    def test_what_a_closed_node_holds_is_no_part_of_the_spare(self):
        (found,) = groups(self.PAIR[0], self.PAIR[1].cordoned(), self.PAIR[2], spare_nodes="1")
        assert (found.free, found.blocked) == (resources(memory="32"), resources(memory="12"))
        assert (found.spare, found.ullage) == (resources(memory="17"), resources(memory="15"))
