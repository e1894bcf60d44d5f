"""What was observed of a container over its replicas, and what was not."""

from fractions import Fraction
from random import Random

import pytest

from builders import pod
from ullage.engine.usage.book import Stream
from ullage.engine.usage.decaying import decayed
from ullage.engine.usage.evidence import Part, observed_pods, seen_of
from ullage.engine.usage.owners import Crew, Owner
from ullage.engine.usage.summary import percentile
from ullage.model.cluster import Container
from ullage.model.usage import MAX_USAGE, OOM_KILLS, RESTARTS
from usage_builders import DAY, book, every, joined

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
    return of_memory(streams, crew, parts[0])


def of_memory(streams, crew, container):
    (found,) = seen_of(book(streams), [Part(crew, container)], MEDIAN, {"memory": True})
    return found.evidence["memory"]


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
    assert of_memory(streams | late, crew, PART).sees_starts
    assert not of_memory(streams, crew, PART).sees_starts


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


def test_days_on_which_all_points_of_a_replica_were_dropped_do_not_age_the_others():
    streams = {
        ("container/n/p/c", "memory"): [*every(60, [9] * 30, START), *every(60, [1] * 31, START + 14 * DAY)]
    }
    late = {("container/n/q/c", "memory"): every(60, [None], START + 100 * DAY)}
    assert evidence(streams | late, pods=("p", "q")).percentile == 1
    late = {("container/n/q/c", "memory"): every(60, [7], START + 100 * DAY)}
    assert evidence(streams | late, pods=("p", "q")).percentile == 7


def test_many_containers_are_judged_as_each_alone():
    random = Random(8)  # noqa: S311 - a fixed draw, not a secret
    streams, parts = {}, []
    for number in range(12):
        names = tuple(f"p{number}-{replica}" for replica in range(1 + number % 4))
        containers = (PART, SIDE) if number % 3 == 0 else (PART,)
        pods = tuple(
            pod(name, namespace="n", containers=containers, started_seconds=START + random.randrange(9 * DAY))
            for name in names
        )
        crew = Crew(Owner("n", "Deployment", f"w{number}"), pods, (f"gone{number}",))
        parts += [Part(crew, each) for each in containers]
        for name in (*names, f"gone{number}"):
            for subject in (f"pod/n/{name}", *(f"container/n/{name}/{each.name}" for each in containers)):
                for key in (("cpu",), ("memory",), ("memory", MAX_USAGE), (RESTARTS,), (OOM_KILLS,)):
                    if random.random() < 0.6:
                        streams[subject, *key] = drawn(random)
    whole = book(streams)
    share, decays = Fraction(19, 20), {"cpu": True, "memory": False}
    together = seen_of(whole, parts, share, decays)
    assert together == [seen_of(whole, [part], share, decays)[0] for part in parts]
    assert [{name: each.evidence[name].percentile for name in decays} for each in together] == [
        {name: plainly(whole, part, name, share, decays[name]) for name in decays} for part in parts
    ]


def drawn(random):
    """Some points from some day on, a few of them dropped, perhaps all."""
    start = START + random.randrange(80) * DAY
    amounts = [
        None if random.random() < 0.2 else int(random.paretovariate(0.8) * 50)
        for _ in range(random.choice((1, 5, 30, 300)))
    ]
    return every(random.choice((60, 3600)), amounts, start)


def plainly(whole, part, resource, share, decays):
    """The percentile that decides, histogram by histogram."""
    subjects = []
    for name in (*(each.name for each in part.crew.pods), *part.crew.gone):
        alone = len(part.crew.newest.containers) == 1
        names = [f"container/n/{name}/{part.container.name}", *([f"pod/n/{name}"] if alone else [])]
        known = [each for each in names if whole.days(Stream(each, resource))]
        subjects += sorted(known, key=lambda each: -whole.figures(Stream(each, resource)).points)[:1]
    streams = [Stream(each, resource) for each in subjects]
    seen = [each for each in streams if whole.figures(each).points]
    if not seen:
        return 0
    last = max(whole.days(each)[-1] for each in seen)
    weighed = [decayed(whole, each, last) if decays else whole.figures(each) for each in seen]
    counted = [each for each in weighed if each.points]
    found = [percentile(joined(counted), share)] if len(seen) > 1 and counted else [0]
    for stream, each in zip(seen, weighed, strict=True):
        if each.points and (whole.figures(stream).points >= 20 or len(seen) == 1):
            found.append(percentile(each, share))
    return max(found)


def test_pods_are_found_by_what_was_observed_of_them_and_of_their_containers():
    found = book(
        {
            ("pod/n/p", "memory"): [(0, 1)],
            ("container/n/q/c", "cpu"): [(0, 1)],
            ("node/n1", "cpu"): [(0, 1)],
        }
    )
    assert observed_pods(found) == [("n", "p"), ("n", "q")]
