"""Losses that surely leave nobody out: told by counting, and never where someone is left out."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod
from ullage.engine.columns import Columns
from ullage.engine.redundancy import sure
from ullage.engine.redundancy.losses import Losses
from ullage.engine.redundancy.sure import Sure, open_nodes
from ullage.engine.trial import Trial
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpread,
)

HOST, ZONE = "kubernetes.io/hostname", "zone"
ALIKE = LabelSelector({"app": "a"})


def away(topology):
    terms = PodAffinity(required=(PodAffinityTerm(topology, ALIKE),))
    return Constraints(affinity=Affinity(pod_anti_affinity=terms))


SPREAD = Constraints(topology_spread=(TopologySpread(1, ZONE, label_selector=ALIKE),))
RULES = st.sampled_from([Constraints(), Constraints(), away(HOST), away(ZONE), SPREAD])

# Each row: open nodes of each place, the places of what runs on each node, the loss, and whether it is sure.
COUNTED = {
    "one more node than are touched and lost": ([4], [[0, 0, 0], []], (0,), True),
    "as many nodes as are touched and lost": ([3], [[0, 0, 0], []], (0,), False),
    "the first needs fewer": ([3, 5], [[0, 1], [0, 1]], (0, 1), False),
    "in the order of both nodes": ([4, 6], [[0, 1], [0, 1]], (0, 1), True),
    "nothing runs there": ([0], [[0], []], (1,), True),
    "nothing runs at all": ([], [[], []], (0, 1), True),
    "no node is lost": ([0], [[0], []], (), True),
}


@pytest.mark.parametrize("case", COUNTED)
def test_counting(case):
    open_by_place, places_by_node, loss, expected = COUNTED[case]
    assert list(Sure(places_by_node, open_by_place).of([loss])) == [expected]


def test_no_losses_are_no_answers():
    assert list(Sure([[0]], [1]).of([])) == []


@pytest.mark.parametrize(
    ("rules", "expected"), [(Constraints(), 2), (away(HOST), 1), (away(ZONE), 0), (SPREAD, 0)]
)
def test_only_what_each_node_decides_for_itself_is_counted(rules, expected):
    runs = pod("x", cpu="1", labels={"app": "a"})
    machines = [node(name, cpu="2").labelled({HOST: name, ZONE: "z"}) for name in "ab"]
    trial = Trial(Columns(cluster(machines[0].holding(runs), machines[1])))
    shape = trial.shape_of(pod("y", cpu="1", labels={"app": "a"}, constraints=rules))
    assert open_nodes(trial, [shape]) == [expected]


@st.composite
def clusters(draw):
    parts = []
    kinds = draw(st.lists(st.tuples(st.integers(1, 3), RULES), min_size=1, max_size=3))
    for number in range(draw(st.integers(3, 9))):
        held = [
            pod(f"p{number}-{place}", cpu=kinds[kind][0], labels={"app": "a"}, constraints=kinds[kind][1])
            for place, kind in enumerate(draw(st.lists(st.integers(0, len(kinds) - 1), max_size=2)))
        ]
        labels = {HOST: f"n{number}", ZONE: draw(st.sampled_from("xy"))}
        parts.append(node(f"n{number}", cpu=draw(st.integers(6, 9))).labelled(labels).holding(*held))
    return cluster(*parts)


@settings(max_examples=80)
@given(snapshot=clusters(), nodes_lost=st.integers(2, 3), cells=st.sampled_from([1, 2_000_000]))
def test_a_survey_says_what_playing_every_loss_says(snapshot, nodes_lost, cells):
    found = Losses(Columns(snapshot))
    names = [each.name for each in snapshot.nodes]
    failing = sum(bool(found.of(chosen).losers) for chosen in combinations(names, nodes_lost))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sure, "CHUNK_CELLS_MAX", cells)
        survey = found.every(nodes_lost)
    assert (survey.failing_losses, survey.untried) == (failing, 0)


def test_what_is_sure_need_not_be_played(monkeypatch):
    monkeypatch.setattr("ullage.engine.redundancy.losses.PLACED_SIDE_BY_SIDE_MAX", 0)
    parts = [
        node(f"n{number}", cpu=str(number + 4)).holding(pod(f"p{number}", cpu="1")) for number in range(6)
    ]
    survey = Losses(Columns(cluster(*parts))).every(2)
    assert (survey.kinds, survey.tried, survey.failing) == (15, 15, 0)
