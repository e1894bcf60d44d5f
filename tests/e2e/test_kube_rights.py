"""Rights are exactly enough: each single one is asked for, and without it what it is for does not happen.

Rights that do not stand in each other's way are taken away together (tests/kube_rights.py). That all of them
together are enough is what every other test of the processes shows.
"""

from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from baremetal_driver import kinds, storage_classes
from kube_cluster import NAMESPACE, KubeCluster, free_port_numbers, node, pod, until
from kube_rights import LEASES, One, Wishes, by_hand, missed, of_component, old_promise
from plane.plane import Plane
from plane.proxy import Proxy
from plane.settings import API
from ullage.kube.install.choices import CERTIFICATE_SECRET, EXTENDER, OPERATOR, SCHEDULER
from ullage.kube.install.objects import objects
from ullage.stores.kubernetes_compaction import STEPS_KEPT_MIN

pytestmark = [pytest.mark.slow, pytest.mark.faults]
BAREMETAL = "csi-baremetal.dell.com"
RESERVATIONS = "availablecapacityreservations"
NOS = "nos.nebuly.com"
OWN = "ullage.dev"
WEBHOOKS = "admissionregistration.k8s.io"
READ_BY = {
    component: {one for one in of_component(component) if one.verb in {"list", "watch"}}
    for component in (SCHEDULER, OPERATOR, EXTENDER)
}


@pytest.fixture(scope="module")
def cluster(plane_program) -> Iterator[KubeCluster]:
    made = KubeCluster(plane_program, ())
    flags = [
        "--runtime-config=scheduling.k8s.io/v1alpha2=true",
        "--feature-gates=GenericWorkload=true",
        "--disable-admission-plugins=StorageObjectInUseProtection",  # nobody is here who would let them go
    ]
    made.plane = Plane(plane_program, (), flags={API: flags})
    with made as running:
        others = [
            definition("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups"),
            definition(BAREMETAL, "v1", "Node", "nodes"),
        ]
        running.plane.create_many([*kinds(), *others, *storage_classes(), by_hand()])
        yield running


@pytest.fixture
def proxy(cluster: KubeCluster) -> Iterator[Proxy]:
    with Proxy(cluster.plane) as running:
        yield running


