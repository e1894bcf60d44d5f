"""Many losses at once: the same rows as placing anew one loss after the other."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, policy
from ullage.engine.columns import Columns
from ullage.engine.redundancy import side_by_side
from ullage.engine.redundancy.side_by_side import Loss, can_do, place_side_by_side
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


def one_by_one(trial, shapes, loss):
    mark = trial.mark()
    for row in loss.rows:
        trial.lose(row)
    rows = []
    for number in loss.shapes:
        row = trial.pick(shapes[number])
        if row >= 0:
            trial.place(shapes[number], row)
        rows.append(row)
    trial.undo(mark)
    return rows


@st.composite
def questions(draw):
    count = draw(st.integers(1, 6))
    zones = st.sampled_from(["x", "y"])
    nodes = [
        node(f"n{number}", cpu=draw(st.integers(1, 6)), memory=f"{draw(st.integers(1, 6))}Gi").labelled(
            {"zone": draw(zones)}
        )
        for number in range(count)
    ]
    asked = []
    for number in range(draw(st.integers(1, 4))):
        selector = {"zone": draw(zones)} if draw(st.booleans()) else {}
        amounts = {"cpu": draw(st.integers(0, 3)), "memory": f"{draw(st.integers(0, 3))}Gi"}
        asked.append(pod(f"w{number}", constraints=Constraints(node_selector=selector), **amounts))
    rows, numbers = st.integers(0, count - 1), st.integers(0, len(asked) - 1)
    losses = draw(
        st.lists(
            st.builds(
                Loss, st.lists(rows, max_size=2, unique=True).map(tuple), st.lists(numbers, max_size=8)
            ),
            max_size=5,
        )
    )
    return cluster(*nodes), asked, losses


@settings(max_examples=80)
@given(question=questions(), cells=st.sampled_from([1, 10, 4_000_000]))
def test_the_rows_are_those_of_placing_loss_by_loss(question, cells):
    snapshot, asked, losses = question
    trial = Trial(Columns(snapshot))
    shapes = [trial.shape_of(each) for each in asked]
    assert can_do(trial, shapes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(side_by_side, "CHUNK_CELLS_MAX", cells)
        found = [rows.tolist() for rows in place_side_by_side(trial, shapes, losses)]
    assert found == [one_by_one(trial, shapes, loss) for loss in losses]


def test_every_node_may_be_lost():
    trial = Trial(Columns(cluster(node("a", cpu="4"), node("b", cpu="4"))))
    shapes = [trial.shape_of(pod("w", cpu="1"))]
    (rows,) = place_side_by_side(trial, shapes, [Loss((0, 1), [0, 0])])
    assert rows.tolist() == [-1, -1]


SELECTED = LabelSelector({"app": "other"})
AWAY = Affinity(pod_anti_affinity=PodAffinity(required=(PodAffinityTerm("host", SELECTED),)))


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(affinity=AWAY),
        Constraints(host_ports=(HostPort(80),)),
        Constraints(topology_spread=(TopologySpread(1, "host", label_selector=SELECTED),)),
    ],
    ids=["anti-affinity", "port", "spread"],
)
def test_rules_between_workloads_are_not_for_it(constraints):
    nodes = [node(name, cpu="4").labelled({"host": name}) for name in "ab"]
    trial = Trial(Columns(cluster(*nodes)))
    assert not can_do(trial, [trial.shape_of(pod("w", cpu="1", constraints=constraints))])


def test_whom_others_keep_away_is_not_for_it_either():
    nodes = [node(name, cpu="4").labelled({"host": name}) for name in "ab"]
    trial = Trial(Columns(cluster(*nodes)))
    other = trial.shape_of(pod("other", cpu="1", labels={"app": "other"}))
    assert can_do(trial, [other])
    trial.shape_of(pod("shy", cpu="1", constraints=Constraints(affinity=AWAY)))
    assert not can_do(trial, [other])


@pytest.mark.parametrize("placement", ["pack", "balanced", "preferences"])
def test_other_scores_than_spread_are_not_for_it(placement):
    trial = Trial(Columns(cluster(node("a", cpu="4"))), placement)
    assert not can_do(trial, [trial.shape_of(pod("w", cpu="1"))])


def test_where_actual_use_counts_it_is_not_for_it():
    part = node("a", cpu="4", memory="8Gi").using(memory="1Gi")
    trial = Trial(Columns(cluster(part, policy=policy(committed="actual"))))
    assert not can_do(trial, [trial.shape_of(pod("w", cpu="1"))])


def test_too_many_shapes_for_memory_are_not_for_it(monkeypatch):
    monkeypatch.setattr(side_by_side, "SHAPE_CELLS_MAX", 1)
    trial = Trial(Columns(cluster(node("a", cpu="4"), node("b", cpu="4"))))
    assert not can_do(trial, [trial.shape_of(pod("w", cpu="1"))])
