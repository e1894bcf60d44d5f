"""A real Prometheus is found in a real cluster by its labels, and asked through the API server."""

import pytest

from network_host import host
from plane.plane import Plane
from ullage.model.errors import InputError
from ullage.service.asked import Asked
from ullage.service.usage_meters import usage_meter
from ullage.sources.given import giving
from ullage.sources.kubernetes.kubeconfig import find_access
from ullage.sources.kubernetes.live_server import ApiServer
from ullage.sources.usage.prometheus_discovery import discover_prometheus, read_discovered
from ullage.sources.usage.prometheus_parts import Window
from usage_exporter import MIB, Metric, cadvisor, history
from usage_prometheus import prometheus

BEGIN = 1_700_006_400
WINDOW = Window(BEGIN + 600, BEGIN + 1800, 300)
NAME, PART = "app.kubernetes.io/name", "app.kubernetes.io/component"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bare(plane_program):
    with Plane(plane_program, ()) as running:
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    metrics = cadvisor("shop", "web-1", "app", lambda minute: 30.0 * minute, lambda _: 5 * MIB)
    known = {"namespace": "shop", "pod": "web-1", "interface": "eth0", "id": "/web-1", "job": "kubelet"}
    metrics = [*metrics, Metric("container_network_transmit_bytes_total", known, lambda minute: 7 * minute)]
    folder = tmp_path_factory.mktemp("prometheus")
    with host() as other, prometheus(folder, history(metrics, BEGIN, 60), where=other) as url:
        yield url


def serve(plane, namespace, name, labels, url=""):
    """Make a Service; where it leads somewhere, to a pod that has this address: others are not proxied to."""
    metadata = {"name": name, "namespace": namespace}
    ports = [{"name": "grpc", "port": 10901}, {"name": "web", "port": 9090}]
    plane.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {**metadata, "labels": labels},
            "spec": {"ports": ports},
        }
    )
    if not url:
        return
    host, port = url.removeprefix("http://").split(":")
    spec = {"containers": [{"name": "c", "image": "i"}]}
    plane.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    status = {"status": {"podIP": host, "podIPs": [{"ip": host}]}}
    plane.patch(f"/api/v1/namespaces/{namespace}/pods/{name}/status", status)
    address = {"ip": host, "targetRef": {"kind": "Pod", **metadata}}
    subset = {"addresses": [address], "ports": [{"name": "web", "port": int(port)}]}
    plane.create({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]})


def access(plane, user="admin"):
    return find_access("", str(plane.kubeconfig(user)))


def refusal(plane, user="admin"):
    with pytest.raises(InputError) as raised:
        list(read_discovered(access(plane, user), WINDOW))
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_it_is_found_by_its_labels_and_read_through_the_api_server(bare, running):
    with bare.scratch() as namespace:
        serve(bare, namespace, "other", {"app": "web"})
        serve(bare, namespace, "prometheus-k8s", {NAME: "prometheus", PART: "prometheus"}, running)
        found = {
            (each.subjects[number], each.resource, amount)
            for each in read_discovered(access(bare), WINDOW)
            for number, amount in zip(each.numbers.tolist(), each.amounts.tolist(), strict=True)
        }
    assert ("pod/shop/web-1", "memory", 5 * MIB) in found
    assert ("pod/shop/web-1", "cpu", 500) in found


def test_its_counters_are_metered_without_its_address(bare, running, tmp_path, monkeypatch):
    monkeypatch.setenv("ULLAGE_NOW", str(BEGIN + 3600))
    asked = Asked(kubeconfig=str(bare.kubeconfig("admin")))
    with bare.scratch() as namespace:
        serve(bare, namespace, "prometheus-k8s", {NAME: "prometheus", PART: "prometheus"}, running)
        for source, readings in (("prometheus", 60), ("prometheus:?window=30m", 30)):
            found = usage_meter(source, str(tmp_path / f"{readings}.db"), asked).data()
            assert (found["counters"], found["source"]) == (1, source)
            assert abs(found["readings"] - readings) <= 1


def test_what_joins_many_goes_before_a_single_one_and_what_does_not_answer_is_passed_over(bare, running):
    with bare.scratch() as namespace:
        serve(bare, namespace, "gone", {NAME: "thanos", PART: "query"})
        serve(bare, namespace, "b-single", {"app": "prometheus"}, running)
        serve(bare, namespace, "z-joined", {"app": "thanos-query"}, running)
        server = ApiServer(access(bare))
        try:
            assert discover_prometheus(server).name.endswith(f"service {namespace}/z-joined:9090")
        finally:
            server.close()


def test_where_none_answers_it_says_which_were_tried(bare):
    with bare.scratch() as namespace:
        serve(bare, namespace, "gone", {"app": "prometheus"})
        told = refusal(bare)
    assert f"no Prometheus answers: tried {namespace}/gone (" in told
    assert "; name it: prometheus:http://HOST:PORT" in told


def test_where_none_is_it_says_how_to_name_one(bare):
    assert "no Service looks like a Prometheus; name it: prometheus:http://HOST:PORT" in refusal(bare)


def test_who_may_not_list_services_is_told(bare):
    assert "not permitted: list services" in refusal(bare, "stranger")


def test_it_is_looked_for_on_behalf_of_nobody_else(bare):
    found = access(bare)
    with giving({}), pytest.raises(InputError, match="not looked at for others"):
        list(read_discovered(found, WINDOW))
