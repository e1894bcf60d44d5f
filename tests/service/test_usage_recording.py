"""The same points have the same mean and the same bill, whoever recorded them and how."""

from fractions import Fraction
from pathlib import Path

import pytest

from ullage.engine.usage.summary import status_of
from ullage.service.asked import Asked, read_cluster
from ullage.service.observed import read_usage
from ullage.service.usage_observe import ObserveQuestion, usage_observe
from ullage.service.usage_recording import BODY, record_sent
from ullage.service.usage_report import usage_report
from ullage.service.usage_report_read import UsageReportQuestion
from ullage.sources.given import giving
from ullage.stores.usage import read_book

BEGIN, DAY = 1_767_225_600, 86_400
WEB = "workload/a/StatefulSet/web"
HEADER = "subject,resource,time,value\n"
CLUSTER = """
apiVersion: ullage.dev/v1
kind: Snapshot
nodes: [{name: n1, capacity: {cpu: "8", memory: 64Gi}}]
workloads:
  - {name: web-0, namespace: a, owner: StatefulSet/web, node: n1, requests: {cpu: '1', memory: 4Gi}}
  - {name: web-1, namespace: a, owner: StatefulSet/web, node: n1, requests: {cpu: '1', memory: 4Gi}}
"""


def rows(subject, resource, seconds, values):
    times = range(BEGIN, BEGIN + DAY, seconds)
    return "".join(
        f"{subject},{resource},{at},{values[place % len(values)]}\n" for place, at in enumerate(times)
    )


BURSTS = "".join(rows(f"pod/a/web-{each}", "cpu", 60, ["1", "0", "0", "0", "0"]) for each in range(2))
GAPS = rows("pod/a/web-0", "memory", 300, ["3Gi"]) + rows("pod/a/web-1", "memory", 300, ["3Gi", ""])
CONTAINERS = "".join(
    rows(f"container/a/web-{each}/{name}", "cpu", 60, ["200m", "0"])
    for each in range(2)
    for name in ("app", "proxy")
)
CASES = {
    "bursts": (BURSTS, "cpu", 400, Fraction(48, 5)),
    "dropped points": (GAPS, "memory", 6 << 30, Fraction(6 * 24) - Fraction(3, 12)),
    "containers alone": (CONTAINERS, "cpu", 400, Fraction(48, 5)),
}


@pytest.fixture
def cluster(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER, encoding="utf-8")
    return str(path)


def table(path, text):
    path.write_text(HEADER + text, encoding="utf-8")
    return str(path)


def ways(folder, cluster, text):
    """Everything that has the points of a table: what a question is asked with, and the source it names."""
    path = table(folder / "usage.csv", text)
    yield Asked(cluster), path
    for name, at_first in (("with a cluster", cluster), ("without", "")):
        ledger = str(folder / f"{name}.db")
        usage_observe(Asked(at_first, ledger=ledger), ObserveQuestion(path))
        yield Asked(cluster, ledger=ledger), ""
    server = Asked(cluster, observed=str(folder / "server.db"))
    with giving({BODY: (HEADER + text).encode(), cluster: Path(cluster).read_bytes()}):
        record_sent(server)
    yield Asked(cluster, ledger=server.observed), ""


def used(asked, source, resource):
    question = UsageReportQuestion(usage=source, begin="2026-01-01", end="2026-01-02")
    found = usage_report(asked, question).data()["rows"]
    (row,) = [each for each in found if each.get("tenant") == "a" and each["what"] == resource]
    return row["used"]


@pytest.mark.parametrize("case", CASES)
def test_a_workload_has_the_mean_of_its_pods_and_its_bill_however_it_was_recorded(tmp_path, cluster, case):
    text, resource, mean, hours = CASES[case]
    for asked, source in ways(tmp_path, cluster, text):
        summary = status_of(read_usage(source, asked, read_cluster(asked)), WEB).usage[resource]
        assert abs(summary.mean.value - mean) <= mean // 500
        assert (summary.confidence < 1) == (case == "dropped points")
        bill = used(asked, source, resource)
        assert Fraction(bill["quantity"]) == hours
        assert not int(bill.get("estimated", 0))


def test_of_a_sum_of_peaks_no_percentile_is_told(tmp_path, cluster):
    _, with_cluster, without, _ = (
        status_of(read_usage(source, asked, read_cluster(asked)), WEB).usage["cpu"]
        for asked, source in ways(tmp_path, cluster, BURSTS)
    )
    assert (with_cluster.percentiles["95"].value, with_cluster.max.value) == (400, 400)
    assert (without.percentiles, without.min, without.max.value) == ({}, None, 2000)


def test_readings_of_containers_that_go_on_are_added_to_their_pods_once(tmp_path):
    ledger, lines = str(tmp_path / "usage.db"), CONTAINERS.splitlines(keepends=True)
    by_time = sorted(lines, key=lambda line: int(line.split(",")[2]))[: 4 * 60]
    for end in (4 * 13, 4 * 29, 4 * 60, 4 * 60):
        path = table(tmp_path / "usage.csv", "".join(by_time[:end]))
        usage_observe(Asked(ledger=ledger), ObserveQuestion(path))
    pod = status_of(read_book(Path(ledger)), "pod/a/web-0").usage["cpu"]
    assert pod.count <= 12 + 2, "once for each five minutes, and where a reading ends within them"
    assert abs(pod.mean.value - 200) <= 20
    assert pod.dropped_points == 0


def test_a_container_that_comes_too_late_is_not_one_more_observation_of_its_pod(tmp_path):
    ledger = str(tmp_path / "usage.db")
    for name in ("app", "proxy"):
        path = table(tmp_path / "usage.csv", rows(f"container/a/web-0/{name}", "cpu", 300, ["2"]))
        usage_observe(Asked(ledger=ledger), ObserveQuestion(path))
    book = read_book(Path(ledger))
    assert status_of(book, "container/a/web-0/proxy").usage["cpu"].count == 288
    assert status_of(book, "pod/a/web-0").usage["cpu"].count == 288


def test_pods_that_are_told_are_not_added_up_from_containers_that_are_told_later(tmp_path):
    ledger = str(tmp_path / "usage.db")
    for subject, value in (("pod/a/web-0", "5"), ("container/a/web-0/app", "2")):
        path = table(tmp_path / "usage.csv", rows(subject, "cpu", 60, [value]))
        usage_observe(Asked(ledger=ledger), ObserveQuestion(path))
    pod = status_of(read_book(Path(ledger)), "pod/a/web-0").usage["cpu"]
    assert (pod.count, pod.mean.value) == (24 * 60, 5000)
