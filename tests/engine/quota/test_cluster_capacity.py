"""What a cluster can promise in all, and what of it quotas divide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, node, pod, policy, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.cluster_capacity import cluster_capacity, shared_capacity
from ullage.model.quantity import INT64_MAX

GPU_MEMORY = "nos.nebuly.com/gpu-memory"
STATES = ("ready", "cordoned", "offline")


def test_nodes_that_are_offline_promise_nothing():
    found = cluster_capacity(
        Columns(
            cluster(
                node("n1", cpu=4, memory="8Gi"),
                node("n2", cpu=2, memory="8Gi").with_(state="cordoned"),
                node("n3", cpu=9, memory="8Gi").with_(state="offline"),
            )
        )
    )
    assert found["cpu"] == 6000
    assert GPU_MEMORY not in found


@pytest.mark.parametrize("capacity", [cluster_capacity, shared_capacity])
def test_gpu_memory_follows_from_whole_gpus_and_slices(capacity):
    gpus = node("n1", cpu=4, **{"nvidia.com/gpu": "2", "nvidia.com/mig-1g.10gb": "3"})
    slices = node("n2", cpu=4, **{"nvidia.com/gpu-10gb": "4"})
    assert capacity(Columns(cluster(gpus, slices)))[GPU_MEMORY] == 2 * 32 + 3 * 10 + 4 * 10


@pytest.mark.parametrize("capacity", [cluster_capacity, shared_capacity])
def test_a_resource_without_a_bound_has_the_largest_number(capacity):
    unlimited = cluster(node("n1", cpu=4), policy=policy(**{"cpu-ratio": "unlimited"}))
    assert capacity(Columns(unlimited))["cpu"] == INT64_MAX


@pytest.mark.parametrize(
    ("state", "held", "shared"),
    [
        ("ready", ["1"], 4000),
        ("cordoned", [], 0),
        ("cordoned", ["1", "2"], 3000),
        ("cordoned", ["3", "3"], 4000),
        ("offline", ["1"], 0),
    ],
    ids=["open: whole", "cordoned: nothing", "cordoned: what runs", "cordoned: at most its limit", "offline"],
)
def test_quotas_divide_open_nodes_whole_and_of_cordoned_ones_what_runs_there(state, held, shared):
    there = [pod(f"p{number}", cpu=amount) for number, amount in enumerate(held)]
    found = shared_capacity(Columns(cluster(node("n1", cpu=4).holding(*there).with_(state=state))))
    assert found["cpu"] == shared


def test_of_a_cordoned_node_without_a_bound_quotas_divide_what_runs_there():
    closed = node("n1", cpu=4).holding(pod("p", cpu=9)).cordoned()
    unlimited = cluster(closed, policy=policy(**{"cpu-ratio": "unlimited"}))
    assert shared_capacity(Columns(unlimited))["cpu"] == 9000


def test_of_a_cordoned_node_the_gpu_memory_counts_that_is_held():
    closed = node("n1", gpu=4).holding(pod("p", gpu=1)).cordoned()
    assert shared_capacity(Columns(cluster(node("n2", gpu=1), closed)))[GPU_MEMORY] == 32 + 32


@given(
    st.lists(st.sampled_from(STATES), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.booleans()), max_size=8),
)
def test_what_quotas_divide_moves_with_what_runs_on_cordoned_nodes_alone(states, placed):
    """Pods that start and end elsewhere do not move it, and it is never more than the cluster has."""

    def columns(*, open_too: bool) -> Columns:
        nodes = {name: node(name, cpu=4).with_(state=state) for name, state in names.items()}
        rest = []
        for number, (place, amount, ended) in enumerate(placed):
            name = f"n{place % len(states)}"
            runs = not ended and (open_too or names[name] == "cordoned")
            each = pod(f"p{number}", cpu=amount) if runs else waiting(f"p{number}", cpu=amount)
            if runs:
                nodes[name] = nodes[name].holding(each)
            else:
                rest.append(each)
        return Columns(cluster(*nodes.values(), *rest))

    names = {f"n{number}": state for number, state in enumerate(states)}
    full, empty = columns(open_too=True), columns(open_too=False)
    assert shared_capacity(full) == shared_capacity(empty)
    whole, shared = cluster_capacity(full), shared_capacity(full)
    assert all(shared[name] <= amount for name, amount in whole.items())
    assert "cordoned" in states or shared == whole
