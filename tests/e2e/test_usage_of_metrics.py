"""Use that is recorded from the metrics API of a real control plane: sums are those of all, whoever moved."""

import pytest

from plane.plane import Plane
from ullage.engine.usage.book import Stream
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.table import Table
from ullage.service.asked import Asked
from ullage.service.observed import read_usage
from ullage.service.usage_observe import record_of
from ullage.stores.usage import read_book
from ullage.stores.usage_reading import Recorder
from usage_metrics_server import MetricsServer, pod_metrics

WEB = Stream("workload/shop/StatefulSet/web", "cpu")
SNAPSHOT = Snapshot(
    nodes=Table([Node("n1")]),
    workloads=Table(
        [Workload(f"web-{each}", namespace="shop", owner="StatefulSet/web", node="n1") for each in range(3)]
    ),
)

pytestmark = pytest.mark.slow


def pods(*seconds):
    """What is told of three pods that use a processor each, by when each was measured last."""
    return [
        pod_metrics(
            "shop", f"web-{place}", ("app", "1", "1Mi"), at=f"2026-01-01T00:{at // 60:02d}:{at % 60:02d}Z"
        )
        for place, at in enumerate(seconds)
    ]


@pytest.fixture(scope="module")
def served(plane_program, tmp_path_factory):
    server = MetricsServer([], [])
    with Plane(plane_program, ()) as plane, server.on(plane, tmp_path_factory.mktemp("metrics")):
        yield server, Asked(kubeconfig=str(plane.kubeconfig()))


def test_sums_are_of_all_members_whether_or_not_each_was_measured_since(served, tmp_path, monkeypatch):
    """A server that is read as often as it measures, or more often, tells again what it told before."""
    monkeypatch.setenv("ULLAGE_NOW", "1767226200")
    (server, asked), path = served, tmp_path / "usage.db"
    points = 0
    for told in ((10, 12, 14), (10, 72, 14), (10, 72, 14), (130, 132, 134), (298, 299, 301)):
        server.lists["pods"] = pods(*told)
        points += record_of(asked, "metrics", Recorder(path, "metrics"), SNAPSHOT, commits=False).points
    book = read_book(path)
    found = book.figures(WEB)
    assert (found.low, found.high, found.points) == (3000, 3000, 4)
    assert book.figures(Stream("pod/shop/web-0", "cpu")).points == 3
    assert points == 2 * 2 * (3 + 1 + 0 + 3 + 3), "pods and containers, of two resources"


def test_a_reading_over_a_border_of_five_minutes_is_one_sum(served):
    server, asked = served
    server.lists["pods"] = pods(298, 299, 301)
    found = read_usage("metrics", asked, SNAPSHOT).figures(WEB)
    assert (found.low, found.high, found.points) == (3000, 3000, 1)
