"""Counters that began while a real Prometheus looked count from 0; those that were only seen late do not."""

from typing import NamedTuple

import pytest

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import Account, Meters
from ullage.sources.usage import prometheus_parts
from ullage.sources.usage.prometheus_counters import Window, read_counters
from usage_exporter import Metric, history
from usage_prometheus import prometheus

BEGIN = 1_700_006_400
MINUTES = 300
OLD = 10**12
"""What a counter shows that is much older than anybody looked."""
RATE = 1000

pytestmark = pytest.mark.slow


class Case(NamedTuple):
    """A pod: when it was scraped, what it showed first, what is to count, where it ran, when it started."""

    minutes: range
    first: int
    passed: int
    instance: str = "n1"
    started: int | None = None
    missing: range = range(0)


CASES = {
    "there-at-first": Case(range(MINUTES), OLD, RATE * (MINUTES - 1)),
    "job-of-two-scrapes": Case(range(50, 52), 800, 800 + RATE),
    "job-of-one-scrape": Case(range(60, 61), 900, 900),
    "one-scrape-late": Case(range(1, 20), OLD, RATE * 18),
    "of-a-node-seen-late": Case(range(70, 90), OLD, RATE * 19, "n2"),
    "begun-with-its-node": Case(range(100, 110), 700, 700 + RATE * 9, "n3", started=BEGIN + 100 * 60 - 20),
    "older-than-its-node": Case(range(100, 110), OLD, RATE * 9, "n3", started=BEGIN - 86_400),
    "after-an-outage": Case(range(MINUTES), OLD, RATE * (MINUTES - 1), missing=range(120, 200)),
}


def known(pod, **labels):
    return {"namespace": pod, "pod": pod, "interface": "eth0", "id": f"/{pod}", "job": "kubelet", **labels}


def metrics():
    found = []
    for pod, case in CASES.items():

        def value(minute, case=case):
            there = minute in case.minutes and minute not in case.missing
            return case.first + RATE * (minute - case.minutes.start) if there else None

        labels = known(pod, instance=case.instance)
        found.append(Metric("container_network_receive_bytes_total", labels, value))
        if case.started is not None:
            at = {**labels, "interface": ""}
            started = case.started
            found.append(Metric("container_start_time_seconds", at, lambda _, started=started: started))
    for labels, minutes in (({"id": "", "job": "a-without-ids"}, range(30)), ({}, range(15, 40))):

        def relabelled(minute, minutes=minutes):
            return OLD + RATE * minute if minute in minutes else None

        name = "container_network_receive_bytes_total"
        found.append(Metric(name, known("relabelled", instance="n1", **labels), relabelled))
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with prometheus(tmp_path_factory.mktemp("prometheus"), history(metrics(), BEGIN, MINUTES)) as url:
        yield url


def metered(server, first, last=MINUTES):
    meters = Meters()
    for name, readings, began in read_counters(server, Window(BEGIN + first * 60, BEGIN + last * 60)):
        if began is None:
            meters.add(name, readings)
        else:
            meters.began(name, began, readings[0])
    meters.settle()
    return meters


def passed(meters, pod):
    account = Account(pod, "network-received")
    return meters.consumed(account, [BEGIN - 3600, BEGIN + MINUTES * 60 + 3600])[0].passed


@pytest.mark.parametrize("samples", [500_000, 500])
@pytest.mark.parametrize("first", [-MINUTES, 0])
def test_what_began_counts_from_0_and_what_was_seen_late_from_its_first_reading(
    server, samples, first, monkeypatch
):
    monkeypatch.setattr(prometheus_parts, "SAMPLES_PER_QUERY", samples)
    meters = metered(server, first)
    assert {pod: passed(meters, pod) for pod in CASES} == {pod: each.passed for pod, each in CASES.items()}


def test_a_counter_that_was_scraped_without_its_id_before_did_not_begin(server):
    assert passed(metered(server, 0), "relabelled") <= RATE * 40


def test_what_was_there_in_the_hour_before_a_window_did_not_begin_in_it(server):
    meters = metered(server, 150)
    assert passed(meters, "after-an-outage") == RATE * (MINUTES - 1 - 200)


def test_what_ended_before_a_window_is_not_read(server):
    window = Window(BEGIN + 70 * 60, BEGIN + 80 * 60)
    names = {name.tenant for name, _, _ in read_counters(server, window)}
    assert names == {"there-at-first", "after-an-outage", "of-a-node-seen-late"}


def test_what_was_not_there_in_the_hour_before_a_window_began_in_it(server):
    assert passed(metered(server, 49), "job-of-two-scrapes") == 800 + RATE


def test_what_began_lies_within_the_scrape_before_it_was_first_seen(server):
    (counter,) = (each for name, each in metered(server, 0).counters.items() if "two-scrapes" in name.counter)
    assert counter.firsts == (Reading(BEGIN + 49 * 60, 0),)
