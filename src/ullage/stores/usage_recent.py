"""What was used of late, by what a ledger has recorded: read subject by subject when it is asked about.

Histograms are read only of those whose percentiles are wanted: of most, the largest amount tells enough.
"""

import sqlite3
from functools import lru_cache
from typing import Final

from ullage.engine.usage.book import Book
from ullage.engine.usage.buckets import middle_of_one
from ullage.engine.usage.hollow import LASTING, MEASURED, Recent, first_day_of, since_of
from ullage.model.usage import MAX_USAGE, USAGE
from ullage.stores.usage_codec import bucket_from_above, histogram_bytes
from ullage.stores.usage_parts import last_day
from ullage.stores.usage_waiting import waiting_book

SUBJECTS_KEPT: Final = 64
"""A pod has no more containers as a rule, and each is asked about several times."""
_Days = dict[tuple[str, str], list[tuple[int, int, int, bytes]]]
"""Points, least and largest amount and histogram of the last days of a subject, by resource and measure."""


class StoredRecent:
    """What was used in the last days of a ledger; `added` are crowds of which nothing is recorded as such."""

    def __init__(self, connection: sqlite3.Connection, added: Book) -> None:
        self._connection = connection
        last = last_day(connection)
        self._since = since_of(last)
        self._added = Recent(added, last)
        self._names = lru_cache(SUBJECTS_KEPT)(self._read_names)
        self._days = lru_cache(SUBJECTS_KEPT)(self._read_days)

    def resources(self, subject: str) -> list[str]:
        """Return the resources whose use was ever observed of a subject, in order."""
        added = self._added.resources(subject)
        return sorted({*self._names(subject), *added}) if added else self._names(subject)

    def most(self, subject: str, resource: str) -> int | None:
        """Return the most that a subject used of a resource; None where nothing was observed of late."""
        every = self._days(subject)
        known = [high for each in MEASURED for _, _, high, _ in every.get((resource, each), ())]
        added = self._added.most(subject, resource)
        return max(known if added is None else [*known, added], default=None)

    def lasting(self, subject: str, resource: str) -> int:
        """Return what lasts of it."""
        every = self._days(subject)
        days = every.get((resource, USAGE))
        if not days and not self._added.figures(subject, resource).points:
            days = every.get((resource, MAX_USAGE))
        if not days:
            return self._added.lasting(subject, resource)
        points = sum(each for each, _, _, _ in days)
        least, most = min(low for _, low, _, _ in days), max(high for _, _, high, _ in days)
        rest = points - -(-LASTING.numerator * points // LASTING.denominator)
        if not rest:
            return most
        middle = middle_of_one(bucket_from_above((each for _, _, _, each in days), rest + 1))
        return min(max(middle, least), most)

    def _read_names(self, subject: str) -> list[str]:
        found = self._connection.execute(
            "SELECT DISTINCT resource FROM usage_streams WHERE subject = ? AND measure IN (?, ?) "
            "ORDER BY resource",
            (subject, *MEASURED),
        )
        return [resource for (resource,) in found]

    def _read_days(self, subject: str) -> _Days:
        rows = self._connection.execute(
            "SELECT resource, measure, points, low, high, histogram FROM usage_streams "
            "LEFT JOIN usage_days ON stream = number AND day >= ? AND points > 0 "
            "WHERE subject = ? AND measure IN (?, ?)",
            (first_day_of(subject, self._since), subject, *MEASURED),
        )
        found: _Days = {}
        for resource, measure, *day in rows:
            days = found.setdefault((resource, measure), [])
            if day[0] is not None:
                days.append((day[0], day[1], day[2], day[3]))
        since = first_day_of(subject, self._since)
        for (_, resource, measure), day, figures, _ in waiting_book(self._connection, [subject]).rows():
            if measure in MEASURED and day >= since and figures.points:
                histogram = histogram_bytes(figures.buckets, figures.counts)
                found[resource, measure].append((figures.points, figures.low, figures.high, histogram))
        return found
