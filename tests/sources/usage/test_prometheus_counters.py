"""Counters of pods, read from a real Prometheus as they were scraped and metered to the last byte."""

import pytest

from ullage.engine.usage.metering_counters import Account, CounterName, Meters
from ullage.engine.usage.metering_families import Families
from ullage.sources.usage import prometheus_parts
from ullage.sources.usage.prometheus_counters import Window, read_counters
from usage_exporter import Metric, history
from usage_prometheus import prometheus

BEGIN = 1_700_006_400
MINUTES = 600
RESTART = 307
GAP = range(400, 470)
WINDOW = Window(BEGIN, BEGIN + MINUTES * 60)

pytestmark = pytest.mark.slow


def counter(pod, interface, value, name="receive", **labels):
    known = {"namespace": "shop", "pod": pod, "interface": interface, "id": f"/{pod}/1", "job": "kubelet"}
    return Metric(f"container_network_{name}_bytes_total", {**known, **labels}, value)


def restarted(minute):
    """A thousand bytes a minute; at its restart, between two points of any grid, it begins again from 10."""
    if minute in GAP:
        return None
    return 1000 * minute if minute < RESTART else 10 + 1000 * (minute - RESTART)


def left_behind(minute):
    return 10**9 + 13 * min(minute, 20) if minute < 26 else None


def made_anew(minute):
    """A pod that was made anew elsewhere while the old one is still scraped."""
    return None if minute < 20 else 17 * (minute - 20)


def ends_early(minute):
    """What a job shows of a counter until it no longer sees its pod, and then again for a while."""
    return 19 * minute if minute < 50 or 120 <= minute < 140 else None


def within(first, last, value):
    return lambda minute: value(minute) if first <= minute < last else None


def metrics():
    return [
        counter("web-1", "eth0", restarted),
        counter("web-1", "eth0", restarted, job="second-scraper"),
        counter("web-1", "eth1", lambda minute: 3 * minute),
        counter("web-1", "lo", lambda minute: 10**9 * minute),
        counter("web-1", "eth0", lambda minute: 7 * minute, "transmit"),
        counter("twice", "eth0", lambda minute: 10**9 + 11 * minute, "transmit"),
        counter("twice", "eth0", lambda minute: 10**9 + 11 * minute, "transmit", id="", job="a-without-ids"),
        counter("again", "eth0", left_behind, "transmit"),
        counter("again", "eth0", made_anew, "transmit", id="/again/2", instance="elsewhere"),
        counter("lost", "eth0", ends_early, "transmit"),
        counter(
            "lost",
            "eth0",
            lambda minute: 19 * minute + 8 if 5 <= minute < 300 else None,
            "transmit",
            job="second-scraper",
        ),
        counter("drops", "eth0", within(0, 100, lambda minute: 10**9 + 23 * minute), "transmit"),
        counter("drops", "eth0", within(100, 600, lambda minute: 10**9 + 23 * minute), "transmit", id=""),
        counter("gains", "eth0", within(0, 600, lambda minute: 29 * minute), "transmit", id="", job="other"),
        counter("gains", "eth0", within(200, 600, lambda minute: 29 * minute), "transmit"),
        counter("flips", "eth0", within(0, 600, lambda minute: 31 * minute), "transmit", id="", job="other"),
        counter("flips", "eth0", within(50, 90, lambda minute: 31 * minute), "transmit"),
        counter("flips", "eth0", within(300, 310, lambda minute: 31 * minute), "transmit"),
        counter("plain", "eth0", lambda minute: 5 * minute, "transmit", id=""),
        counter("agent", "eth0", lambda minute: 10**9 * minute),
        counter("", "eth0", lambda minute: 10**9 * minute),
        Metric("kube_pod_info", {"namespace": "shop", "pod": "agent", "host_network": "true"}, lambda _: 1),
        Metric("kube_pod_info", {"namespace": "shop", "pod": "web-1", "host_network": "false"}, lambda _: 1),
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with prometheus(tmp_path_factory.mktemp("prometheus"), history(metrics(), BEGIN, MINUTES)) as url:
        yield url


def metered(server):
    meters = Meters()
    add_window(meters, server, WINDOW)
    meters.settle()
    return meters


def add_window(meters, server, window):
    families = Families(meters)
    for name, readings, began in read_counters(server, window):
        if began is None:
            families.add(name, readings)
        else:
            assert "drops" in name.counter, "all others were there, or show 0, when they were first scraped"
            families.began(name, began, readings[0])


@pytest.mark.parametrize("samples", [500_000, 500])
def test_no_byte_is_lost_or_counted_twice_over_restarts_gaps_and_two_scrapers(server, samples, monkeypatch):
    monkeypatch.setattr(prometheus_parts, "SAMPLES_PER_QUERY", samples)
    meters = metered(server)
    assert set(meters.counters) == {
        CounterName("shop", "network-received/web-1/eth0/web-1/1"),
        CounterName("shop", "network-received/web-1/eth1/web-1/1"),
        CounterName("shop", "network-sent/again/eth0/again/1"),
        CounterName("shop", "network-sent/again/eth0/again/2"),
        CounterName("shop", "network-sent/drops/eth0/drops/1"),
        CounterName("shop", "network-sent/flips/eth0"),
        CounterName("shop", "network-sent/flips/eth0/flips/1"),
        CounterName("shop", "network-sent/gains/eth0"),
        CounterName("shop", "network-sent/gains/eth0/gains/1"),
        CounterName("shop", "network-sent/lost/eth0/lost/1"),
        CounterName("shop", "network-sent/plain/eth0"),
        CounterName("shop", "network-sent/twice/eth0/twice/1"),
        CounterName("shop", "network-sent/web-1/eth0/web-1/1"),
    }
    borders = (BEGIN, BEGIN + MINUTES * 60)
    (received,) = meters.consumed(Account("shop", "network-received"), borders)
    last = MINUTES - 1
    assert received.passed == 1000 * (RESTART - 1) + 10 + 1000 * (last - RESTART) + 3 * last
    assert received.restarts == 1
    (sent,) = meters.consumed(Account("shop", "network-sent"), borders)
    assert (
        sent.passed == (7 + 11 + 5) * last + 13 * 20 + 17 * (last - 20) + 19 * 299 + 8 + (23 + 29 + 31) * last
    )
    assert sent.restarts == 0


@pytest.mark.parametrize("apart", [30, 95, 200])
def test_windows_that_overlap_count_what_one_does_though_ids_come_and_go_in_between(server, apart):
    whole, meters = metered(server), Meters()
    for end in (*range(apart, MINUTES, apart), MINUTES):
        add_window(meters, server, Window(max(BEGIN, BEGIN + (end - 240) * 60), BEGIN + end * 60))
    meters.settle()
    borders = (BEGIN, BEGIN + MINUTES * 60)
    for unit in ("network-sent", "network-received"):
        found = [each.consumed(Account("shop", unit), borders) for each in (meters, whole)]
        assert found[0][0].passed == found[1][0].passed


def test_every_reading_is_there_as_it_was_scraped(server):
    found = {}
    for name, readings, _ in read_counters(server, WINDOW):
        found.setdefault(name.counter, {}).update({each.seconds: each.value for each in readings})
    assert found["network-received/web-1/eth0/web-1/1"] == {
        BEGIN + 60 * minute: restarted(minute) for minute in range(MINUTES) if minute not in GAP
    }
