"""Nodes to nodes, field by field."""

import pytest

from sources.kubernetes.kube import amounts, dumped, node, refused
from ullage.model.cluster import Device, Taint

BIG = {"cpu": "8", "memory": "32Gi", "pods": "110"}


def only_node(*items, **options):
    (found,) = dumped(*items, **options).nodes
    return found


# Each row: capacity, allocatable, the node's capacity and its reserve.
SIZES = {
    "the reserve is what is not allocatable": (
        BIG, {"cpu": "7500m", "memory": "30Gi", "pods": "110"},
        amounts(**BIG), amounts(cpu="500m", memory="2Gi", pods="0"),
    ),
    "nothing is allocatable of a resource that allocatable leaves out": (
        {"cpu": "8", "memory": "32Gi"}, {"cpu": "7500m"},
        amounts(cpu="8", memory="32Gi"), amounts(cpu="500m", memory="32Gi"),
    ),
    "without allocatable nothing is stated": (BIG, None, amounts(**BIG), None),
    "the reserve is never negative": (
        {"cpu": "8"}, {"cpu": "9"}, amounts(cpu="8"), amounts(cpu="0"),
    ),
    "what is allocatable is there": (
        {"cpu": "8"}, {"pods": "5"}, amounts(cpu="8", pods="5"), amounts(cpu="8", pods="0"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", SIZES)
def test_capacity_and_reserve(rule):
    capacity, allocatable, expected_capacity, expected_reserve = SIZES[rule]
    fields = {} if allocatable is None else {"allocatable": allocatable}
    found = only_node(node("n1", capacity, **fields))
    assert (found.capacity, found.reserve) == (expected_capacity, expected_reserve)


ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
# Each row: labels and the domain they give.
DOMAINS = {
    "no label, no domain": ({}, ""),
    "the zone": ({ZONE: "z"}, "z"),
    "the zone's old label": ({OLD_ZONE: "old"}, "old"),
    "the new label before the old": ({OLD_ZONE: "old", ZONE: "z"}, "z"),
    "a rack is nearer than a zone": ({ZONE: "z", "topology.kubernetes.io/rack": "r"}, "r"),
    "our own label before all others": ({"ullage.dev/domain": "d", "topology.kubernetes.io/rack": "r"}, "d"),
    "an empty label says nothing": ({"topology.kubernetes.io/rack": "", ZONE: "z"}, "z"),
}


@pytest.mark.parametrize("rule", DOMAINS)
def test_the_domain_of_a_node(rule):
    labels, expected = DOMAINS[rule]
    assert only_node(node("n1", labels=labels)).domain == expected


# Each row: labels and the group they give.
GROUPS = {
    "no label, the default group": ({}, "default"),
    "our own label": ({"ullage.dev/group": "g", "karpenter.sh/nodepool": "k"}, "g"),
    "Google's node pool": ({"cloud.google.com/gke-nodepool": "a"}, "a"),
    "Amazon's node group": ({"eks.amazonaws.com/nodegroup": "a"}, "a"),
    "Microsoft's agent pool": ({"kubernetes.azure.com/agentpool": "a"}, "a"),
    "Karpenter's node pool": ({"karpenter.sh/nodepool": "a"}, "a"),
}


@pytest.mark.parametrize("rule", GROUPS)
def test_the_group_of_a_node(rule):
    labels, expected = GROUPS[rule]
    snapshot = dumped(node("n1", labels=labels))
    assert [each.group for each in snapshot.nodes] == [expected]
    assert list(snapshot.groups.keys()) == [expected]


def test_the_group_label_can_be_chosen():
    labels = {"pool": "a", "ullage.dev/group": "b"}
    assert only_node(node("n1", labels=labels), group_label="pool").group == "a"


READY = {"type": "Ready", "status": "True"}
# Each row: the spec, the conditions, and the state.
STATES = {
    "ready": ({}, [READY], "ready"),
    "cordoned": ({"unschedulable": True}, [READY], "cordoned"),
    "not ready is offline": ({}, [{"type": "Ready", "status": "False"}], "offline"),
    "unknown is offline": ({}, [{"type": "Ready", "status": "Unknown"}], "offline"),
    "offline before cordoned": ({"unschedulable": True}, [{"type": "Ready", "status": "False"}], "offline"),
    "other conditions do not matter": ({}, [READY, {"type": "DiskPressure", "status": "False"}], "ready"),
    "a node that does not say is ready": ({}, [], "ready"),
}


@pytest.mark.parametrize("rule", STATES)
def test_the_state_of_a_node(rule):
    spec, conditions, expected = STATES[rule]
    assert only_node(node("n1", spec=spec, conditions=conditions)).state == expected


def test_labels_taints_and_swap_are_read():
    taints = [{"key": "gpu", "effect": "NoSchedule", "value": "yes"}, {"key": "x", "effect": "NoExecute"}]
    info = {"swap": {"capacity": 4096}, "kernelVersion": "6.1"}
    found = only_node(node("n1", labels={"a": "b"}, spec={"taints": taints}, nodeInfo=info))
    assert found.labels == {"a": "b"}
    assert found.taints == (Taint("gpu", "yes"), Taint("x", "", "NoExecute"))
    assert found.swap_bytes == 4096
    assert only_node(node("n1", nodeInfo={"swap": {}})).swap_bytes is None


def test_each_whole_gpu_is_a_device_with_model_and_memory():
    labels = {"nvidia.com/gpu.product": "A100", "nvidia.com/gpu.memory": "81920"}
    found = only_node(node("n1", {"nvidia.com/gpu": "2"}, labels=labels))
    assert found.devices == (
        Device("nvidia.com/gpu-0", "nvidia.com/gpu", "A100", 80 << 30),
        Device("nvidia.com/gpu-1", "nvidia.com/gpu", "A100", 80 << 30),
    )


def test_gpus_of_another_maker_and_labels_that_are_no_numbers():
    labels = {"amd.com/gpu.product-name": "MI300X", "nvidia.com/gpu.memory": "lots"}
    found = only_node(node("n1", {"amd.com/gpu": "1", "nvidia.com/gpu": "1"}, labels=labels))
    assert found.devices == (
        Device("nvidia.com/gpu-0", "nvidia.com/gpu"),
        Device("amd.com/gpu-0", "amd.com/gpu", "MI300X"),
    )


def test_shares_of_gpus_by_the_thousand_are_no_devices():
    snapshot = dumped(node("n1", {"nvidia.com/gpu": "1025"}))
    assert not snapshot.nodes["n1"].devices
    assert snapshot.unknowns == ("devices not listed: nodes with more than 1024 GPUs: n1",)
    assert len(only_node(node("n1", {"nvidia.com/gpu": "1024"})).devices) == 1024


def test_nodes_of_one_size_share_it():
    first, second = dumped(node("n1", allocatable=BIG), node("n2", allocatable=BIG)).nodes
    assert first.capacity is second.capacity
    assert first.reserve is second.reserve


# Each row: the node's fields, and the message about them.
WRONG = {
    "a capacity that is none": (
        node("n1", {"cpu": "many"}),
        (
            "status.capacity.cpu: quantity 'many': 'm' at character 1 where a digit is expected; write "
            "digits, then nothing or a suffix, for example 500m, 2.5 or 40Mi"
        ),
    ),
    "an allocatable that is none": (
        node("n1", allocatable=[]),
        "status.allocatable: expected a mapping or null, found a list; write a mapping or null",
    ),
    "a negative swap": (
        node("n1", nodeInfo={"swap": {"capacity": -1}}),
        "status.nodeInfo.swap.capacity: swap capacity -1 is negative; use 0 or more",
    ),
    "no name": (node(""), "metadata: the object has no name; add metadata.name"),
    "a taint without effect": (
        node("n1", spec={"taints": [{"key": "a"}]}),
        'spec.taints[0]: the field "effect" is missing; add it',
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    given, expected = WRONG[case]
    assert refused(given) == f"standard input: items[0].{expected}"
