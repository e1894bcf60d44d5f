"""Objects that become rows of a table: each kind once, the same again is no second one, default classes."""

import pytest

from sources.kubernetes.kube import dumped, pod, refused, thing
from ullage.model.delta import TABLE_FACTS
from ullage.model.storage import Claim
from ullage.sources.kubernetes.object_kinds import OBJECT_KINDS, known_of

VERSIONS = {"": "v1", "policy": "policy/v1"}
DEFAULT = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}


def plain(kind):
    api_version = VERSIONS.get(kind.group, f"{kind.group}/v1")
    return thing(api_version, kind.name, "x", namespace="ml", value=3)


@pytest.mark.parametrize("kind", OBJECT_KINDS, ids=lambda kind: kind.name)
def test_an_object_is_a_row_of_its_table(kind):
    found = dumped(plain(kind), plain(kind))
    (row,) = getattr(found, OBJECT_KINDS[kind].table)
    assert isinstance(row, TABLE_FACTS[OBJECT_KINDS[kind].table].row_type)
    assert row.name.rpartition("/")[2] == "x"
    assert found.unknowns == ()


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        ({"value": 1}, {"value": 2}, "priority class named gold"),
        ({"value": 1}, {"value": 1, "preemptionPolicy": "Never"}, "priority class named gold"),
    ],
)
def test_two_of_one_name_are_an_error(first, second, named):
    items = [thing("scheduling.k8s.io/v1", "PriorityClass", "gold", **fields) for fields in (first, second)]
    assert refused(*items) == (
        f"standard input: items[1]: a second {named}, the first is at standard input: items[0]; "
        "keep one of them"
    )


def default_class(name="standard"):
    return {**thing("storage.k8s.io/v1", "StorageClass"), "metadata": {"name": name, **DEFAULT}}


def claim(spec, name="data", **fields):
    return thing("v1", "PersistentVolumeClaim", name, namespace="team", spec=spec, **fields)


# Each row: a claim, and its class in a cluster with a default one.
CLASSES = {
    "the default": (claim({}), "standard"),
    "the default, of null": (claim({"storageClassName": None}), "standard"),
    "none where it says so": (claim({"storageClassName": ""}), ""),
    "its own": (claim({"storageClassName": "fast"}), "fast"),
    "none where it was bound without one": (claim({"volumeName": "v"}, status={"phase": "Bound"}), ""),
}


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize("case", CLASSES)
def test_the_class_of_a_claim(case, behind):
    wire, expected = CLASSES[case]
    items = [wire, default_class()] if behind else [default_class(), wire]
    assert dumped(*items).claims["team/data"].storage_class == expected


def test_without_a_default_class_a_claim_has_none():
    assert list(dumped(claim({})).claims) == [Claim("data", "team")]


def test_volumes_of_waiting_pods_have_the_default_class_too():
    template = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    volumes = [
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}},
        {"name": "none", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": ""}}}},
    ]
    found = dumped(pod("p", volumes=volumes), default_class()).workloads["team/p"]
    assert [each.storage_class for each in found.volumes] == ["standard", ""]


def test_what_claims_refer_to_and_nobody_describes_is_named():
    bound = claim({"volumeName": "pv-1", "storageClassName": "old"}, "a", status={"phase": "Bound"})
    found = dumped(bound, claim({"storageClassName": "fast"}, "b"))
    assert found.unknowns == (
        "not found: storage classes that claims name: fast",
        "not found: volumes that claims are bound to: pv-1",
    )
    volume = thing("v1", "PersistentVolume", "pv-1")
    storage_class = thing("storage.k8s.io/v1", "StorageClass", "fast")
    assert dumped(volume, bound, claim({"storageClassName": "fast"}, "b"), storage_class).unknowns == ()


def test_what_manifests_may_name_in_a_cluster():
    known = known_of(dumped(default_class("a"), default_class("b"), claim({"storageClassName": "x"})))
    assert known.default_class == "a"
    assert known.find_claim("team/data").storage_class == "x"
    assert known.find_claim("team/other") is None
