"""What a cluster can promise in all."""

from builders import cluster, node, policy
from ullage.engine.columns import Columns
from ullage.engine.quota.cluster_capacity import cluster_capacity
from ullage.model.quantity import INT64_MAX

GPU_MEMORY = "nos.nebuly.com/gpu-memory"


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


def test_gpu_memory_follows_from_whole_gpus_and_slices():
    gpus = node("n1", cpu=4, **{"nvidia.com/gpu": "2", "nvidia.com/mig-1g.10gb": "3"})
    slices = node("n2", cpu=4, **{"nvidia.com/gpu-10gb": "4"})
    assert cluster_capacity(Columns(cluster(gpus, slices)))[GPU_MEMORY] == 2 * 32 + 3 * 10 + 4 * 10


def test_a_resource_without_a_bound_has_the_largest_number():
    unlimited = cluster(node("n1", cpu=4), policy=policy(**{"cpu-ratio": "unlimited"}))
    assert cluster_capacity(Columns(unlimited))["cpu"] == INT64_MAX
