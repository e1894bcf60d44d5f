"""What a book has kept of members is added up: peaks as peaks, means as means, nothing as what it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage import crowds as module
from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.crowds import Containers, Crowds, add_crowds
from ullage.engine.usage.homes import InOneRun
from ullage.engine.usage.summary import status_of, summary_of
from usage_builders import HOMES, book, every, homes, samples

DAY = 86_400
WEB = Stream("workload/shop/Deployment/web", "cpu")
CLUSTER = Stream("cluster", "cpu")


def kept(observed) -> Book:
    found = book({(subject, "cpu"): points for subject, points in observed.items()})
    add_crowds(found, homes)
    return found


def from_points(observed) -> Book:
    crowds = Crowds(InOneRun(homes))
    found = book({(subject, "cpu"): points for subject, points in observed.items()})
    for subject, points in observed.items():
        crowds.add(samples(subject, "cpu", points))
    crowds.put(found)
    return found


def mean(found: Book, stream=WEB) -> int:
    return summary_of(found.figures(stream), "cpu").mean.value


def test_peaks_of_hours_are_the_most_and_no_percentile_is_made_of_them():
    found = kept({"pod/shop/a": every(1200, [1, 8, 2, 4]), "pod/shop/b": [(1800, 3)]})
    assert found.slots(WEB, 0, 1)[[0, 12]].tolist() == [11, 4]
    status = status_of(found, WEB.subject).usage["cpu"]
    assert (status.max.value, status.percentiles, status.min) == (11, {}, None)


def test_where_each_member_has_one_point_in_a_slot_these_are_summed():
    found = kept({"pod/shop/a": every(3600, [1, 8]), "pod/shop/b": every(3600, [3, 3])})
    status = status_of(found, WEB.subject).usage["cpu"]
    assert (status.count, status.max.value, status.min.value, status.mean.value) == (2, 11, 4, 8)
    assert status.percentiles["50"].value == 4


@given(st.data(), st.integers(0, 200), st.integers(1, 80))
def test_a_mean_is_the_same_whether_it_is_of_points_or_of_what_was_kept(data, begin, slots):
    amounts = st.lists(st.integers(0, 10**6), min_size=5 * slots, max_size=5 * slots)
    observed = {pod: every(60, data.draw(amounts), begin * 300) for pod in ("pod/shop/a", "pod/shop/b")}
    assert abs(mean(kept(observed)) - mean(from_points(observed))) <= 1


def test_bursts_come_to_the_mean_of_their_pods_however_they_were_kept():
    observed = {pod: every(60, [1000, 0, 0, 0, 0] * 288) for pod in ("pod/shop/a", "pod/shop/b")}
    assert mean(kept(observed)) == mean(from_points(observed)) == 400
    assert kept(observed).figures(WEB).high == 2000


def test_a_pod_that_was_there_for_part_of_an_hour_counts_for_that_part():
    observed = {"pod/shop/a": every(300, [12] * 24), "pod/shop/b": every(300, [12] * 6, 1800)}
    assert mean(kept(observed)) == mean(from_points(observed)) == 15


def test_dropped_points_of_a_member_lower_the_confidence_and_not_the_mean():
    half = [3 if place % 2 else None for place in range(2 * 288)]
    observed = {"pod/shop/a": every(300, [3] * len(half)), "pod/shop/b": every(300, half)}
    for found in (kept(observed), from_points(observed)):
        summary = summary_of(found.figures(WEB), "cpu")
        assert summary.mean.value == 6
        assert (summary.count, summary.dropped_points) == (len(half), len(half) // 2)


def test_where_points_stand_alone_one_that_was_dropped_takes_no_percentiles_away():
    observed = {"pod/shop/a": every(3600, [3, None, 5]), "pod/shop/b": every(3600, [1, 1, 1])}
    for found in (kept(observed), from_points(observed)):
        summary = summary_of(found.figures(WEB), "cpu")
        assert (summary.min.value, summary.percentiles["50"].value, summary.max.value) == (4, 4, 6)
        assert (summary.count, summary.dropped_points) == (3, 1)


def test_a_mean_is_never_above_the_peaks_however_unevenly_points_were_taken():
    often, seldom = (every(60, [10] * 59, at) for at in (0, 3600)), [(3600, 0), (0, 0)]
    observed = {
        pod: sorted([*many, one])
        for pod, many, one in zip(("pod/shop/a", "pod/shop/b"), often, seldom, strict=True)
    }
    found = kept(observed)
    assert mean(found) <= found.figures(WEB).high == 10


def test_amounts_of_63_bits_are_added_up():
    most = (1 << 62) - 1
    found = kept({"pod/shop/a": every(60, [most] * 60)})
    assert (found.figures(WEB).high, mean(found)) == (most, most)


def test_who_counts_only_where_all_was_observed_as_such_is_not_added_up(monkeypatch):
    crowds = {each for above in HOMES.values() for each in above if not each.startswith("node/")}
    streams = {each: every(300, [1, 2]) for each in HOMES}
    streams |= {each: every(300, [5]) for each in crowds - {"namespace/shop"}}
    found = book({(subject, "cpu"): points for subject, points in streams.items()})
    added = []
    plain = Book.peaks_of

    def noted(self, several):
        added.extend(each.subject for each in several)
        return plain(self, several)

    monkeypatch.setattr(Book, "peaks_of", noted)
    add_crowds(found, homes)
    assert set(added) == {"pod/shop/a", "pod/shop/b", "pod/shop/c"}
    assert found.figures(Stream("namespace/shop", "cpu")).high == 6
    assert found.figures(CLUSTER).high == 5
    added.clear()
    add_crowds(found, homes)
    assert not added


def test_however_many_are_added_up_together_the_sums_are_the_same(monkeypatch):
    observed = {
        (pod, resource): every(seconds, [3, None, 5, 7], start)
        for pod, seconds, start in (("a", 3600, 0), ("b", 7 * DAY, 300), ("c", 40_000, 86_000))
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


@pytest.mark.parametrize("told", ["container", "pod"])
def test_a_pod_is_the_sum_of_its_containers_unless_it_was_observed(told):
    found = Book()
    containers = Containers(found)
    parts = [samples(f"container/shop/a/{each}", "cpu", every(60, [10, 0])) for each in ("app", "proxy")]
    for each in [*parts, *([samples("pod/shop/a", "cpu", [(0, 99)])] if told == "pod" else [])]:
        found.add(each)
        containers.add(each)
    containers.close()
    figures = found.figures(Stream("pod/shop/a", "cpu"))
    assert (figures.total, figures.high) == ((99, 99) if told == "pod" else (10, 10))
