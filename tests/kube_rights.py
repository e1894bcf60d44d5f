"""Rights of processes, taken away one by one: who asks for them all the same is refused.

A process runs behind a proxy, under its own account, of whose roles some rights are taken away; each of them
must then be asked for, and refused by the API server.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from baremetal_driver import claim, drives, mounted
from kube_cluster import NAMESPACE, KubeCluster, node, pod, until
from plane.plane import Plane
from plane.proxy import Asked, Proxy
from simulation.concurrency import fleet
from stores.plan_objects import PlansInMemory
from ullage.kube.install.rights import Right, cluster_rights, namespace_rights
from ullage.model.ledger import Expire, Hold, Reserve
from ullage.model.resources import Resources
from ullage.stores.kubernetes_compaction import compact
from ullage.stores.kubernetes_objects import OBJECT_BYTES_MAX
from ullage.stores.kubernetes_writing import PlanLedger
from ullage.stores.protocol import asked_for

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
FORBIDDEN = 403
ASKED_SECONDS_MAX = 40
LEASES = "coordination.k8s.io"


class One(NamedTuple):
    """A single right."""

    group: str
    resource: str
    verb: str


def singles(given: tuple[Right, ...]) -> set[One]:
    return {One(each.group, name, verb) for each in given for name in each.resources for verb in each.verbs}


def of_component(component: str) -> set[One]:
    return singles((*cluster_rights(component), *namespace_rights(component)))


def needed_for(asked: Asked) -> One:
    """Return the right that a request needs."""
    where = urlsplit(asked.target)
    parts = where.path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    resource = "/".join((rest[0], *rest[2:3]))
    verb = VERBS.get(asked.method, "get" if len(rest) > 1 else "list")
    return One(group, resource, "watch" if "watch" in parse_qs(where.query) else verb)


def denied(proxy: Proxy, missing: set[One]) -> set[One]:
    """Return the rights that were refused; to apply what is not there is a patch that may not create."""
    found = {needed_for(each) for each in proxy.asked if each.status == FORBIDDEN}
    return {one if one in missing or one.verb != "patch" else one._replace(verb="create") for one in found}


def take_away(cluster: KubeCluster, component: str, missing: set[One]) -> None:
    """Write the roles of a process without some of its rights, and wait until the API server knows."""
    name = f"ullage-{component}"
    base = "/apis/rbac.authorization.k8s.io/v1"
    roles = {
        f"{base}/clusterroles/{name}": cluster_rights(component),
        f"{base}/namespaces/{NAMESPACE}/roles/{name}": namespace_rights(component),
    }
    for path, given in roles.items():
        rules = [
            {**right.rule(), "resources": [resource], "verbs": [verb]}
            for right in given
            for resource in right.resources
            for verb in right.verbs
            if One(right.group, resource, verb) not in missing
        ]
        cluster.plane.patch(path, {"rules": rules})
    for one in of_component(component):
        until(lambda one=one: may(cluster, component, one) != (one in missing), f"{one} is known of")


def may(cluster: KubeCluster, component: str, one: One) -> bool:
    resource, _, part = one.resource.partition("/")
    names = [
        right.names[0]
        for right in (*cluster_rights(component), *namespace_rights(component))
        if right.names and one in singles((right,))
    ]
    asked = {
        "group": one.group,
        "resource": resource,
        "subresource": part,
        "verb": one.verb,
        "namespace": NAMESPACE if one.group == LEASES or resource == "secrets" else "",
        "name": names[0] if names else "",
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:ullage-{component}",
            "resourceAttributes": asked,
        },
    }
    return cluster.plane.client().create(review)["status"]["allowed"]


def missed(
    cluster: KubeCluster,
    proxy: Proxy,
    component: str,
    missing: set[One],
    *arguments: str,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Run a process without some rights until each of them was asked for in vain."""
    take_away(cluster, component, missing)
    process = cluster.start(component, *arguments, server=proxy.server, ready="starts")
    try:
        meanwhile()
        with contextlib.suppress(AssertionError):
            until(lambda: missing <= denied(proxy, missing), "all are asked for", ASKED_SECONDS_MAX)
    finally:
        process.stop()
    assert denied(proxy, missing) == missing


