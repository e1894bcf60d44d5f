"""Rights of processes, taken away one by one: who asks for them all the same is refused.

A process runs behind a proxy, under its own account, of whose roles some rights are taken away; each of them
must then be asked for, and refused by the API server.
"""

import contextlib
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from kube_cluster import NAMESPACE, KubeCluster, until
from plane.proxy import Asked, Proxy
from ullage.kube.install.rights import Right, cluster_rights, namespace_rights

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


def asked_for(asked: Asked) -> One:
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
    found = {asked_for(each) for each in proxy.asked if each.status == FORBIDDEN}
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
