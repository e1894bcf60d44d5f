"""What pods are made from, by the names that Kubernetes gives."""

import pytest

from builders import cluster, node, pod
from ullage.engine.usage.owners import Owner, crew_of, crews, owner_of

HASHED = {"pod-template-hash": "7d9f4c6b8"}


def made(name="p", owner="", labels=None, **fields):
    return pod(name, owner=owner, labels=labels or {}, namespace="web", **fields)


@pytest.mark.parametrize(
    ("owner", "labels", "wanted"),
    [
        ("ReplicaSet/shop-7d9f4c6b8", HASHED, "Deployment/shop"),
        ("ReplicaSet/shop-7d9f4c6b8", {}, "ReplicaSet/shop-7d9f4c6b8"),
        ("ReplicaSet/shop", HASHED, "ReplicaSet/shop"),
        ("ReplicaSet/shop-5f", {"rollouts-pod-template-hash": "5f"}, "Rollout/shop"),
        ("StatefulSet/db", {}, "StatefulSet/db"),
        ("DaemonSet/agent", HASHED, "DaemonSet/agent"),
        ("Job/report", {}, "Job/report"),
        ("Job/report-28612345", {}, "CronJob/report"),
        ("Example/thing", {}, "Example/thing"),
        ("", {}, "Pod/p"),
    ],
)
def test_the_object_whose_template_a_change_goes_to(owner, labels, wanted):
    assert owner_of(made(owner=owner, labels=labels)).key == wanted


@pytest.mark.parametrize(
    ("owner", "labels", "gone", "counts"),
    [
        ("ReplicaSet/web-7d9f4c6b8", HASHED, "web-5c6d7f8b9-x7k2p", True),
        ("ReplicaSet/web-7d9f4c6b8", HASHED, "web-api-x7k2p", False),
        ("ReplicaSet/web-7d9f4c6b8", HASHED, "web-api-5c6d7f8b9-x7k2p", False),
        ("StatefulSet/web", {}, "web-7", True),
        ("StatefulSet/web", {}, "web-7-7", False),
        ("DaemonSet/web", {}, "web-x7k2p", True),
        ("DaemonSet/web", {}, "web-agent", False),
        ("Job/web-28612345", {}, "web-28612999-x7k2p", True),
        ("", {}, "p-1", False),
    ],
)
def test_a_pod_that_is_gone_counts_where_its_name_tells(owner, labels, gone, counts):
    snapshot = cluster(node("n1", cpu="4").holding(made(owner=owner, labels=labels)))
    (crew,) = crews(snapshot, [("web", gone)])
    assert crew.gone == ((gone,) if counts else ())


def test_pods_of_two_generations_are_one_crew_the_newest_first():
    old = made("shop-old", "ReplicaSet/shop-5c6d7f8b9", {"pod-template-hash": "5c6d7f8b9"}, created_seconds=1)
    new = made("shop-new", "ReplicaSet/shop-7d9f4c6b8", HASHED, created_seconds=2)
    (crew,) = crews(cluster(node("n1", cpu="4").holding(old, new)), [])
    assert crew.owner == Owner("web", "Deployment", "shop")
    assert [each.name for each in crew.pods] == ["shop-new", "shop-old"]


def test_what_is_over_or_only_promised_is_in_no_crew():
    over = made("over", "Job/a", state="deleted")
    promised = made("held", "Job/b", promised=True)
    assert crews(cluster(node("n1", cpu="4").holding(over, promised)), []) == []


def test_a_pod_of_another_namespace_is_not_taken_for_one_of_ours():
    snapshot = cluster(node("n1", cpu="4").holding(made(owner="DaemonSet/web")))
    assert crews(snapshot, [("other", "web-x7k2p")])[0].gone == ()


def test_one_crew_is_the_same_as_among_all():
    pods = [
        made("web-0", "StatefulSet/web", created_seconds=1),
        made("web-1", "StatefulSet/web", created_seconds=2),
        made("web-2", "StatefulSet/web", state="error"),
        pod("bank/web-0", owner="StatefulSet/web"),
    ]
    snapshot = cluster(node("n1", cpu="4").holding(*pods))
    for crew in crews(snapshot, ()):
        assert crew_of(snapshot, crew.owner.namespace, crew.owner.key) == crew
    assert crew_of(snapshot, "web", "StatefulSet/none") is None
