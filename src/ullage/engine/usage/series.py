"""Streams of a book as rows of hourly peaks that end at one moment: what forecasts are made of."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ullage.engine.steps import Steps, counted
from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.levels import MISSING
from ullage.engine.usage.medians import Floats
from ullage.engine.usage.seasons import DAY_HOURS

HOUR_SECONDS: Final = 3600
LOOKBACK_DAYS: Final = 56
"""Forecasts look back so far: older days say more about another time."""


def end_hour_of(book: Book, streams: Sequence[Stream]) -> int:
    """Return the hour, counted since 1970, after the last one in which one of the streams was observed."""
    last_seconds = -1
    for stream in streams:
        days = book.days(stream)
        if days:
            figures = book.figures(stream, days[-1:])
            if figures.points:
                last_seconds = max(last_seconds, figures.last_seconds)
    return last_seconds // HOUR_SECONDS + 1


def hourly_peaks(
    book: Book,
    streams: Sequence[Stream],
    end_hour: int,
    days: int = LOOKBACK_DAYS,
    steps: Steps | None = None,
) -> Floats:
    """Return the peaks of so many days up to an hour, a row for each stream; NaN where nothing was seen."""
    first_hour = end_hour - days * DAY_HOURS
    first_day = first_hour // DAY_HOURS
    skipped = first_hour - first_day * DAY_HOURS
    found = np.full((len(streams), days * DAY_HOURS), np.nan)
    for row, stream in enumerate(counted(streams, len(streams), "series read", steps)):
        slots = book.slots(stream, first_day, days + 1).reshape((days + 1) * DAY_HOURS, -1)
        peaks = slots.max(axis=1)[skipped : skipped + days * DAY_HOURS]
        seen = peaks != MISSING
        found[row, seen] = peaks[seen]
    return found
