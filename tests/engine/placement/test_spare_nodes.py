"""Spare nodes: found, they are as if the cluster had them; lost, as if there were none."""

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, waiting
from placement_strategies import clusters, workloads
from ullage.engine.columns import Columns
from ullage.engine.placement.spare_nodes import SpareNodes, node_like
from ullage.engine.redundancy.daemons import daemons_of, daemons_on
from ullage.engine.trial import Trial
from ullage.model.cluster import Snapshot, Workload
from ullage.model.delta import Delta, apply

wanted_lists = st.tuples(workloads("w0"), workloads("w1"), workloads("w2"))


def feasible(trial: Trial, wanted: tuple[Workload, ...]) -> list[list[str]]:
    return [
        sorted(trial.nodes[row].name for row in np.flatnonzero(trial.feasible(trial.shape_of(each))))
        for each in wanted
    ]


def placed(snapshot: Snapshot, each: Workload, name: str) -> Snapshot:
    there = msgspec.structs.replace(each, name=f"placed-{each.name}", node=name, state="ok")
    return apply(snapshot, Delta(workloads=(there,)))


@settings(max_examples=40)
@given(clusters(), wanted_lists, st.sampled_from(["spread", "preferences"]), st.integers(1, 3))
def test_they_are_as_nodes_of_the_cluster_when_found_and_as_none_when_lost(snapshot, wanted, policy, count):
    model = next(iter(snapshot.nodes))
    agent = pod("web/agent", memory="1", labels={"app": "a"}, owner="DaemonSet/agent", node=model.name)
    snapshot = apply(snapshot, Delta(workloads=(agent,)))
    trial = Trial(Columns(snapshot), policy)
    spares = SpareNodes(trial, [model], daemons_of(snapshot))
    kind = spares.kinds[0]
    added = tuple(node_like(model, number) for number in range(count))
    more = Delta(nodes=added, workloads=tuple(daemons_on(added, daemons_of(snapshot))))
    mark = trial.mark()
    for turn in range(2):
        shape = trial.shape_of(wanted[turn])
        row = trial.pick(shape)
        now = snapshot
        if row >= 0:
            trial.place(shape, row)
            now = placed(snapshot, wanted[turn], trial.nodes[row].name)
        spares.follow()
        assert feasible(spares.trial, wanted) == feasible(Trial(Columns(now), policy), wanted)
        before = spares.trial.mark()
        spares.find(kind, count)
        assert feasible(spares.trial, wanted) == feasible(Trial(Columns(apply(now, more)), policy), wanted)
        spares.trial.undo(before)
        trial.undo(mark)


def test_new_nodes_have_names_that_are_free():
    trial = Trial(Columns(cluster(node("n", memory="4"), node("n-new-1", memory="1"))))
    spares = SpareNodes(trial, [trial.nodes[0]], [])
    names = [spares.trial.nodes[row].name for row in spares.kinds[0].rows[:2]]
    assert names == ["n-new-2", "n-new-3"]


def test_the_rest_and_all_are_tried_and_nothing_stays():
    trial = Trial(Columns(cluster(node("n", memory="4"))))
    spares = SpareNodes(trial, [trial.nodes[0]], [])
    spares.follow()
    shape = spares.trial.shape_of(waiting("a", memory="2"))
    kind = spares.kinds[0]
    assert [spares.take_all(kind, count, shape, 6) for count in (1, 2)] == [False, True]
    assert [spares.take_the_rest(kind, 1, shape, rest) for rest in (4, 5)] == [True, False]
    assert [spares.at_most(kind, count, shape) for count in (1, 2)] == [4, 6]
    assert not spares.takes_one(kind, spares.trial.shape_of(waiting("b", memory="5")))
    assert spares.trial.room.free.max() == 4
