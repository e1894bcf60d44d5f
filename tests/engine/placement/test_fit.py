"""Does it fit: order, spreading, partial and atomic success, states, resize and named nodes."""

import numpy as np
import pytest

from builders import GPU, batch, cluster, node, pod, policy, resources, tolerating, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import FitAnswer, fit, in_admission_order
from ullage.engine.placement.judging import REPLICAS_MAX
from ullage.engine.placement.outcome import Outcome
from ullage.model.cluster import Batch
from ullage.model.errors import InputError
from ullage.model.plan import Plan, Refusal, Step
from ullage.model.resources import ADDRESSES, SSD_SPACE, Resources, ResourceTypes
from ullage.model.settings import rules_for

ZOS_ORDER = "zmount volume qsfs network ipv4 ip zmachine zlogs"


def answer(parts, *batches: Batch, atomic: bool = False, **settings) -> FitAnswer:
    return fit(Columns(cluster(*parts, policy=policy(**settings), revision=3)), batches, atomic=atomic)


def outcome(parts, *batches: Batch, **settings) -> Outcome:
    return answer(parts, *batches, **settings).outcomes[0]


def states(found: FitAnswer) -> list[tuple[str, str, int]]:
    return [(each.subject, each.state, each.placed) for each in found.outcomes]


class TestAnswer:
    def test_what_fits_makes_a_plan_of_steps(self):
        found = answer(
            [node("n1", memory="10"), node("n2", memory="4")], batch(3, waiting("web/a", memory="4"))
        )
        assert found.fits
        assert found.outcomes == (
            Outcome(
                "web/a",
                "Pod",
                3,
                3,
                "ok",
                (("n1", 2), ("n2", 1)),
                verdict=found.outcomes[0].verdict,
                requests=resources(memory="4"),
            ),
        )
        assert found.plan == Plan(
            "fit",
            3,
            "test",
            (
                Step("place", "web/a", to_node="n1", resources=resources(memory="4"), count=2),
                Step("place", "web/a", to_node="n2", resources=resources(memory="4"), count=1),
            ),
        )

    def test_the_verdict_shows_the_terms_of_the_first_node_before_anything_is_placed(self):
        verdict = outcome(
            [node("n1", memory="10"), node("n2", memory="40")], batch(5, waiting("a", memory="4"))
        ).verdict
        assert (verdict.workload, verdict.node, verdict.admitted) == ("a", "n2", True)
        assert [terms.free.value for terms in verdict.terms] == [40]

    def test_what_does_not_fit_is_refused_and_the_rest_goes_on(self):
        found = answer(
            [node("n1", memory="10")],
            batch(1, waiting("a", memory="11")),
            batch(4, waiting("b", memory="4")),
            batch(1, waiting("c", memory="2")),
        )
        assert not found.fits
        assert states(found) == [("a", "error", 0), ("b", "error", 2), ("c", "ok", 1)]
        assert [(refusal.subject, refusal.count) for refusal in found.plan.refusals] == [("a", 1), ("b", 2)]
        assert [(step.subject, step.count) for step in found.plan.steps] == [("b", 2), ("c", 1)]
        verdict = found.outcomes[0].verdict
        assert (verdict.node, verdict.admitted, verdict.shortfalls[0].missing.value) == ("n1", False, 1)
        assert found.outcomes[1].refusal is found.plan.refusals[1]
        assert found.outcomes[1].requests == resources(memory="4")

    def test_each_is_judged_on_what_those_before_it_left(self):
        found = answer([node("n1", memory="10")], *(batch(1, waiting(name, memory="4")) for name in "abc"))
        assert [each.state for each in found.outcomes] == ["ok", "ok", "error"]

    def test_the_columns_are_left_as_they_are(self):
        columns = Columns(cluster(node("n1", memory="10").holding(pod("x", memory="1"))))
        before = columns.promised.copy()
        fit(columns, [batch(2, waiting("a", memory="4")), batch(1, pod("x", memory="2", node="n1"))])
        assert np.array_equal(columns.promised, before)
        assert columns.free.tolist() == [[9]]

    def test_no_replicas_fit_anywhere_and_nowhere(self):
        assert outcome([], batch(0, waiting("a", memory="1"))) == Outcome(
            "a", "Pod", 0, 0, "ok", (), requests=resources(memory="1")
        )

    def test_asking_for_nothing_fits(self):
        assert answer([node("n1")]).fits
        assert answer([node("n1")]).outcomes == ()

    @pytest.mark.parametrize("replicas", [-1, REPLICAS_MAX + 1])
    def test_a_number_of_replicas_out_of_bounds_is_refused(self, replicas):
        with pytest.raises(InputError) as caught:
            answer([node("n1")], batch(replicas, waiting("web/a")))
        assert str(caught.value) == f"workload web/a asks for {replicas} replicas; use 0 to 10000000"

    def test_the_largest_number_of_replicas_is_allowed(self):
        found = outcome([node("n1", memory="1")], batch(REPLICAS_MAX, waiting("a", memory="1")))
        assert (found.placed, found.refusal.count) == (1, REPLICAS_MAX - 1)

    def test_two_batches_of_one_name_keep_their_own_sizes(self):
        found = answer(
            [node("n1", memory="10")], batch(1, waiting("a", memory="4")), batch(1, waiting("a", memory="5"))
        )
        assert [step.resources for step in found.plan.steps] == [resources(memory="4"), resources(memory="5")]


