"""Crowds are summed at the same moments, once, however what was observed is cut into batches."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage import aggregate as module
from ullage.engine.usage.aggregate import Rollup
from ullage.engine.usage.book import Book, Samples, Stream
from ullage.engine.usage.crowds import Crowds
from ullage.engine.usage.homes import InOneRun
from ullage.engine.usage.levels import MISSING
from usage_builders import HOMES, book, every, homes, samples

WEB = Stream("workload/shop/Deployment/web", "cpu")
CLUSTER = Stream("cluster", "cpu")


def crowds(streams, *, known=None) -> Book:
    several, found = Crowds(InOneRun(homes)), known or book(streams)
    for (subject, resource), observed in streams.items():
        several.add(samples(subject, resource, observed))
    several.put(found)
    return found


def test_a_crowd_used_what_its_members_used_in_the_same_moments_and_not_what_each_used_at_most():
    found = crowds(
        {("pod/shop/a", "cpu"): every(300, [10, 1, 1]), ("pod/shop/b", "cpu"): every(300, [1, 1, 10])}
    )
    assert found.slots(WEB, 0, 1)[:4].tolist() == [11, 2, 11, MISSING]
    assert found.figures(WEB).high == 11
    assert found.figures(WEB).points == 3


def test_of_several_points_of_a_member_in_one_slot_the_mean_counts_and_the_largest_is_its_most():
    found = crowds({("pod/shop/a", "cpu"): every(60, [1, 9, 2]), ("pod/shop/b", "cpu"): [(120, 5)]})
    assert found.slots(WEB, 0, 1)[0] == found.figures(WEB).total == 9
    assert found.figures(WEB._replace(measure="maxusage")).high == 14


def test_a_crowd_of_one_uses_what_that_one_uses():
    found = crowds({("pod/shop/a", "cpu"): every(60, [1000, 0, 0, 0, 0] * 288)})
    of_pod, of_crowd = found.figures(Stream("pod/shop/a", "cpu")), found.figures(WEB)
    assert of_crowd.total * of_pod.points == of_pod.total * of_crowd.points
    assert of_crowd.high == 200


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=9))
def test_of_what_means_are_more_than_whole_amounts_nothing_is_lost(members):
    pods = Rollup("pod", InOneRun(lambda _: ("cluster",)))
    for number, amounts in enumerate(members):
        pods.add(samples(f"pod/shop/{number}", "cpu", every(60, amounts)))
    found = [int(amount) for each in pods.sums(Book()) for amount in each.amounts if each.measure == "usage"]
    assert found == [round(sum(map(sum, members)) / 3)]


def test_a_mean_of_amounts_of_63_bits_is_exact():
    most = (1 << 62) - 1
    found = crowds({("pod/shop/a", "cpu"): every(60, [most, most - 2, most - 1])})
    assert found.figures(WEB).total == most - 1


@pytest.mark.parametrize(
    ("observed", "sums", "dropped"),
    [
        pytest.param([3, None, 3], [6, 6, 6], 1, id="what was used before counts"),
        pytest.param([1, None, None, 5], [4, 4, 4, 8], 2, id="as long as nothing else is known"),
        pytest.param([None, 3], [3, 6], 1, id="nothing was used before it began"),
        pytest.param([3, None], [6, 3], 1, id="nothing was used after it ended"),
        pytest.param([None, None], [3, 3], 2, id="of whom nothing is known nothing counts"),
    ],
)
def test_points_of_a_member_that_were_dropped_are_not_taken_for_no_use(observed, sums, dropped):
    found = crowds(
        {("pod/shop/a", "cpu"): every(300, observed), ("pod/shop/b", "cpu"): every(300, [3] * len(observed))}
    )
    assert found.slots(WEB, 0, 1)[: len(sums)].tolist() == sums
    assert found.figures(WEB).dropped == dropped
    assert found.figures(WEB).points == len(sums)


def test_a_point_beside_one_that_was_dropped_in_the_same_slot_tells_what_was_used():
    found = crowds({("pod/shop/a", "cpu"): [(0, None), (60, 4)]})
    assert found.slots(WEB, 0, 1)[0] == 4
    assert found.figures(WEB).dropped == 0


def test_a_pod_is_not_taken_for_idle_for_a_day_or_more_of_which_nothing_is_known():
    days = [(0, 5), (86_400, None), (2 * 86_400, 5)]
    found = crowds({("pod/shop/a", "cpu"): days, ("pod/shop/b", "cpu"): [(86_400, 1)]})
    assert found.figures(WEB, [1]).total == 1
    assert found.figures(WEB, [1]).dropped == 1


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
    """Return the sums of means and those of peaks."""
    members = {}
    for subject, at_seconds, amount in points:
        members.setdefault((subject, at_seconds // slot_seconds), []).append(amount)
    means, peaks = {}, {}
    for (subject, slot), amounts in members.items():
        for home in HOMES[subject]:
            key = home, slot * slot_seconds
            means[key] = means.get(key, 0) + Fraction(sum(amounts), len(amounts))
            peaks[key] = peaks.get(key, 0) + max(amounts)
    return means, peaks


def found_sums(pods):
    found = {"usage": {}, "maxusage": {}}
    for each in pods.sums(Book()):
        for number, at, amount in zip(each.numbers, each.at_seconds, each.amounts, strict=True):
            if amount >= 0:
                found[each.measure][each.subjects[number], int(at)] = int(amount)
    return found["usage"], {**found["usage"], **found["maxusage"]}


def are_sums(pods, points):
    means, peaks = found_sums(pods)
    all_means, all_peaks = plain_sums(points)
    assert means.keys() == all_means.keys()
    assert all(abs(means[key] - mean) < Fraction(51, 100) for key, mean in all_means.items())
    assert all(abs(peaks[key] - peak) < 2 for key, peak in all_peaks.items())
    return True


@given(POINTS, st.randoms(use_true_random=False), st.integers(1, 7), st.integers(40, 80))
def test_any_order_in_any_batches_gives_the_same_sums_as_long_as_all_may_wait(points, chance, size, wait):
    chance.shuffle(points)
    pods = Rollup("pod", InOneRun(homes), waiting_max=wait)
    for start in range(0, len(points), size):
        for subject, *point in points[start : start + size]:
            pods.add(samples(subject, "cpu", [tuple(point)]))
    assert are_sums(pods, points)


@given(POINTS, st.integers(1, 7), st.integers(0, 8))
def test_what_comes_too_late_is_told_as_dropped_and_never_counts_twice(points, size, wait):
    pods, whole = Rollup("pod", InOneRun(homes), waiting_max=wait), plain_sums(points)[1]
    for start in range(0, len(points), size):
        for subject, *point in points[start : start + size]:
            pods.add(samples(subject, "cpu", [tuple(point)]))
    found = found_sums(pods)[1]
    assert found.keys() == whole.keys()
    assert all(amount < whole[key] + 2 for key, amount in found.items())
    if any(found[key] < amount - 1 for key, amount in whole.items()):
        crowds = Book()
        for each in pods.sums(Book()):
            crowds.add(each)
        assert crowds.figures(CLUSTER).dropped


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
    assert are_sums(pods, points)
