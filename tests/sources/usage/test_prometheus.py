"""What a real Prometheus has of a cluster whose usage is known becomes the very points that are expected."""

import math
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster
from builders import node as a_node
from ullage.engine.usage.book import Book, Stream
from ullage.model.errors import InputError
from ullage.sources.usage.prometheus import Window, read_prometheus, scaled_of
from usage_exporter import MIB, Exporter, Metric, cadvisor, container, history, node
from usage_prometheus import free_port, program, prometheus, running, until

BEGIN = 1_700_000_400 // 86_400 * 86_400
MINUTES = 2 * 1440
STEP = 300
WINDOW = Window(BEGIN + 600, BEGIN + (MINUTES - 1) * 60, STEP)
GAP = range(300, 341)
RESTART = 700


def cpu_of_worker(minute):
    """A quarter of a processor; it begins again from zero when its container is restarted."""
    return 15.0 * (minute if minute < RESTART else minute - RESTART)


def memory_of_web(minute):
    """A staircase of MiB, with a peak of one minute in each hour that no point of the grid meets."""
    if minute in GAP:
        return None
    return 500 * MIB if minute % 60 == 33 else (100 + minute % 60 // 5) * MIB


def metrics():
    only = lambda minutes, value: lambda minute: value(minute) if minute in minutes else None  # noqa: E731 - a table of series
    before, after = range(RESTART), range(RESTART, MINUTES)
    known = {"namespace": "shop", "pod": "worker-0", "container": "main", "job": "state"}
    return [
        *cadvisor("shop", "web-1", "app", lambda minute: 30.0 * minute, memory_of_web),
        *cadvisor("shop", "web-1", "side", lambda minute: 6.0 * minute, lambda _: 10 * MIB),
        *cadvisor("shop", "worker-0", "main", only(before, cpu_of_worker), only(before, lambda _: MIB)),
        *cadvisor(
            "shop",
            "worker-0",
            "main",
            only(after, cpu_of_worker),
            only(after, lambda _: 2 * MIB),
            identity="2",
        ),
        *cadvisor("shop", "web-1", "POD", lambda minute: minute * 99.0, lambda _: 99 * MIB),
        *cadvisor("", "", "", lambda minute: minute * 99.0, lambda _: 99 * MIB),
        *cadvisor(
            "data", "late-0", "db", only(range(2000, 2100), float), only(range(2000, 2100), lambda _: 7)
        ),
        *node("10.0.0.1:9100", "alpha.example.com", 0.5, lambda minute: (200 + minute % 2) * MIB),
        *node("beta:9100", "", 1.0, lambda _: 512 * MIB),
        Metric("kube_pod_container_status_restarts_total", known, lambda minute: int(minute >= RESTART + 1)),
        Metric(
            "kube_pod_container_status_last_terminated_reason",
            {**known, "reason": "OOMKilled"},
            lambda minute: int(minute >= RESTART + 1),
        ),
        Metric("container_network_receive_bytes_total", container("shop", "web-1", ""), lambda m: 1000 * m),
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with prometheus(tmp_path_factory.mktemp("prometheus"), history(metrics(), BEGIN, MINUTES)) as url:
        yield url


def points(samples):
    """Each stream's amounts by minute of the history."""
    found = {}
    for each in samples:
        for number, seconds, amount in zip(
            each.numbers.tolist(), each.at_seconds.tolist(), each.amounts.tolist(), strict=True
        ):
            stream = found.setdefault((each.subjects[number], each.resource, each.measure), {})
            minute = (seconds - BEGIN) / 60
            assert minute not in stream, f"{each.subjects[number]} twice at {minute}"
            stream[minute] = amount
    return found


@pytest.fixture(scope="module")
def read(server):
    alpha = cluster(a_node("alpha"), a_node("beta"))
    return points(read_prometheus(server, WINDOW, snapshot=alpha))


GRID = range(10, MINUTES, 5)

slow = pytest.mark.slow


@slow
def test_every_container_pod_and_node_is_there_and_nothing_else(read):
    assert {subject for subject, _, _ in read} == {
        "container/shop/web-1/app", "container/shop/web-1/side", "container/shop/worker-0/main",
        "container/data/late-0/db", "pod/shop/web-1", "pod/shop/worker-0", "pod/data/late-0",
        "node/alpha", "node/beta",
    }  # fmt: skip
    assert {(resource, measure) for _, resource, measure in read} == {
        ("cpu", "usage"), ("memory", "usage"), ("memory", "maxusage"),
        ("ullage.dev/restarts", "usage"), ("ullage.dev/oom-kills", "usage"),
    }  # fmt: skip


@slow
def test_memory_is_the_working_set_at_each_moment_and_gaps_are_dropped_points(read):
    expected = {minute: memory_of_web(minute) for minute in GRID}
    expected |= {300: memory_of_web(299)} | dict.fromkeys(range(305, 341, 5), -1)
    assert read["container/shop/web-1/app", "memory", "usage"] == expected


@slow
def test_the_peak_between_two_points_is_the_max_usage_of_the_later_one(read):
    found = read["container/shop/web-1/app", "memory", "maxusage"]
    assert found[35] == 500 * MIB
    assert found[30] == max(memory_of_web(minute) for minute in range(26, 31))
    assert max(read["container/shop/web-1/app", "memory", "usage"].values()) < 112 * MIB


@slow
def test_a_rate_survives_a_restart(read):
    found = read["container/shop/worker-0/main", "cpu", "usage"]
    assert set(found) == set(GRID)
    assert {minute: amount for minute, amount in found.items() if amount != 250} == {}


@slow
def test_of_a_restarted_container_the_old_series_counts_once(read):
    found = read["container/shop/worker-0/main", "memory", "usage"]
    assert (found[695], found[700], found[705]) == (MIB, 2 * MIB, 2 * MIB)


@slow
def test_a_pod_is_the_sum_of_its_containers_and_dropped_where_one_is(read):
    found = read["pod/shop/web-1", "memory", "usage"]
    app = read["container/shop/web-1/app", "memory", "usage"]
    assert found == {minute: -1 if amount < 0 else amount + 10 * MIB for minute, amount in app.items()}
    assert set(read["pod/shop/web-1", "cpu", "usage"].values()) == {600}


@slow
def test_what_came_late_and_went_early_was_not_dropped(read):
    found = read["pod/data/late-0", "memory", "usage"]
    assert set(found) == {float(minute) for minute in range(2000, 2105, 5)}
    assert set(found.values()) == {7}


@slow
def test_of_nodes_it_is_what_cannot_be_discarded_under_the_names_that_the_cluster_has(read):
    alpha = read["node/alpha", "memory", "usage"]
    assert alpha == {minute: (824 - minute % 2) * MIB for minute in GRID}
    assert set(read["node/alpha", "memory", "maxusage"].values()) == {824 * MIB}
    assert set(read["node/beta", "memory", "usage"].values()) == {512 * MIB}


@slow
def test_waiting_and_idle_processors_are_not_used(read):
    assert set(read["node/alpha", "cpu", "usage"].values()) == {500}
    assert set(read["node/beta", "cpu", "usage"].values()) == {1000}


@slow
def test_a_restart_is_an_event_of_its_moment_and_so_is_running_out_of_memory(read):
    assert read["container/shop/worker-0/main", "ullage.dev/restarts", "usage"] == {705: 1}
    assert read["container/shop/worker-0/main", "ullage.dev/oom-kills", "usage"] == {705: 1}


@slow
def test_without_a_snapshot_a_node_is_called_as_it_calls_itself(server):
    found = points(read_prometheus(server, Window(BEGIN + 3600, BEGIN + 3900, STEP)))
    assert {subject for subject, _, _ in found if subject.startswith("node/")} == {
        "node/alpha.example.com",
        "node/beta",
    }


@slow
def test_parts_of_a_window_add_up_to_the_whole(server, read, monkeypatch):
    from ullage.sources.usage import prometheus_parts

    monkeypatch.setattr(prometheus_parts, "SERIES_PER_QUERY", 1)
    monkeypatch.setattr(prometheus_parts, "SAMPLES_PER_QUERY", 100)
    snapshot = cluster(a_node("alpha"), a_node("beta"))
    assert points(read_prometheus(server, WINDOW, snapshot=snapshot)) == read
    monkeypatch.setattr(prometheus_parts, "PODS_PER_QUERY", 1)
    assert points(read_prometheus(server, WINDOW, snapshot=snapshot)) == read


@slow
def test_a_server_that_finds_it_too_much_is_asked_for_less(tmp_path, read):
    flags = ("--query.max-samples=2000",)
    with prometheus(tmp_path, history(metrics(), BEGIN, MINUTES), flags=flags) as url:
        snapshot = cluster(a_node("alpha"), a_node("beta"))
        assert points(read_prometheus(url, WINDOW, snapshot=snapshot)) == read


@slow
def test_a_server_that_finds_everything_too_much_is_told_in_one_line(tmp_path):
    flags = ("--query.max-samples=2",)
    with (
        prometheus(tmp_path, history(metrics(), BEGIN, 30), flags=flags) as url,
        pytest.raises(InputError) as raised,
    ):
        list(read_prometheus(url, Window(BEGIN + 600, BEGIN + 1200, STEP)))
    assert "too many samples" in str(raised.value)
    assert "--query.max-samples" in str(raised.value)


@slow
def test_a_server_that_knows_nothing_of_the_window_says_so(server):
    with pytest.raises(InputError, match="it knows nothing of containers or nodes"):
        list(read_prometheus(server, Window(BEGIN - 86_400, BEGIN - 3600, STEP)))


@slow
def test_reading_twice_or_in_two_halves_makes_the_same_book(server):
    whole, halves = Book(), Book()
    for each in read_prometheus(server, WINDOW):
        whole.add(each)
    middle = BEGIN + 86_400
    for window in (WINDOW._replace(last_seconds=middle - 1), WINDOW._replace(first_seconds=middle)):
        for each in read_prometheus(server, window):
            halves.add(each)
    assert [str(row) for row in whole.rows()] == [str(row) for row in halves.rows()]
    stream = Stream("container/shop/web-1/app", "memory")
    assert whole.figures(stream).dropped == 8


@slow
def test_what_is_scraped_from_a_node_exporter_and_an_exporter_of_ours_is_read(tmp_path):
    exporter = Exporter()
    names = {each.name: each for each in cadvisor("live", "p", "c", float, lambda _: 5 * MIB)}
    lines = {each.text: 0.0 for each in names.values()}
    memory = names["container_memory_working_set_bytes"].text
    exporter.lines = lines | {memory: 5.0 * MIB}
    listening = free_port()
    flags = (f"--web.listen-address=127.0.0.1:{listening}", "--log.level=error")
    with (
        running(program("prometheus-node-exporter"), *flags),
        exporter.serving() as port,
        prometheus(tmp_path, scrape={"node": listening, "ours": port}) as url,
    ):
        until(lambda: exporter.scrapes > 12)

        end = int(time.time())
        found = points(read_prometheus(url, Window(end - 10, end, 5)))
    pods = found["pod/live/p", "memory", "usage"]
    assert set(pods.values()) == {5 * MIB}
    (host,) = {subject for subject, _, _ in found if subject.startswith("node/")}
    assert host == f"node/{Path('/proc/sys/kernel/hostname').read_text(encoding='ascii').strip()}"
    used = max(found[host, "memory", "usage"].values())
    assert 0 < used <= psutil.virtual_memory().total


def root(name, gib):
    """What a kubelet tells of its node."""
    labels = {"id": "/", "node": name, "instance": f"{name}:10250", "job": "kubelet"}
    return [
        Metric("container_memory_working_set_bytes", labels, lambda _: gib * 1024 * MIB),
        Metric(
            "container_cpu_usage_seconds_total", {**labels, "cpu": "total"}, lambda minute: minute * 180.0
        ),
    ]


@slow
def test_of_each_node_what_its_own_exporter_tells_goes_before_what_its_kubelet_tells(tmp_path):
    both = node("n2:9100", "n2", 0.5, lambda _: 512 * MIB)
    elsewhere = node("nas:9100", "nas", 1.5, lambda _: 512 * MIB)
    metrics = [*root("n1", 40), *root("n2", 30), *both, *elsewhere]
    with prometheus(tmp_path, history(metrics, BEGIN, 20)) as url:
        window = Window(BEGIN + 300, BEGIN + 900)
        found = points(read_prometheus(url, window, snapshot=cluster(a_node("n1"), a_node("n2"))))
    last = {stream: amounts[15] for stream, amounts in found.items()}
    assert last == {
        ("node/n1", "cpu", "usage"): 3000,
        ("node/n1", "memory", "usage"): 40 * 1024 * MIB,
        ("node/n1", "memory", "maxusage"): 40 * 1024 * MIB,
        ("node/n2", "cpu", "usage"): 500,
        ("node/n2", "memory", "usage"): 512 * MIB,
        ("node/n2", "memory", "maxusage"): 512 * MIB,
    }


@slow
def test_idle_containers_are_together_what_they_are(tmp_path):
    idle = [
        Metric(
            "container_cpu_usage_seconds_total",
            {"namespace": "web", "pod": f"p{number}", "container": "c"},
            lambda minute: round(0.0001 * 60 * minute, 6),
        )
        for number in range(8)
    ]
    with prometheus(tmp_path, history(idle, BEGIN, 20)) as url:
        found = points(read_prometheus(url, Window(BEGIN + 300, BEGIN + 900)))
    for minute in (5, 10, 15):
        assert sum(found[f"pod/web/p{number}", "cpu", "usage"][minute] for number in range(8)) == 1


@given(st.lists(st.floats(width=64), min_size=1, max_size=20), st.sampled_from([1, 1000]))
def test_an_amount_is_in_steps_of_its_resource_and_what_is_none_is_dropped(values, scale):
    for value, amount in zip(values, scaled_of(np.array(values), scale).tolist(), strict=True):
        if not math.isfinite(value) or value > 2**62 - 1 or value < 0:
            assert amount == -1
        elif abs(value) < 1e12:
            assert amount == value * scale
