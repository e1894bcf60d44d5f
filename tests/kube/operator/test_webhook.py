"""What API servers ask is answered with what is wrong, in one line, and only what the change adds counts."""

import asyncio
import json

import pytest

from builders import quota
from ullage.kube.operator.beside import Beside
from ullage.kube.operator.webhook import Webhook
from ullage.kube.resource_types import TypeObjects
from ullage.model.resources import ResourceTypes

THERE = (quota("first", {"cpu": "2"}, namespaces=("team",)),)
OLD_WRONG = (quota("one", namespaces=("x",)), quota("two", namespaces=("x",)))

LICENCES = "example.com/licences"
TYPES = TypeObjects()
for each, exponent in (("broken", -1), ("seats", 3)):
    stated = {"name": LICENCES, "internalScaleExponent": exponent}
    TYPES.put(json.dumps({"metadata": {"name": each}, "spec": stated}).encode())


def review(
    kind: str, spec: dict, name: str = "new", group: str = "ullage.dev", namespace: str = "", *, goes=False
) -> bytes:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    judged = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": spec}
    request = {
        "uid": "u1", "kind": {"group": group, "version": "v1", "kind": kind},
        "operation": "DELETE" if goes else "CREATE",
        "object": None if goes else judged, "oldObject": judged if goes else None,
    }  # fmt: skip
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    ).encode()


def answered(body: bytes, there=THERE) -> tuple[dict, Webhook]:
    webhook = Webhook(ResourceTypes(), Beside(ResourceTypes(), lambda: there), TYPES)
    response = asyncio.run(webhook.answer(body))
    assert response.status == 200
    return json.loads(response.data)["response"], webhook


