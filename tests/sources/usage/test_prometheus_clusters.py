"""A real Prometheus with two clusters in it, and with one: which is read is said, or nothing is."""

import pytest

from builders import cluster
from builders import node as a_node
from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.metering_counters import Account, Meters
from ullage.model.errors import InputError
from ullage.sources.usage.prometheus import read_prometheus
from ullage.sources.usage.prometheus_counters import read_counters
from ullage.sources.usage.prometheus_parts import Window
from usage_exporter import MIB, Metric, cadvisor, history, node
from usage_prometheus import prometheus

BEGIN = 1_700_006_400
MINUTES = 120
WINDOW = Window(BEGIN + 600, BEGIN + 3600)

pytestmark = pytest.mark.slow


def of_cluster(memory, rate, instance, host):
    network = {"namespace": "shop", "pod": "web-0", "interface": "eth0", "id": "/web-0", "job": "kubelet"}
    return [
        *cadvisor("shop", "web-0", "app", lambda minute: 30.0 * minute, lambda _: memory),
        *node(instance, host, 0.5, lambda _: 512 * MIB),
        Metric("container_network_receive_bytes_total", network, lambda minute: rate * minute),
        Metric("kube_node_info", {"node": host, "internal_ip": instance.partition(":")[0]}, lambda _: 1),
    ]


def labelled(metrics, **labels):
    return [each._replace(labels={**each.labels, **labels}) for each in metrics]


A, B = of_cluster(100 * MIB, 1000, "10.0.0.1:9100", "n1"), of_cluster(900 * MIB, 7000, "10.0.1.1:9100", "b1")


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """What a Prometheus has of both clusters, of one without the label, of one with it, and with another."""
    kinds = {
        "both": [*labelled(A, cluster="a"), *labelled(B, cluster="b")],
        "half": [*A, *labelled(B, cluster="b")],
        "one": labelled(A, cluster="a"),
        "regions": [*labelled(A, region="eu"), *labelled(B, region="us")],
    }
    found = {}

    def start(kind):
        if kind not in found:
            made = prometheus(tmp_path_factory.mktemp(kind), history(kinds[kind], BEGIN, MINUTES))
            found[kind] = made, made.__enter__()
        return found[kind][1]

    yield start
    for made, _ in found.values():
        made.__exit__(None, None, None)


def read(url, window=WINDOW):
    book = Book()
    for each in read_prometheus(url, window, snapshot=cluster(a_node("n1"))):
        book.add(each)
    return book


def memory_of(book, subject):
    return book.figures(Stream(subject, "memory")).high // MIB


def received(url, window=WINDOW):
    meters = Meters()
    for name, readings, _ in read_counters(url, window):
        meters.add(name, readings)
    meters.settle()
    return meters.consumed(Account("shop", "network-received"), (BEGIN, BEGIN + 7200))[0].passed


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("both", "it holds 2 clusters, by the label cluster: a, b; say which is meant: prometheus:URL"),
        ("half", "it holds 2 clusters, by the label cluster: b, none; say which is meant: prometheus:URL"),
    ],
)
@pytest.mark.parametrize("reader", [read, received])
def test_where_several_clusters_are_mixed_nothing_is_read_before_one_is_named(servers, kind, told, reader):
    with pytest.raises(InputError) as caught:
        reader(servers(kind))
    assert told in str(caught.value)
    assert "?match=cluster=" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "match", "memory", "bytes_a_minute"),
    [
        ("both", "cluster=a", 100, 1000),
        ("both", "cluster=b", 900, 7000),
        ("half", "cluster=", 100, 1000),
        ("half", "cluster=b", 900, 7000),
        ("regions", "region=eu", 100, 1000),
        ("regions", "region=~u.*", 900, 7000),
    ],
)
def test_of_several_clusters_the_one_that_is_named_is_read(servers, kind, match, memory, bytes_a_minute):
    window = WINDOW._replace(matches=(match,))
    book = read(servers(kind), window)
    assert memory_of(book, "pod/shop/web-0") == memory
    nodes = {subject for subject in book.subjects() if subject.startswith("node/")}
    assert nodes == {"node/n1" if memory == 100 else "node/b1"}
    assert received(servers(kind), window) == 50 * bytes_a_minute


def test_one_cluster_needs_not_be_named(servers):
    assert memory_of(read(servers("one")), "pod/shop/web-0") == 100
    assert received(servers("one")) == 50 * 1000


def test_a_cluster_that_is_not_there_is_told(servers):
    with pytest.raises(InputError, match="nothing of containers or nodes of cluster=c"):
        read(servers("both"), WINDOW._replace(matches=("cluster=c",)))
    with pytest.raises(InputError, match="'cluster' says nothing of a label; write \\?match=cluster=blue"):
        read(servers("both"), WINDOW._replace(matches=("cluster",)))
