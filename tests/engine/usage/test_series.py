"""Rows of hourly peaks are what the book has, up to one hour."""

import numpy as np

from ullage.engine.usage.book import Stream
from ullage.engine.usage.series import end_hour_of, hourly_peaks
from usage_builders import DAY, book, every

NODE = Stream("node/n1", "memory")
POD = Stream("pod/web/api", "memory")
HOUR = 3600


def test_the_end_is_after_the_last_hour_of_any_stream():
    found = book({NODE[:2]: [(0, 1)], POD[:2]: [(5 * HOUR + 10, 1), (3, None)]})
    assert end_hour_of(found, [NODE]) == 1
    assert end_hour_of(found, [NODE, POD]) == 6
    assert end_hour_of(found, [Stream("cluster", "cpu")]) == 0


def test_an_hour_is_its_highest_point_and_what_was_not_seen_is_not_a_number():
    found = book({NODE[:2]: [(DAY, 5), (DAY + 700, 9), (DAY + 2 * HOUR, 4)]})
    peaks = hourly_peaks(found, [NODE, POD], end_hour_of(found, [NODE]), days=1)
    assert peaks.shape == (2, 24)
    assert peaks[0, -3:].tolist()[0::2] == [9, 4]
    assert np.isnan(peaks[0, :-3]).all()
    assert np.isnan(peaks[0, -2])
    assert np.isnan(peaks[1]).all()


def test_pods_are_kept_by_the_hour_already():
    found = book({POD[:2]: every(HOUR, range(48), start=10 * DAY)})
    end_hour = end_hour_of(found, [POD])
    assert hourly_peaks(found, [POD], end_hour, days=2)[0].tolist() == list(range(48))
    assert hourly_peaks(found, [POD], end_hour - 5, days=1)[0].tolist() == list(range(19, 43))
