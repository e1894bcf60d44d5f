"""What a whole GPU counts for: by the policy, by what nodes say of their GPUs, by the default."""

import pytest

from builders import cluster, node, policy
from ullage.engine.quota.gpu_sizes import GpuSizes, measured_gigabytes
from ullage.model.cluster import Device

GPU = "nvidia.com/gpu"
GIB = 1 << 30


def gpus(name="n", devices=(), labels=None, **fields):
    return node(name, {GPU: "2"}).with_(devices=tuple(devices), labels=labels or {}, **fields)


def device(model="", memory_bytes=0, resource=GPU):
    return Device("d", resource, model, memory_bytes)


@pytest.mark.parametrize(
    ("devices", "labels", "gigabytes"),
    [
        ([], {}, 0),
        ([device(memory_bytes=80 * GIB)], {}, 80),
        ([device(memory_bytes=80 * GIB + 1)], {}, 81),
        ([device(memory_bytes=40 * GIB), device(memory_bytes=80 * GIB)], {}, 80),
        ([device(memory_bytes=80 * GIB, resource="amd.com/gpu")], {}, 0),
        ([], {"nvidia.com/gpu.memory": "81920"}, 80),
        ([], {"nvidia.com/gpu.memory": "40537"}, 40),
        ([], {"nvidia.com/gpu.memory": "much"}, 0),
        ([], {"nvidia.com/gpu.memory": "9" * 20}, 0),
        ([device("NVIDIA-A100-SXM4-80GB")], {}, 80),
        ([device("A100-80GB", 40 * GIB)], {}, 40),
        ([], {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}, 32),
        ([], {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"}, 10),
        ([], {"nvidia.com/gpu.product": "Tesla-T4"}, 0),
        ([], {"nvidia.com/gpu.product": "A100-80GB", "nvidia.com/gpu.memory": "40960"}, 40),
    ],
)
def test_what_a_node_says_of_its_gpus(devices, labels, gigabytes):
    assert measured_gigabytes(gpus(devices=devices, labels=labels).record) == gigabytes


def sizes(*nodes, **fields):
    found = GpuSizes(cluster(*nodes, policy=policy(**fields)))
    return [found.of(each.record) for each in nodes], found.waiting


LARGE = gpus("large", [device(memory_bytes=80 * GIB)])
PLAIN = gpus("plain")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ([80, 32], 80)),
        ({"gpu_memory": "40"}, ([40, 40], 40)),
        ({"nodes": {"plain": {"gpu-memory": "16"}}}, ([80, 16], 80)),
        ({"nodes": {"large": {"gpu-memory": "16"}}}, ([16, 32], 32)),
        ({"groups": {"default": {"gpu-memory": "24"}}}, ([24, 24], 24)),
        ({"nodes": {"large": {"cpu-ratio": "2"}}}, ([80, 32], 80)),
    ],
)
def test_a_policy_that_names_a_size_decides(fields, expected):
    assert sizes(LARGE, PLAIN, **fields) == expected


def test_one_that_waits_counts_by_the_largest_that_is_there():
    off = gpus("off", [device(memory_bytes=80 * GIB)], state="offline")
    assert sizes(off, PLAIN)[1] == 32
    assert sizes(node("n", cpu="1"), gpu_memory="7")[1] == 7
    found = GpuSizes(cluster(LARGE, PLAIN, policy=policy()))
    assert [found.of_name(name) for name in ("", "gone", "plain")] == [80, 80, 32]
