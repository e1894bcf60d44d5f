"""Our scheduler as it runs: pods go where kube-scheduler's plugins take them, nobody is left with a place."""

import dataclasses

import pytest

from kube_cluster import node, pod
from parity.cases import Case, case
from parity.compare import Placing
from parity.run import OUTPUT, Run, run_on_planes, shrink_all
from parity.scheduled import differences, own_scheduler
from plane.judge import Judge

CASES = 25
FIRST_SEED = 1


@pytest.mark.slow
@pytest.mark.usefixtures("plane_program")
def test_each_pod_goes_where_it_is_welcome_and_nobody_is_left():
    said: list[str] = []
    seeds = range(FIRST_SEED, FIRST_SEED + CASES)
    run = run_on_planes(own_scheduler, Run(seeds, said.append), planes=1)
    shrink_all(run, OUTPUT, said.append, own_scheduler)
    assert not run.failures, "\n".join(said)
    assert run.tally.cases == CASES
    assert 0 < run.tally.placed < run.tally.pods


@pytest.fixture(scope="module")
def judge(plane_program):
    with Judge(plane_program) as running:
        yield running


def decided(drawn):
    return {step.pod: step.chosen for step in Placing(drawn).steps}


def test_a_pod_that_is_left_though_there_is_a_place_is_found(judge):
    drawn = case(11, ("cpu",))
    verdicts = decided(drawn)
    assert not differences(judge, drawn, verdicts)
    left = next(key for key, node in verdicts.items() if node)
    found = differences(judge, drawn, {**verdicts, left: ""})
    assert (left, verdicts[left], "left it") in [(each.pod, each.node, each.ours) for each in found]


def test_a_pod_that_is_bound_where_it_is_not_welcome_is_found(judge):
    drawn = case(23, ("taints",))
    verdicts = decided(drawn)
    stray = next(key for key, node in verdicts.items() if not node)
    node = next(node for node in verdicts.values() if node)
    found = differences(judge, drawn, {**verdicts, stray: node})
    assert [(each.pod, each.node, each.ours) for each in found] == [(stray, node, "bound it")]


def test_bindings_are_judged_in_an_order_in_which_they_were_possible(judge):
    """Each pod spreads by those bound before it: from the last to the first not all are welcome."""
    drawn = case(14, ("topology spread",))
    verdicts = decided(drawn)
    assert sum(bool(node) for node in verdicts.values()) > 1
    assert not differences(judge, dataclasses.replace(drawn, pods=drawn.pods[::-1]), verdicts)


def test_who_shuts_others_out_is_judged_behind_them(judge):
    """One pod alone may be on n0 where it spreads; another that does not mind came after it."""
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    nodes = [node(name, {}) for name in ("n0", "n1")]
    easy = pod("default/easy", labels={"app": "a"})
    strict = pod("default/strict", labels={"app": "a"}, spec={"topologySpreadConstraints": [spread]})
    verdicts = {"default/easy": "n0", "default/strict": "n0"}
    for waiting in ([easy, strict], [strict, easy]):
        assert not differences(judge, Case(0, nodes, waiting), verdicts)
    strict_too = {**strict, "metadata": {**strict["metadata"], "name": "strict-too"}}
    both = {"default/strict": "n0", "default/strict-too": "n0"}
    (found,) = differences(judge, Case(0, nodes, [strict, strict_too]), both)
    assert (found.node, found.ours) == ("n0", "bound it")
