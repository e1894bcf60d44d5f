"""Peaks wait for more of their slot; what is closed stays closed, and what comes for it is told."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.waiting_peaks import SLOT_BITS, WaitingPeaks

POINTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200), st.integers(0, 9)), max_size=60)


def columns(points):
    keys = np.array([(stream << SLOT_BITS) + slot for stream, slot, _ in points], np.int64)
    return keys, np.array([amount for *_, amount in points], np.int64)


@given(POINTS, st.integers(1, 9), st.integers(0, 9))
def test_each_slot_is_closed_once_and_whatever_comes_after_that_is_late(points, size, waiting_max):
    peaks, closed, late = WaitingPeaks(waiting_max), {}, set()
    for start in range(0, len(points), size):
        peaks.add(*columns(points[start : start + size]))
        done = peaks.close(everything=start + size >= len(points))
        late |= set(done.late.tolist())
        assert not closed.keys() & set(done.keys.tolist())
        closed |= dict(zip(done.keys.tolist(), done.peaks.tolist(), strict=True))
    most = {}
    for key, amount in zip(*map(np.ndarray.tolist, columns(points)), strict=True):
        most[key] = max(most.get(key, 0), amount)
    assert closed.keys() == most.keys()
    assert all(closed[key] == amount for key, amount in most.items() if key not in late)


def test_what_was_met_longest_ago_is_closed_first_and_nothing_of_the_last_batch():
    peaks = WaitingPeaks(4)
    for slot in (1, 2, 3, 4, 1):
        peaks.add(*columns([(0, slot, 5)]))
    peaks.add(*columns([(1, 0, 5)]))
    assert peaks.close().keys.tolist() == [2, 3, 4]
    assert len(peaks.close(everything=True).keys) == 2