def definition(group: str, version: str, kind: str, plural: str) -> dict[str, Any]:
    """Return the definition of a kind that installations of others bring."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [served],
        },
    }


# The scheduler and the extender


@pytest.fixture
def wishes(cluster: KubeCluster) -> Iterator[Wishes]:
    with cluster.plane.scratch() as namespace:
        made = Wishes(cluster.plane, namespace)
        made.make()
        yield made


WRITES = {
    One("", "pods/binding", "create"),
    One("", "pods/eviction", "create"),
    One("", "pods/status", "patch"),
    One("", "persistentvolumeclaims", "patch"),
    One("", "persistentvolumes", "patch"),
    One(BAREMETAL, RESERVATIONS, "create"),
    One("events.k8s.io", "events", "create"),
}
FIRST = One("ullage.dev", "resourcetypes", "list")
"""What is read before all else."""
AFTERWARDS = {
    One("", "pods", "get"),
    One("", "persistentvolumes", "get"),
    One(BAREMETAL, RESERVATIONS, "delete"),
}
RESERVES = {One(BAREMETAL, RESERVATIONS, "patch")}
LEADS = [{One(LEASES, "leases", verb)} for verb in ("create", "get", "update")]


PLACING = (SCHEDULER, EXTENDER)
"""Who places pods, or has them placed: both do the same to them."""


@pytest.mark.parametrize("component", PLACING)
def test_they_have_no_right_that_is_not_looked_at_here(component):
    looked_at = READ_BY[component].union(WRITES, AFTERWARDS, RESERVES, *LEADS)
    assert of_component(component) == looked_at


def listening(component: str, port: int = 0) -> tuple[str, ...]:
    """Return where an extender listens, and whose pods it is for here."""
    if component != EXTENDER:
        return ()
    port = port or free_port_numbers(1)[0]
    return ("--extender-host", "127.0.0.1", "--extender-port", str(port), "--scheduler-name", "ullage")


@pytest.mark.parametrize("component", [SCHEDULER, OPERATOR, EXTENDER])
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_all_that_is_followed_is_listed_and_watched(cluster, proxy, component, verb):
    missing = {one for one in READ_BY[component] - {FIRST} if one.verb == verb}
    missed(cluster, proxy, component, missing, *listening(component))


@pytest.mark.parametrize("component", [SCHEDULER, OPERATOR, EXTENDER])
def test_without_resource_types_nothing_begins(cluster, proxy, component):
    with pytest.raises(AssertionError, match=r'ended with 1: .* cannot list resource "resourcetypes"'):
        missed(cluster, proxy, component, {FIRST}, *listening(component))


def missed_in_placing(
    cluster: KubeCluster,
    proxy: Proxy,
    wishes: Wishes,
    component: str,
    missing: set[One],
    *,
    then: Callable[[], None] = lambda: None,
) -> None:
    """Run a scheduler, or an extender that is asked what kube-scheduler asks, without some rights."""
    (port,) = free_port_numbers(1)
    connections: list[HTTPConnection] = []

    def meanwhile() -> None:
        if component == EXTENDER:
            wishes.ask(port, connections)
        then()

    if component == EXTENDER:
        wishes.through_kube_scheduler()
    arguments = ("--no-leader-elect", *listening(component, port))
    missed(cluster, proxy, component, missing, *arguments, meanwhile=meanwhile)
    for connection in connections:
        connection.close()


@pytest.mark.parametrize("component", PLACING)
def test_without_them_pods_are_not_placed(cluster, proxy, wishes, component):
    missed_in_placing(cluster, proxy, wishes, component, WRITES)


@pytest.mark.parametrize("component", PLACING)
def test_without_it_no_other_disks_are_reserved_than_before(cluster, proxy, wishes, component):
    """A pod has a reservation already: of a try before, on another node perhaps."""
    cluster.plane.create(
        {
            "apiVersion": f"{BAREMETAL}/v1",
            "kind": "AvailableCapacityReservation",
            "metadata": {"name": f"{wishes.namespace}-disk"},
            "spec": {"Namespace": wishes.namespace, "Status": "REQUESTED"},
        }
    )
    missed_in_placing(cluster, proxy, wishes, component, RESERVES)


@pytest.mark.parametrize("component", PLACING)
def test_without_them_it_is_not_known_what_was_done_and_nothing_is_given_back(
    cluster, proxy, wishes, component
):
    proxy.cut("POST", "plain/binding$", done=True)
    path = f"/api/v1/namespaces/{wishes.namespace}/pods/disk"

    def then() -> None:
        until(lambda: bool(cluster.plane.items(f"/apis/{BAREMETAL}/v1/{RESERVATIONS}")), "a disk is held")
        cluster.plane.delete(path)

    missed_in_placing(cluster, proxy, wishes, component, AFTERWARDS, then=then)
    for each in cluster.plane.items(f"/apis/{BAREMETAL}/v1/{RESERVATIONS}"):
        cluster.plane.delete(f"/apis/{BAREMETAL}/v1/{RESERVATIONS}/{each['metadata']['name']}")


@pytest.mark.parametrize("component", [SCHEDULER, OPERATOR, EXTENDER])
@pytest.mark.parametrize("missing", LEADS, ids=["create", "get", "update"])
def test_without_them_nobody_leads(cluster, proxy, component, missing):
    (one,) = missing
    leases = f"/apis/{LEASES}/v1/namespaces/{NAMESPACE}/leases"
    names = {each["metadata"]["name"] for each in cluster.plane.items(leases)}
    if one.verb != "create" and f"ullage-{component}" not in names:
        lease = {"apiVersion": f"{LEASES}/v1", "kind": "Lease", "spec": {}}
        cluster.plane.create({**lease, "metadata": {"name": f"ullage-{component}", "namespace": NAMESPACE}})
    elif one.verb == "create" and f"ullage-{component}" in names:
        cluster.plane.delete(f"{leases}/ullage-{component}")
    missed(cluster, proxy, component, missing, *listening(component))


# The operator

STATED = {
    One("", "pods", "patch"),
    One(NOS, "elasticquotas/status", "patch"),
    One(NOS, "compositeelasticquotas/status", "patch"),
    One(OWN, "capacitypolicies/status", "patch"),
    One(OWN, "quotas/status", "patch"),
    One(OWN, "nodecapacities/status", "patch"),
    One("", "secrets", "get"),
}
TOLD = {
    One("events.k8s.io", "events", "create"),
    One(BAREMETAL, RESERVATIONS, "delete"),
    One(OWN, "nodecapacities", "create"),
    One(OWN, "nodecapacities", "delete"),
    One("", "secrets", "create"),
}
TRUSTED = [
    {One("", "secrets", "update")},
    {One(WEBHOOKS, "validatingwebhookconfigurations", "get")},
    {One(WEBHOOKS, "validatingwebhookconfigurations", "patch")},
]
PROMISES = [{One(OWN, "plans", verb)} for verb in ("create", "get", "delete")]
OLD_STEPS = STEPS_KEPT_MIN + 10
"""Of so many steps some are removed."""
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"


def test_the_operator_has_no_right_that_is_not_looked_at_here():
    assert of_component(OPERATOR) == READ_BY[OPERATOR].union(STATED, TOLD, *PROMISES, *TRUSTED, *LEADS)


def kept(plane: Plane, namespace: str) -> None:
    """Make something of each kind that the operator keeps."""
    amounts = {"min": {"cpu": "1"}}
    name = {"name": f"of-{namespace}", "namespace": namespace}
    plane.create(node("n0", {"cpu": "8"}))
    plane.delete(f"/apis/{OWN}/v1/nodecapacities")  # of nodes before this one
    nobody = {"name": f"of-nobody-in-{namespace}"}
    plane.create_many(
        [
            {"apiVersion": f"{OWN}/v1", "kind": "NodeCapacity", "metadata": nobody},
            {"apiVersion": f"{NOS}/v1alpha1", "kind": "ElasticQuota", "metadata": name, "spec": amounts},
            {
                "apiVersion": f"{NOS}/v1alpha1",
                "kind": "CompositeElasticQuota",
                "metadata": name,
                "spec": {"namespaces": ["elsewhere"], **amounts},
            },
            {"apiVersion": f"{OWN}/v1", "kind": "CapacityPolicy", "metadata": {"name": "p"}, "spec": {}},
            {
                "apiVersion": f"{OWN}/v1",
                "kind": "Quota",
                "metadata": {"name": "q"},
                "spec": {"namespaces": ["somewhere"], **amounts},
            },
            {
                "apiVersion": f"{BAREMETAL}/v1",
                "kind": "AvailableCapacityReservation",
                "metadata": {"name": f"{namespace}-nobody"},
                "spec": {"Namespace": namespace, "Status": "RESERVED"},
            },
        ]
    )
    made = plane.create(pod(f"{namespace}/runs", cpu="2", spec={"nodeName": "n0"}))
    path = f"/api/v1/namespaces/{namespace}/pods/{made['metadata']['name']}/status"
    plane.patch(path, {"status": {"phase": "Running"}})


def forget_secret(cluster: KubeCluster) -> None:
    for each in cluster.plane.items(SECRETS):
        cluster.plane.delete(f"{SECRETS}/{each['metadata']['name']}")


@pytest.mark.parametrize("missing", [STATED, TOLD], ids=["stated", "told"])
def test_without_them_nothing_is_kept_as_it_should_be(cluster, proxy, missing):
    forget_secret(cluster)
    with cluster.plane.scratch() as namespace:
        kept(cluster.plane, namespace)
        port = str(free_port_numbers(1)[0])
        missed(cluster, proxy, OPERATOR, missing, "--no-leader-elect", "--webhook-port", port)


@pytest.mark.parametrize("missing", TRUSTED, ids=["update", "get", "patch"])
def test_without_them_the_api_server_does_not_trust_the_webhook(cluster, proxy, missing):
    forget_secret(cluster)
    (one,) = missing
    with cluster.plane.scratch():
        cluster.plane.create(
            next(
                each for each in objects(cluster.choices) if each["kind"] == "ValidatingWebhookConfiguration"
            )
        )
        if one.verb == "update":
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": CERTIFICATE_SECRET}}
            cluster.plane.create({**secret, "metadata": {"name": CERTIFICATE_SECRET, "namespace": NAMESPACE}})
        port = str(free_port_numbers(1)[0])
        missed(cluster, proxy, OPERATOR, missing, "--no-leader-elect", "--webhook-port", port)


@pytest.mark.parametrize("missing", PROMISES, ids=["create", "get", "delete"])
def test_without_them_promises_do_not_end_and_old_steps_stay(cluster, proxy, missing):
    (one,) = missing
    with cluster.plane.scratch():
        cluster.plane.create_many(old_promise(OLD_STEPS if one.verb == "delete" else 2))
        try:
            missed(cluster, proxy, OPERATOR, missing, "--no-leader-elect")
        finally:
            cluster.plane.delete(f"/apis/{OWN}/v1/plans")
