"""Findings about use: over request, over limit, near a bound, and promises that use makes hollow."""

import pytest

from builders import cluster, node, pod, resources
from ullage.engine.capacity.findings import findings_of
from ullage.engine.columns import Columns
from ullage.engine.usage.hollow import observed_on, usage_findings
from ullage.model.cluster import Container
from ullage.model.usage import MAX_USAGE, OOM_KILLS
from usage_builders import DAY, book, every

GIB = 1 << 30
START = 98 * DAY


def hourly(*amounts, days=7, start=START):
    return every(3600, [amounts[place % len(amounts)] for place in range(24 * days)], start)


def web(name="web-0", **fields):
    return pod(
        name,
        namespace="n",
        owner="StatefulSet/web",
        requests=resources(cpu="2", memory="4Gi"),
        limits=resources(cpu="3", memory="8Gi"),
        **fields,
    )


def found(streams, *pods):
    snapshot = cluster(node("n1", cpu="16", memory="64Gi").holding(*(pods or (web(),))))
    return [
        (each.code, each.severity, each.message) for each in usage_findings(Columns(snapshot), book(streams))
    ]


@pytest.mark.parametrize(
    ("resource", "amounts", "wanted"),
    [
        ("memory", (3 * GIB, 4 * GIB), []),
        ("memory", (3 * GIB, 5 * GIB), [("usage-over-request", "warning")]),
        (
            "memory",
            (3 * GIB, 8 * GIB),
            [("usage-near-limit", "warning"), ("usage-over-request", "warning")],
        ),
        ("memory", (3 * GIB, 9 * GIB), [("usage-over-limit", "warning")]),
        ("cpu", (100, 2000), []),
        ("cpu", (100, 2500), [("usage-over-request", "info")]),
        ("cpu", (100, 3500), [("usage-over-limit", "info")]),
        ("cpu", (100,) * 99 + (2500,), []),
    ],
)
def test_use_is_judged_against_request_and_limit(resource, amounts, wanted):
    assert [each[:2] for each in found({("pod/n/web-0", resource): hourly(*amounts)})] == wanted


def test_a_peak_that_the_source_noted_counts_as_one_that_it_sampled():
    noted = {("pod/n/web-0", "memory"): hourly(GIB), ("pod/n/web-0", "memory", MAX_USAGE): hourly(8 * GIB)}
    assert [each[0] for each in found(noted)] == ["usage-near-limit", "usage-over-request"]
    of_node = {("node/n1", "memory"): hourly(GIB), ("node/n1", "memory", MAX_USAGE): hourly(63 * GIB)}
    assert found(of_node)[0][2] == "node n1: memory in use came to 63Gi of 64Gi that it has"
    alone = {("node/n1", "memory", MAX_USAGE): hourly(63 * GIB)}
    assert [each[0] for each in found(alone)] == ["usage-near-physical"]
    old = {**noted, ("pod/n/web-0", "memory", MAX_USAGE): hourly(8 * GIB, days=1, start=START - 30 * DAY)}
    assert not found(old)


def test_peaks_do_not_last():
    noted = {("pod/n/web-0", "cpu"): hourly(100), ("pod/n/web-0", "cpu", MAX_USAGE): hourly(2500)}
    assert not found(noted)


def test_a_finding_tells_who_how_much_and_what_follows():
    ((_, _, memory),) = found({("pod/n/web-0", "memory"): hourly(5 * GIB)})
    assert memory == (
        "workload n/StatefulSet/web: its pod used memory above its request, n/web-0 5Gi of 4Gi: it is the "
        "first to be evicted when its node runs short"
    )
    ((_, _, cpu),) = found({("pod/n/web-0", "cpu"): hourly(2500)})
    assert cpu.endswith("n/web-0 2.5 of 2: it is throttled when its node is busy")


@pytest.mark.parametrize("other", ["cpu", OOM_KILLS])
def test_what_is_known_of_a_container_does_not_hide_what_only_its_pod_tells(other):
    inside = Container("app", "main", resources(cpu="2", memory="4Gi"))
    streams = {
        ("pod/n/web-0", "memory"): hourly(5 * GIB),
        ("container/n/web-0/app", other): hourly(1),
    }
    (told,) = found(streams, web(containers=(inside,)))
    assert told[0] == "usage-over-request"
    earlier = {("container/n/web-0/app", "memory"): hourly(1 * GIB, start=START - 50 * DAY)}
    assert found(streams | earlier, web(containers=(inside,))) == [told]


def test_events_are_no_use():
    subjects = ("pod/n/web-0", "container/n/web-0/app")
    inside = Container("app", "main", resources(memory="4Gi"))
    assert not found({(each, OOM_KILLS): hourly(3) for each in subjects}, web(containers=(inside,)))


def test_replicas_are_told_as_one_by_the_one_that_uses_most():
    streams = {(f"pod/n/web-{number}", "memory"): hourly((number + 3) * GIB) for number in range(3)}
    ((_, _, message),) = found(streams, *(web(f"web-{number}") for number in range(3)))
    assert "1 of 3 pods used memory above its request, n/web-2 5Gi of 4Gi" in message


def test_a_container_is_judged_by_its_own_request():
    parts = (
        Container("c", requests=resources(memory="1Gi")),
        Container("side", "sidecar", resources(memory="3Gi")),
    )
    streams = {
        ("container/n/web-0/c", "memory"): hourly(2 * GIB),
        ("container/n/web-0/side", "memory"): hourly(1 * GIB),
        ("pod/n/web-0", "memory"): hourly(3 * GIB),
    }
    ((code, _, message),) = found(streams, web(containers=parts))
    assert code == "usage-over-request"
    assert message.startswith(
        "workload n/StatefulSet/web, container c: its pod used memory above its request"
    )


def test_use_of_long_ago_does_not_count():
    streams = {("pod/n/web-0", "memory"): [*hourly(5 * GIB), *hourly(1 * GIB, start=START + 21 * DAY)]}
    assert found(streams) == []


def test_memory_near_what_the_node_has_is_found():
    ((code, severity, message),) = found({("node/n1", "memory"): hourly(30 * GIB, 62 * GIB)})
    assert (code, severity) == ("usage-near-physical", "warning")
    assert message == "node n1: memory in use came to 62Gi of 64Gi that it has"
    assert found({("node/n1", "memory"): hourly(60 * GIB)}) == []


def hollow(snapshot, streams):
    columns = Columns(snapshot)
    observed = observed_on(columns, book(streams))
    return [each.message for each in findings_of(columns, [], [], observed) if each.code == "promise-hollow"]


def test_a_promise_is_hollow_where_use_lasts_and_arithmetic_says_free():
    snapshot = cluster(node("n1", cpu="16", memory="64Gi").holding(web()))
    assert hollow(snapshot, {("node/n1", "memory"): hourly(60 * GIB)}) == [
        "node n1: 60Gi of 64Gi memory in use (no more 95% of a week), yet 60Gi of it counts as free"
    ]
    assert not hollow(snapshot, {("node/n1", "memory"): hourly(*[30 * GIB] * 30, 60 * GIB)})


def test_what_was_observed_counts_before_what_the_source_tells_of_one_moment():
    calm = cluster(node("n1", cpu="16", memory="64Gi").using(memory="62Gi").holding(web()))
    assert not hollow(calm, {("node/n1", "memory"): hourly(20 * GIB)})
    (message,) = hollow(calm, {("node/other", "memory"): hourly(20 * GIB)})
    assert "62Gi of 64Gi memory really in use" in message
