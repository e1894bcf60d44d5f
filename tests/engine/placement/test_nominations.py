"""Those for whom others were evicted keep their places: nobody else has to go in the stead of who went."""

import msgspec
import pytest

from builders import cluster, node, policy, quota, waiting, workload
from ullage.engine.columns import Columns
from ullage.engine.placement.scheduling import Cycle, schedule
from ullage.model.cluster import Snapshot, Workload

QUOTAS = (quota("a", {"cpu": "6"}), quota("b", {"cpu": "1"}))
SMALL, LARGE = waiting("a/small", cpu=1), waiting("a/zlarge", cpu=2)


def full(*nodes) -> Snapshot:
    return cluster(*nodes, *QUOTAS, policy=policy(quota_mode="fair"))


def of_b(name: str, **parts) -> Workload:
    return workload(f"b/{name}", cpu=1, **parts)


def cycle(snapshot: Snapshot, nominated: dict[str, str], *pods: Workload) -> Cycle:
    asked = msgspec.structs.replace(snapshot, workloads=snapshot.workloads.changed(pods))
    return schedule(Columns(asked), pods, nominated=nominated)


def places(done: Cycle) -> dict[str, str]:
    return {each.workload: each.node for each in (*done.bound, *done.nominated)}


def evicted(done: Cycle) -> list[str]:
    return [each.workload for later in done.nominated for each in later.evicted]


HALF_FREE = full(
    node("n0", cpu=2).holding(of_b("x", terminating=True)),
    node("n1", cpu=2).holding(of_b("y", terminating=True), of_b("z")),
)
"""Of the two who go for the large one on n0 one is gone."""


@pytest.mark.parametrize("pods", [(SMALL, LARGE), (LARGE, SMALL)])
def test_a_small_one_takes_no_part_of_what_was_made_free_for_a_large_one(pods):
    done = cycle(HALF_FREE, {"a/small": "n1", "a/zlarge": "n0"}, *pods)
    assert places(done) == {"a/small": "n1", "a/zlarge": "n0"}
    assert not evicted(done)


def test_who_waits_for_its_place_takes_one_that_is_free_now():
    roomy = full(node("n0", cpu=1).holding(of_b("x", terminating=True)), node("n1", cpu=1))
    done = cycle(roomy, {"a/small": "n0"}, SMALL)
    assert [(each.workload, each.node) for each in done.bound] == [("a/small", "n1")]


def test_a_node_that_is_gone_is_no_place():
    done = cycle(full(node("n1", cpu=1)), {"a/small": "n0"}, SMALL)
    assert [(each.workload, each.node) for each in done.bound] == [("a/small", "n1")]


def test_nobody_is_evicted_at_a_place_for_one_who_can_run_elsewhere():
    roomy = full(node("n0", cpu=2).holding(of_b("x"), of_b("y")), node("n1", cpu=1))
    done = cycle(roomy, {"a/small": "n0"}, SMALL)
    assert [(each.workload, each.node) for each in done.bound] == [("a/small", "n1")]
    assert not evicted(done)


def test_the_rest_is_evicted_for_one_of_whose_victims_some_have_gone():
    busy = full(
        node("n0", cpu=2).holding(of_b("x", terminating=True), of_b("y")),
        node("n1", cpu=2).holding(of_b("u"), of_b("v")),
    )
    done = cycle(busy, {"a/zlarge": "n0"}, LARGE)
    assert places(done) == {"a/zlarge": "n0"}
    assert evicted(done) == ["b/y"]


def test_by_priority_too_a_place_is_kept():
    calm = cluster(
        node("n0", cpu=2).holding(of_b("x", terminating=True)),
        node("n1", cpu=2).holding(of_b("y", terminating=True), of_b("z", priority=9)),
    )
    small, large = waiting("a/small", cpu=1, priority=9), waiting("a/zlarge", cpu=2, priority=9)
    done = cycle(calm, {"a/small": "n1", "a/zlarge": "n0"}, small, large)
    assert places(done) == {"a/small": "n1", "a/zlarge": "n0"}
    assert not evicted(done)


def important(name: str, priority: int) -> Workload:
    return waiting(name, cpu=1, priority=priority)


ONE_LEAVES = cluster(
    node("n0", cpu=1).holding(workload("old", cpu=1, terminating=True)),
    node("n1", cpu=1).holding(workload("other", cpu=1, priority=9)),
)


def test_a_more_important_one_that_comes_later_has_the_place_before_somebody_takes_it_and_must_go():
    low, high = important("low", 1), important("high", 5)
    done = cycle(ONE_LEAVES, {"low": "n0"}, low, high)
    assert places(done) == {"high": "n0"}
    assert not evicted(done)
    after = cycle(ONE_LEAVES, {"low": "n0", "high": "n0"}, low, high)
    assert places(after) == {"high": "n0"}


def test_of_equals_who_was_nominated_has_the_place():
    done = cycle(ONE_LEAVES, {"low": "n0"}, important("low", 1), important("a-equal", 1))
    assert places(done) == {"low": "n0"}


def test_one_more_important_that_has_no_place_at_all_takes_none_away():
    hopeless = waiting("huge", cpu=64, priority=5)
    done = cycle(ONE_LEAVES, {"low": "n0"}, important("low", 1), important("a-equal", 1), hopeless)
    assert places(done) == {"low": "n0"}


def test_priority_takes_no_place_from_whom_a_quota_counts():
    """Quotas have an order of their own: what one has claimed is not for whoever is more important."""
    done = cycle(full(node("n0", cpu=1)), {"a/small": "n0"}, SMALL, important("c/high", 5))
    assert places(done) == {"a/small": "n0"}