class TestSpreading:
    def test_the_node_that_keeps_the_largest_share_free_is_taken(self):
        # after one more: n1 keeps 6/10, n2 keeps 16/20
        assert outcome(
            [node("n1", memory="10"), node("n2", memory="20")], batch(1, waiting("a", memory="4"))
        ).nodes == (("n2", 1),)

    def test_the_scarcest_resource_decides(self):
        nodes = [node("n1", memory="100", cpu="4"), node("n2", memory="10", cpu="8")]
        assert outcome(nodes, batch(1, waiting("a", memory="2", cpu="2"))).nodes == (("n2", 1),)
        assert outcome(nodes, batch(1, waiting("a", memory="6", cpu="2"))).nodes == (("n1", 1),)

    def test_equal_nodes_are_taken_by_name(self):
        nodes = [node("b", memory="10"), node("a", memory="10"), node("c", memory="10")]
        assert outcome(nodes, batch(1, waiting("w", memory="4"))).nodes == (("a", 1),)
        assert outcome(nodes, batch(2, waiting("w", memory="4"))).nodes == (("a", 1), ("b", 1))
        assert outcome(nodes, batch(4, waiting("w", memory="4"))).nodes == (("a", 2), ("b", 1), ("c", 1))

    def test_shares_that_differ_by_less_than_a_millionth_are_equal(self):
        nodes = [node("a", memory=10_000_001), node("b", memory=10_000_002)]
        assert outcome(nodes, batch(1, waiting("w", memory=1))).nodes == (("a", 1),)

    def test_what_is_committed_counts_against_a_node(self):
        nodes = [node("a", memory="10").holding(pod("x", memory="5")), node("b", memory="10")]
        assert outcome(nodes, batch(1, waiting("w", memory="1"))).nodes == (("b", 1),)

    def test_actual_use_counts_where_the_policy_says(self):
        nodes = [node("a", memory="10").using(memory="5"), node("b", memory="10")]
        assert outcome(nodes, batch(1, waiting("w", memory="1"))).nodes == (("a", 1),)
        assert outcome(nodes, batch(1, waiting("w", memory="1")), committed="actual").nodes == (("b", 1),)

    def test_what_is_promised_counts_once_it_is_more_than_what_is_used(self):
        used = node("a", memory="10").reserving(memory="1").using(memory="5")
        assert outcome([used], batch(1, waiting("w", memory="6")), committed="actual").placed == 0
        assert outcome([used], batch(1, waiting("w", memory="5")), committed="actual").placed == 1
        assert outcome([used], batch(9, waiting("w", memory="3")), committed="actual").placed == 3

    def test_a_resource_without_a_bound_does_not_draw_replicas_apart(self):
        nodes = [node("a", cpu="4"), node("b", cpu="64")]
        found = outcome(nodes, batch(3, waiting("w", cpu="2")), cpu_ratio="unlimited")
        assert found.nodes == (("a", 3),)

    def test_a_resource_without_a_bound_is_no_larger_than_the_node(self):
        nodes = [node("a", cpu="4"), node("b", cpu="8")]
        assert outcome(nodes, batch(2, waiting("w", cpu="8")), cpu_ratio="unlimited").nodes == (("b", 2),)
        assert outcome(nodes, batch(1, waiting("w", cpu="9")), cpu_ratio="unlimited").placed == 0

    def test_one_workload_never_gets_more_cpus_than_its_node_has(self):
        assert outcome([node("a", cpu="4")], batch(1, waiting("w", cpu="4")), cpu_ratio="4").placed == 1
        assert outcome([node("a", cpu="4")], batch(1, waiting("w", cpu="4001m")), cpu_ratio="4").placed == 0
        assert (
            outcome([node("a", memory="4")], batch(1, waiting("w", memory="8")), memory_ratio="2").placed == 1
        )

    @pytest.mark.parametrize(("fill", "placed"), [("exact", 3), ("below", 2)])
    def test_whether_a_node_may_be_filled_exactly_is_policy(self, fill, placed):
        assert (
            outcome([node("a", memory="12")], batch(9, waiting("w", memory="4")), fill=fill).placed == placed
        )

    def test_a_request_of_nothing_fits_a_full_node(self):
        full = node("a", memory="1").holding(pod("x", memory="9"))
        found = outcome([full], batch(3, waiting("w", memory="0", pods="0")), fill="below")
        assert found.nodes == (("a", 3),)

    def test_a_resource_that_no_node_has_fits_nowhere(self):
        assert outcome([node("a", memory="9")], batch(1, waiting("w", gpu=1))).placed == 0

    def test_a_resource_that_one_node_has_draws_the_workload_there(self):
        nodes = [node("a", memory="99"), node("b", memory="9").with_gpus(1), node("c", memory="99")]
        assert outcome(nodes, batch(1, waiting("w", memory="1", gpu=1))).nodes == (("b", 1),)

    @pytest.mark.parametrize("state", ["cordoned", "offline"])
    def test_nodes_that_take_nothing_are_left_out(self, state):
        nodes = [node("a", memory="99").with_(state=state), node("b", memory="9")]
        found = outcome(nodes, batch(3, waiting("w", memory="4")))
        assert (found.nodes, found.placed) == ((("b", 2),), 2)

    def test_nodes_that_are_closed_to_a_workload_are_left_out(self):
        nodes = [node("a", memory="99").tainted("gpu"), node("b", memory="9")]
        found = outcome(nodes, batch(1, waiting("w", memory="4")))
        assert found.nodes == (("b", 1),)
        tolerant = waiting("w", memory="4", constraints=tolerating("gpu"))
        assert outcome(nodes, batch(1, tolerant)).nodes == (("a", 1),)

    def test_without_a_bound_a_node_still_takes_no_more_than_can_be_counted(self):
        largest = 1 << 56
        found = outcome(
            [node("a", memory=largest)], batch(2, waiting("w", memory=largest)), memory_ratio="unlimited"
        )
        assert found.placed == 1


