"""The metrics API of a real control plane, which a server of ours is aggregated into."""

import pytest

from plane.plane import Plane
from ullage.model.errors import InputError
from ullage.sources.given import giving
from ullage.sources.usage import metrics_api
from ullage.sources.usage.metrics_api import read_metrics_api
from usage_metrics_server import MetricsServer, node_metrics, pod_metrics

SECONDS = 1767225600
MIB = 1 << 20
RIGHTS = {"apiGroups": ["metrics.k8s.io"], "resources": ["pods"], "verbs": ["get", "list"]}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bare(plane_program):
    """A control plane without controllers: nothing else has a say in its services."""
    with Plane(plane_program, ()) as running:
        yield running


@pytest.fixture(scope="module")
def served(bare, tmp_path_factory):
    server = MetricsServer(
        [node_metrics("n1", "250m", "1Gi"), node_metrics("n2", "1234567891n", "2097152Ki")],
        [
            pod_metrics("shop", "web-1", ("app", "100000001n", "100Mi"), ("side", "5m", "10Mi")),
            pod_metrics("shop", "idle", *((f"c{number}", "100000n", "1Mi") for number in range(8))),
            pod_metrics("shop", "odd", ("app", "what?", "10Mi")),
            pod_metrics("shop", "over", at="2026-01-01T00:00:30Z"),
            *(pod_metrics("data", f"p{number}", ("c", "1", str(number))) for number in range(5)),
        ],
        page=2,
    )
    with server.on(bare, tmp_path_factory.mktemp("metrics")):
        yield server


def points(samples):
    found = {}
    for each in samples:
        for number, seconds, amount in zip(
            each.numbers.tolist(), each.at_seconds.tolist(), each.amounts.tolist(), strict=True
        ):
            found[each.subjects[number], each.resource] = (seconds, amount)
    return found


def refusal(**options):
    with pytest.raises(InputError) as raised:
        list(read_metrics_api(**options))
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_every_page_of_nodes_and_pods_is_read(bare, served):
    found = points(read_metrics_api(kubeconfig=str(bare.kubeconfig())))
    assert found["node/n1", "cpu"] == (SECONDS, 250)
    assert found["node/n2", "cpu"] == (SECONDS, 1235)
    assert found["node/n2", "memory"] == (SECONDS, 2 << 30)
    assert found["container/shop/web-1/app", "cpu"] == (SECONDS, 100)
    assert found["pod/shop/web-1", "cpu"] == (SECONDS, 105)
    assert found["pod/shop/web-1", "memory"] == (SECONDS, 110 * MIB)
    assert {subject for subject, _ in found if subject.startswith("pod/data/")} == {
        f"pod/data/p{number}" for number in range(5)
    }
    assert sum("continue=" in each for each in served.asked) >= 3


def test_idle_containers_are_together_what_they_are(bare, served):  # noqa: ARG001 - it is served
    found = points(read_metrics_api(kubeconfig=str(bare.kubeconfig())))
    assert sum(found[f"container/shop/idle/c{number}", "cpu"][1] for number in range(8)) == 1
    assert found["pod/shop/idle", "cpu"] == (SECONDS, 1)


def test_what_cannot_be_read_is_a_point_that_was_dropped(bare, served):  # noqa: ARG001 - it is served
    found = points(read_metrics_api(kubeconfig=str(bare.kubeconfig())))
    assert found["pod/shop/odd", "cpu"] == (SECONDS, -1)
    assert found["pod/shop/odd", "memory"] == (SECONDS, 10 * MIB)
    assert found["pod/shop/over", "cpu"] == (SECONDS + 30, -1)


def test_one_namespace_has_its_pods_alone(bare, served):  # noqa: ARG001 - it is served
    found = points(read_metrics_api(kubeconfig=str(bare.kubeconfig()), namespace="shop"))
    assert {subject.split("/")[1] for subject, _ in found} == {"shop"}


def test_who_may_see_pods_alone_gets_pods_alone(bare, served):  # noqa: ARG001 - it is served
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "metrics-of-pods"}}
    subject = {"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": "metrics-of-pods", "apiGroup": "rbac.authorization.k8s.io"}
    bare.create(role | {"kind": "ClusterRole", "rules": [RIGHTS]})
    bare.create(role | {"kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]})
    found = points(read_metrics_api(kubeconfig=str(bare.kubeconfig("reader"))))
    assert {subject.split("/")[0] for subject, _ in found} == {"pod", "container"}


def test_who_may_see_nothing_is_told_what_to_ask_for(bare, served):  # noqa: ARG001 - it is served
    told = refusal(kubeconfig=str(bare.kubeconfig("stranger")))
    assert "not permitted: list pods.metrics.k8s.io; use -n NAMESPACE, or ask for a role" in told


def test_a_cluster_without_a_metrics_api_says_what_to_install(plane_program):
    with Plane(plane_program, ()) as plane:
        told = refusal(kubeconfig=str(plane.kubeconfig()))
    assert "there is no metrics API (metrics.k8s.io); install metrics-server" in told


def test_an_answer_that_is_no_list_is_told(bare, served, monkeypatch):
    monkeypatch.setattr(served, "lists", {"nodes": ["x"], "pods": []})
    assert "the answer is no list of metrics" in refusal(kubeconfig=str(bare.kubeconfig()))


def test_it_is_asked_for_nobody_else():
    with giving({}), pytest.raises(InputError, match="not looked at for others"):
        metrics_api.read_metrics_api()
