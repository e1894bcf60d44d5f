"""Quotas of every kind on a test cluster, pods that come and go under them, and what the engine says of them.

Whatever happens meanwhile, in the end labels and statuses are what `ullage quota list` says on the plane, and
promises that have ended were given back, each once. The hard thing is that nothing here may fail when the API
server does: what was not answered is asked for again.
"""

import contextlib
import http.client
import itertools
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any, Self

from kube_cluster import KubeCluster, elastic_quota, pod, until
from plane.client import ApiError
from plane.proxy import Asked, Proxy
from ullage.model.ledger import Capacity, Hold, Reserve, Supply
from ullage.model.resources import Resources
from ullage.service.ledger_cluster import ClusterPlace, open_ledger

LABEL = "nos.nebuly.com/capacity"
IN_QUOTA, OVER_QUOTA = "in-quota", "over-quota"
SPACES = ("e", "c", "d", "o")
"""Of an ElasticQuota, two of a CompositeElasticQuota, and of a Quota."""
FREE = "free"
MOST = 6
"""Pods that a namespace has at once."""
ROUNDS_PAUSE_SECONDS = 0.05
AGAIN_SECONDS = 0.2
QUIET_SECONDS = 11.0
"""Longer than anything is put off."""
SETTLED_SECONDS_MAX = 90.0
VALID = {"e/q": "True", "c/pair": "True", "o": "True", "wrong": "False"}
STATED = {
    "/apis/nos.nebuly.com/v1alpha1/elasticquotas": True,
    "/apis/nos.nebuly.com/v1alpha1/compositeelasticquotas": True,
    "/apis/ullage.dev/v1/quotas": False,
}


def own_quota(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "ullage.dev/v1", "kind": "Quota", "metadata": {"name": name}, "spec": spec}


def prepare(cluster: KubeCluster) -> None:
    """Make a node, namespaces and quotas, of which one cannot hold."""
    cluster.nodes(1, cpu="64")
    cluster.namespaces(*SPACES, FREE)
    pair = {**elastic_quota("c/pair", cpu="4"), "kind": "CompositeElasticQuota"}
    pair["spec"]["namespaces"] = ["c", "d"]
    cluster.plane.create_many(
        [
            elastic_quota("e/q", cpu="3"),
            pair,
            own_quota("o", namespaces=["o"], min={"cpu": "2"}),
            own_quota("wrong", namespaces=["nowhere"], min={"cpu": "2"}, max={"cpu": "1"}),
        ]
    )


# Pods


class Coming:
    """Pods come and go for as long as this context lasts; labels are damaged now and then."""

    def __init__(self, cluster: KubeCluster, pause_seconds: float = ROUNDS_PAUSE_SECONDS) -> None:
        self._plane = cluster.plane
        self._pause_seconds = pause_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pods")
        self._there: dict[str, list[str]] = {space: [] for space in SPACES}
        self.came = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def wait(self, count: int) -> None:
        """Return when so many more have come."""
        before = self.came
        until(lambda: self.came >= before + count, f"{count} pods come")

    def _run(self) -> None:
        for number, space in zip(itertools.count(), itertools.cycle(SPACES), strict=False):
            if self._ended.wait(self._pause_seconds):
                return
            there = self._there[space]
            key = f"{space}/p{number:04d}"
            self._again(
                "POST", f"/api/v1/namespaces/{space}/pods", pod(key, cpu="1", spec={"nodeName": "n0"})
            )
            there.append(key)
            self.came += 1
            if len(there) > MOST - number % 3:
                gone = there.pop(number % len(there))
                name = gone.partition("/")[2]
                self._again("DELETE", f"/api/v1/namespaces/{space}/pods/{name}", {"gracePeriodSeconds": 0})
            if number % 7 == 0:
                self._damage(there[0], OVER_QUOTA if number % 2 else None)

    def _damage(self, key: str, label: str | None) -> None:
        namespace, _, name = key.partition("/")
        with contextlib.suppress(OSError, http.client.HTTPException, ApiError):
            self._plane.patch(
                f"/api/v1/namespaces/{namespace}/pods/{name}", {"metadata": {"labels": {LABEL: label}}}
            )

    def _again(self, method: str, path: str, document: dict[str, Any]) -> None:
        """Ask until it is done, or until this ends."""
        while not self._ended.is_set():
            try:
                self._plane.client().request(method, path, document)
            except ApiError as error:
                if error.status in {404, 409}:
                    return
            except (OSError, http.client.HTTPException):
                pass
            else:
                return
            time.sleep(AGAIN_SECONDS)


# What the engine says, and what is written


def engine(cluster: KubeCluster) -> dict[str, dict[str, Any]]:
    """Return by name what `ullage quota list` says of the cluster as it is."""
    words = [
        "quota",
        "list",
        "-c",
        "kube",
        "--kubeconfig",
        str(cluster.plane.kubeconfig()),
        "-q",
        "-o",
        "json",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "ullage", *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)["quotas"]}


