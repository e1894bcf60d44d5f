"""A book keeps streams by day, whatever the order of what is observed, and gives back what was put in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.book import Book, Samples, Stream
from ullage.engine.usage.levels import MISSING
from ullage.model.errors import InputError
from ullage.model.usage import USAGE
from usage_builders import DAY, book, every, samples

SUBJECTS = ("node/n1", "pod/shop/web-1", "container/shop/web-1/main", "cluster")
POINT = st.tuples(
    st.sampled_from(SUBJECTS),
    st.sampled_from(("cpu", "memory")),
    st.integers(0, 20 * DAY),
    st.one_of(st.none(), st.integers(0, 10**12)),
)
POINTS = st.lists(POINT, max_size=40)
NODE = Stream("node/n1", "memory")


def book_of(points) -> Book:
    found = Book()
    for subject, resource, at_seconds, amount in points:
        found.add(samples(subject, resource, [(at_seconds, amount)]))
    return found


def content(found: Book):
    return [
        (
            *row[:2],
            *row.figures[:7],
            row.figures.buckets.tolist(),
            row.figures.counts.tolist(),
            None if row.slots is None else row.slots.tolist(),
        )
        for row in found.rows()
    ]


@given(POINTS, st.randoms(use_true_random=False))
def test_the_order_of_observations_does_not_matter(points, random):
    shuffled = points[:]
    random.shuffle(shuffled)
    assert content(book_of(shuffled)) == content(book_of(points))


@given(POINTS, POINTS, POINTS)
def test_merging_books_is_associative_and_commutative(first, second, third):
    expected = content(book_of(first + second + third))
    left, right, turned = book_of(first), book_of(second), book_of(third)
    left.merge(book_of(second))
    left.merge(book_of(third))
    right.merge(book_of(third))
    right.merge(book_of(first))
    turned.merge(book_of(second))
    turned.merge(book_of(first))
    assert content(left) == content(right) == content(turned) == expected


@given(POINTS)
def test_the_rows_of_a_book_make_the_same_book_again(points):
    original, again = book_of(points), Book()
    for row in original.rows():
        again.put(row)
    assert content(again) == content(original)


def test_a_stream_is_kept_by_day():
    found = book({("node/n1", "memory"): [(0, 5), (DAY - 1, 7), (DAY, 9), (3 * DAY, None)]})
    assert found.days(NODE) == [0, 1, 3]
    assert found.figures(NODE, [0]).points == 2
    assert found.figures(NODE, [1, 2, 7]).total == 9
    assert found.figures(NODE).total == 21
    assert found.figures(NODE).dropped == 1
    assert found.span() == (0, 3)


def test_containers_are_kept_by_week_with_the_peak_of_each_day():
    stream = Stream("container/shop/web-1/main", "cpu")
    found = book({stream[:2]: every(DAY, range(10), start=5 * DAY)})
    assert found.days(stream) == [0, 7, 14]
    assert found.slot_seconds(stream) == 0
    with pytest.raises(InputError, match="ask about its pod"):
        found.slots(stream, 0, 1)
    assert [row.slots.tolist() for row in found.rows()] == [
        [-1, -1, -1, -1, -1, 0, 1],
        [2, 3, 4, 5, 6, 7, 8],
        [9, -1, -1, -1, -1, -1, -1],
    ]


def test_peaks_of_days_are_known_of_every_stream_however_it_is_kept():
    observed = [(0, 5), (60, 7), (DAY, 3), (8 * DAY, None), (9 * DAY, 4)]
    subjects = ("container/shop/web-1/main", "pod/shop/web-1", "node/n1", "workload/shop/Deployment/web")
    found = book({(subject, "memory"): observed for subject in subjects})
    numbers = np.array([found.numbers("memory", USAGE)[subject] for subject in subjects])
    rows = sorted(zip(*(column.tolist() for column in found.days_of(numbers)), strict=True))
    assert rows == [(place, *row) for place in range(4) for row in ((0, 7), (1, 3), (9, 4))]


def test_peaks_stand_at_the_moments_they_were_observed():
    found = book({NODE[:2]: [(10, 5), (299, 8), (300, 3), (DAY + 301, 4), (900, None)]})
    slots = found.slots(NODE, 0, 3)
    assert len(slots) == 3 * 288
    assert {int(place): int(slots[place]) for place in np.flatnonzero(slots != MISSING)} == {
        0: 8,
        1: 3,
        288 + 1: 4,
    }


def test_pods_have_peaks_by_the_hour():
    stream = Stream("pod/shop/web-1", "memory")
    found = book({stream[:2]: every(1800, [1, 2, 3, 4])})
    assert found.slots(stream, 0, 1)[:3].tolist() == [2, 4, MISSING]


def test_of_a_stream_that_was_never_observed_nothing_is_known():
    found = Book()
    assert found.days(NODE) == []
    assert found.figures(NODE).points == 0
    assert (found.slots(NODE, 0, 1) == MISSING).all()
    assert found.span() is None
    assert len(found) == 0


def test_streams_are_found_by_kind_resource_and_measure():
    found = book(
        {
            ("node/n1", "memory"): [(0, 1)],
            ("node/n1", "cpu"): [(0, 1)],
            ("node/n1", "cpu", "maxusage"): [(0, 1)],
            ("cluster", "cpu", "committed"): [(0, 1)],
        }
    )
    assert found.streams("node", "cpu") == [Stream("node/n1", "cpu", "maxusage"), Stream("node/n1", "cpu")]
    assert found.streams(measure="committed") == [Stream("cluster", "cpu", "committed")]
    assert [each.resource for each in found.streams_of("node/n1")] == ["cpu", "cpu", "memory"]
    assert len(found.streams()) == len(found) == 4


def test_measures_of_one_resource_are_streams_of_their_own():
    found = book({("node/n1", "cpu"): [(0, 1)], ("node/n1", "cpu", "maxusage"): [(0, 8)]})
    assert found.figures(Stream("node/n1", "cpu")).high == 1


@given(POINTS, st.integers(0, 20))
def test_what_is_kept_since_a_day_is_what_was_observed_from_then_on(points, day):
    kept = book_of(points).since(day)
    assert content(kept) == [row for row in content(book_of(points)) if row[1] >= day]


def test_a_batch_of_many_subjects_is_what_each_alone_would_be():
    numbers, moments = np.array([0, 1, 0, 2, 1]), np.array([0, 0, 60, 60, DAY])
    amounts = np.array([1, 2, 3, -1, 5])
    subjects = ("node/n1", "pod/shop/web-1", "node/n2")
    together = Book()
    assert together.add(Samples("cpu", "usage", subjects, numbers, moments, amounts)) == 1
    assert content(together) == content(
        book(
            {
                ("node/n1", "cpu"): [(0, 1), (60, 3)],
                ("pod/shop/web-1", "cpu"): [(0, 2), (DAY, 5)],
                ("node/n2", "cpu"): [(60, None)],
            }
        )
    )


@pytest.mark.parametrize("at_seconds", [-1, DAY << 17])
def test_a_moment_that_is_none_is_refused(at_seconds):
    with pytest.raises(InputError, match="seconds since 1970"):
        book({("node/n1", "cpu"): [(at_seconds, 1)]})


def test_what_cannot_be_observed_is_refused_with_what_can():
    with pytest.raises(InputError, match=r"planet/earth.*node"):
        book({("planet/earth", "cpu"): [(0, 1)]})


def test_an_empty_batch_leaves_a_book_as_it_is():
    found = Book()
    assert found.add(samples("node/n1", "cpu", [])) == 0
    assert len(found) == 0


@given(POINTS)
def test_peaks_of_many_streams_are_those_of_each(points):
    found = book_of(points)
    for kind in ("node", "pod", "cluster"):
        streams = found.streams(kind)
        if not streams:
            continue
        known = found.peaks_of(streams)
        rows = zip(known.owners.tolist(), known.days.tolist(), known.slots.tolist(), strict=True)
        assert sorted(rows) == [
            (place, day, slots)
            for place, stream in enumerate(streams)
            for day in found.days(stream)
            if max(slots := found.slots(stream, day, 1).tolist()) != MISSING
        ]