class TestAtomic:
    def test_one_failure_leaves_nothing_placed(self):
        found = answer(
            [node("n1", memory="10")],
            batch(1, waiting("a", memory="4")),
            batch(3, waiting("b", memory="4")),
            batch(1, waiting("c", memory="1")),
            atomic=True,
        )
        assert states(found) == [("a", "init", 0), ("b", "error", 0), ("c", "init", 0)]
        assert all(each.nodes == () for each in found.outcomes)
        assert found.plan.steps == ()
        assert [refusal.count for refusal in found.plan.refusals] == [2]
        assert not found.fits

    def test_without_a_failure_everything_is_placed(self):
        found = answer([node("n1", memory="10")], batch(2, waiting("a", memory="5")), atomic=True)
        assert states(found) == [("a", "ok", 2)]
        assert len(found.plan.steps) == 1

    def test_what_is_final_stays_final(self):
        found = answer(
            [node("n1", memory="10")],
            batch(1, pod("a", memory="1", state="deleted")),
            batch(1, waiting("b", memory="1")),
            atomic=True,
        )
        assert states(found) == [("a", "deleted", 0), ("b", "init", 0)]

    def test_an_atomic_batch_stands_with_all_its_replicas_or_none(self):
        found = answer(
            [node("n1", memory="10")],
            batch(1, waiting("a", memory="1")),
            batch(3, waiting("b", memory="4"), atomic=True),
            batch(2, waiting("c", memory="4"), atomic=True),
        )
        assert states(found) == [("a", "ok", 1), ("b", "error", 0), ("c", "ok", 2)]
        assert found.outcomes[1].nodes == ()
        assert found.outcomes[1].refusal.count == 1
        assert found.outcomes[2].nodes == (("n1", 2),)

    def test_a_batch_that_is_not_atomic_keeps_what_it_got(self):
        found = answer(
            [node("n1", memory="10")], batch(3, waiting("b", memory="4")), batch(1, waiting("c", memory="4"))
        )
        assert states(found) == [("b", "error", 2), ("c", "error", 0)]


