"""The ledger of a snapshot: who counts, what each counts, and what there is to share."""

import msgspec
import pytest

from builders import cluster, container, node, pod, policy, quota, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import QUEUE_GATE, Accounts, counted_request
from ullage.engine.quota.use import quota_use
from ullage.engine.requests import effective_request
from ullage.model.constraints import Constraints
from ullage.model.resources import GPU_MEMORY

MACHINE = node("n1", cpu="64", memory="64Gi", gpu=8)
GPU_QUOTA = quota("ml", {GPU_MEMORY: "64", "cpu": "4"})


def accounts(*parts, **fields) -> Accounts:
    return Accounts(Columns(cluster(*parts, **fields)))


def used(found: Accounts) -> dict[str, int]:
    return dict(found.book.readable(found.standing.used[0]))


WHO_COUNTS = {
    "who runs": (pod("ml/a", cpu="1"), 1000),
    "who is paused": (pod("ml/a", cpu="1", state="paused"), 1000),
    "who is leaving, until it is gone": (pod("ml/a", cpu="1", terminating=True), 1000),
    "not who failed": (pod("ml/a", cpu="1", state="error"), 0),
    "not who is done": (pod("ml/a", cpu="1", state="deleted"), 0),
    "not who waits on its node": (pod("ml/a", cpu="1", state="init"), 0),
    "not who is in no namespace of it": (pod("web/a", cpu="1"), 0),
}
ADMITTED = {
    "who is admitted and has no node": ({}, 1000),
    "who is admitted and held back by a gate": (
        {"constraints": Constraints(scheduling_gates=("kueue.x-k8s.io/topology",))}, 1000,
    ),
    "not who was admitted and is done": ({"state": "deleted"}, 0),
    "not who goes before it has a node": ({"terminating": True}, 0),
    "not who asks": ({"admitted": False}, 0),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "cpu"), ADMITTED.values(), ids=ADMITTED)
def test_what_a_queue_has_admitted_counts_once(fields, cpu):
    asks = msgspec.structs.replace(waiting("ml/a", cpu="1"), **{"admitted": True, **fields})
    found = accounts(MACHINE, asks, GPU_QUOTA)
    assert used(found)["cpu"] == cpu
    assert [each.key for each in found.evictable] == (["ml/a"] if cpu else [])
    assert not found.waiting.keys() & found.running.keys()
    assert quota_use(found.columns)[0].used["cpu"] == cpu
    runs = accounts(MACHINE.holding(pod("ml/a", cpu="1", admitted=True)), GPU_QUOTA)
    assert used(runs)["cpu"] == 1000


@pytest.mark.parametrize(("workload", "cpu"), WHO_COUNTS.values(), ids=WHO_COUNTS)
def test_who_counts(workload, cpu):
    assert used(accounts(MACHINE.holding(workload), GPU_QUOTA))["cpu"] == cpu


def test_a_quota_that_comes_after_its_pods_counts_them():
    before = cluster(MACHINE.holding(pod("ml/a", cpu="1")))
    assert accounts(*before.nodes, *before.workloads, GPU_QUOTA).standing.used[0][0] == 1000


def test_those_of_daemon_sets_count_and_are_not_evicted():
    found = accounts(
        MACHINE.holding(pod("ml/a", cpu="1", owner="DaemonSet/d"), pod("ml/b", cpu="1")), GPU_QUOTA
    )
    assert used(found)["cpu"] == 2000
    assert [each.key for each in found.evictable] == ["ml/b"]


def test_who_is_leaving_is_not_evicted_again():
    found = accounts(MACHINE.holding(pod("ml/a", cpu="1", terminating=True)), GPU_QUOTA)
    assert (list(found.leaving), found.evictable) == (["ml/a"], [])


def test_those_that_are_held_back_by_gates_do_not_ask_yet():
    gated = waiting("ml/b", cpu="1", constraints=Constraints(scheduling_gates=("later",)))
    queued = waiting("ml/c", cpu="1", constraints=Constraints(scheduling_gates=(QUEUE_GATE,)))
    found = accounts(MACHINE, waiting("ml/a", cpu="1"), gated, queued, GPU_QUOTA)
    assert list(found.waiting) == ["ml/a", "ml/c"]


def test_gpu_memory_is_added_to_each_container_before_they_are_summed():
    parts = (
        container("first", "init", more={"nvidia.com/mig-1g.10gb": "3"}),
        container("main", gpu=1),
    )
    both = pod("ml/a", containers=parts, requests=effective_request(parts))
    assert counted_request(both, 32).of(GPU_MEMORY) == 32
    assert counted_request(pod("ml/b", {"nvidia.com/mig-1g.10gb": "1"}, gpu=1), 32).of(GPU_MEMORY) == 42
    assert GPU_MEMORY not in counted_request(pod("ml/c", cpu="1"), 32)


def test_the_size_of_a_gpu_is_that_of_the_node_where_the_policy_tells_groups_apart():
    sizes = policy(groups={"a100": {"gpu-memory": "80"}})
    big = node("n2", cpu="64", gpu=8).in_group("a100")
    found = accounts(
        MACHINE.holding(pod("ml/a", gpu=1)), big.holding(pod("ml/b", gpu=1)), GPU_QUOTA, policy=sizes
    )
    assert used(found)[GPU_MEMORY] == 32 + 80
    assert found.capacity[GPU_MEMORY] == 8 * 32 + 8 * 80


def test_only_what_somebody_has_or_may_have_can_be_shared():
    found = accounts(
        MACHINE,
        node("n2", cpu="10", gpu=1).offline(),
        node("n3", cpu="5").holding(pod("a", cpu="2")).cordoned(),
        GPU_QUOTA,
    )
    assert found.capacity["cpu"] == 66_000
    assert found.capacity[GPU_MEMORY] == 8 * 32


def test_demand_is_of_those_that_run_and_those_that_wait():
    found = accounts(
        node("n1", cpu="10").holding(pod("ml/a", cpu="6")),
        waiting("web/b", cpu="9"),
        quota("ml", {"cpu": "2"}),
        quota("web", {"cpu": "2"}),
    )
    assert found.rules.entitlements == ((5000,), (5000,))
    assert found.standing.sum_of_use() == (0,)
    assert resources(cpu="6") == found.running["ml/a"].takes
