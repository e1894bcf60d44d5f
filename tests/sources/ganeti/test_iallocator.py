"""Allocator messages: read as sent, and refused in one line that says which part is wrong."""

import json
from copy import deepcopy
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster, random_kind
from ganeti_messages import message_of, random_request, sendable
from ullage.engine.balance.requests import (
    Allocate,
    AllocateMany,
    AllocateStandby,
    ChangeGroup,
    Evacuate,
    Relocate,
)
from ullage.model.errors import InputError
from ullage.sources.ganeti.iallocator import read_cluster, read_message

EVACUATION = {"type": "node-evacuate", "instances": ["i"], "evac_mode": "all"}
CLUSTER = ganeti_cluster([ganeti_node("a"), ganeti_node("b")], instance("i", "a", "b"), instance("j", "b"))


def message(request: dict[str, Any] | None = None) -> dict[str, Any]:
    return message_of(CLUSTER, request or EVACUATION)


def asked(**fields: Any) -> dict[str, Any]:
    described = {
        "memory": 100, "vcpus": 1, "disks": [{"size": 10}, {"size": 20, "spindles": 2}], "tags": ["t"],
        "disk_space_total": 31, "disk_template": "drbd", "spindle_use": 1, "nics": [{"network": "red"}, {}],
    }  # fmt: skip
    return {"name": "new", "required_nodes": 2, **described, **fields}


def complaint(content: Any) -> str:
    with pytest.raises(InputError) as raised:
        read_message(content if isinstance(content, str) else json.dumps(content))
    text = str(raised.value)
    assert "\n" not in text
    return text


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_a_cluster_is_read_as_it_was_sent(seed: int) -> None:
    cluster = sendable(random_cluster(seed, random_kind(seed)._replace(offline_share=0.0)))
    request = random_request(Random(seed), cluster)  # noqa: S311 - seeded cases, no secrets
    found = read_cluster(json.dumps(message_of(cluster, request)))
    nodes = tuple(replace(node, master=False, hypervisor="xen-pvm") for node in cluster.nodes)
    instances = tuple(replace(each, disk_bytes=each.disk_total_bytes) for each in cluster.instances)
    assert found == replace(cluster, nodes=nodes, instances=instances)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"offline": True}, id="offline"),
        pytest.param({"vm_capable": False}, id="not for instances"),
    ],
)
def test_a_node_that_cannot_be_asked_is_offline_and_its_sizes_are_not_read(changes):
    sent = message()
    sent["nodes"]["b"] |= {**changes, "total_memory": None, "free_disk": "?"}
    node = read_message(json.dumps(sent)).cluster.nodes[1]
    assert (node.offline, node.memory_bytes, node.disk_free_bytes, node.cpu_node_milli) == (True, 0, 0, 0)


def test_a_drained_node_is_offline_with_its_sizes():
    sent = message()
    sent["nodes"]["b"]["drained"] = True
    node = read_message(json.dumps(sent)).cluster.nodes[1]
    assert (node.offline, node.memory_bytes) == (True, 1000 << 20)


def test_the_memory_ratio_of_a_group_and_of_the_cluster_are_read_as_written():
    sent = message()
    sent["nodegroups"]["g"]["ipolicy"]["memory-ratio"] = 1.1
    sent["ipolicy"] = {"memory-ratio": 2}
    found = read_message(json.dumps(sent)).cluster
    assert found.groups[0].policy is not None
    assert (found.groups[0].policy.memory_ratio, found.policy.memory_ratio) == (Fraction(11, 10), Fraction(2))


