"""Where the policy `preferences` puts workloads; tests/test_preference_parity.py has the scores judged."""

import pytest

from builders import cluster, container, node, pod, tolerating, waiting
from ullage.engine.columns import Columns
from ullage.engine.trial import Trial
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    NodeAffinity,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredNodeTerm,
    Requirement,
    TopologySpread,
    WeightedPodAffinityTerm,
)

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
WEB = LabelSelector({"app": "web"})
LABELS = {"app": "web"}
NEAR_WEB = PodAffinity(preferred=(WeightedPodAffinityTerm(10, PodAffinityTerm(ZONE, WEB)),))


def place(name: str, zone: str, size: int = 10):
    return node(name, cpu=size, memory=f"{size}Gi", pods=20).labelled({ZONE: zone, HOSTNAME: name})


def trial(*parts) -> Trial:
    return Trial(Columns(cluster(*parts)), "preferences")


def small(name: str, **fields):
    return waiting(name, cpu="1", memory="1Gi", pods=1, **fields)


def running(name: str, **fields):
    return pod(name, cpu="1", memory="1Gi", pods=1, **fields)


def chosen(tried: Trial, workload) -> str:
    """Place one more and name its node, nothing where none takes it."""
    shape = tried.shape_of(workload)
    row = tried.pick(shape)
    if row < 0:
        return ""
    tried.place(shape, row)
    return tried.nodes[row].name


def preferring(key: str, value: str, weight: int = 1) -> Constraints:
    term = NodeSelectorTerm((Requirement(key, "In", (value,)),))
    return Constraints(affinity=Affinity(NodeAffinity(preferred=(PreferredNodeTerm(weight, term),))))


def drawn(near: PodAffinity | None = None, away: PodAffinity | None = None) -> Constraints:
    return Constraints(affinity=Affinity(pod_affinity=near, pod_anti_affinity=away))


def softly_spread(key: str = ZONE) -> Constraints:
    return Constraints(topology_spread=(TopologySpread(1, key, "ScheduleAnyway", WEB),))


def test_equal_totals_go_to_the_first_node():
    assert chosen(trial(place("a", "z1"), place("b", "z2")), small("w")) == "a"


def test_the_emptier_node_is_preferred():
    tried = trial(place("a", "z1").holding(running("x")), place("b", "z2"))
    assert chosen(tried, small("w")) == "b"


def test_nothing_is_chosen_where_nothing_fits():
    assert chosen(trial(place("a", "z1", 0)), small("w")) == ""
    assert chosen(trial(), small("w")) == ""
    assert chosen(trial(place("a", "z1", 0)), small("w", constraints=preferring(ZONE, "z1"))) == ""


def test_workloads_that_state_nothing_still_fill_nodes_in_turn():
    tried = trial(place("a", "z1"), place("b", "z2"))
    assert [chosen(tried, waiting("w", pods=1)) for _ in range(4)] == ["a", "b", "a", "b"]


def test_workloads_of_more_containers_are_another_shape():
    tried = trial(place("a", "z1"))
    one, two = (
        small("w", containers=parts) for parts in ((container("c"),), (container("c"), container("d")))
    )
    assert tried.shape_of(one) is not tried.shape_of(two)


def test_soft_taints_are_avoided_unless_tolerated():
    tried = trial(
        place("a", "z1").tainted("slow", effect="PreferNoSchedule"), place("b", "z2").holding(running("x"))
    )
    assert chosen(tried, small("w")) == "b"
    assert chosen(tried, small("w", constraints=tolerating("slow"))) == "a"


def test_preferred_nodes_win_over_room():
    tried = trial(place("a", "z1"), place("b", "z2").holding(*(running(f"x{index}") for index in range(9))))
    assert chosen(tried, small("w", constraints=preferring(ZONE, "z2"))) == "b"
    assert chosen(tried, small("w", constraints=preferring(ZONE, "z3"))) == "a"


def test_soft_spreads_even_out_zones_where_room_alone_would_not():
    nodes = [place("a", "z1", 30), place("b", "z1", 30), place("c", "z2")]
    tried = trial(*nodes)
    workload = small("w", labels=LABELS, constraints=softly_spread())
    assert sorted(chosen(tried, workload) for _ in range(4)) == ["a", "b", "c", "c"]


def test_a_soft_spread_never_refuses():
    tried = trial(place("a", "z1"))
    workload = small("w", labels=LABELS, constraints=softly_spread())
    assert [chosen(tried, workload) for _ in range(3)] == ["a"] * 3


