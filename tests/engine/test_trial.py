"""A trial: what it says after any changes is what a trial of the changed cluster says; undo goes back."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, container, node, pod, waiting
from placement_strategies import clusters, workloads
from ullage.engine.columns import Columns
from ullage.engine.placement import room
from ullage.engine.placement.spare_nodes import larger_trial, repeat
from ullage.engine.trial import Trial
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from ullage.model.delta import Delta, apply

asked = st.lists(st.integers(0, 9), min_size=1, max_size=4).flatmap(
    lambda numbers: st.tuples(*(workloads(f"w{position}") for position, _ in enumerate(numbers)))
)


def fresh(snapshot: Snapshot, policy: str = "spread") -> Trial:
    return Trial(Columns(snapshot), policy)


def with_nodes(trial: Trial, more: Delta) -> Trial:
    """A trial of the larger cluster, with everything placed as in another one."""
    larger = larger_trial(trial, more)
    repeat(trial.log, larger, np.array([larger.row_of[each.name] for each in trial.nodes], np.intp))
    return larger


def feasible(trial: Trial, wanted: list[Workload]) -> list[list[str]]:
    """The nodes that take each workload, by name."""
    return [
        sorted(trial.nodes[row].name for row in np.flatnonzero(trial.feasible(trial.shape_of(each))))
        for each in wanted
    ]


def running(workload: Workload, name: str, node_name: str) -> Workload:
    return msgspec.structs.replace(workload, name=name, node=node_name, state="ok")


@given(clusters(), asked, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=8))
def test_after_any_changes_it_says_what_a_trial_of_the_changed_cluster_says(snapshot, wanted, changes):
    trial = fresh(snapshot)
    feasible(trial, wanted)
    number = 0
    for what, which in changes:
        workload = wanted[which % len(wanted)]
        if what < 3:
            row = trial.pick(trial.shape_of(workload))
            if row >= 0:
                number += 1
                trial.place(trial.shape_of(workload), row)
                placed = running(workload, f"placed{number}", trial.nodes[row].name)
                snapshot = apply(snapshot, Delta(workloads=(placed,)))
        elif len(snapshot.workloads):
            gone = list(snapshot.workloads)[which % len(snapshot.workloads)]
            trial.evict(gone)
            snapshot = apply(snapshot, Delta(dropped={"workloads": (gone.key,)}))
        assert feasible(trial, wanted) == feasible(fresh(snapshot), wanted)


@given(clusters(), asked, st.lists(st.integers(0, 9), max_size=8), st.integers(0, 8), st.booleans())
def test_undo_goes_back_to_a_mark_whatever_was_looked_at_since(snapshot, wanted, order, marked, remembered):
    trial = fresh(snapshot)
    if remembered:
        trial.remember_looks()
    shapes = [trial.shape_of(each) for each in wanted]
    unseen = trial.mark()
    mark, before = trial.mark(), feasible(trial, wanted)
    scores = [trial.scores(shape).copy() for shape in shapes]
    for position, which in enumerate(order):
        if position == marked:
            mark, before = trial.mark(), feasible(trial, wanted)
            scores = [trial.scores(shape).copy() for shape in shapes]
        shape = shapes[which % len(shapes)]
        row = trial.pick(shape)
        if row >= 0:
            trial.place(shape, row)
    for workload in snapshot.workloads:
        trial.evict(workload)
    if len(trial.nodes) > 1:
        trial.lose(0)
        feasible(trial, wanted)
    trial.undo(mark)
    assert feasible(trial, wanted) == before
    assert all((trial.scores(shape) == was).all() for shape, was in zip(shapes, scores, strict=True))
    trial.undo(unseen)
    assert feasible(trial, wanted) == feasible(fresh(snapshot), wanted)


@given(clusters(), asked, st.booleans())
def test_an_undo_within_another_leaves_nothing_of_what_was_first_looked_at_there(
    snapshot, wanted, remembered
):
    trial = fresh(snapshot)
    if remembered:
        trial.remember_looks()
    outer = trial.mark()
    half = len(snapshot.workloads) // 2
    for workload in list(snapshot.workloads)[:half]:
        trial.evict(workload)
    trial.lose(0)
    inner = trial.mark()
    for workload in list(snapshot.workloads)[half:]:
        trial.evict(workload)
    trial.regain(0)
    feasible(trial, wanted)
    trial.undo(inner)
    trial.undo(outer)
    assert feasible(trial, wanted) == feasible(fresh(snapshot), wanted)


@given(clusters(), asked)
def test_a_lost_node_is_as_one_that_was_never_there(snapshot, wanted):
    lost = next(iter(snapshot.nodes)).name
    trial = fresh(snapshot)
    feasible(trial, wanted)
    trial.lose(trial.row_of[lost])
    left = {"workloads": tuple(each.key for each in snapshot.workloads if each.node == lost)}
    for key in left["workloads"]:
        trial.evict(snapshot.workloads[key])
    without = apply(apply(snapshot, Delta(dropped=left)), Delta(dropped={"nodes": (lost,)}))
    assert feasible(trial, wanted) == feasible(fresh(without), wanted)


@given(clusters(), asked)
def test_more_nodes_are_as_if_they_had_always_been_there(snapshot, wanted):
    trial = fresh(snapshot)
    row = trial.pick(trial.shape_of(wanted[0]))
    if row >= 0:
        trial.place(trial.shape_of(wanted[0]), row)
        placed = running(wanted[0], "placed", trial.nodes[row].name)
        snapshot = apply(snapshot, Delta(workloads=(placed,)))
    more = Delta(nodes=(node("n9", memory="6", pods="4").labelled({"zone": "x"}).record,))
    assert feasible(with_nodes(trial, more), wanted) == feasible(fresh(apply(snapshot, more)), wanted)


def test_more_nodes_leave_preferences_as_a_trial_of_that_cluster_has_them():
    nothing, half = pod("x", containers=(container("c"),)), pod("y", containers=(container("c", cpu="1"),))
    many = pod("z", containers=tuple(container(name) for name in "cdef"))
    snapshot = cluster(
        node("b", cpu="2", memory="2Gi").holding(nothing, half),
        node("d", cpu="2", memory="2Gi").holding(many),
    )
    wanted = [waiting("w", cpu="100m", memory="1Mi"), waiting("v", containers=(container("c"),))]
    trial = fresh(snapshot, "preferences")
    added = [node(name, cpu="2", memory="2Gi").record for name in "ace"]
    daemons = [running(each, f"daemon-{name}", name) for name, each in (("a", many), ("e", nothing))]
    moved = [running(half, "y", "e")]
    dropped = {"workloads": ("z",)}
    for more in (
        Delta(nodes=tuple(added), workloads=tuple(daemons)),
        Delta(nodes=tuple(added), workloads=(*daemons, *moved), dropped=dropped),
    ):
        larger, wholly_new = with_nodes(trial, more), fresh(apply(snapshot, more), "preferences")
        for each in wanted:
            scores = [either.scores(either.shape_of(each)).tolist() for either in (larger, wholly_new)]
            assert scores[0] == scores[1]
            assert len(set(scores[0])) > 1


def test_terms_of_workloads_on_more_nodes_draw_as_in_a_trial_of_that_cluster():
    term = PodAffinityTerm("name", LabelSelector(match_labels={"app": "w"}))
    drawing = Affinity(pod_affinity=PodAffinity(preferred=(WeightedPodAffinityTerm(100, term),)))
    daemon = running(pod("x", constraints=Constraints(affinity=drawing)), "daemon", "z")
    parts = [node(name, cpu="2", memory="2Gi").labelled({"name": name}) for name in "ayz"]
    snapshot = cluster(*parts[:2])
    more = Delta(nodes=(parts[2].record,), workloads=(daemon,))
    wanted = waiting("w", cpu="1", labels={"app": "w"})
    for trial in (
        with_nodes(fresh(snapshot, "preferences"), more),
        fresh(apply(snapshot, more), "preferences"),
    ):
        assert trial.nodes[trial.pick(trial.shape_of(wanted))].name == "z"


@pytest.mark.parametrize("policy", ["spread", "pack", "balanced", "preferences"])
@pytest.mark.parametrize("alike", [True, False], ids=["nodes alike", "nodes of all sizes"])
def test_scores_looked_at_now_and_then_are_those_of_a_trial_that_never_looked(policy, alike):
    sizes = [0] * 1100 if alike else [number % 7 for number in range(1100)]
    snapshot = cluster(
        *(
            node(f"n{number:04}", cpu=str(30 + size), memory=f"{60 + size}Gi", pods="50")
            for number, size in enumerate(sizes)
        )
    )
    looked, unseen = (fresh(snapshot, policy) for _ in range(2))
    wanted = [
        waiting("w", cpu="9", memory="1Gi", pods="1"),
        waiting("v", cpu="1", pods="20"),
        waiting("u", memory="25Gi"),
        waiting("t"),
    ]
    looked.scores(looked.shape_of(wanted[0]))
    rows = np.random.default_rng(1).integers(0, len(sizes), 2000).tolist()
    at = 0
    for changes in (1, 7, 1, 8, 9, 32, 129, 3, 257, 512, 513, 90):
        for row in rows[at : at + changes]:
            for trial in (looked, unseen):
                trial.place(trial.shape_of(wanted[at % len(wanted)]), row)
            at += 1
        for each in wanted if changes % 2 else wanted[:1]:
            shape, anew = looked.shape_of(each), unseen.compile(each)
            assert looked.scores(shape).tolist() == unseen.scores(anew).tolist()
            if policy == "spread" and len(shape.columns):
                left = looked.room.shares(shape, slice(None)).min(axis=0)
                assert looked.scores(shape).tolist() == left.tolist()


class TestPick:
    def test_the_best_score_wins_and_of_equals_the_first_by_name(self):
        trial = fresh(cluster(node("b", memory="8"), node("a", memory="8"), node("c", memory="9")))
        shape = trial.shape_of(waiting("w", memory="1"))
        chosen = []
        for _ in range(4):
            row = trial.pick(shape)
            trial.place(shape, row)
            chosen.append(trial.nodes[row].name)
        assert chosen == ["c", "a", "b", "c"]

    def test_nowhere_is_minus_one(self):
        trial = fresh(cluster(node("a", memory="1")))
        assert trial.pick(trial.shape_of(waiting("w", memory="2"))) == -1
        assert fresh(cluster()).pick(fresh(cluster()).shape_of(waiting("w"))) == -1

    def test_a_seed_decides_ties_and_nothing_else(self):
        parts = [node(f"n{number}", memory="8") for number in range(20)]
        best = node("z", memory="9")
        chosen = set()
        for seed in range(5):
            trial = Trial(Columns(cluster(*parts)), seed=seed)
            again = Trial(Columns(cluster(*parts)), seed=seed)
            shape = trial.shape_of(waiting("w", memory="1"))
            chosen.add(trial.nodes[trial.pick(shape)].name)
            assert trial.pick(shape) == again.pick(again.shape_of(waiting("w", memory="1")))
            always = Trial(Columns(cluster(*parts, best)), seed=seed)
            assert always.nodes[always.pick(always.shape_of(waiting("w", memory="1")))].name == "z"
        assert len(chosen) > 1


def test_equal_workloads_are_one_shape_and_others_are_not():
    trial = fresh(cluster(node("a", memory="9")))
    shape = trial.shape_of(waiting("web/w", memory="1"))
    assert trial.shape_of(waiting("web/v", memory="1")) is shape
    for other in (
        waiting("ml/w", memory="1"),
        waiting("web/w", memory="2"),
        waiting("web/w", memory="1", node="a"),
    ):
        assert trial.shape_of(other) is not shape


def test_scores_are_forgotten_and_made_anew_when_too_much_has_changed(monkeypatch):
    monkeypatch.setattr(room, "TOUCHED_MAX", 3)
    trial = fresh(cluster(node("a", memory="9"), node("b", memory="9")))
    shape = trial.shape_of(waiting("w", memory="1"))
    mark = trial.mark()
    for _ in range(10):
        trial.place(shape, trial.pick(shape))
    assert trial.room.free[0].tolist() == [4, 4]
    trial.undo(mark)
    assert trial.room.free[0].tolist() == [9, 9]
    assert trial.pick(shape) == 0


def test_what_is_really_in_use_counts_where_it_is_more():
    machine = node("a", memory="10").with_(actual=None)
    trial = fresh(cluster(machine.holding(pod("x", memory="3"))))
    assert trial.place_of(0).figures["memory"].promised == 3
    trial.place(trial.shape_of(waiting("w", memory="4")), 0)
    assert trial.place_of(0).figures["memory"].promised == 7


@pytest.mark.parametrize("policy", ["spread", "pack", "balanced", "preferences"])
def test_every_policy_places_all_that_fits(policy):
    trial = Trial(Columns(cluster(node("a", memory="4"), node("b", memory="3"))), policy)
    shape = trial.shape_of(waiting("w", memory="1"))
    placed = 0
    while (row := trial.pick(shape)) >= 0:
        trial.place(shape, row)
        placed += 1
    assert placed == 7


def test_what_a_tiny_node_holds_beyond_all_counting_is_taken_off_and_put_back():
    held = pod("a", cpu="130m")
    trial = Trial(Columns(cluster(node("n1", cpu="1m").holding(held), node("n2", cpu="1"))))
    before = trial.room.free.copy()
    mark = trial.mark()
    trial.evict(trial.columns.snapshot.workloads["a"])
    assert feasible(trial, [waiting("b", cpu="1m")]) == [["n1", "n2"]]
    trial.undo(mark)
    assert (trial.room.free == before).all()
    assert feasible(trial, [waiting("b", cpu="1m")]) == [["n2"]]
