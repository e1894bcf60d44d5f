"""Where those who claim could go, and whether nodes take them."""

import pytest

from builders import batch, cluster, node, pod, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.claim_rooms import Wanted, open_to, placed_all, placed_on, room_for, room_for_all
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.constraints import Constraints

CAPACITY = {"cpu": 6000}


def trial_of(**first: str) -> Trial:
    held = pod("b/p", cpu="1")
    return Trial(Columns(cluster(node("n1", cpu="2", **first).holding(held), node("n2", cpu="4"))))


def on(name: str, **amounts: str) -> Workload:
    constraints = Constraints(node_selector={"kubernetes.io/hostname": name})
    return waiting("a/there", constraints=constraints, **amounts)


def test_room_is_what_is_free_of_what_is_asked_for():
    trial = trial_of(memory="1Gi")
    shape = trial.shape_of(waiting("a/new", cpu="1"))
    nodes = room_for(trial, CAPACITY, shape)
    assert nodes.free == {"n1": {"cpu": 1000}, "n2": {"cpu": 4000}}
    assert nodes.capacity == CAPACITY


def test_a_node_that_is_lost_has_no_room():
    trial = trial_of()
    shape = trial.shape_of(waiting("a/new", cpu="1"))
    trial.lose(trial.row_of["n2"])
    assert list(room_for(trial, CAPACITY, shape).free) == ["n1"]
    assert list(room_for_all(trial, CAPACITY, [shape]).free) == ["n1"]


def test_several_shapes_have_the_nodes_of_any_of_them_and_each_its_own():
    trial = Trial(
        Columns(
            cluster(
                *(
                    node(name, cpu="2").labelled({"kubernetes.io/hostname": name})
                    for name in ("n1", "n2", "n3")
                )
            )
        )
    )
    shapes = [trial.shape_of(on("n1", cpu="1")), trial.shape_of(on("n2", cpu="1"))]
    nodes = room_for_all(trial, CAPACITY, shapes)
    assert sorted(nodes.free) == ["n1", "n2"]
    assert open_to(trial, shapes, ["n1", "n2"]).tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize(("names", "fits"), [(["n1", "n2"], True), (["n1", "n1"], False)])
def test_shapes_are_placed_all_or_none(names, fits):
    trial = trial_of()
    shape = trial.shape_of(waiting("a/new", cpu="1"))
    before = trial.room.free.copy()
    assert placed_on(trial, [shape, shape], names, []) == fits
    assert (trial.room.free == before).all() != fits


def test_who_goes_makes_room():
    trial = trial_of()
    (held,) = trial.columns.snapshot.workloads
    shape = trial.shape_of(waiting("a/new", cpu="2"))
    assert not placed_on(trial, [shape], ["n1"], [])
    assert placed_on(trial, [shape], ["n1"], [held])


def test_where_nodes_do_not_take_them_scores_choose_others():
    trial = trial_of()
    asked = batch(2, waiting("a/new", cpu="1"))
    wanted = [Wanted(asked.workload, trial.shape_of(asked.workload), 2)]
    assert sorted(placed_all(trial, wanted, ["n1", "n1"], [])) != ["n1", "n1"]
    assert placed_all(trial, [wanted[0]._replace(replicas=9)], ["n1"] * 9, []) == []
