"""Replicas on GPUs of several sizes: the size is taken for which the best victims go, by their whole cost."""

from random import Random

import msgspec
import pytest

from builders import batch, cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.outcome import Outcome
from ullage.engine.quota import by_gpu_size, judging
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import Constraints
from ullage.model.resources import GPU_MEMORY

GPU = "nvidia.com/gpu"


def gpu_node(name: str, gpus: int, gigabytes: int) -> object:
    return node(name, {GPU: str(gpus), "cpu": "64"}).labelled(
        {"nvidia.com/gpu.memory": str(1024 * gigabytes)}
    )


def outcome_of(snapshot: Snapshot, asked: Workload, replicas: int = 1) -> Outcome:
    (found,) = fit(Columns(snapshot), [batch(replicas, asked)]).outcomes
    return found


def gone(outcome: Outcome) -> list[str]:
    return sorted(each.workload for each in outcome.evicted)


def two_sizes(kind: str) -> Snapshot:
    """One of the asking quota's own is on the large node, two of another on the small one."""
    nodes = [
        gpu_node("n40", 1, 40).holding(pod("b/x", {GPU: "1"}), pod("b/y", cpu="64")),
        gpu_node("n80", 1, 80).holding(pod("a/own", {GPU: "1"})),
    ]
    mins = {"a": {GPU_MEMORY: "300", "cpu": "40"}, "b": {GPU_MEMORY: "0", "cpu": "0"}}
    return cluster(*nodes, *(quota(name, least, kind=kind) for name, least in mins.items()))


@pytest.mark.parametrize("kind", ["Quota", "ElasticQuota"])
def test_two_of_another_quota_go_rather_than_one_of_its_own(kind):
    found = outcome_of(two_sizes(kind), waiting("a/new", {GPU: "1"}, cpu="4", priority=5))
    assert (gone(found), found.nodes) == (["b/x", "b/y"], (("n40", 1),))
    assert found.fewest_proven


def test_each_replica_goes_where_its_own_victims_cost_least():
    nodes = [
        gpu_node("n40", 2, 40).holding(
            pod("b/old", {GPU: "1"}, created_seconds=1), pod("b/young", {GPU: "1"}, created_seconds=9)
        ),
        gpu_node("n80", 1, 80).holding(pod("b/middle", {GPU: "1"}, created_seconds=5)),
    ]
    mins = {"a": {GPU_MEMORY: "160"}, "b": {GPU_MEMORY: "0"}}
    snapshot = cluster(*nodes, *(quota(name, least, kind="ElasticQuota") for name, least in mins.items()))
    found = outcome_of(snapshot, waiting("a/new", {GPU: "1"}), 2)
    assert gone(found) == ["b/middle", "b/young"]
    assert found.nodes == (("n40", 1), ("n80", 1))


def test_turns_are_limited_over_all_sizes(monkeypatch):
    monkeypatch.setattr(judging, "EVICTING_MAX", 1)
    nodes = [
        gpu_node(name, 1, size).holding(pod(f"b/{name}", {GPU: "1"})) for name, size in (("m", 40), ("n", 80))
    ]
    snapshot = cluster(*nodes, quota("a", {GPU_MEMORY: "160"}), quota("b", {GPU_MEMORY: "0"}))
    found = outcome_of(snapshot, waiting("a/new", {GPU: "1"}), 2)
    assert (found.placed, len(found.evicted)) == (1, 1)


def test_nothing_is_proven_where_one_size_was_not_looked_through(monkeypatch):
    found = outcome_of(two_sizes("Quota"), waiting("a/new", {GPU: "1"}, cpu="4", priority=5))
    assert found.fewest_proven
    tried = by_gpu_size._tried

    def unsure(judged, part, outcome):
        one = tried(judged, part, outcome)
        return one._replace(proven=one.proven and part.workload.requests.of(GPU_MEMORY) < 80)

    monkeypatch.setattr(by_gpu_size, "_tried", unsure)
    assert not outcome_of(two_sizes("Quota"), waiting("a/new", {GPU: "1"}, cpu="4", priority=5)).fewest_proven


def only_on(asked: Workload, name: str) -> Workload:
    return msgspec.structs.replace(asked, constraints=Constraints(node_selector={"name": name}))


@pytest.mark.parametrize("seed", range(12))
def test_no_node_by_itself_has_cheaper_victims(seed):
    """What is chosen of all nodes is what is chosen where only one of them is open, for the best of these."""
    random = Random(seed)  # noqa: S311 - nothing secret
    sizes = {"n0": 40, "n1": 80, "n2": 40}
    nodes = []
    for name, size in sizes.items():
        held = [
            pod(f"{random.choice('ab')}/{name}-{number}", {GPU: "1"}, priority=random.choice((0, 5)))
            for number in range(2)
        ]
        nodes.append(gpu_node(name, 2, size).labelled({"name": name}).holding(*held))
    mins = {"a": {GPU_MEMORY: str(random.choice((80, 160, 300)))}, "b": {GPU_MEMORY: "40"}}
    snapshot = cluster(*nodes, *(quota(name, least, kind="ElasticQuota") for name, least in mins.items()))
    asked = waiting("a/new", {GPU: str(random.choice((1, 2)))}, priority=9)
    found = outcome_of(snapshot, asked)
    alone = [outcome_of(snapshot, only_on(asked, name)) for name in sizes]
    assert found.placed == max(each.placed for each in alone)
    if found.placed:
        own = [sum(key.startswith("a/") for key in gone(each)) for each in alone if each.placed]
        assert sum(key.startswith("a/") for key in gone(found)) == min(own)
        assert gone(found) in [gone(each) for each in alone if each.placed]
