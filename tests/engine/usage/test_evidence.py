"""What was observed of a container over its replicas, and what was not."""

from fractions import Fraction

import pytest

from builders import pod
from ullage.engine.usage.evidence import evidence_of, observed_pods
from ullage.engine.usage.owners import Crew, Owner
from ullage.model.cluster import Container
from ullage.model.usage import MAX_USAGE, OOM_KILLS, RESTARTS
from usage_builders import DAY, book, every

MEDIAN = Fraction(1, 2)
PART = Container("c")
SIDE = Container("side", "sidecar")
START = 98 * DAY


def evidence(streams, *containers, pods=("p",), gone=(), **fields):
    parts = containers or (PART,)
    crew = Crew(
        Owner("n", "Deployment", "w"),
        tuple(pod(name, namespace="n", containers=parts, **fields) for name in pods),
        gone,
    )
    return evidence_of(book(streams), crew, parts[0], "memory", MEDIAN)


def test_replicas_are_taken_together_and_the_largest_decides():
    found = evidence(
        {
            ("container/n/p/c", "memory"): every(60, [10] * 30, START),
            ("container/n/q/c", "memory"): every(60, [30] * 30, START),
            ("container/n/r/c", "memory"): every(60, [90], START),
        },
        pods=("p", "q", "r"),
    )
    assert (found.replicas, found.points, found.most) == (3, 61, 90)
    assert found.percentile == 30, "the third has too few points to be judged by itself"


def test_pods_that_are_gone_count_too():
    streams = {("container/n/old/c", "memory"): every(60, [50] * 5, START)}
    assert evidence(streams, gone=("old",)).most == 50
    assert not evidence(streams).points


def test_a_container_that_is_alone_in_its_pod_is_seen_by_its_pod():
    streams = {("pod/n/p", "memory"): every(60, [50] * 5, START)}
    assert evidence(streams, PART, Container("seed", "init")).most == 50
    assert not evidence(streams, PART, SIDE).points


def test_the_container_itself_is_believed_before_its_pod():
    streams = {
        ("pod/n/p", "memory"): every(60, [50] * 5, START),
        ("container/n/p/c", "memory"): every(60, [40] * 5, START),
    }
    assert evidence(streams).most == 40


@pytest.mark.parametrize(
    ("seconds", "noted", "started", "peaks", "starts"),
    [
        (3600, False, START + 1, False, False),
        (300, False, START + 1, True, True),
        (300, False, START - 1, True, False),
        (300, False, None, True, False),
        (3600, True, START + 1, True, True),
        (3600, True, START - 1, True, False),
        (300, True, START - 30 * DAY, True, False),
    ],
)
def test_peaks_are_seen_by_close_samples_or_where_they_are_noted(seconds, noted, started, peaks, starts):
    streams = {("container/n/p/c", "memory"): every(seconds, [5] * 10, START)}
    if noted:
        streams["container/n/p/c", "memory", MAX_USAGE] = every(seconds, [7] * 10, START)
    found = evidence(streams, started_seconds=started)
    assert (found.sees_peaks, found.sees_starts) == (peaks, starts)


def test_peaks_are_noted_only_if_they_are_of_all_replicas_and_all_of_the_time():
    both = {(f"container/n/{name}/c", "memory"): every(3600, [5] * 10, START) for name in "pq"}
    one = {("container/n/p/c", "memory", MAX_USAGE): every(3600, [9] * 10, START)}
    other = {("container/n/q/c", "memory", MAX_USAGE): every(3600, [9], START)}
    found = evidence(both | one | other, pods=("p", "q"))
    assert (found.sees_peaks, found.most) == (False, 9)
    other = {("container/n/q/c", "memory", MAX_USAGE): every(3600, [9] * 10, START)}
    assert evidence(both | one | other, pods=("p", "q")).sees_peaks


def test_a_start_is_seen_of_who_was_observed_then():
    streams = {("container/n/p/c", "memory"): every(300, [5] * 600, START)}
    late = {("container/n/q/c", "memory"): every(300, [5] * 300, START + DAY)}
    assert not evidence(streams, gone=("old",)).sees_starts, "it may have been there before"
    begun = {"pods": ("p", "q"), "started_seconds": START - 1}
    assert not evidence(streams | late, **begun).sees_starts
    crew = Crew(
        Owner("n", "Deployment", "w"),
        (
            pod("q", namespace="n", containers=(PART,), started_seconds=START + DAY - 60),
            pod("p", namespace="n", containers=(PART,), started_seconds=START - DAY),
        ),
    )
    assert evidence_of(book(streams | late), crew, PART, "memory", MEDIAN).sees_starts
    assert not evidence_of(book(streams), crew, PART, "memory", MEDIAN).sees_starts


def test_a_restart_that_a_source_counts_is_a_start():
    streams = {("container/n/p/c", "memory"): every(300, [5] * 10, START)}
    again = {("container/n/p/c", RESTARTS): [(START + 600, 1)]}
    assert evidence(streams | again).sees_starts
    assert not evidence(streams).sees_starts


@pytest.mark.parametrize("other", ["cpu", OOM_KILLS, RESTARTS])
def test_what_is_known_of_a_container_does_not_hide_what_only_its_pod_tells(other):
    streams = {
        ("pod/n/p", "memory"): every(60, [50] * 5, START),
        ("container/n/p/c", other): every(60, [1] * 5, START),
    }
    assert evidence(streams).most == 50


def test_one_look_at_a_container_does_not_hide_many_at_its_pod():
    streams = {
        ("pod/n/p", "memory"): every(60, [50] * 5, START),
        ("container/n/p/c", "memory"): [(START, 4)],
    }
    assert evidence(streams).most == 50


def test_dropped_points_lower_the_confidence():
    found = evidence({("container/n/p/c", "memory"): every(60, [5, None, 5, None], START)})
    assert found.confidence == Fraction(1, 2)
    assert evidence({}).confidence == 0


def test_pods_are_found_by_what_was_observed_of_them_and_of_their_containers():
    found = book(
        {
            ("pod/n/p", "memory"): [(0, 1)],
            ("container/n/q/c", "cpu"): [(0, 1)],
            ("node/n1", "cpu"): [(0, 1)],
        }
    )
    assert observed_pods(found) == [("n", "p"), ("n", "q")]
