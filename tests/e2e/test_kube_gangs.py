"""What gangs without a place are told on a real control plane: what lets all of them run, nothing false."""

import pytest

from kube_cluster import node, pod, until


def on(name: str) -> dict:
    return {"nodeSelector": {"kubernetes.io/hostname": name}}


def member(index: int, cpu: str, **spec: object) -> dict:
    made = pod(f"web/g{index}", labels={"kueue.x-k8s.io/pod-group-name": "g"}, cpu=cpu, spec=spec)
    made["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": "3"}
    return made


KEYS = [f"web/g{index}" for index in range(3)]


@pytest.fixture
def cluster(kube_cluster):
    kube_cluster.namespaces("web", "full")
    return kube_cluster


def test_a_gang_is_told_what_lets_all_of_it_run_and_then_it_runs(cluster):
    cluster.nodes(1, cpu="1")
    cluster.start("scheduler")
    cluster.plane.create(pod("full/f", cpu="1"))
    cluster.wait_until_placed("full/f")
    cluster.plane.create_many([member(index, "1") for index in range(3)])
    told = "smallest change: add 3 nodes with 1 of cpu each: all 3 then fit"
    until(lambda: all(told in cluster.why(key) for key in KEYS), "all are told", 30)
    cluster.plane.create_many([node(f"new{index}", {"cpu": "1"}) for index in range(3)])
    cluster.wait_until_placed(*KEYS)


def test_a_gang_that_is_not_complete_yet_is_told_what_it_waits_for_and_nothing_to_change(cluster):
    cluster.nodes(1, cpu="4")
    cluster.start("scheduler")
    cluster.plane.create(member(0, "1"))
    told = "0/1 nodes: its gang g waits for its other members: {} there"
    until(lambda: cluster.why("web/g0") == told.format("1 of 3 is"), "the first is told")
    cluster.plane.create(member(1, "1"))
    until(lambda: {cluster.why(key) for key in KEYS[:2]} == {told.format("2 of 3 are")}, "both are told")
    cluster.plane.create(member(2, "1"))
    cluster.wait_until_placed(*KEYS)


def test_one_of_a_gang_whose_reason_alone_changes_is_not_told_that_the_others_are_missing(cluster):
    cluster.nodes(2, cpu="4")
    cluster.start("scheduler")
    cluster.plane.create_many(
        [
            pod("full/f0", cpu="2", spec=on("n0")),
            pod("full/f1", cpu="1", spec=on("n0")),
            pod("full/f2", cpu="3", spec=on("n1")),
        ]
    )
    cluster.wait_until_placed("full/f0", "full/f1", "full/f2")
    cluster.plane.create_many(
        [member(0, "3", **on("n0")), *(member(each, "3", **on("n1")) for each in (1, 2))]
    )
    until(lambda: all(map(cluster.why, KEYS)), "all are told")
    before = cluster.why("web/g0")
    cluster.plane.delete("/api/v1/namespaces/full/pods/f1")
    until(lambda: cluster.why("web/g0") != before, "the reason of one has changed")
    assert not any("waits for its other members" in cluster.why(key) for key in KEYS)
