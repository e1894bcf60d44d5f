"""What was observed of a container over its replicas, and what was not."""

from fractions import Fraction

import pytest

from builders import pod
from ullage.engine.usage.evidence import evidence_of, observed_pods
from ullage.engine.usage.owners import Crew, Owner
from ullage.model.cluster import Container
from ullage.model.usage import MAX_USAGE
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
        (3600, True, START - 1, True, True),
    ],
)
def test_peaks_are_seen_by_close_samples_or_where_they_are_noted(seconds, noted, started, peaks, starts):
    streams = {("container/n/p/c", "memory"): every(seconds, [5] * 10, START)}
    if noted:
        streams["container/n/p/c", "memory", MAX_USAGE] = every(seconds, [7] * 10, START)
    found = evidence(streams, started_seconds=started)
    assert (found.sees_peaks, found.sees_starts) == (peaks, starts)


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
