"""The operator on a real control plane: from any state it converges, and then it writes nothing at all."""

import contextlib
import signal
import time
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kube_cluster import KubeCluster, elastic_quota, free_port_numbers, pod, until
from plane.proxy import Proxy

LABEL = "nos.nebuly.com/capacity"
STATUSES = {
    "ElasticQuota": "/apis/nos.nebuly.com/v1alpha1/namespaces/a/elasticquotas/q",
    "Quota": "/apis/ullage.dev/v1/quotas/b",
    "CapacityPolicy": "/apis/ullage.dev/v1/capacitypolicies/good",
}
QUIET_SECONDS = 10
LEADS_SECONDS = 40


def own(kind: str, name: str, /, **spec) -> dict:
    return {"apiVersion": "ullage.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def bound(key: str, cpu: str = "1", **more) -> dict:
    return pod(key, cpu=cpu, spec={"nodeName": "n0"}, **more)


def labels(cluster: KubeCluster) -> dict[str, str]:
    found = {key: each["metadata"].get("labels", {}).get(LABEL) for key, each in cluster.pods().items()}
    return {key: label for key, label in found.items() if label}


def status(cluster: KubeCluster, kind: str) -> dict:
    return cluster.plane.get(STATUSES[kind]).get("status", {})


def condition(found: dict) -> str:
    return next((each["status"] for each in found.get("conditions", ()) if each["type"] == "Valid"), "")


def writes(proxy: Proxy) -> list[tuple[str, str, int]]:
    """What was asked that changes something, but for the lease."""
    return [each for each in proxy.asked if each.method != "GET" and "/leases" not in each.target]


def fill(cluster: KubeCluster) -> None:
    """Pods, quotas and policies that are there before the operator is."""
    cluster.nodes(1, cpu="16")
    cluster.namespaces("a", "b", "free")
    cluster.plane.create_many([bound(f"{space}/p{number}") for space in "ab" for number in range(3)])
    cluster.plane.create(bound("free/p0", labels={LABEL: "in-quota"}))
    cluster.plane.create(elastic_quota("a/q", cpu="2"))
    cluster.plane.create(own("Quota", "b", namespaces=["b"], min={"cpu": "1"}))
    cluster.plane.create(own("CapacityPolicy", "good", cluster={"cpu-ratio": "2"}))
    cluster.plane.create(own("CapacityPolicy", "wrong", cluster={"cpu-ratio": "often"}))


EXPECTED = {"a/p0": "in-quota", "a/p1": "in-quota", "a/p2": "over-quota",
            "b/p0": "in-quota", "b/p1": "over-quota", "b/p2": "over-quota"}  # fmt: skip


def is_right(cluster: KubeCluster) -> bool:
    mine, theirs, room = (status(cluster, kind) for kind in ("Quota", "ElasticQuota", "CapacityPolicy"))
    groups = {each["name"]: each for each in room.get("groups", ())}
    free = {name: each["free"]["cpu"] for name, each in groups.items()}
    return (
        labels(cluster) == EXPECTED
        and theirs.get("used") == {"cpu": "3"}
        and (mine.get("used"), mine.get("borrowed")) == ({"cpu": "3"}, {"cpu": "2"})
        and mine.get("observedGeneration") == room.get("observedGeneration") == 1
        and [condition(each) for each in (mine, theirs, room)] == ["True"] * 3
        and list(free.values()) == ["25"]
    )


TOLD = {("OverQuota", "p2"), ("Borrowing", "q"), ("Borrowing", "b"), ("Invalid", "wrong")}


def told(cluster: KubeCluster) -> set[tuple[str, str]]:
    """Return reason and name of all events; they are written behind the work, so they may come late."""
    found = [each for space in ("a", "b", "default") for each in cluster.events(space)]
    return {(reason, name) for reason, name, _ in found}


def shown(port: int) -> dict[tuple[str, str], float]:
    """Return what Prometheus is shown, by name and by the first label."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("resource", "cpu") == "cpu"
    }


@pytest.mark.faults
def test_from_any_state_it_converges_and_then_writes_nothing(kube_cluster):
    cluster = kube_cluster
    fill(cluster)
    (port,) = free_port_numbers(1)
    with Proxy(cluster.plane) as proxy:
        operator = cluster.start("operator", "--port", str(port), server=proxy.server)
        until(lambda: is_right(cluster), "what was there before is labelled and stated")
        until(lambda: told(cluster) >= TOLD, "those concerned are told by events")
        until(lambda: shown(port)["ullage_reconcile_seconds_count", ""] >= 1, "a whole look has ended")
        figures = shown(port)
        assert figures["ullage_quota_used", "a/q"] == 3
        assert (figures["ullage_quota_min", "b"], figures["ullage_quota_borrowed", "b"]) == (1, 2)
        assert figures["ullage_leads", ""] == 1
        assert 0 <= time.time() - figures["ullage_last_success_timestamp_seconds", ""] < 60
        assert sum(value for (name, _), value in figures.items() if name == "ullage_group_ullage") == 25

        damage(cluster)
        until(lambda: is_right(cluster), "what somebody has changed is put right")

        operator.stop()
        cluster.plane.delete("/apis/ullage.dev/v1/quotas/b")
        cluster.plane.delete("/api/v1/namespaces/a/pods/p0")
        cluster.plane.create(bound("a/p3"))
        after = {"a/p1": "in-quota", "a/p2": "in-quota", "a/p3": "over-quota"}
        operator = cluster.start("operator", server=proxy.server)
        until(lambda: labels(cluster) == after, "what happened meanwhile is noticed")

        until_quiet(proxy)
        count = len(writes(proxy))
        time.sleep(QUIET_SECONDS / 2)
        operator.stop()
        operator = cluster.start("operator", server=proxy.server, ready='"leads"')
        time.sleep(QUIET_SECONDS / 2)
        assert writes(proxy)[count:] == []


def damage(cluster: KubeCluster) -> None:
    """Change by hand what the operator has written."""
    cluster.plane.patch("/api/v1/namespaces/a/pods/p2", {"metadata": {"labels": {LABEL: None}}})
    cluster.plane.patch("/api/v1/namespaces/b/pods/p0", {"metadata": {"labels": {LABEL: "over-quota"}}})
    cluster.plane.patch("/api/v1/namespaces/free/pods/p0", {"metadata": {"labels": {LABEL: "over-quota"}}})
    cluster.plane.patch(f"{STATUSES['Quota']}/status", {"status": {"used": {"cpu": "9", "memory": "1"}}})
    cluster.plane.patch(f"{STATUSES['ElasticQuota']}/status", {"status": None})
    cluster.plane.patch(f"{STATUSES['CapacityPolicy']}/status", {"status": {"groups": []}})


def until_quiet(proxy: Proxy) -> None:
    """Return when nothing was written for longer than anything is put off."""
    seen, since = len(writes(proxy)), time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS + 2:
        time.sleep(0.2)
        if len(writes(proxy)) != seen:
            seen, since = len(writes(proxy)), time.monotonic()


def test_with_types_of_resources_that_change_all_is_read_anew(kube_cluster):
    """Half a licence is one as long as only whole ones are known."""
    cluster = kube_cluster
    licences = "example.com/licences"
    cluster.nodes(1, **{licences: "10"})
    cluster.namespaces("a")
    cluster.plane.create(own("Quota", "a", namespaces=["a"], min={licences: "200m"}, max={licences: "500m"}))
    cluster.plane.create(pod("a/p0") | licensed(licences))
    operator = cluster.start("operator")

    def entitlement() -> dict:
        return cluster.plane.get("/apis/ullage.dev/v1/quotas/a").get("status", {}).get("entitlement", {})

    until(lambda: entitlement() == {licences: "1"}, "whole licences are known")
    cluster.plane.create(own("ResourceType", "licences", name=licences, internalScaleExponent=3))
    operator.wait_until_it_says("begins anew")
    until(lambda: entitlement() == {licences: "500m"}, "parts of licences are known")


def licensed(name: str) -> dict:
    container = {"name": "main", "image": "none", "resources": {"limits": {name: "1"}}}
    return {"spec": {"nodeName": "n0", "containers": [container]}}


@pytest.mark.faults
def test_a_leader_that_is_paused_cut_off_or_killed_acts_no_more_once_another_does(kube_cluster):
    """Three times the leader goes, each time another one goes on, and the one before never writes again."""
    cluster = kube_cluster
    cluster.nodes(1, cpu="16")
    cluster.namespaces("a")
    cluster.plane.create(elastic_quota("a/q", cpu="1"))
    with contextlib.ExitStack() as stack:
        proxies, operators = [], []

        def start(ready: str):
            proxies.append(stack.enter_context(Proxy(cluster.plane)))
            operators.append(cluster.start("operator", server=proxies[-1].server, ready=ready))

        def acts(number: int, name: str) -> None:
            operators[number].wait_until_it_says('"leads"', LEADS_SECONDS)
            cluster.plane.create(bound(f"a/{name}"))
            until(lambda: f"a/{name}" in labels(cluster), f"replica {number} acts")

        start('"leads"')
        start("follows the cluster")
        acts(0, "p0")
        operators[0].signal(signal.SIGSTOP)
        acts(1, "p1")
        count = len(writes(proxies[0]))
        operators[0].signal(signal.SIGCONT)
        operators[0].wait_until_it_says("ends")
        assert len(writes(proxies[0])) == count
        assert not [each for each in writes(proxies[0]) if "/pods/p1" in each.target]

        start("follows the cluster")
        with proxies[1].silence():
            acts(2, "p2")
        operators[1].wait_until_it_says("leads no more")
        assert not [each for each in writes(proxies[1]) if "/pods/p2" in each.target]

        start("follows the cluster")
        operators[2].signal(signal.SIGKILL)
        acts(3, "p3")