ALLOWED = {
    "a quota of a namespace of its own": review("Quota", {"namespaces": ["other"], "min": {"cpu": "1"}}),
    "the same quota again": review("Quota", {"namespaces": ["team"], "min": {"cpu": "3"}}, "first"),
    "a policy": review("CapacityPolicy", {"cluster": {"memory-ratio": "1.5"}}),
    "a policy that says nothing": review("CapacityPolicy", {}),
    "a type of a resource": review("ResourceType", {"name": "example.com/tapes", "defaultRequest": 2}),
    "a default with decimals": review(
        "ResourceType", {"name": "example.com/tapes", "internalScaleExponent": 1, "defaultRequest": 0.5}
    ),
    "what is built in, as it is": review("ResourceType", {"name": "cpu", "internalScaleExponent": 3}),
    "a type that says the same again": review("ResourceType", {"name": LICENCES, "internalScaleExponent": 3}),
    "a type that is there, changed": review("ResourceType", {"name": LICENCES, "units": "seat"}, "seats"),
    "a wrong type, mended": review("ResourceType", {"name": LICENCES, "internalScaleExponent": 3}, "broken"),
    "kinds that nobody judges": review("Widget", {}),
}
REFUSED = {
    "two quotas of a namespace": (review("Quota", {"namespaces": ["team"]}), "team"),
    "a min above the max": (
        review("Quota", {"namespaces": ["x"], "min": {"cpu": "2"}, "max": {"cpu": "1"}}), "cpu",
    ),
    "an amount that is none": (review("Quota", {"namespaces": ["x"], "min": {"cpu": "many"}}), "min"),
    "a parent that is not there": (review("Quota", {"namespaces": ["x"], "parent": "nobody"}), "nobody"),
    "a composite without namespaces": (
        review("CompositeElasticQuota", {"min": {"cpu": "1"}}, group="nos.nebuly.com", namespace="x"),
        "namespaces",
    ),
    "a setting that is none": (review("CapacityPolicy", {"cluster": {"memory-ratoi": "2"}}), "memory-ratoi"),
    "a value that is none": (review("CapacityPolicy", {"groups": {"g": {"cpu-ratio": "-1"}}}), "cpu-ratio"),
    "a profile that is none": (review("CapacityPolicy", {"inherits": "nobody"}), "nobody"),
    "a type of what is built in": (
        review("ResourceType", {"name": "cpu", "internalScaleExponent": 0}),
        "spec: resource type cpu is built in; give your own type a domain of your own",
    ),
    "a type of no name": (review("ResourceType", {"name": "no name!"}), "spec: resource name 'no name!'"),
    "a second type of a resource": (
        review("ResourceType", {"name": LICENCES, "internalScaleExponent": 0}),
        f"spec: resource type {LICENCES} is defined twice; keep one",
    ),
    "a default that is none": (
        review("ResourceType", {"name": "example.com/tapes", "defaultRequest": "many"}),
        "spec: resource type example.com/tapes: defaultRequest: ",
    ),
    "a type of another form": (
        review("ResourceType", {"name": "example.com/tapes", "quantization": "much"}),
        "spec.quantization: expected a whole number, found text",
    ),
    "a spec of another form": (review("CapacityPolicy", {"cluster": []}), "spec.cluster: expected "),
    "a setting that is nothing": (
        review("CapacityPolicy", {"cluster": {"memory-ratio": None}}), "spec.cluster.memory-ratio: expected ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", ALLOWED.values(), ids=ALLOWED)
def test_what_is_allowed(body):
    response, webhook = answered(body)
    assert response == {"uid": "u1", "allowed": True}
    assert (webhook.asked, webhook.refused) == (1, 0)


@pytest.mark.parametrize(("body", "word"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_and_why(body, word):
    response, webhook = answered(body)
    assert (response["uid"], response["allowed"]) == ("u1", False)
    assert word in response["status"]["message"]
    assert "\n" not in response["status"]["message"]
    assert (webhook.asked, webhook.refused) == (1, 1)


FAMILY = (quota("above", {"cpu": "4"}), quota("below", {"cpu": "2"}, namespaces=("x",), parent="above"))


@pytest.mark.parametrize(
    ("name", "spec", "why"),
    [
        ("below", {"parent": "above"}, ""),
        ("unheard-of", {}, ""),
        ("above", {"min": {"cpu": "much"}}, ""),
        (
            "above", {"min": {"cpu": "4"}},
            (
                "without quota above: quota below: parent 'above' is no quota; "
                "add it, correct the name, or leave parent out"
            ),
        ),
    ],
)  # fmt: skip
def test_a_quota_may_go_unless_others_would_be_wrong_without_it(name, spec, why):
    response, webhook = answered(review("Quota", spec, name, goes=True), FAMILY)
    assert response["allowed"] == (not why)
    assert response.get("status", {}).get("message", "") == why
    assert webhook.refused == bool(why)


def test_a_policy_may_always_go():
    response, _ = answered(review("CapacityPolicy", {"cluster": {"memory-ratio": "much"}}, goes=True))
    assert response["allowed"]


def test_what_was_wrong_before_does_not_stop_others():
    response, _ = answered(review("Quota", {"namespaces": ["other"]}), OLD_WRONG)
    assert response["allowed"]


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{}", b'{"request": 5}'])
def test_what_is_no_review_is_told_so(body):
    assert asyncio.run(Webhook(ResourceTypes(), Beside(ResourceTypes(), tuple)).answer(body)).status == 400


def changed(kind: str, spec: dict, before: dict, **metadata: object) -> bytes:
    """A review of an object that was another before."""
    asked = json.loads(review(kind, spec))
    request = asked["request"]
    request["operation"] = "UPDATE"
    request["oldObject"] = {**request["object"], "spec": before}
    request["object"]["metadata"] |= metadata
    return json.dumps(asked).encode()


WRONG = {"cluster": {"memory-ratio": "-1", "cpu-ratio": "-2"}}
TAKEN = {"namespaces": ["team"]}
OTHER_CPU = {"name": "cpu", "internalScaleExponent": 1}


@pytest.mark.parametrize(
    "asked",
    [
        changed("CapacityPolicy", WRONG, WRONG, annotations={"owner": "x"}),
        changed("CapacityPolicy", {"cluster": {"cpu-ratio": "-2"}}, WRONG),
        changed("CapacityPolicy", {"cluster": {"memory-ratio": "-1"}}, WRONG),
        changed("CapacityPolicy", WRONG, {}, deletionTimestamp="2026-01-01T00:00:00Z"),
        changed("Quota", TAKEN, TAKEN, annotations={"owner": "x"}),
        changed("ResourceType", OTHER_CPU, OTHER_CPU),
    ],
    ids=["annotated", "one is mended", "the other is mended", "it goes", "a quota", "a type"],
)  # fmt: skip
def test_what_was_wrong_before_may_stay_while_something_else_changes(asked):
    assert answered(asked)[0]["allowed"]


@pytest.mark.parametrize(
    "asked",
    [
        changed("CapacityPolicy", WRONG, {"cluster": {"memory-ratio": "-1"}}),
        changed("CapacityPolicy", WRONG, {}),
        changed("Quota", TAKEN, {"namespaces": ["mine"]}),
    ],
    ids=["one more is wrong", "all of it", "a quota"],
)
def test_what_a_change_makes_wrong_is_refused(asked):
    assert not answered(asked)[0]["allowed"]
