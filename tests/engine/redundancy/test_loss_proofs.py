"""A second look at losses: another placement is found, or it is proven that there is none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, volume
from ullage.engine.columns import Columns
from ullage.engine.redundancy.loss_proofs import look_exactly
from ullage.engine.redundancy.losses import Losses
from ullage.engine.trial import Trial
from ullage.model.constraints import (
    Affinity,
    Constraints,
    HostPort,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpread,
)

SECONDS = 10
ZONE, HOST = "zone", "kubernetes.io/hostname"


def losses_in(*parts):
    return Losses(Columns(cluster(*parts)))


def held(*sizes, prefix="p", **fields):
    return [
        pod(f"{prefix}{number}", cpu=size, owner="ReplicaSet/r", **fields)
        for number, size in enumerate(sizes)
    ]


def machine(name, cpu, zone="one"):
    return node(name, cpu=cpu).labelled({ZONE: zone, HOST: name})


def term(app, label):
    return PodAffinity((PodAffinityTerm(label, LabelSelector({"app": app})),))


def test_a_loss_that_only_another_placement_survives():
    found = losses_in(machine("a", "12").holding(*held("3", "3", "2", "2", "2")), *PAIR)
    before = found.of(["a"])
    assert (len(before.losers), before.certificate) == (1, "unknown"), "one after the other is to fail here"
    after = look_exactly(found, before, SECONDS)
    assert (after.losers, after.certificate, after.certificate_note) == (
        (),
        "exact",
        "found by exact search",
    )
    went = {move.workload: move.to_node for move in after.moves}
    assert sorted(went) == ["p0", "p1", "p2", "p3", "p4"]
    assert went["p0"] == went["p1"] != went["p2"] == went["p3"] == went["p4"]
    assert {move.from_node for move in after.moves} == {"a"}
    assert found.of(["a"]) == before, "everything was taken back"


PAIR = (machine("b", "6"), machine("c", "6"))


def test_a_loss_that_no_placement_survives_is_proven():
    found = losses_in(
        machine("a", "12").holding(*held("4", "4", "2", "2")), machine("b", "7"), machine("c", "5")
    )
    report = look_exactly(found, found.of(["a"]), SECONDS)
    assert (report.certificate, report.certificate_note) == (
        "impossible",
        "no placement of all of them exists",
    )
    assert (len(report.moves), len(report.losers)) == (3, 1)


def test_sums_are_told_by_workloads_of_the_lost_node():
    found = losses_in(
        machine("a", "12").holding(*held("4", "4", prefix="left")),
        machine("b", "12").holding(*held("4", "4", "3", prefix="lost")),
    )
    report = look_exactly(found, found.of(["b"]), SECONDS)
    assert report.certificate_note == (
        "the nodes take at most 1 of 2 of lost0 and those like it, each node for itself"
    )


def test_equal_workloads_leave_nothing_to_search():
    found = losses_in(machine("a", "9").holding(*held("3", "3", "3")), machine("b", "4"), machine("c", "5"))
    report = look_exactly(found, found.of(["a"]), SECONDS)
    assert (report.certificate, report.certificate_note) == (
        "impossible",
        "the nodes take at most 2 of 3, each node for itself",
    )


def test_one_workload_without_a_place_is_proven_whatever_its_rules():
    shy = Constraints(affinity=Affinity(pod_affinity=term("gone", ZONE)))
    found = losses_in(machine("a", "4").holding(*held("1", constraints=shy)), machine("b", "4"))
    assert look_exactly(found, found.of(["a"]), SECONDS).certificate == "impossible"


def test_equal_workloads_with_rules_over_zones_are_searched():
    together = Constraints(affinity=Affinity(pod_affinity=term("a", ZONE)))
    found = losses_in(
        machine("a", "6").holding(*held("3", "3", constraints=together, labels={"app": "a"})),
        machine("b", "5", "two"),
        machine("c", "4", "three"),
        machine("d", "4", "three"),
    )
    before = found.of(["a"])
    assert len(before.losers) == 1, "the first is to go to b, which has no room for the second"
    report = look_exactly(found, before, SECONDS)
    assert report.certificate == "exact"
    assert {move.to_node for move in report.moves} == {"c", "d"}


def test_a_loss_without_losers_stays_as_it_is():
    found = losses_in(machine("a", "4").holding(*held("1")), machine("b", "4"))
    report = found.of(["a"])
    assert report.certificate == "greedy"
    assert look_exactly(found, report, SECONDS) == report


def test_without_time_only_sums_prove():
    found = losses_in(machine("a", "12").holding(*held("3", "3", "2", "2", "2")), *PAIR)
    report = look_exactly(found, found.of(["a"]), 0)
    assert (report.certificate, report.certificate_note) == (
        "unknown",
        "no time is given for an exact search",
    )


RULES = st.sampled_from(
    [
        *(Constraints() for _ in range(4)),
        Constraints(node_selector={ZONE: "one"}),
        Constraints(host_ports=(HostPort(80),)),
        Constraints(affinity=Affinity(pod_anti_affinity=term("a", HOST))),
        Constraints(affinity=Affinity(pod_anti_affinity=term("b", ZONE))),
        Constraints(affinity=Affinity(pod_affinity=term("b", ZONE))),
        Constraints(topology_spread=(TopologySpread(1, ZONE, label_selector=LabelSelector({"app": "a"})),)),
    ]
)


@st.composite
def tight_clusters(draw):
    """A node with a few workloads, and others that hold little and have room for about as much."""
    kinds = draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 4), RULES), min_size=1, max_size=3))

    def some(prefix, most):
        chosen = draw(st.lists(st.sampled_from(kinds), max_size=most))
        return [
            pod(f"{prefix}-{place}", cpu=cpu, labels={"app": app}, constraints=rules, owner="ReplicaSet/r")
            for place, (app, cpu, rules) in enumerate(chosen)
        ]

    others = [
        machine(f"n{number}", str(draw(st.integers(3, 7))), draw(st.sampled_from(["one", "two"]))).holding(
            *some(f"p{number}", 1)
        )
        for number in range(draw(st.integers(1, 3)))
    ]
    return machine("lost", "20", draw(st.sampled_from(["one", "three"]))).holding(*some("lost", 5)), others


@st.composite
def packed_clusters(draw):
    """A node whose workloads fill the others to the last, if they are put together as they were drawn."""
    parts = [draw(st.lists(st.integers(1, 5), min_size=2, max_size=3)) for _ in range(2)]
    plain = st.just(Constraints())
    rules = draw(st.lists(st.one_of(plain, plain, plain, RULES), min_size=6, max_size=6))
    sizes = draw(st.permutations([size for each in parts for size in each]))
    workloads = [
        pod(f"p{place}", cpu=size, labels={"app": "ab"[size % 2]}, constraints=rules[size], owner="Job/j")
        for place, size in enumerate(sizes)
    ]
    others = [
        machine(f"n{number}", str(sum(each)), draw(st.sampled_from(["one", "two"])))
        for number, each in enumerate(parts)
    ]
    return machine("lost", "30").holding(*workloads), others


@settings(max_examples=100)
@given(parts=tight_clusters())
def test_what_is_said_of_a_loss_is_what_trying_everything_says(parts):
    check_look(parts)


@settings(max_examples=150)
@given(parts=packed_clusters())
def test_moves_by_exact_search_hold_on_the_cluster_without_the_node(parts):
    check_look(parts)


def check_look(parts):
    """Moves must be accepted by a cluster that never had the node, and a proof by trying everything."""
    lost, others = parts
    found = losses_in(lost, *others)
    before = found.of(["lost"])
    report = look_exactly(found, before, SECONDS)
    assert found.of(["lost"]) == before
    every = {move.workload for move in before.moves} | {loser.workload for loser in before.losers}
    assert {move.workload for move in report.moves} | {each.workload for each in report.losers} == every
    workloads = found.trial.columns.snapshot.workloads
    trial = Trial(Columns(cluster(*others)))
    if not report.losers:
        left = [
            (trial.shape_of(workloads[move.workload]), trial.row_of[move.to_node]) for move in report.moves
        ]
        assert replays(trial, left)
    elif report.certificate == "impossible":
        assert not all_placed(trial, [trial.shape_of(workloads[key]) for key in sorted(every)])


def replays(trial, left):
    """Whether all of these are accepted in some order."""
    while left:
        pair = next((each for each in left if trial.feasible(each[0])[each[1]]), None)
        if pair is None:
            return False
        trial.place(*pair)
        left.remove(pair)
    return True


def all_placed(trial, shapes):
    """Whether there is a way, by trying every order and every node."""
    if not shapes:
        return True
    for shape in dict.fromkeys(shapes):
        rest = list(shapes)
        rest.remove(shape)
        for row in trial.feasible(shape).nonzero()[0].tolist():
            mark = trial.mark()
            trial.place(shape, row)
            way = all_placed(trial, rest)
            trial.undo(mark)
            if way:
                return True
    return False


def with_volumes(count, name="web/w"):
    """A running workload with so many volumes on local disks, no two of one size."""
    mounted = tuple(
        volume(f"v{place}", f"{100 + 4 * place}Mi", storage_class="HDDLVG", inline=True)
        for place in range(count)
    )
    return pod(name, cpu="1", owner="StatefulSet/w", volumes=mounted)


@pytest.mark.parametrize(("count", "sure"), [(8, "impossible"), (9, "unknown")])
def test_disks_of_which_only_a_part_may_have_been_searched_prove_nothing(count, sure):
    lost = machine("a", "4").holding(with_volumes(count))
    found = losses_in(lost, machine("b", "4").with_drive("d", "HDD", "500Mi"))
    report = look_exactly(found, found.of(["a"]), SECONDS)
    assert (len(report.losers), report.certificate) == (1, sure)