# What there is to do


class Wishes:
    """Nodes and pods for which a scheduler, or an extender, needs everything it may do."""

    def __init__(self, plane: Plane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace

    def make(self) -> None:
        for name in ("n0", "full"):
            made = node(name, {"cpu": "1"})
            made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            self.plane.create(made)
        self.plane.create_many([*drives("n0", HDD=[100]), _volume(), _elsewhere(), _important()])
        self.plane.patch("/api/v1/persistentvolumes/by-hand-0/status", {"status": {"phase": "Available"}})
        on_full = {"kubernetes.io/hostname": "full"}
        self.plane.create(self._pod("runs", nodeName="full"))
        self.plane.create(self._pod("evicts", nodeSelector=on_full, priorityClassName="important"))
        self.plane.create(self._pod("too-large", cpu="9"))
        self.plane.create(self._pod("plain", cpu="100m"))
        for name, storage_class in (("disk", "hdd-group"), ("free", "by-hand"), ("made", "elsewhere")):
            self.plane.create(claim(f"{self.namespace}/{name}", storage_class, 1))
            self.plane.create(self._pod(name, cpu="100m", **mounted(name)))

    def _pod(self, name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
        return pod(f"{self.namespace}/{name}", cpu=cpu, spec=spec)

    def through_kube_scheduler(self) -> None:
        """Have pods tried in vain: two of a quota, and one that there is room for."""
        amounts = {"min": {"cpu": "9"}}
        quota = {"apiVersion": "ullage.dev/v1", "kind": "Quota", "metadata": {"name": self.namespace}}
        self.plane.create({**quota, "spec": {"namespaces": [self.namespace], **amounts}})
        self.plane.create(self._pod("again", cpu="100m"))
        tried = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        for name in ("again", "evicts", "too-large"):
            self.plane.patch(f"{self._path(name)}/status", {"status": {"conditions": [tried]}})

    def ask(self, port: int, connections: list[HTTPConnection]) -> None:
        """Ask an extender to bind the others, as kube-scheduler does; who asks is not told how that ends."""
        until(lambda: _listens(port), "the extender listens")
        for name in ("plain", "disk", "free", "made"):
            uid = self.plane.get(self._path(name))["metadata"]["uid"]
            asked = {"PodName": name, "PodNamespace": self.namespace, "PodUID": uid, "Node": "n0"}
            connections.append(HTTPConnection("127.0.0.1", port))
            connections[-1].request("POST", "/bind", json.dumps(asked))

    def _path(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}"


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _volume() -> dict[str, Any]:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n0"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "by-hand-0"},
        "spec": {
            "capacity": {"storage": "2Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "local": {"path": "/somewhere"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        },
    }


def _elsewhere() -> dict[str, Any]:
    return {**by_hand(), "metadata": {"name": "elsewhere"}, "provisioner": "example.com/elsewhere"}


def _important() -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "important"},
        "value": 1000,
    }


def by_hand() -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "by-hand"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def old_promise(steps: int) -> list[dict[str, Any]]:
    """Return a ledger with a promise whose time has come, after so many steps; its first state is kept."""

    async def made() -> list[bytes]:
        objects = PlansInMemory()
        ledger = PlanLedger(objects)
        holds = (Hold("web", "node/n0", Resources({"cpu": 1})),)
        for number in range(steps):
            first = (fleet(), Reserve("r", "me", 2 * steps, holds=holds))
            command = first[number] if number < len(first) else Expire()
            await ledger.submit(asked_for(command, number, "", None, OBJECT_BYTES_MAX))
            if number == 1:
                await compact(objects, await ledger.read())
        return await objects.read_all()

    return [json.loads(each) for each in asyncio.run(made())]
