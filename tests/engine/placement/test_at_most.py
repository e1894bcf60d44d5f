"""How many replicas there could be at most: never fewer than fit, and as many where room alone decides."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, node, waiting
from placement_strategies import clusters, workloads
from ullage.engine.columns import Columns
from ullage.engine.placement.at_most import AtMost, rows_allowed
from ullage.engine.placement.batches import place_replicas
from ullage.engine.trial import Trial
from ullage.model.constraints import Constraints, LabelSelector, TopologySpread

MANY = 30


@given(clusters(), workloads("w"), st.sampled_from(["spread", "pack"]))
def test_never_fewer_than_fit(snapshot, asked, policy):
    trial = Trial(Columns(snapshot), policy)
    shape = trial.shape_of(asked)
    most = AtMost(trial, shape, rows_allowed(trial, shape)).replicas(shape.amounts)
    fitting = sum(place_replicas(trial, shape, MANY).values())
    assert most >= fitting
    if shape.by_room_alone:
        assert min(most, MANY) == fitting


def at_most(parts, asked) -> int:
    trial = Trial(Columns(cluster(*parts)))
    shape = trial.shape_of(asked)
    return AtMost(trial, shape, rows_allowed(trial, shape)).replicas(shape.amounts)


def test_a_zone_gets_no_further_ahead_than_the_emptiest_can_follow():
    spread = Constraints(
        topology_spread=(TopologySpread(1, "zone", label_selector=LabelSelector({"app": "a"})),)
    )
    asked = waiting("a", memory="1", labels={"app": "a"}, constraints=spread)
    parts = [node("n1", memory="9").labelled({"zone": "x"}), node("n2", memory="2").labelled({"zone": "y"})]
    assert at_most(parts, asked) == 5


def test_other_amounts_of_the_same_resources_are_reckoned_without_placing():
    trial = Trial(Columns(cluster(node("n1", memory="9"))))
    shape = trial.shape_of(waiting("a", memory="5"))
    found = AtMost(trial, shape, rows_allowed(trial, shape))
    assert [found.replicas(np.array([amount])) for amount in (5, 4, 3, 10)] == [1, 2, 3, 0]
