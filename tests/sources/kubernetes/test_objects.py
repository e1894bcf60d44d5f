"""Claims and quotas."""

from fractions import Fraction

import pytest

from sources.kubernetes.kube import amounts, dumped, refused, thing
from ullage.model.cluster import Quota
from ullage.model.constraints import LabelSelector
from ullage.model.storage import Claim

GIB = 1 << 30
BINDING_COMPLETED = {
    "name": "data", "namespace": "a", "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
}  # fmt: skip
ASKED = {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}


def claim(**fields):
    return thing("v1", "PersistentVolumeClaim", "data", namespace="a", **fields)


# Each row: a claim, and what is read of it.
CLAIMS = {
    "what is asked for": (claim(spec=ASKED), Claim("data", "a", "fast", 2 * GIB)),
    "pending is not bound": (
        claim(spec=ASKED, status={"phase": "Pending"}), Claim("data", "a", "fast", 2 * GIB),
    ),
    "what was given, where it is bound": (
        claim(spec=ASKED, status={"phase": "Bound", "capacity": {"storage": "3Gi"}}),
        Claim("data", "a", "fast", 3 * GIB, bound=True),
    ),
    "whose volume, and what of it": (
        claim(
            spec={
                **ASKED, "volumeName": "pv", "accessModes": ["ReadWriteOncePod"], "volumeMode": "Block",
                "selector": {"matchLabels": {"disk": "a"}, "matchExpressions": None},
            }
        ),
        Claim(
            "data", "a", "fast", 2 * GIB, volume="pv", access_modes=("ReadWriteOncePod",),
            volume_mode="Block", selector=LabelSelector({"disk": "a"}),
        ),
    ),
    "its notes: node, class and end": (
        {
            **claim(spec=ASKED),
            "metadata": {
                "name": "data", "namespace": "a", "deletionTimestamp": "2026-01-02T03:04:05Z",
                "annotations": {
                    "volume.kubernetes.io/selected-node": "n1",
                    "volume.beta.kubernetes.io/storage-class": "old",
                },
            },
        },
        Claim("data", "a", "old", 2 * GIB, selected_node="n1", terminating=True),
    ),
    "of the object that controls it": (
        {
            **claim(spec=ASKED),
            "metadata": {
                "name": "data", "namespace": "a",
                "ownerReferences": [{"uid": "one"}, {"uid": "two", "controller": True}],
            },
        },
        Claim("data", "a", "fast", 2 * GIB, controller="two"),
    ),
    "bound by its annotation, before its phase says so": (
        {**claim(spec=ASKED | {"volumeName": "v"}), "metadata": BINDING_COMPLETED},
        Claim("data", "a", "fast", 2 * GIB, bound=True, volume="v"),
    ),
    "lost, whatever its annotation": (
        {
            **claim(spec=ASKED | {"volumeName": "v"}, status={"phase": "Lost"}),
            "metadata": BINDING_COMPLETED,
        },
        Claim("data", "a", "fast", 2 * GIB, volume="v"),
    ),
    "nothing": (claim(spec=None, status=None), Claim("data", "a")),
    "no size": (claim(spec={"storageClassName": "fast"}), Claim("data", "a", "fast")),
    "no namespace": (thing("v1", "PersistentVolumeClaim", "data"), Claim("data", "default")),
    "a storage group of csi-baremetal": (
        {
            **claim(),
            "metadata": {"name": "data", "labels": {"drive.csi-baremetal.dell.com/storage-group": "gold"}},
        },
        Claim("data", "default", storage_group="gold"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CLAIMS)
def test_claims(case):
    wire, expected = CLAIMS[case]
    assert list(dumped(wire).claims) == [expected]


def quota(kind="ElasticQuota", **spec):
    return thing("nos.nebuly.com/v1alpha1", kind, "q", namespace="a", spec=spec)


def own(**spec):
    return thing("ullage.dev/v1", "Quota", "q", spec=spec)


# Each row: a quota, and what is read of it.
QUOTAS = {
    "a quota over its own namespace": (
        quota(min={"cpu": 2, "nos.nebuly.com/gpu-memory": "40"}, max={"cpu": "4"}),
        Quota(
            "a/q", "ElasticQuota", ("a",),
            amounts(cpu="2") + amounts(**{"nos.nebuly.com/gpu_memory": "40"}), amounts(cpu="4"),
        ),
    ),
    "a quota over several namespaces": (
        quota("CompositeElasticQuota", namespaces=["c", "b", "c"], min={"cpu": "1"}),
        Quota("a/q", "CompositeElasticQuota", ("b", "c"), amounts(cpu="1")),
    ),
    "a quota that guarantees nothing": (quota(), Quota("a/q", "ElasticQuota", ("a",))),
    "a negative amount, which the API server takes": (
        quota(max={"cpu": "-1"}), Quota("a/q", "ElasticQuota", ("a",), max=amounts(cpu="-1")),
    ),
    "an elastic quota says no more than its kind can": (
        quota(namespaces=["b"], parent="p", weight=2), Quota("a/q", "ElasticQuota", ("a",)),
    ),
    "a quota of our own": (
        own(
            namespaces=["b", "a", "b"], queues=["t/y", "t/x"], min={"cpu": "2"}, max={"cpu": 4}, parent="p",
            weight="4/3", lendingLimit={"cpu": 1}, borrowingLimit={"memory": "1Gi"},
        ),
        Quota(
            "q", "Quota", ("a", "b"), amounts(cpu="2"), amounts(cpu="4"), "p", Fraction(4, 3),
            amounts(cpu="1"), amounts(memory="1Gi"), ("t/x", "t/y"),
        ),
    ),
    "a weight that is a number": (own(weight=0.1), Quota("q", weight=Fraction(1, 10))),
    "our own that says whom it evicts": (
        own(evictsOwn="Never", evictsOthers="LowerPriority"),
        Quota("q", evicts_own="Never", evicts_others="LowerPriority"),
    ),
    "limits that are empty, and limits that are not stated": (
        own(lendingLimit={}, borrowingLimit=None, evictsOwn=None), Quota("q", lending_limit=amounts()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", QUOTAS)
def test_quotas(case):
    wire, expected = QUOTAS[case]
    assert list(dumped(wire).quotas) == [expected]


def test_quotas_of_one_name_in_two_namespaces_are_two():
    other = thing("nos.nebuly.com/v1alpha1", "ElasticQuota", "q", namespace="b")
    assert list(dumped(quota(), other).quotas.keys()) == ["a/q", "b/q"]


@pytest.mark.parametrize("order", [1, -1])
def test_quotas_of_one_name_and_two_kinds_are_two(order):
    kinds = (quota(), quota("CompositeElasticQuota", namespaces=["b"]))[::order]
    found = dumped(*kinds).quotas
    assert {each.name: each.kind for each in found} == {
        "a/q": "ElasticQuota",
        "a/q-composite": "CompositeElasticQuota",
    }


# Each row: an object, and where its fault is.
WRONG = {
    "a claim's request": (
        claim(spec={"resources": {"requests": {"storage": "x"}}}),
        "spec.resources.requests.storage",
    ),
    "a claim's capacity": (claim(status={"capacity": {"storage": "x"}}), "status.capacity.storage"),
    "a claim's map": (claim(status={"capacity": [1]}), "status.capacity"),
    "a quota's min": (quota(min={"cpu": "x"}), "spec.min.cpu"),
    "a quota's max": (quota(max={"cpu": []}), "spec.max.cpu"),
    "a resource that a quota names twice": (
        quota(min={"cpu": 1, "kubernetes.io/cpu": 1}),
        'spec.min["kubernetes.io/cpu"]',
    ),
    "a limit of our own": (own(lendingLimit={"cpu": "x"}), "spec.lendingLimit.cpu"),
    "whom it evicts": (own(evictsOthers="Some"), "spec.evictsOthers"),
    "a weight in words": (own(weight="much"), "spec.weight"),
    "a weight that is a list": (own(weight=[1]), "spec.weight"),
    "a quota's namespaces": (quota("CompositeElasticQuota", namespaces=[1]), "spec.namespaces[0]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    wire, path = WRONG[case]
    assert refused(wire).startswith(f"standard input: items[0].{path}: ")
