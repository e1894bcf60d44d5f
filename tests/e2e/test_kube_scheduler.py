"""The seed's example on a real control plane: B borrows, A claims, one pod of B goes, A's pod runs.

Three quotas of 40, 10 and 30 GB; a GPU counts for 10 GB. A uses its 40, B uses 40 (30 of them borrowed from
C). In mode nos A may claim 15 of what C leaves: one GPU, not two. In mode fair each has its share of it.
"""

import pytest

from kube_cluster import KubeCluster, elastic_quota, gpu_pod, stays, until
from plane.settings import CONTROLLERS, KWOK

GPU_MEMORY = "nos.nebuly.com/gpu-memory"
ARGUMENTS = ("--gpu-memory-gb", "10", "--scheduler-name", "ullage", "--scheduler-name", "nos-scheduler")
LIMITS = {"a": 40, "b": 10, "c": 30}


@pytest.fixture
def cluster(kube_cluster):
    kube_cluster.nodes(1, **{"nvidia.com/gpu": "8"})
    kube_cluster.namespaces(*LIMITS)
    return kube_cluster


def own_quota(name: str, gigabytes: int) -> dict:
    return {
        "apiVersion": "ullage.dev/v1",
        "kind": "Quota",
        "metadata": {"name": name},
        "spec": {"namespaces": [name], "min": {GPU_MEMORY: str(gigabytes)}},
    }


def borrowing(cluster: KubeCluster) -> None:
    """A uses all that is its own, then B all that is left; the pods come one by one: the first is oldest."""
    for namespace in ("a", "b"):
        keys = [f"{namespace}/{namespace}{index}" for index in range(4)]
        for key in keys:
            cluster.plane.create(gpu_pod(key, "nos-scheduler"))
        cluster.wait_until_placed(*keys)


def over_quota(cluster: KubeCluster) -> set[str]:
    """What `kubectl get pods -A -l nos.nebuly.com/capacity=over-quota` shows."""
    return set(cluster.pods("nos.nebuly.com/capacity=over-quota"))


def used(cluster: KubeCluster) -> dict[str, str]:
    found = cluster.plane.items("/apis/nos.nebuly.com/v1alpha1/elasticquotas")
    return {
        each["metadata"]["namespace"]: each.get("status", {}).get("used", {}).get(GPU_MEMORY)
        for each in found
    }


def shares(cluster: KubeCluster) -> dict[str, tuple[str, ...]]:
    """What each Quota says it uses, borrows and may claim."""
    found = cluster.plane.items("/apis/ullage.dev/v1/quotas")
    terms = ("used", "borrowed", "entitlement")
    return {
        each["metadata"]["name"]: tuple(
            each.get("status", {}).get(term, {}).get(GPU_MEMORY, "") for term in terms
        )
        for each in found
    }


def of_b(cluster: KubeCluster) -> int:
    return sum(key.startswith("b/") for key in cluster.placed())


def test_in_mode_nos_one_pod_is_evicted_and_the_second_claim_refused(cluster):
    cluster.plane.create_many(
        [elastic_quota(f"{name}/q", **{GPU_MEMORY: str(amount)}) for name, amount in LIMITS.items()]
    )
    cluster.start("scheduler", *ARGUMENTS)
    cluster.start("operator", "--gpu-memory-gb", "10")
    borrowing(cluster)
    until(lambda: over_quota(cluster) == {"b/b1", "b/b2", "b/b3"}, "B's pods beyond its 10 GB are labelled")
    cluster.plane.create(gpu_pod("a/first"))
    cluster.wait_until_placed("a/first")
    assert of_b(cluster) == 3
    until(lambda: len(over_quota(cluster)) == 3, "A's pod is over its 40 GB, B's second and third still are")
    assert "a/first" in over_quota(cluster)
    until(lambda: used(cluster) == {"a": "50", "b": "30", "c": "0"}, "quotas say what they use")
    cluster.plane.create(gpu_pod("a/second"))
    told = cluster.wait_until_told("a/second", "smallest change")
    assert "60 of nos.nebuly.com/gpu-memory where 55 is its own" in told
    stays(lambda: of_b(cluster) == 3, "nobody goes for a claim that is refused")
    until(
        lambda: {reason for reason, _, _ in cluster.events("b")} >= {"Preempted", "Scheduled"},
        "events say what happened to B's pods",
    )
    assert any(name == "second" for _, name, _ in cluster.events("a"))


