"""Pods are looked at again when what others say of them changes, and nothing of them is kept when they go."""

import pytest

from sources.kubernetes.api.object_pool import BY_KIND, pod
from ullage.model.admission import PodGroup
from ullage.model.cluster import MEMBERS_UNSAID
from ullage.model.resources import ResourceTypes
from ullage.model.storage import Claim
from ullage.sources.kubernetes.api import mirrored_pods
from ullage.sources.kubernetes.api.mirrored_pods import POD, Changed, MirroredPods
from ullage.sources.kubernetes.items import POD as POD_KIND
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.pod_groups import COSCHEDULING_GROUP, NATIVE_GROUP, POD_GROUPS

OWN = {"volumes": [{"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}
GANG = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}


def put(pods: MirroredPods, namespace: str, name: str, **fields: object) -> None:
    pods.put(f"{namespace}/{name}", POD.decode(pod(namespace, name, **fields).text))


def changes(
    pods: MirroredPods,
    *nodes: str,
    claims: dict[str, Claim] | None = None,
    groups: dict[str, PodGroup] | None = None,
    followed: tuple[Kind, ...] = (),
    default_class: str = "",
) -> Changed:
    return pods.changes(
        has_node=nodes.__contains__,
        claim=(claims or {}).get,
        group=(groups or {}).get,
        followed=followed,
        default_class=default_class,
    )


@pytest.fixture
def pods() -> MirroredPods:
    return MirroredPods(ResourceTypes())


def test_a_pod_that_is_written_anew_without_a_change_changes_nothing(pods):
    put(pods, "team", "a")
    assert set(changes(pods).rows) == {"team/a"}
    put(pods, "team", "a", status={"phase": "Pending", "nominatedNodeName": "n1"})
    assert changes(pods) == ({}, [])
    assert pods.facts("team/a").nominated_node == "n1"


COSCHEDULED = {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}}
NATIVE = {"schedulingGroup": {"podGroupName": "g"}}
KUEUE = {
    "metadata": {
        "labels": {"kueue.x-k8s.io/pod-group-name": "g"},
        "annotations": {"kueue.x-k8s.io/pod-group-total-count": "5"},
    }
}


@pytest.mark.parametrize(
    ("fields", "followed", "least"),
    [
        (COSCHEDULED, (COSCHEDULING_GROUP,), MEMBERS_UNSAID),
        (COSCHEDULED, (NATIVE_GROUP,), 0),
        (NATIVE, POD_GROUPS, MEMBERS_UNSAID),
        (NATIVE, (COSCHEDULING_GROUP,), 0),
        ({**NATIVE, "nodeName": "n1"}, POD_GROUPS, 0),
        (KUEUE, POD_GROUPS, 5),
    ],
    ids=["coscheduling", "coscheduling, not there", "native", "native, not there", "it runs", "kueue"],
)
def test_a_pod_waits_for_the_group_that_says_how_many_are_enough(pods, fields, followed, least):
    put(pods, "team", "a", **fields)
    assert changes(pods, "n1", followed=followed).rows["team/a"].gang_min == least


def test_a_pod_waits_no_longer_when_its_group_is_there(pods):
    put(pods, "team", "a", **COSCHEDULED)
    changes(pods, followed=POD_GROUPS)
    pods.group_changed("team/g")
    group = PodGroup("g", "team", 3)
    assert changes(pods, groups={"team/g": group}, followed=POD_GROUPS).rows["team/a"].gang_min == 3


def test_conditions_are_kept_of_pods_that_wait_alone(pods):
    status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]}
    put(pods, "team", "a", status=status)
    assert b"PodScheduled" in pods.facts("team/a").conditions
    put(pods, "team", "a", status=status, nodeName="n1")
    assert pods.facts("team/a").conditions == b""


@pytest.mark.parametrize("fields", [{"nodeName": "n1"}, {}])
def test_whose_a_claim_is_matters_to_pods_that_wait_alone(pods, fields):
    put(pods, "team", "a", metadata={"uid": "u"}, **OWN, **fields)
    row = changes(pods, "n1", claims={"team/a-own": Claim("a-own", "team", controller="v")}).rows["team/a"]
    assert [each.foreign_claim for each in row.volumes] == [not fields]


def test_pods_that_differ_in_claimed_devices_alone_are_told_apart(pods):
    put(pods, "team", "a")
    put(pods, "team", "b", resourceClaims=[{"name": "gpu"}])
    rows = changes(pods).rows
    assert [rows[key].constraints.resource_claims for key in ("team/a", "team/b")] == [(), ("gpu",)]


def test_a_pod_that_is_bound_moves_nothing_that_depends_on_who_is_there(pods):
    put(pods, "team", "a", **OWN)
    assert len(changes(pods, "n1").moved) == 1
    put(pods, "team", "a", nodeName="n1", **OWN)
    found = changes(pods, "n1")
    assert (found.rows["team/a"].node, found.moved) == ("n1", [])
    pods.drop("team/a")
    found = changes(pods, "n1")
    assert found.rows == {"team/a": None}
    assert [each.key for each in found.moved] == ["team/a"]


def test_a_pod_on_a_node_that_is_not_there_is_shown_when_the_node_is(pods):
    put(pods, "team", "a", nodeName="n1")
    assert changes(pods) == ({}, [])
    pods.node_changed("n1")
    assert changes(pods, "n1").rows["team/a"].node == "n1"
    pods.node_changed("n1")
    assert changes(pods).rows == {"team/a": None}


def test_consumers_are_pods_with_claims_of_their_own_reserving_pods_and_owners(pods):
    for namespace, name in (("a", "b-c"), ("a-b", "c"), ("x", "owner"), ("y", "owner"), ("z", "other")):
        put(pods, namespace, name)
    put(pods, "z", "own", **OWN)
    put(pods, "z", "lost", nodeName="lost", **OWN)
    changes(pods)

    def called(reservations: list[str], owners: list[tuple[str, str]]) -> list[str]:
        return [each.key for each in pods.consumers(reservations, owners)]

    assert called([], []) == ["z/own"]
    assert called(["a-b-c"], []) == ["a-b/c", "a/b-c", "z/own"]
    assert called([], [("x", "owner")]) == ["x/owner", "z/own"]
    assert called([], [("driver", "owner")]) == ["x/owner", "y/owner", "z/own"]


def test_of_pods_that_are_gone_nothing_is_kept(pods):
    for each in BY_KIND[POD_KIND]:
        if not each.bad:
            pods.put(each.key, POD.decode(each.text))
            changes(pods, "n1")
    for key in pods.keys():  # noqa: SIM118 - not a mapping
        pods.drop(key)
    changes(pods, "n1")
    held = {name: value for name, value in vars(pods).items() if isinstance(value, dict | set)}
    assert len(held) >= 6
    assert not any(held.values())


def test_values_of_texts_that_pods_shared_are_not_kept_for_ever(pods, monkeypatch):
    monkeypatch.setattr(mirrored_pods, "TEMPLATES_MAX", 10)
    for milli in range(1, 100):
        put(pods, "team", "a", cpu=f"{milli}m")
        assert pods._reader.templates <= 12
        assert len(pods._reader._amounts._quantities) <= 12
        assert len(pods._check.__self__.good) <= 40
    assert changes(pods).rows["team/a"].requests == ResourceTypes().parse({"cpu": "99m", "pods": "1"})