class TestStates:
    @pytest.mark.parametrize("state", ["error", "deleted"])
    def test_what_is_final_is_never_tried_again(self, state):
        found = answer([node("n1", memory="10")], batch(2, pod("web/a", kind="VM", memory="1", state=state)))
        assert found.outcomes == (
            Outcome(
                "web/a",
                "VM",
                2,
                0,
                state,
                (),
                refusal=Refusal(
                    "web/a",
                    2,
                    f"its state is {state}, which is final",
                    remedy="ask for it anew, in state init",
                ),
                requests=Resources({"memory": 1}),
                certificate="impossible",
            ),
        )
        assert not found.fits

    @pytest.mark.parametrize("state", ["init", "ok", "paused"])
    def test_everything_else_is_tried(self, state):
        assert outcome([node("n1", memory="10")], batch(1, pod("a", memory="1", state=state))).state == "ok"


class TestResize:
    machine = node("n1", memory="10").holding(pod("web/a", memory="4"), pod("b", memory="5"))

    def test_only_what_it_grows_by_is_new(self):
        found = answer([self.machine], batch(1, pod("web/a", memory="5")))
        assert states(found) == [("web/a", "ok", 1)]
        assert found.outcomes[0].nodes == (("n1", 1),)
        assert found.outcomes[0].verdict.admitted
        assert found.plan.steps == (Step("resize", "web/a", to_node="n1", resources=resources(memory="5")),)

    def test_growth_that_does_not_fit_is_refused_with_its_shortfall(self):
        found = outcome([self.machine, node("n2", memory="99")], batch(1, pod("web/a", memory="6")))
        assert (found.state, found.placed, found.nodes, found.action) == ("error", 0, (), "resize")
        assert not found.verdict.admitted
        assert found.refusal == Refusal(
            "web/a",
            1,
            "node n1: memory short by 1 (asked 6, free 1 of 10); fits if the request is at most 5",
            found.verdict.shortfalls,
            "grow memory to 5 at most, or move it to a node with more room",
        )

    def test_growth_counts_for_those_that_follow(self):
        found = answer([self.machine], batch(1, pod("web/a", memory="5")), batch(1, waiting("c", memory="1")))
        assert [each.state for each in found.outcomes] == ["ok", "error"]

    def test_shrinking_makes_room_for_those_that_follow(self):
        found = answer([self.machine], batch(1, pod("web/a", memory="1")), batch(1, waiting("c", memory="4")))
        assert [each.state for each in found.outcomes] == ["ok", "ok"]

    def test_a_restart_is_not_counted_twice(self):
        full = node("n1", memory="9").holding(pod("a", memory="4"), pod("b", memory="9"))
        found = answer([full], batch(1, pod("a", memory="4")))
        assert states(found) == [("a", "ok", 1)]

    def test_a_resource_that_goes_is_given_back(self):
        held = node("n1", memory="4", cpu="4").holding(pod("a", memory="4", cpu="1"))
        found = answer([held], batch(1, pod("a", cpu="2")), batch(1, waiting("b", memory="4", cpu="2")))
        assert [each.state for each in found.outcomes] == ["ok", "ok"]

    def test_a_node_that_takes_nothing_new_still_lets_its_workloads_change(self):
        kept = node("n1", memory="10").cordoned().holding(pod("a", memory="4"))
        assert outcome([kept], batch(1, pod("a", memory="5"))).nodes == (("n1", 1),)

    def test_naming_the_node_it_runs_on_is_a_resize_too(self):
        found = outcome([self.machine], batch(1, pod("web/a", memory="5", node="n1")))
        assert (found.action, found.state) == ("resize", "ok")

    def test_naming_another_node_is_a_place_there(self):
        found = outcome([self.machine, node("n2", memory="5")], batch(1, pod("web/a", memory="5", node="n2")))
        assert (found.action, found.nodes) == ("place", (("n2", 1),))

    @pytest.mark.parametrize("replicas", [0, 2])
    def test_replicas_are_new_workloads(self, replicas):
        found = outcome([self.machine, node("n2", memory="99")], batch(replicas, pod("web/a", memory="20")))
        assert (found.action, found.placed) == ("place", replicas)

    @pytest.mark.parametrize("state", ["init", "error", "deleted"])
    def test_one_that_holds_nothing_is_placed_anew(self, state):
        gone = node("n1", memory="10").holding(pod("a", memory="9", state=state))
        found = outcome([gone, node("n2", memory="20")], batch(1, pod("a", memory="9")))
        assert (found.action, found.nodes) == ("place", (("n2", 1),))


