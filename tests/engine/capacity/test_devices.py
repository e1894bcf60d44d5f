"""GPUs by model: what is free, and what still starts."""

import msgspec
import pytest

from builders import GPU, cluster, node, pod, policy, resources
from ullage.engine.capacity.devices import SIZES, DeviceSummary, summarise_devices
from ullage.engine.columns import Columns
from ullage.model.cluster import Device
from ullage.model.resources import GPU_MILLI
from ullage.model.table import Table


def summaries(*nodes, **settings) -> list[DeviceSummary]:
    return summarise_devices(Columns(cluster(*nodes, policy=policy(**settings))))


def starts(*counts: int) -> dict[int, int]:
    return dict(zip((8, 4, 2, 1), counts, strict=True))


def test_starts_are_counted_for_eight_four_two_and_one():
    assert SIZES == (8, 4, 2, 1)


def test_free_devices_on_different_nodes_serve_no_workload_together():
    nodes = [node(f"n{index}").with_gpus(4).holding(pod(f"p{index}", gpu=2)) for index in range(3)]
    assert summaries(*nodes) == [DeviceSummary("L4", GPU, 3, 12, 6, starts(0, 0, 3, 6))]


def test_models_are_apart_and_in_order_of_names():
    found = summaries(
        node("a").with_gpus(8, "L40"),
        node("b").with_gpus(4, "A100"),
        node("c").with_gpus(2, "L40"),
        node("d", cpu="4"),
    )
    assert found == [
        DeviceSummary("A100", GPU, 1, 4, 4, starts(0, 1, 2, 4)),
        DeviceSummary("L40", GPU, 2, 10, 10, starts(1, 2, 5, 10)),
    ]


@pytest.mark.parametrize("state", ["cordoned", "offline"])
def test_a_node_that_takes_no_workloads_has_nothing_free(state):
    found = summaries(node("a").with_gpus(8).with_(state=state), node("b").with_gpus(1))
    assert found == [DeviceSummary("L4", GPU, 2, 9, 1, starts(0, 0, 0, 1))]


def test_a_device_without_a_model_is_of_an_unknown_one():
    assert summaries(node("a").with_gpus(1, "")) == [
        DeviceSummary("unknown model", GPU, 1, 1, 1, starts(0, 0, 0, 1))
    ]


def test_devices_that_nobody_can_request_are_not_free():
    bare = node("a", cpu="4").with_(devices=(Device("g0", model="L4"),))
    assert summaries(bare) == [DeviceSummary("L4", GPU, 1, 1, 0, starts(0, 0, 0, 0))]


def test_devices_under_several_resource_names_are_several_rows():
    both = node("a", {"amd.com/gpu": "1"}).with_gpus(2)
    both = both.with_(devices=(*both.record.devices, Device("r0", "amd.com/gpu", "MI300")))
    assert summaries(both) == [
        DeviceSummary("L4", GPU, 1, 2, 2, starts(0, 0, 1, 2)),
        DeviceSummary("MI300", "amd.com/gpu", 1, 1, 1, starts(0, 0, 0, 1)),
    ]


def test_several_models_under_one_resource_name_are_a_model_of_their_own():
    mixed = node("a").with_gpus(2, "T4").with_gpus(1, "A100").with_gpus(1, "")
    assert summaries(mixed, node("b").with_gpus(1, "T4")) == [
        DeviceSummary("A100 + T4 + unknown model", GPU, 1, 4, 4, starts(0, 1, 2, 4)),
        DeviceSummary("T4", GPU, 1, 1, 1, starts(0, 0, 0, 1)),
    ]


def test_a_node_that_must_stay_below_its_limit_starts_one_less():
    full = node("b").with_gpus(1).holding(pod("p", gpu=1))
    assert summaries(node("a").with_gpus(8), full, fill="below") == [
        DeviceSummary("L4", GPU, 2, 9, 8, starts(0, 1, 3, 7))
    ]


def test_a_ratio_and_a_reserve_count_as_for_every_resource():
    machine = node("a").with_gpus(4)
    more = {f"{GPU}-ratio": "2"}
    snapshot = cluster(machine.with_(reserve=resources(gpu=1)), policy=policy(nodes={"a": more}))
    assert summarise_devices(Columns(snapshot)) == [DeviceSummary("L4", GPU, 1, 4, 6, starts(0, 1, 3, 6))]


def test_shares_are_counted_as_whole_devices():
    devices = tuple(Device(f"g{index}", GPU_MILLI, "L4") for index in range(2))
    shared = node("n1", {GPU_MILLI: "2000"}).holding(pod("a", {GPU_MILLI: "300"}))
    machine = msgspec.structs.replace(cluster(shared).nodes["n1"], devices=devices)
    snapshot = msgspec.structs.replace(cluster(shared), nodes=Table([machine]))
    (found,) = summarise_devices(Columns(snapshot))
    assert (found.devices, found.free, found.starts) == (2, 1, {8: 0, 4: 0, 2: 0, 1: 1})


def shared(name, count, *sizes):
    devices = tuple(Device(f"{name}-{index}", GPU_MILLI, "L4") for index in range(count))
    running = (pod(f"{name}-{index}", {GPU_MILLI: str(size)}) for index, size in enumerate(sizes))
    return node(name, {GPU_MILLI: str(count * 1000)}).with_(devices=devices).holding(*running)


@pytest.mark.parametrize(
    ("sizes", "free", "started"),
    [
        ((), 4, (0, 1, 2, 4)),
        ((100,), 3, (0, 0, 1, 3)),
        ((500, 500), 3, (0, 0, 1, 3)),
        ((600, 600), 2, (0, 0, 1, 2)),
        ((600, 600, 600, 600), 0, (0, 0, 0, 0)),
        ((2000, 100), 1, (0, 0, 0, 1)),
    ],
)
def test_a_device_of_which_a_share_is_taken_is_not_free(sizes, free, started):
    assert summaries(shared("n", 4, *sizes)) == [
        DeviceSummary("L4", GPU_MILLI, 1, 4, free, starts(*started)),
    ]


def test_a_share_makes_a_device_that_is_also_had_whole_unfree():
    both = node("n", {GPU_MILLI: "4000"}).with_gpus(4)
    both = both.holding(pod("s", {GPU_MILLI: "100"}), pod("w", gpu=1))
    assert summaries(both) == [DeviceSummary("L4", GPU, 1, 4, 2, starts(0, 0, 1, 2))]


def test_a_limit_that_must_not_be_reached_keeps_one_device_of_shares():
    assert summaries(shared("n", 2), fill="below") == [
        DeviceSummary("L4", GPU_MILLI, 1, 2, 2, starts(0, 0, 0, 1))
    ]
