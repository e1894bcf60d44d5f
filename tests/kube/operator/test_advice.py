"""Who writes what can hold but does not do what it says is warned, in the words of the command line."""

import asyncio
import json

import pytest

from builders import quota, resources
from kube.operator.test_webhook import changed, review
from ullage.kube.operator.advice import LINE_LENGTH_MAX, LINES_MAX, Room, told
from ullage.kube.operator.beside import Beside
from ullage.kube.operator.webhook import Webhook
from ullage.model.cluster import Node
from ullage.model.policy import Policy
from ullage.model.resources import ResourceTypes
from ullage.model.verdict import Finding
from ullage.sources.policies import load_policy

TYPES = ResourceTypes()
NODES = tuple(Node(name, resources(cpu="8"), group="g") for name in ("n0", "n1"))
THERE = (quota("first", {"cpu": "10"}, namespaces=("team",)),)


def policy() -> Policy:
    return load_policy("kubernetes", TYPES)


def warnings(body: bytes, there=THERE, nodes=NODES) -> list[str]:
    webhook = Webhook(TYPES, Beside(TYPES, lambda: there), None, Room(TYPES, lambda: nodes, policy))
    response = json.loads(asyncio.run(webhook.answer(body)).data)["response"]
    assert response["allowed"]
    assert response.get("warnings") != []
    return response.get("warnings", [])


ABOVE = "quotas guarantee 1010 cpu in all, the cluster can promise 16; lower their min by 994, or add nodes"
MIXED = (
    "quota first without a parent states no weight, others there do: min and weight are compared as numbers; "
    "give all of them a weight, or none"
)
QUOTAS = {
    "more than there is": (review("Quota", {"namespaces": ["x"], "min": {"cpu": "1000"}}), [ABOVE]),
    "more than there is, of nos": (
        review("ElasticQuota", {"min": {"cpu": "1000"}}, group="nos.nebuly.com", namespace="x"), [ABOVE],
    ),
    "as much as there is": (review("Quota", {"namespaces": ["x"], "min": {"cpu": "6"}}), []),
    "another amount of the same one": (
        review("Quota", {"namespaces": ["team"], "min": {"cpu": "16"}}, "first"), [],
    ),
    "a weight beside one that has none": (
        review("Quota", {"namespaces": ["x"], "weight": "2"}),
        [MIXED],
    ),
}  # fmt: skip


UNREADABLE = {"namespaces": ["x"], "min": {"cpu": "abc"}}
WRONG_POLICY = {"cluster": {"memory-ratio": "much"}}
WRONG = {
    "a quota that cannot be read": ("Quota", UNREADABLE, "spec.min.cpu: quantity 'abc': "),
    "a quota of a namespace that has one": ("Quota", {"namespaces": ["team"]}, "team"),
    "a policy": ("CapacityPolicy", WRONG_POLICY, "memory-ratio"),
    "a type": ("ResourceType", {"name": "no name!"}, "spec: resource name 'no name!'"),
}


@pytest.mark.parametrize(("kind", "spec", "why"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("metadata", [{"labels": {"x": "y"}}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}])
def test_who_changes_something_else_of_what_is_wrong_is_warned_of_that(kind, spec, why, metadata):
    (line,) = warnings(changed(kind, spec, spec, **metadata))
    assert line.startswith("it is wrong as it was before: ")
    assert why in line


@pytest.mark.parametrize(("body", "expected"), QUOTAS.values(), ids=QUOTAS)
def test_a_quota_is_warned_of_what_it_adds(body, expected):
    assert warnings(body) == expected


def test_what_is_there_already_is_not_said_of_another_quota():
    there = (quota("first", {"cpu": "100"}, namespaces=("team",)),)
    assert warnings(review("Quota", {"namespaces": ["x"], "min": {"memory": "0"}}), there) == []
    again = review("Quota", {"namespaces": ["team"], "min": {"cpu": "100"}}, "first")
    assert len(warnings(again, there)) == 1


CORRECT = "correct the name, or remove its settings"
POLICIES = {
    "a setting that counts": ({"groups": {"g": {"cpu-ratio": "2"}}, "nodes": {"n0": {"cpu-ratio": "2"}}}, []),
    "a setting of the cluster for a group": (
        {"groups": {"g": {"quota-mode": "fair"}}},
        ["CapacityPolicy new: group/g: quota-mode has no effect there; set it for the cluster"],
    ),
    "a setting of a group for a node": (
        {"nodes": {"n0": {"spare-nodes": 1}}},
        ["CapacityPolicy new: node/n0: spare-nodes has no effect there; set it for a group or the cluster"],
    ),
    "a node and a group that are not there": (
        {"groups": {"h": {"cpu-ratio": "2"}}, "nodes": {"n2": {"cpu-ratio": "2"}}},
        [
            f"CapacityPolicy new: group/h: the cluster has no such group; {CORRECT}",
            f"CapacityPolicy new: node/n2: the cluster has no such node; {CORRECT}",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), POLICIES.values(), ids=POLICIES)
def test_a_policy_is_warned_of_what_has_no_effect(spec, expected):
    assert warnings(review("CapacityPolicy", spec)) == expected


def test_nobody_is_warned_when_something_goes():
    going = review("Quota", {"namespaces": ["x"], "min": {"cpu": "1000"}}, goes=True)
    assert warnings(going) == []


def test_what_nodes_can_promise_is_looked_at_anew_when_they_change():
    nodes = [*NODES]
    room = Room(TYPES, lambda: tuple(nodes), policy)
    assert room.capacity()["cpu"] == 16_000
    assert room.capacity() is room.capacity()
    nodes.append(Node("n2", resources(cpu="8")))
    assert room.capacity()["cpu"] == 24_000


def test_lines_are_few_and_short():
    found = [Finding("code", "warning", "x", "a\nb" * 100, "mend it")] * (LINES_MAX + 2)
    lines = told([*found, Finding("code", "info", "x", "said elsewhere", "")])
    assert len(lines) == LINES_MAX + 1
    assert {len(line) for line in lines[:-1]} == {LINE_LENGTH_MAX}
    assert "\n" not in lines[0]
    assert lines[-1] == "2 more warnings"