@pytest.fixture
def with_controllers(plane_program):
    with KubeCluster(plane_program, (KWOK, CONTROLLERS)) as running:
        running.nodes(1, **{"nvidia.com/gpu": "8"})
        running.namespaces(*LIMITS)
        yield running


def test_the_place_of_who_was_evicted_is_not_for_who_is_made_in_its_stead(with_controllers):
    cluster = with_controllers
    cluster.plane.create_many(
        [elastic_quota(f"{name}/q", **{GPU_MEMORY: str(amount)}) for name, amount in LIMITS.items()]
    )
    cluster.start("scheduler", *ARGUMENTS)
    own = [f"a/a{number}" for number in range(4)]
    cluster.plane.create_many([gpu_pod(key) for key in own])
    cluster.wait_until_placed(*own)
    template = gpu_pod("b/any")
    selected = {"matchLabels": {"app": "b"}}
    pods = {"metadata": {"labels": {"app": "b"}}, "spec": template["spec"]}
    cluster.plane.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "b", "namespace": "b"},
            "spec": {"replicas": 4, "selector": selected, "template": pods},
        }
    )
    until(lambda: of_b(cluster) == 4, "B borrows what is left")
    cluster.plane.create(gpu_pod("a/first"))
    cluster.wait_until_placed("a/first")
    stays(lambda: of_b(cluster) == 3, "the others of B stay")
    evicted = [name for reason, name, _ in cluster.events("b") if reason == "Preempted"]
    assert len(evicted) == 1


def test_in_mode_fair_two_pods_are_evicted_and_the_third_claim_refused(cluster):
    cluster.plane.create_many([own_quota(name, amount) for name, amount in LIMITS.items()])
    cluster.start("scheduler", *ARGUMENTS)
    cluster.start("operator", "--gpu-memory-gb", "10")
    borrowing(cluster)
    until(lambda: over_quota(cluster) == {"b/b1", "b/b2", "b/b3"}, "B's pods beyond its 10 GB are labelled")
    for number, left in ((1, 3), (2, 2)):
        cluster.plane.create(gpu_pod(f"a/claim{number}"))
        cluster.wait_until_placed(f"a/claim{number}")
        assert of_b(cluster) == left
    cluster.plane.create(gpu_pod("a/claim3"))
    told = cluster.wait_until_told("a/claim3", "smallest change")
    assert "70 of nos.nebuly.com/gpu-memory where 64 is its own" in told
    stays(lambda: of_b(cluster) == 2, "nobody goes for a claim that is refused")
    (borrower,) = (key for key in cluster.placed() if key.startswith("b/") and key != "b/b0")
    beyond = {"a/claim1", "a/claim2", borrower}
    until(lambda: over_quota(cluster) == beyond, "A's two claims are beyond its 40 GB, and one pod of B's is")
    within = set(cluster.pods("nos.nebuly.com/capacity=in-quota"))
    assert within == {*(f"a/a{index}" for index in range(4)), "b/b0"}
    until(
        lambda: shares(cluster) == {"a": ("60", "20", "64"), "b": ("20", "10", "16"), "c": ("0", "0", "0")},
        "quotas say what they use, borrow and may claim",
    )


def test_of_three_claims_that_come_at_once_the_third_is_told_what_would_let_it_run(cluster):
    cluster.plane.create_many([own_quota(name, amount) for name, amount in LIMITS.items()])
    cluster.start("scheduler", *ARGUMENTS)
    borrowing(cluster)
    claims = [f"a/claim{number}" for number in range(3)]
    cluster.plane.create_many([gpu_pod(key) for key in claims])
    until(lambda: len(set(claims) & set(cluster.placed())) == 2, "two claims run in the place of two of B's")
    (refused,) = set(claims) - set(cluster.placed())
    told = cluster.wait_until_told(refused, "smallest change")
    assert "70 of nos.nebuly.com/gpu-memory where 64 is its own" in told
    stays(lambda: of_b(cluster) == 2, "nobody goes for a claim that is refused")
