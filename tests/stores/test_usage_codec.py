"""Histograms and peaks come back from their bytes as they were; other bytes are refused."""

import zlib

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.buckets import BUCKETS
from ullage.stores.usage_codec import (
    bucket_from_above,
    histogram_bytes,
    many_peaks_bytes,
    to_histogram,
    to_histograms,
    to_many_peaks,
    to_peaks,
)

AMOUNTS = st.integers(-1, (1 << 62) - 1)
HISTOGRAMS = st.dictionaries(st.integers(0, BUCKETS - 1), st.integers(1, 1 << 40), max_size=50)


def column(values):
    return np.array([*values], np.int64)


@given(HISTOGRAMS)
def test_a_histogram_comes_back_as_it_was(histogram):
    buckets, counts = column(sorted(histogram)), column(histogram[each] for each in sorted(histogram))
    found = to_histogram(histogram_bytes(buckets, counts))
    assert [each.tolist() for each in found] == [buckets.tolist(), counts.tolist()]


@given(st.lists(HISTOGRAMS, max_size=5))
def test_many_histograms_come_back_as_each_does(histograms):
    packed = [
        histogram_bytes(column(sorted(each)), column(each[at] for at in sorted(each))) for each in histograms
    ]
    owners, buckets, counts = to_histograms(packed)
    for place, data in enumerate(packed):
        own = owners == place
        assert [buckets[own].tolist(), counts[own].tolist()] == [each.tolist() for each in to_histogram(data)]
    assert len(owners) == sum(map(len, histograms))


@given(st.lists(st.lists(AMOUNTS, min_size=24, max_size=24), min_size=1, max_size=4))
def test_the_peaks_of_many_days_come_back_as_those_of_each_do(days):
    packed = many_peaks_bytes(np.array(days, np.int64))
    assert to_many_peaks(packed, 24).tolist() == days
    with pytest.raises(msgspec.DecodeError, match="a day of usage has 24 peaks, not 23"):
        to_many_peaks(packed, 23)


@given(st.lists(st.dictionaries(st.integers(0, BUCKETS - 1), st.integers(1, 400), max_size=9)), st.data())
def test_a_place_from_above_is_that_of_all_histograms_together(histograms, data):
    every = sorted(
        (bucket for each in histograms for bucket in each for _ in range(each[bucket])), reverse=True
    )
    packed = [
        histogram_bytes(column(sorted(each)), column(each[at] for at in sorted(each))) for each in histograms
    ]
    place = data.draw(st.integers(1, len(every) + 1))
    if place <= len(every):
        assert bucket_from_above(packed, place) == every[place - 1]
    else:
        with pytest.raises(msgspec.DecodeError):
            bucket_from_above(packed, place)


def packed(amounts):
    return many_peaks_bytes(np.array([amounts], np.int64))[0]


@given(st.lists(AMOUNTS, min_size=1, max_size=300))
def test_peaks_come_back_as_they_were(amounts):
    assert to_peaks(packed(amounts), len(amounts)).tolist() == amounts


def test_a_quiet_day_takes_a_few_bytes():
    assert len(packed([5 << 30] * 288)) < 60


@given(st.binary(max_size=60))
def test_other_bytes_are_refused_or_read_but_never_break(data):
    for read in (to_histogram, lambda each: to_peaks(each, 24), lambda each: bucket_from_above([each], 5)):
        for packed in (data, zlib.compress(data)):
            try:
                read(packed)
            except msgspec.DecodeError:
                continue


@pytest.mark.parametrize(
    "data",
    [
        b"",
        histogram_bytes(column([1]), column([1]))[:-1],
        histogram_bytes(column([2, 1]), column([1, 1])),
        histogram_bytes(column([1]), column([0])),
        histogram_bytes(column([BUCKETS]), column([1])),
        zlib.compress(bytes(1 << 21)),
    ],
    ids=["empty", "cut off", "out of order", "no count", "no bucket", "too long"],
)
def test_what_is_no_histogram_is_refused(data):
    with pytest.raises(msgspec.DecodeError):
        to_histogram(data)


def test_a_day_has_as_many_peaks_as_its_stream_has_slots():
    with pytest.raises(msgspec.DecodeError, match="24 peaks, not 288"):
        to_peaks(packed([0] * 24), 288)
