"""What use to expect: the days of a book as one histogram in which older days count less, by a half-life.

Weights are integers, rounded once for each age, so a prediction is exact and does not depend on the order in
which days are added. Days that are so old that they count for less than a thousandth are left out, and their
extremes with them.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import msgspec
import numpy as np

from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.summaries import NO_FIGURES, Figures
from ullage.engine.usage.summary import percentiles_of, status_of
from ullage.model.resources import Amount
from ullage.model.usage import USAGE, ResourceStatus, UsageSummary

HALF_LIFE_DAYS: Final = 7
HALF_LIVES_MAX: Final = 10
FULL_WEIGHT: Final = 1 << 20
"""What a point of the last day counts; points of a day times this fit 64 bits."""


def weight_of(age_days: int, half_life_days: int = HALF_LIFE_DAYS) -> int:
    """Return what a point counts on a day of an age; 0 where that is next to nothing."""
    if age_days < 0 or age_days > HALF_LIVES_MAX * half_life_days:
        return 0
    return round(FULL_WEIGHT * float(2.0 ** (-age_days / half_life_days)))


def weights_of(ages_days: Integers, half_life_days: int = HALF_LIFE_DAYS) -> Integers:
    """Return the same of many ages."""
    oldest = HALF_LIVES_MAX * half_life_days
    known = np.array([*(weight_of(age, half_life_days) for age in range(oldest + 1)), 0], np.int64)
    return np.where(ages_days < 0, 0, known[np.clip(ages_days, 0, oldest + 1)])


def decayed(
    book: Book, stream: Stream, end_day: int | None = None, half_life_days: int = HALF_LIFE_DAYS
) -> Figures:
    """Return a stream with its points weighed by age: counts, points and total are in parts of FULL_WEIGHT.

    Ages count from `end_day`, by default the last day on which the stream was observed; later days are not
    looked at.
    """
    days = book.days(stream)
    last = (days[-1] if days else 0) if end_day is None else end_day
    weighed: list[tuple[Figures, int]] = []
    for day in days:
        weight = weight_of(last - day, half_life_days)
        if weight:
            weighed.append((book.figures(stream, (day,)), weight))
    dropped = sum(each.dropped * weight for each, weight in weighed)
    weighed = [(each, weight) for each, weight in weighed if each.points]
    if not weighed:
        return NO_FIGURES._replace(dropped=dropped)
    buckets, places = np.unique(np.concatenate([each.buckets for each, _ in weighed]), return_inverse=True)
    counts = np.zeros(len(buckets), np.int64)
    np.add.at(counts, places, np.concatenate([each.counts * weight for each, weight in weighed]))
    return Figures(
        sum(each.points * weight for each, weight in weighed),
        sum(each.total * weight for each, weight in weighed),
        min(each.low for each, _ in weighed),
        max(each.high for each, _ in weighed),
        dropped,
        min(each.first_seconds for each, _ in weighed),
        max(each.last_seconds for each, _ in weighed),
        buckets,
        counts,
    )


def predicted_summary(
    book: Book, stream: Stream, end_day: int | None = None, half_life_days: int = HALF_LIFE_DAYS
) -> UsageSummary | None:
    """Return what use of a stream to expect; None where no day that counts has a point.

    `count` and `dropped_points` are in whole points of the last day, rounded: what the evidence is worth now.
    """
    figures = decayed(book, stream, end_day, half_life_days)
    if not figures.points:
        return None
    resource = stream.resource
    return UsageSummary(
        Amount(resource, round(Fraction(figures.total, figures.points))),
        Amount(resource, figures.high),
        Amount(resource, figures.low) if figures.is_spread_known else None,
        max(1, round(Fraction(figures.points, FULL_WEIGHT))),
        percentiles_of(figures, resource),
        figures.last_seconds - figures.first_seconds,
        round(Fraction(figures.dropped, FULL_WEIGHT)),
        Fraction(figures.points, figures.points + figures.dropped),
    )


def predicted_of(
    book: Book, subject: str, end_day: int | None = None, half_life_days: int = HALF_LIFE_DAYS
) -> Mapping[str, UsageSummary]:
    """Return what use of a subject to expect, by resource."""
    found: dict[str, UsageSummary] = {}
    for stream in book.streams_of(subject):
        if stream.measure == USAGE:
            summary = predicted_summary(book, stream, end_day, half_life_days)
            if summary is not None:
                found[stream.resource] = summary
    return found


def status_with_prediction(book: Book, subject: str, end_day: int | None = None) -> ResourceStatus | None:
    """Return all that a book knows of the use of a subject and what it lets expect; None where nothing.

    What somebody else stated, and nothing was added to, is returned as it was stated.
    """
    if subject in book.stated:
        return book.stated[subject].status
    status = status_of(book, subject)
    if status is None:
        return None
    return msgspec.structs.replace(status, predicted=predicted_of(book, subject, end_day))