def test_an_instance_that_is_asked_for_is_read_with_all_its_parts():
    request = {"type": "allocate", **asked(), "group_name": "g", "restrict-to-nodes": ["a"]}
    found = read_message(json.dumps(message(request))).request
    assert isinstance(found, Allocate)
    wanted = found.wanted
    assert (found.restricted, wanted.group, wanted.hosts) == (("a",), "g", 2)
    assert [(disk.size_bytes >> 20, disk.spindles) for disk in wanted.instance.disks] == [(10, None), (20, 2)]
    assert (wanted.instance.disk_total_bytes >> 20, wanted.instance.networks) == (31, ("red",))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(EVACUATION, Evacuate(("i",), "all"), id="node-evacuate"),
        pytest.param(
            {"type": "relocate", "name": "i", "required_nodes": 1, "relocate_from": ["b"]},
            Relocate("i", 1, ("b",)),
            id="relocate",
        ),
        pytest.param(
            {"type": "change-group", "instances": ["i"], "target_groups": ["g"]},
            ChangeGroup(("i",), ("g",)),
            id="change-group",
        ),
        pytest.param(
            {"type": "allocate-secondary", "name": "j"}, AllocateStandby("j"), id="allocate-secondary"
        ),
    ],
)
def test_a_request_is_read(request_, expected):
    assert read_message(json.dumps(message(request_))).request == expected


def test_each_of_many_instances_has_its_own_group_else_that_of_the_request():
    many = [asked(group_name="g"), asked(), asked(group_name=None)]
    request = {"type": "multi-allocate", "instances": many, "group_name": "h"}
    found = read_message(json.dumps(message(request))).request
    assert isinstance(found, AllocateMany)
    assert [each.group for each in found.wanted] == ["g", "h", "h"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            "", "Invalid JSON: a JSON text a serialized object or array at the top level.", id="empty"
        ),
        pytest.param("{", "Malformed JSON: Input data was truncated", id="cut off"),
        pytest.param("[]", "Unable to read JSObject", id="a list"),
        pytest.param('{"a":1} x', "Malformed JSON", id="more after the end"),
        pytest.param("[" * 100_000, "Malformed JSON", id="very deep"),
    ],
)
def test_what_is_no_message_is_refused(content, expected):
    assert complaint(content).startswith(f"Parsing input IAllocator message: {expected}")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("request",), 1, "invalid iallocator message: key 'request': Unable to read JSObject"),
        (("cluster_tags",), "x", "invalid iallocator message: key 'cluster_tags': Unable to read list"),
        (("enabled_hypervisors",), ["zz"], 'Invalid string value for type Hypervisor: "zz"'),
        (("nodegroups", "g", "alloc_policy"), "x", "invalid data for group 'g': key 'alloc_policy'"),
        (("nodegroups", "g", "ipolicy", "std"), 3, "key 'ipolicy': key 'std': Unable to read JSObject"),
        (("nodegroups", "g", "ipolicy", "extra"), 3, "Superfluous dictionary keys: extra"),
        (("nodegroups", "g", "ipolicy", "memory-ratio"), -1, "key 'memory-ratio': -1.0 is below zero"),
        (
            ("nodes", "a", "total_memory"),
            "x",
            "invalid data for node 'a': key 'total_memory': Unable to read",
        ),
        (("nodes", "a", "group"), "zz", "Unknown group 'zz' for node a"),
        (("nodes", "a", "ndparams"), {}, "invalid data for node 'a': key 'exclusive_storage' not found"),
        (
            ("instances", "i", "memory"),
            None,
            "invalid data for instance 'i': key 'memory': Unable to read Int",
        ),
        (("instances", "i", "nodes"), [], "empty node list for instance i"),
        (("instances", "i", "nodes"), ["q"], "Unknown node 'q' for instance i"),
        (("instances", "i", "nodes"), ["a", "a"], "'a' is its node twice"),
        (("instances", "i", "nics"), [{"mode": "zz"}], "invalid NIC mode in instance i"),
        (("instances", "i", "disk_template"), "zz", 'Invalid string value for type DiskTemplate: "zz"'),
        (("request", "type"), "x", "Invalid request type 'x'"),
        (("request", "evac_mode"), "x", "key 'evac_mode': Invalid string value for type EvacMode: \"x\""),
        (
            ("request", "instances"),
            ["i", "i"],
            "invalid request dict: key 'instances' names an instance twice",
        ),
    ],
)
def test_a_part_that_is_wrong_is_named(path, value, expected):
    sent = deepcopy(message())
    place = sent
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert expected in complaint(sent)


def test_errors_of_a_file_name_it():
    with pytest.raises(InputError, match=r"^some\.json: Parsing input"):
        read_cluster("x", "some.json")