class TestNamedNode:
    nodes = (node("n1", memory="10"), node("n2", memory="99"))

    def test_it_goes_there_and_nowhere_else(self):
        found = outcome(self.nodes, batch(3, waiting("a", memory="4", node="n1")))
        assert (found.nodes, found.state) == ((("n1", 2),), "error")
        assert found.refusal.reason.startswith("0/1 nodes have room (memory short on 1); ")

    def test_an_unknown_node_is_a_refusal(self):
        found = outcome(self.nodes, batch(2, waiting("a", memory="4", node="n9")))
        assert (found.state, found.refusal.reason) == ("error", "node n9, which it names, is unknown")

    @pytest.mark.parametrize("state", ["cordoned", "offline"])
    def test_a_node_that_takes_nothing_is_a_refusal(self, state):
        closed = node("n1", memory="10").with_(state=state)
        found = outcome([closed, self.nodes[1]], batch(1, waiting("a", memory="4", node="n1")))
        assert found.refusal.reason == f"node n1, which it names, is closed to it ({state})"


class TestAdmissionOrder:
    rules = rules_for(policy(admission_order=ZOS_ORDER), ResourceTypes())

    def order(self, *batches: Batch) -> list[str]:
        return [each.key for each in in_admission_order(batches, self.rules)]

    def test_kinds_come_in_the_order_of_the_policy(self):
        kinds = ("zlogs", "zmachine", "ip", "ipv4", "network", "qsfs", "volume", "zmount")
        assert self.order(*(batch(1, waiting(kind, kind=kind)) for kind in kinds)) == ZOS_ORDER.split()

    @pytest.mark.parametrize("kind", ["zmount", "volume"])
    def test_volumes_come_largest_first(self, kind):
        sizes = {"a": "10", "b": "30", "c": "20"}
        found = self.order(
            *(batch(1, waiting(name, {SSD_SPACE: size}, kind=kind)) for name, size in sizes.items())
        )
        assert found == ["b", "c", "a"]

    def test_everything_else_keeps_the_order_in_which_it_was_asked_for(self):
        sizes = {"a": "10", "b": "30", "c": "20"}
        found = self.order(
            *(batch(1, waiting(name, memory=size, kind="zmachine")) for name, size in sizes.items())
        )
        assert found == ["a", "b", "c"]

    def test_kinds_that_are_not_named_come_last_by_name(self):
        asked = [("x", "zdb"), ("y", "gateway"), ("z", "zlogs"), ("w", "gateway")]
        assert self.order(*(batch(1, waiting(name, kind=kind)) for name, kind in asked)) == [
            "z",
            "y",
            "w",
            "x",
        ]

    def test_without_an_order_of_its_own_a_policy_keeps_the_one_that_was_given(self):
        given = [
            batch(1, waiting(name, {SSD_SPACE: size}, kind="zmount"))
            for name, size in (("a", "1"), ("b", "2"))
        ]
        assert in_admission_order(given, rules_for(policy(), ResourceTypes())) == given

    def test_batches_are_judged_in_that_order(self):
        machine = node("n1", {SSD_SPACE: "10"}, memory="4", cpu="4")
        found = answer(
            [machine],
            batch(1, waiting("m", {SSD_SPACE: "5"}, cpu="1", memory="1", kind="zmachine")),
            batch(1, waiting("small", {SSD_SPACE: "4"}, kind="zmount")),
            batch(1, waiting("large", {SSD_SPACE: "6"}, kind="zmount")),
            admission_order=ZOS_ORDER,
        )
        assert states(found) == [("large", "ok", 1), ("small", "ok", 1), ("m", "error", 0)]


