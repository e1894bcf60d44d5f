"""Crowds are summed at the same moments, once, however what was observed is cut into batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage import aggregate as module
from ullage.engine.usage.aggregate import Rollup, add_crowds
from ullage.engine.usage.book import Book, Samples, Stream
from ullage.engine.usage.homes import InOneRun
from ullage.engine.usage.levels import MISSING
from usage_builders import book, every, samples

HOMES = {
    "pod/shop/a": ("workload/shop/Deployment/web", "namespace/shop", "node/n1", "group/g", "cluster"),
    "pod/shop/b": ("workload/shop/Deployment/web", "namespace/shop", "node/n2", "group/g", "cluster"),
    "pod/shop/c": ("namespace/shop", "cluster"),
    "node/n1": ("group/g", "cluster"),
    "node/n2": ("group/g", "cluster"),
}
WEB = Stream("workload/shop/Deployment/web", "cpu")
CLUSTER = Stream("cluster", "cpu")


def homes(subject):
    return HOMES.get(subject, ())


def crowds(streams, *, known=None) -> Book:
    pods, found = Rollup("pod", InOneRun(homes)), known or book(streams)
    for (subject, resource), observed in streams.items():
        pods.add(samples(subject, resource, observed))
    add_crowds(found, homes, pods)
    return found


def test_a_crowd_used_what_its_members_used_in_the_same_moments_and_not_what_each_used_at_most():
    found = crowds(
        {("pod/shop/a", "cpu"): every(300, [10, 1, 1]), ("pod/shop/b", "cpu"): every(300, [1, 1, 10])}
    )
    assert found.slots(WEB, 0, 1)[:4].tolist() == [11, 2, 11, MISSING]
    assert found.figures(WEB).high == 11
    assert found.figures(WEB).points == 3


def test_of_several_points_of_a_member_in_one_slot_the_largest_counts():
    found = crowds({("pod/shop/a", "cpu"): every(60, [1, 9, 2]), ("pod/shop/b", "cpu"): [(120, 5)]})
    assert found.slots(WEB, 0, 1)[0] == 14


def test_who_was_not_observed_adds_nothing():
    found = crowds({("pod/shop/a", "cpu"): [(0, 5), (300, None)], ("pod/shop/b", "cpu"): [(300, 7)]})
    assert found.slots(WEB, 0, 1)[:2].tolist() == [5, 7]


def test_what_was_observed_as_such_is_not_summed_once_more():
    streams = {("pod/shop/a", "cpu"): [(0, 5)], WEB[:2]: [(0, 100)]}
    assert crowds(streams).figures(WEB).total == 100


def test_what_nodes_say_of_groups_and_the_cluster_counts_before_what_pods_say():
    found = crowds(
        {("pod/shop/a", "cpu"): [(0, 5)], ("node/n1", "cpu"): [(0, 20)], ("node/n2", "cpu"): [(0, 4)]}
    )
    assert found.figures(CLUSTER).high == found.figures(Stream("group/g", "cpu")).high == 24
    assert found.figures(Stream("namespace/shop", "cpu")).high == 5
    assert found.figures(Stream("node/n1", "cpu")).high == 20


def test_without_nodes_pods_stand_for_them():
    found = crowds({("pod/shop/a", "cpu"): [(0, 5)], ("pod/shop/b", "cpu"): [(0, 6)]})
    assert found.figures(Stream("node/n1", "cpu")).high == 5
    assert found.figures(CLUSTER).high == 11


def test_without_single_points_the_peaks_of_an_hour_are_summed():
    found = book({("pod/shop/a", "cpu"): every(1200, [1, 8, 2, 4]), ("pod/shop/b", "cpu"): [(1800, 3)]})
    add_crowds(found, homes)
    assert found.figures(WEB).points == 2
    assert found.slots(WEB, 0, 1)[[0, 12]].tolist() == [11, 4]


def test_most_used_and_promised_are_no_use_of_a_moment():
    pods = Rollup("pod", InOneRun(homes))
    pods.add(samples("pod/shop/a", "cpu", [(0, 5)], "maxusage"))
    pods.add(samples("pod/shop/a", "cpu", [(0, 5)], "committed"))
    assert [*pods.sums(Book())] == []


POINTS = st.lists(
    st.tuples(
        st.sampled_from(("pod/shop/a", "pod/shop/b", "pod/shop/c")), st.integers(0, 3000), st.integers(0, 99)
    ),
    min_size=1,
    max_size=40,
)


def plain_sums(points, slot_seconds=300):
    peaks = {}
    for subject, at_seconds, amount in points:
        key = subject, at_seconds // slot_seconds
        peaks[key] = max(peaks.get(key, 0), amount)
    sums = {}
    for (subject, slot), amount in peaks.items():
        for home in HOMES[subject]:
            sums[home, slot * slot_seconds] = sums.get((home, slot * slot_seconds), 0) + amount
    return sums


def found_sums(pods):
    return {
        (each.subjects[number], int(at)): int(amount)
        for each in pods.sums(Book())
        for number, at, amount in zip(each.numbers, each.at_seconds, each.amounts, strict=True)
        if amount >= 0
    }


@given(POINTS, st.randoms(use_true_random=False), st.integers(1, 7), st.integers(40, 80))
def test_any_order_in_any_batches_gives_the_same_sums_as_long_as_all_may_wait(points, chance, size, wait):
    chance.shuffle(points)
    pods = Rollup("pod", InOneRun(homes), waiting_max=wait)
    for start in range(0, len(points), size):
        for subject, *point in points[start : start + size]:
            pods.add(samples(subject, "cpu", [tuple(point)]))
    assert found_sums(pods) == plain_sums(points)


@given(POINTS, st.integers(1, 7), st.integers(0, 8))
def test_what_comes_too_late_is_told_as_dropped_and_never_counts_twice(points, size, wait):
    pods, whole = Rollup("pod", InOneRun(homes), waiting_max=wait), plain_sums(points)
    for start in range(0, len(points), size):
        for subject, *point in points[start : start + size]:
            pods.add(samples(subject, "cpu", [tuple(point)]))
    found = found_sums(pods)
    assert found.keys() == whole.keys()
    assert all(amount <= whole[key] for key, amount in found.items())
    if found != whole:
        crowds = Book()
        for each in pods.sums(Book()):
            crowds.add(each)
        assert crowds.figures(CLUSTER).dropped


def test_who_counts_only_where_all_was_observed_as_such_is_not_added_up(monkeypatch):
    members = {(each, "cpu"): every(300, [1, 2]) for each in HOMES}
    crowds = {each for above in HOMES.values() for each in above if not each.startswith("node/")}
    found = book({**members, **{(each, "cpu"): every(300, [5]) for each in crowds - {"namespace/shop"}}})
    added = []
    plain = Rollup.add_peaks

    def noted(rollup, some):
        added.extend(some.subjects)
        plain(rollup, some)

    monkeypatch.setattr(Rollup, "add_peaks", noted)
    add_crowds(found, homes)
    assert set(added) == {"pod/shop/a", "pod/shop/b", "pod/shop/c"}
    assert found.figures(Stream("namespace/shop", "cpu")).high == 6
    added.clear()
    add_crowds(found, homes)
    assert not added


def test_however_many_are_added_up_together_the_sums_are_the_same(monkeypatch):
    observed = {
        (pod, resource): every(seconds, [3, None, 5, 7], start)
        for pod, seconds, start in (("a", 3600, 0), ("b", 7 * 86_400, 300), ("c", 40_000, 86_000))
        for resource in ("cpu", "memory")
        for pod in [f"pod/shop/{pod}"]
    }
    found = []
    for count in (1, 2, 500):
        monkeypatch.setattr(module, "_AT_ONCE", count)
        crowd = book(observed)
        add_crowds(crowd, homes)
        found.append([(*row[:2], *row.figures[:7], row.slots.tolist()) for row in crowd.rows("cluster")])
    assert found[0] == found[1] == found[2]
    peaks = [(row[1], max(row[-1])) for row in found[0] if row[0] == CLUSTER]
    assert peaks == [(0, 7), (1, 5), (2, 7), (14, 5), (21, 7)]
    assert found[0][0][-1][0] == 6


def test_resources_that_alternate_in_batches_count_once():
    pods, points = Rollup("pod", InOneRun(homes), waiting_max=8), [(at, 5) for at in range(0, 30_000, 60)]
    for start in range(0, len(points), 3):
        for resource in ("cpu", "memory"):
            pods.add(samples("pod/shop/a", resource, points[start : start + 3]))
    assert {amount for each in pods.sums(Book()) for amount in each.amounts.tolist()} == {5}


@pytest.mark.parametrize("by_pod", [True, False])
def test_where_little_may_wait_points_in_order_are_summed_as_well(monkeypatch, by_pod):
    monkeypatch.setattr(module, "_SUMS_MAX", 4)
    points = [
        (pod, at, (at * 7 + len(pod)) % 90)
        for at in range(0, 3000, 60)
        for pod in HOMES
        if pod.startswith("pod")
    ]
    if by_pod:
        points.sort()
    pods = Rollup("pod", InOneRun(homes), waiting_max=4)
    subjects = sorted({pod for pod, _, _ in points})
    for start in range(0, len(points), 7):
        part = points[start : start + 7]
        columns = (
            [subjects.index(pod) for pod, _, _ in part],
            [at for _, at, _ in part],
            [most for *_, most in part],
        )
        pods.add(Samples("cpu", "usage", subjects, *(np.array(each, np.int64) for each in columns)))
    assert found_sums(pods) == plain_sums(points)
