"""Who usually asks for devices, and in which classes of nodes they may lie."""

import msgspec
import numpy as np

from builders import batch, cluster, node, pod, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement import device_mix
from ullage.engine.placement.device_mix import DeviceMix
from ullage.engine.placement.held_devices import offer_of, offered_by
from ullage.engine.placement.node_columns import NodeColumns
from ullage.model.constraints import Constraints
from ullage.model.resources import GPU_MILLI

MODEL = "model"


def gpu_node(name, model=""):
    return node(name, cpu="32", memory="64Gi").with_gpus(2, model).labelled({MODEL: model})


def on(model, **fields):
    return {"constraints": Constraints(node_selector={MODEL: model}), **fields}


def mix_of(*parts, expected=()):
    columns = Columns(cluster(*parts))
    nodes = NodeColumns(columns.nodes)
    offered = offered_by([offer_of(each, only_shared=False) for each in columns.nodes])
    return DeviceMix(columns, nodes, offered, expected)


def sizes(mix):
    """Devices, thousandths and how often, of each typical shape."""
    return [(each.device_count, each.device_milli, count) for each, count in mix.mix.items()]


def test_what_runs_waits_and_is_expected_is_counted_the_most_frequent_first():
    running = [pod(f"r{index}", cpu="1", gpu=1) for index in range(2)]
    mix = mix_of(
        gpu_node("n").holding(*running, pod("plain", cpu="1")),
        waiting("w", gpu=2),
        msgspec.structs.replace(pod("gone", gpu=4), state="deleted"),
        expected=[
            batch(5, waiting("e", gpu=1)),
            batch(1, waiting("w", gpu=2)),
            batch(0, waiting("z", gpu=1)),
        ],
    )
    assert sizes(mix) == [(1, 1000, 5), (1, 1000, 2), (2, 1000, 1)]


def test_the_amounts_of_a_shape_leave_devices_aside():
    mix = mix_of(gpu_node("n"), waiting("w", cpu="2", gpu=1))
    (shape,) = mix.mix
    assert shape.requests == (2000, 0, 0)


def test_an_amount_that_spans_devices_is_not_typical():
    mix = mix_of(node("n", {GPU_MILLI: "2000"}), waiting("w", {GPU_MILLI: "1500"}))
    assert not mix.mix


def test_nodes_that_are_open_to_the_same_workloads_are_a_class():
    nodes = [gpu_node("a", "T4"), gpu_node("b", "L4"), gpu_node("c", "T4"), node("d", cpu="4")]
    mix = mix_of(*nodes, waiting("t", gpu=1, **on("T4")), waiting("any", gpu=1))
    first, second, third, none = mix.classes
    assert first == third
    assert len({first, second, none}) == 3
    assert none == ""
    assert sorted(map(sorted, (shape.models for shape in mix.mix))) == [[], [first]]


def test_a_workload_that_is_welcome_nowhere_has_a_class_of_no_node():
    mix = mix_of(gpu_node("a", "T4"), waiting("x", gpu=1, **on("H100")))
    (shape,) = mix.mix
    assert shape.models
    assert shape.models.isdisjoint(mix.classes)


def test_names_of_resources_tell_nodes_apart():
    shares = node("s", {GPU_MILLI: "2000"}, cpu="8")
    mix = mix_of(gpu_node("g"), shares, waiting("w", gpu=1), waiting("m", {GPU_MILLI: "300"}))
    whole, part = mix.classes
    by_milli = {shape.device_milli: shape.models for shape in mix.mix}
    assert by_milli == {1000: {whole}, 300: {part}}


def test_beyond_so_many_classes_workloads_are_welcome_everywhere(monkeypatch):
    monkeypatch.setattr(device_mix, "CLASSES_MAX", 2)
    nodes = [gpu_node(name, name) for name in ("a", "b", "c")]
    often = [waiting(f"a{index}", gpu=1, **on("a")) for index in range(2)]
    shared = on("a")["constraints"], often[0].requests
    often = [msgspec.structs.replace(each, constraints=shared[0], requests=shared[1]) for each in often]
    mix = mix_of(*nodes, *often, waiting("b", gpu=1, **on("b")))
    assert mix.classes[1] == mix.classes[2] != mix.classes[0]
    assert sorted(len(shape.models) for shape in mix.mix) == [0, 1]


def test_a_workload_without_devices_has_a_shape_too():
    mix = mix_of(gpu_node("a"), waiting("w", gpu=1))
    asking = mix.asking(pod("p", cpu="1").requests, Constraints())
    assert (asking.device_count, asking.open.tolist()) == (0, [True])
    assert mix.shape_of(asking).requests == (1000, 0, 0)
    assert np.sum(mix.asking(pod("p", gpu=1).requests, Constraints()).open) == 1