class TestKinds:
    settings = {  # noqa: RUF012 - read only
        "consumption": "by-kind",
        "machine_memory": "250Mi",
        "machine_root_small": "500Mi",
        "machine_root_large": "2Gi",
    }

    def test_a_machine_takes_its_root_disk_and_the_plan_says_so(self):
        machine = node("n1", {SSD_SPACE: "1Gi"}, memory="8Gi", cpu="4")
        small = waiting("m", cpu="1", memory="1Gi", kind="zmachine")
        found = answer([machine], batch(3, small), **self.settings)
        taken = resources({SSD_SPACE: "500Mi"}, cpu="1", memory="1Gi")
        assert states(found) == [("m", "error", 2)]
        assert found.outcomes[0].requests == taken
        assert [step.resources for step in found.plan.steps] == [taken]
        assert found.outcomes[0].kind == "zmachine"

    def test_a_machine_with_too_little_memory_is_refused(self):
        found = outcome(
            [node("n1", memory="8Gi")],
            batch(2, waiting("m", memory="249Mi", kind="zmachine")),
            **self.settings,
        )
        reason = "a machine needs at least 250Mi of memory (asked 249Mi)"
        assert (found.state, found.placed, found.nodes, found.requests["memory"]) == (
            "error",
            0,
            (),
            249 << 20,
        )
        assert found.refusal == Refusal("m", 2, reason, remedy="raise its memory request")

    def test_two_machines_that_do_not_both_fit_succeed_in_part(self):
        idle = node("n1", {SSD_SPACE: "100Gi"}, memory="32Gi", cpu="8").using(memory="2Gi")
        machines = [waiting(f"m{size}", cpu="1", memory=f"{size}Gi", kind="zmachine") for size in (10, 25)]
        found = answer(
            [idle],
            *(batch(1, each) for each in machines),
            **self.settings,
            committed="actual",
            memory_reserve="10%, at least 2Gi",
            cpu_ratio="unlimited",
        )
        assert states(found) == [("m10", "ok", 1), ("m25", "error", 0)]
        assert found.outcomes[1].refusal.reason == (
            "0/1 nodes have room (memory short on 1); nearest: node n1: memory short by 6.2Gi "
            "(asked 25Gi, free 18.8Gi of 32Gi after 3.2Gi reserve); "
            "fits if the request is at most 18.8Gi"
        )

    def test_a_network_takes_what_it_asks_for(self):
        assert outcome([node("n1")], batch(1, waiting("net", kind="network")), **self.settings).placed == 1
        asking = batch(1, waiting("net", memory="99Gi", kind="network"))
        assert outcome([node("n1")], asking, **self.settings).placed == 0

    def test_an_address_is_counted(self):
        found = answer([node("n1", {ADDRESSES: "1"})], batch(2, waiting("ip", kind="ipv4")), **self.settings)
        assert states(found) == [("ip", "error", 1)]

    def test_a_machine_that_grows_is_compared_with_what_it_holds(self):
        held = pod("m", {SSD_SPACE: "500Mi"}, cpu="1", memory="4Gi", kind="zmachine")
        full = node("n1", {SSD_SPACE: "500Mi"}, memory="8Gi", cpu="4").holding(held)
        same = waiting("m", cpu="1", memory="7Gi", kind="zmachine")
        assert outcome([full], batch(1, same), **self.settings).state == "ok"
        larger = waiting("m", cpu="2", memory="7Gi", kind="zmachine")
        found = outcome([full], batch(1, larger), **self.settings)
        assert [short.missing.value for short in found.verdict.shortfalls] == [1548 << 20]


def test_a_place_is_a_node_with_its_figures_and_its_own_rules():
    snapshot = cluster(
        node("n1", memory="1"), node("n2", memory="2"), policy=policy(nodes={"n2": {"fill": "below"}})
    )
    columns = Columns(snapshot)
    place = columns.place_of(1)
    assert (place.node, place.rules.fill) == ("n2", "below")
    assert place.figures == columns.figures(1)
    assert place.types is snapshot.resource_types
    assert GPU not in place.figures