def test_nodes_without_the_label_of_a_stated_spread_come_last():
    bare = node("a", cpu="90", memory="90Gi", pods=20)
    workload = small("w", labels=LABELS, constraints=softly_spread())
    assert chosen(trial(bare, place("b", "z1").holding(running("x", labels=LABELS))), workload) == "b"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"owner": "ReplicaSet/web-1"}, ["b", "c"], id="a replica"),
        pytest.param({"kind": "Deployment"}, ["b", "c"], id="the template of a set"),
        pytest.param({"owner": "Job/web"}, ["a", "a"], id="no replica of a spread set"),
        pytest.param({"owner": "ReplicaSet/web-1", "labels": {}}, ["a", "a"], id="without labels"),
    ],
)
def test_replicas_of_a_set_are_spread_by_default(fields, expected):
    held = place("a", "z1", 90).holding(running("x", labels=LABELS))
    tried = trial(held, place("b", "z2"), place("c", "z3"))
    workload = small("w", **{"labels": LABELS, **fields})
    assert [chosen(tried, workload) for _ in range(2)] == expected


def test_the_default_spread_is_over_zones_too():
    held = place("a", "z1").holding(running("x", labels=LABELS))
    workload = small("w", labels=LABELS, kind="StatefulSet")
    assert chosen(trial(held, place("b", "z1", 12), place("c", "z2")), workload) == "c"


def test_a_stated_spread_replaces_the_default():
    held = place("a", "z1", 90).holding(running("x", labels=LABELS))
    stated = Constraints(topology_spread=(TopologySpread(9, ZONE, "DoNotSchedule", WEB),))
    workload = small("w", labels=LABELS, kind="Deployment", constraints=stated)
    assert chosen(trial(held, place("b", "z2")), workload) == "a"


def test_preferred_neighbours_draw_and_push():
    held = place("b", "z2").holding(running("x", labels=LABELS))
    nodes = (place("a", "z1"), held, place("c", "z2"))
    assert chosen(trial(*nodes), small("w", constraints=drawn(near=NEAR_WEB))) == "c"
    assert chosen(trial(*nodes), small("w", constraints=drawn(away=NEAR_WEB))) == "a"


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        pytest.param(drawn(near=NEAR_WEB), "c", id="prefers to be near it"),
        pytest.param(drawn(away=NEAR_WEB), "a", id="prefers to be away from it"),
        pytest.param(
            drawn(near=PodAffinity(required=(PodAffinityTerm(ZONE, WEB),))),
            "c",
            id="must be near one of its kind",
        ),
    ],
)
def test_terms_of_running_workloads_work_on_newcomers(owner, expected):
    nodes = (place("a", "z1"), place("b", "z2").holding(running("x", constraints=owner)), place("c", "z2"))
    assert chosen(trial(*nodes), small("w", labels=LABELS)) == expected


def test_terms_count_that_become_known_after_the_first_choice():
    tried = trial(place("a", "z1", 11), place("b", "z2"), place("c", "z2"))
    web = small("w", labels=LABELS, constraints=softly_spread(HOSTNAME))
    assert tried.nodes[tried.pick(tried.shape_of(web))].name == "a"
    tried.place(tried.shape_of(small("v", constraints=drawn(near=NEAR_WEB))), tried.row_of["b"])
    assert chosen(tried, web) == "c"


def test_only_nodes_that_take_the_workload_are_compared():
    full = place("a", "z1", 0).tainted("slow", effect="PreferNoSchedule")
    tried = trial(
        full.tainted("old", effect="PreferNoSchedule"),
        place("b", "z2").tainted("slow", effect="PreferNoSchedule"),
    )
    assert tried.preferences is not None
    shape = tried.shape_of(small("w"))
    parts = tried.preferences.by_plugin(shape, tried.scores(shape), tried.wide_open(shape))
    assert parts["TaintToleration"].tolist() == [0]


def test_undo_gives_back_the_scores():
    tried = trial(place("a", "z1"), place("b", "z2"), place("c", "z2"))
    assert tried.preferences is not None
    shape = tried.shape_of(small("w", labels=LABELS, constraints=softly_spread(HOSTNAME), kind="Deployment"))

    def parts():
        found = tried.preferences.by_plugin(shape, tried.scores(shape), tried.wide_open(shape))
        return {plugin: scores.tolist() for plugin, scores in found.items()}

    before, mark = parts(), tried.mark()
    for row in (0, 0, 2):
        tried.place(shape, row)
    assert parts() != before
    tried.undo(mark)
    assert parts() == before