def labels(cluster: KubeCluster) -> dict[str, str]:
    found = {key: each["metadata"].get("labels", {}).get(LABEL, "") for key, each in cluster.pods().items()}
    return {key: label for key, label in found.items() if label}


def statuses(cluster: KubeCluster) -> dict[str, dict[str, Any]]:
    """Return the status of each quota."""
    found = {}
    for path, namespaced in STATED.items():
        for each in cluster.plane.items(path):
            metadata = each["metadata"]
            key = f"{metadata['namespace']}/{metadata['name']}" if namespaced else metadata["name"]
            found[key] = each.get("status", {})
    return found


def differences(cluster: KubeCluster, said: dict[str, dict[str, Any]]) -> list[str]:
    """Return where the cluster says something else than the engine."""
    over = {key for each in said.values() for key in each["overQuota"]}
    running = [key for key in cluster.pods() if key.partition("/")[0] in SPACES]
    wanted = {key: OVER_QUOTA if key in over else IN_QUOTA for key in running}
    found = labels(cluster)
    wrong = [
        f"{key} is labelled {found.get(key)!r}, not {wanted.get(key)!r}"
        for key in wanted.keys() | found.keys()
        if found.get(key) != wanted.get(key)
    ]
    stated = statuses(cluster)
    for name, each in said.items():
        status = stated.get(name, {})
        terms = ("used", "borrowed", "entitlement") if name == "o" else ("used",)
        wrong += [
            f"{name} states {term} {status.get(term)}, not {each[term]}"
            for term in terms
            if status.get(term, {}) != each[term]
        ]
    holds = {
        name: next((one["status"] for one in each.get("conditions", ()) if one["type"] == "Valid"), "")
        for name, each in stated.items()
    }
    return wrong + ([f"conditions are {holds}"] if holds != VALID else [])


def wait_until_right(cluster: KubeCluster, seconds: float = SETTLED_SECONDS_MAX) -> None:
    """Return when labels and statuses are what the engine says; the pods do not change any more."""
    said = engine(cluster)
    assert said.keys() >= VALID.keys() - {"wrong"}, said.keys()
    assert any(each["overQuota"] for each in said.values()), "nobody is over quota: nothing is tried"
    until(lambda: not differences(cluster, said), lambda: "; ".join(differences(cluster, said)[:10]), seconds)


def writes(*proxies: Proxy) -> list[Asked]:
    """What was asked that changes something, but for leases."""
    asked = [each for proxy in proxies for each in proxy.asked]
    return [each for each in asked if each.method != "GET" and "/leases" not in each.target]


def wait_until_at_rest(*proxies: Proxy, seconds: float = SETTLED_SECONDS_MAX) -> None:
    """Return when nothing was written for longer than anything is put off."""
    began = since = time.monotonic()
    seen = len(writes(*proxies))
    while time.monotonic() - since < QUIET_SECONDS:
        time.sleep(AGAIN_SECONDS)
        if len(writes(*proxies)) != seen:
            seen, since = len(writes(*proxies)), time.monotonic()
        last = writes(*proxies)[-5:]
        assert time.monotonic() - began < seconds, f"something is written all the time: {last}"


# Promises


def promise(cluster: KubeCluster, names: list[str], seconds: int) -> int:
    """Have the ledger of the cluster hold something under each name, for so long; return until when."""
    at_seconds = int(time.time())
    some = (Hold("web", "node/n0", Resources({"cpu": 100})),)
    with open_ledger(ClusterPlace(kubeconfig=str(cluster.plane.kubeconfig()))) as ledger:
        ledger.submit(Supply((Capacity("node/n0", Resources({"cpu": 64_000})),)), at_seconds=at_seconds)
        for name in names:
            outcome = ledger.submit(
                Reserve(name, "team", at_seconds + seconds, holds=some), at_seconds=at_seconds
            )
            assert outcome.decision.accepted, outcome.decision.reason
    return at_seconds + seconds


def held(cluster: KubeCluster) -> set[str]:
    """Return what the ledger of the cluster holds."""
    with open_ledger(ClusterPlace(kubeconfig=str(cluster.plane.kubeconfig()))) as ledger:
        return {entry.reservation for entry in ledger.state().entries}


def wait_until_given_back(
    cluster: KubeCluster, names: list[str], seconds: float = SETTLED_SECONDS_MAX
) -> None:
    """Return when nothing is held any more, and see that each was given back once."""
    with open_ledger(ClusterPlace(kubeconfig=str(cluster.plane.kubeconfig()))) as ledger:
        until(lambda: not ledger.state().entries, "nothing is held any more", seconds)
        ended = Counter(
            entry.reservation
            for row in ledger.journal()
            for entry in row.decision.changed
            if entry.state == "EXPIRED"
        )
        assert ended == dict.fromkeys(names, 1)
        assert [each for each in ledger.verify() if each.severity == "error"] == []
