"""All that was observed of a cluster: each stream summarised day by day, and its peaks over time.

A stream is one resource of one subject by one measure. Days are what is kept, merged, weighed by age and
forgotten; they are those of UTC, numbered since 1970. Of containers no more is known of time than the peak of
each day: there are too many of them, and their pods have more; what is kept of them is kept week by week,
under its first day. What is in a book does not depend on the order in which it was observed.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.levels import DAY_SECONDS, MISSING, Levels
from ullage.engine.usage.summaries import AMOUNT_MAX, Figures, Summaries, Table
from ullage.model.errors import InputError
from ullage.model.usage import KINDS, Promised, ResourceStatus, kind_of

FINE_SECONDS: Final = 300
COARSE_SECONDS: Final = 3600
_COARSE: Final = frozenset(("pod",))
_SUMMARY_ONLY: Final = frozenset(("container",))
WEEK_DAYS: Final = 7
DAY_MAX: Final = 1 << 17
_DAY_BITS: Final = 17
_DAY_MASK: Final = DAY_MAX - 1


class Stream(NamedTuple):
    """What is observed: a subject, a resource, and by which measure."""

    subject: str
    resource: str
    measure: str = "usage"


class Samples(NamedTuple):
    """Observations of one resource by one measure, as columns.

    `numbers` says which of the subjects each is about; amounts below 0 are points that were dropped.
    """

    resource: str
    measure: str
    subjects: Sequence[str]
    numbers: Integers
    at_seconds: Integers
    amounts: Integers


class DayRow(NamedTuple):
    """What a book has of one stream on one day; `slots` are its peaks, where there are any."""

    stream: Stream
    day: int
    figures: Figures
    slots: Integers | None


class Peaks(NamedTuple):
    """The peaks of some of many rows: the places of these, and a row of slots of the same length for each."""

    places: Integers
    slots: Integers


class OfStreams(NamedTuple):
    """All rows of some streams: which of these each is of, its day, and the figures."""

    owners: Integers
    days: Integers
    table: Table


class OfPeaks(NamedTuple):
    """The peaks of some streams: of which of these each row of slots is, and of which day."""

    owners: Integers
    days: Integers
    slots: Integers


class Stated(NamedTuple):
    """A status of somebody else, as it was read; when its window ended and what was promised, if said."""

    status: ResourceStatus
    taken_seconds: int | None = None
    promised: Promised | None = None


class Book:
    """Streams, day by day."""

    def __init__(self) -> None:
        self._numbers: dict[Stream, int] = {}
        self._by_resource: dict[tuple[str, str], dict[str, int]] = {}
        self._spans = array("q")
        self._seconds = array("q")
        self._level_of = array("q")
        self._by_subject: dict[str, list[Stream]] = {}
        self._days: list[dict[int, int]] = []
        self._summaries = Summaries()
        self._levels = {
            FINE_SECONDS: Levels(FINE_SECONDS),
            COARSE_SECONDS: Levels(COARSE_SECONDS),
            DAY_SECONDS: Levels(DAY_SECONDS, WEEK_DAYS),
        }
        self._level_counts = dict.fromkeys(self._levels, 0)
        self.stated: dict[str, Stated] = {}
        """What others stated of subjects of which nothing else was observed."""

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, samples: Samples) -> int:
        """Take observations in, and return how many of them were dropped."""
        if not len(samples.numbers):
            return 0
        for subject in samples.subjects if self.stated else ():
            self.stated.pop(subject, None)
        days = samples.at_seconds // DAY_SECONDS
        if int(days.min()) < 0 or int(days.max()) >= DAY_MAX:
            raise InputError("an observation has no usable time", remedy="give seconds since 1970")
        streams = self._streams(samples)
        spans = np.array(self._spans, np.int64)[streams][samples.numbers]
        keys, places = np.unique(
            (streams[samples.numbers] << _DAY_BITS) + days // spans * spans, return_inverse=True
        )
        known = self._days
        rows = np.array([known[key >> _DAY_BITS].get(key & _DAY_MASK, -1) for key in keys.tolist()], np.int64)
        for place in np.flatnonzero(rows < 0):
            rows[place] = self._row(int(keys[place]))
        self._summaries.grow(len(self._level_of))
        dropped = self._summaries.add(rows[places], samples.at_seconds, samples.amounts)
        self._raise(samples, streams, rows, places)
        return dropped

    def streams(self, kind: str = "", resource: str = "", measure: str = "") -> list[Stream]:
        """Return the streams that match all that is given, in order."""
        return sorted(
            each
            for each in self._numbers
            if (not kind or kind_of(each.subject) == kind)
            and (not resource or each.resource == resource)
            and (not measure or each.measure == measure)
        )

    def streams_of(self, subject: str) -> list[Stream]:
        """Return the streams of one subject, in order."""
        return sorted(self._by_subject.get(subject, ()))

    def days(self, stream: Stream) -> list[int]:
        """Return the days on which something was observed of a stream, in order."""
        number = self._numbers.get(stream)
        return [] if number is None else sorted(self._days[number])

    def subjects(self) -> Sequence[str]:
        """Return of whom anything was observed, in no certain order."""
        return [*self._by_subject]

    def numbers(self, resource: str, measure: str) -> Mapping[str, int]:
        """Return the streams of a resource by a measure as numbers, by subject."""
        return self._by_resource.get((resource, measure), {})

    def of_streams(self, numbers: Integers, *, histograms: bool = True) -> OfStreams:
        """Return all that is known of streams that are given by their numbers, day by day."""
        of_days = [self._days[number] for number in numbers.tolist()]
        owners = np.repeat(np.arange(len(numbers)), [len(each) for each in of_days])
        days = np.array([day for each in of_days for day in each], np.int64)
        rows = np.array([row for each in of_days for row in each.values()], np.int64)
        return OfStreams(owners, days, self._summaries.table(rows, histograms=histograms))

    def points_of(self, number: int) -> int:
        """Return how many points a stream has that is given by its number."""
        points = self._summaries.points
        return sum(int(points[row]) for row in self._days[number].values())

    def figures(self, stream: Stream, days: Sequence[int] | None = None) -> Figures:
        """Return what a stream comes to over some days, or over all of them."""
        number = self._numbers.get(stream)
        of_days = {} if number is None else self._days[number]
        wanted = of_days if days is None else [day for day in days if day in of_days]
        return self._summaries.of(np.array([of_days[day] for day in wanted], np.int64))

    def span(self) -> tuple[int, int] | None:
        """Return the first day and the last on which anything was observed; None in an empty book."""
        every = [day for days in self._days for day in days]
        return (min(every), max(every)) if every else None

    def moments(self) -> tuple[int, int] | None:
        """Return the moments of the first observation of all and of the last; None where there is none."""
        known = self._summaries.points > 0
        if not known.any():
            return None
        first, last = self._summaries.first_seconds[known], self._summaries.last_seconds[known]
        return int(first.min()), int(last.max())

    def slot_seconds(self, stream: Stream) -> int:
        """Return how long the slots of a day of a stream are, 0 where it has none."""
        return 0 if kind_of(stream.subject) in _SUMMARY_ONLY else slot_seconds_of(stream.subject)

    def slots(self, stream: Stream, first_day: int, days: int) -> Integers:
        """Return the peaks of a stream over some days in a row, MISSING where nothing was observed."""
        seconds = self.slot_seconds(stream)
        if not seconds:
            raise InputError(f"{stream.subject} has no peaks over time", remedy="ask about its pod")
        levels = self._levels[seconds]
        found = np.full((days, levels.slots), MISSING, np.int64)
        number = self._numbers.get(stream)
        if number is not None:
            for place in range(days):
                row = self._days[number].get(first_day + place)
                if row is not None and self._level_of[row] >= 0:
                    found[place] = levels.table[self._level_of[row]]
        return found.reshape(-1)

    def peaks_of(self, streams: Sequence[Stream]) -> OfPeaks:
        """Return the peaks of streams that have slots of one length; days without any are left out."""
        of_days = [self._days[self._numbers[stream]] for stream in streams]
        owners = np.repeat(np.arange(len(streams)), [len(each) for each in of_days])
        days = np.array([day for each in of_days for day in each], np.int64)
        rows = np.array([row for each in of_days for row in each.values()], np.int64)
        levels = np.array(self._level_of, np.int64)[rows]
        known = levels >= 0
        table = self._levels[slot_seconds_of(streams[0].subject)].table
        return OfPeaks(owners[known], days[known], table[levels[known]])

    def days_of(self, numbers: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the peaks of days: of which of these streams each is, of which day, and how much."""
        owners, days, table = self.of_streams(numbers, histograms=False)
        rows = np.array([row for each in numbers.tolist() for row in self._days[each].values()], np.int64)
        spans = np.array(self._spans, np.int64)[numbers][owners]
        alone = (spans == 1) & (table.points > 0)
        levels = np.where(spans == 1, -1, np.array(self._level_of, np.int64)[rows])
        weeks = np.flatnonzero(levels >= 0)
        slots = self._levels[DAY_SECONDS].table[levels[weeks]]
        which, places = np.nonzero(slots != MISSING)
        return (
            np.concatenate((owners[alone], owners[weeks][which])),
            np.concatenate((days[alone], days[weeks][which] + places)),
            np.concatenate((table.high[alone], slots[which, places])),
        )

    def rows(self, subject: str = "") -> Iterator[DayRow]:
        """Yield everything, or what there is of one subject, in order of streams and days."""
        for stream in self.streams_of(subject) if subject else self.streams():
            number = self._numbers[stream]
            seconds = slot_seconds_of(stream.subject)
            for day in sorted(self._days[number]):
                row = self._days[number][day]
                figures = self._summaries.of(np.array([row], np.int64))
                level = self._level_of[row]
                slots = None if level < 0 else self._levels[seconds].table[level].copy()
                yield DayRow(stream, day, figures, slots)

    def put(self, row: DayRow) -> None:
        """Add a row of another book."""
        self.stated.pop(row.stream.subject, None)
        number = self._number(row.stream)
        key = (number << _DAY_BITS) + row.day
        place = self._row(key)
        self._summaries.grow(len(self._level_of))
        self._summaries.put(place, row.figures)
        if row.slots is not None:
            seconds = slot_seconds_of(row.stream.subject)
            level = self._level_row(seconds, place)
            self._grown(seconds).put(level, row.slots)

    def put_table(
        self, streams: Sequence[Stream], days: Sequence[int], table: Table, peaks: Sequence[Peaks] = ()
    ) -> None:
        """Add many rows of another book: of each its stream, its day, its figures and perhaps its peaks."""
        if self.stated:
            for stream in streams:
                self.stated.pop(stream.subject, None)
        keys = ((self._number(stream) << _DAY_BITS) + day for stream, day in zip(streams, days, strict=True))
        rows = np.array([self._row(key) for key in keys], np.int64)
        self._summaries.grow(len(self._level_of))
        self._summaries.put_table(rows, table)
        lengths = {levels.slots: seconds for seconds, levels in self._levels.items()}
        for places, slots in peaks:
            seconds = lengths[slots.shape[1]]
            meant = np.array([self._level_row(seconds, row) for row in rows[places].tolist()], np.int64)
            np.maximum.at(self._grown(seconds).table, meant, slots)

    def merge(self, other: "Book") -> None:
        """Add everything of another book."""
        for row in other.rows():
            self.put(row)

    def since(self, day: int) -> "Book":
        """Return a book of what was observed on a day or after it."""
        kept = Book()
        for row in self.rows():
            if row.day >= day:
                kept.put(row)
        return kept

    def _streams(self, samples: Samples) -> Integers:
        """Return the numbers of the streams of samples; this is what costs most where each has one point."""
        known = self._by_resource.setdefault((samples.resource, samples.measure), {})
        found = [known.get(subject, -1) for subject in samples.subjects]
        if -1 in found:
            found = [
                self._number(Stream(each, samples.resource, samples.measure)) for each in samples.subjects
            ]
        return np.array(found, np.int64)

    def _number(self, stream: Stream) -> int:
        number = self._numbers.get(stream)
        if number is None:
            if kind_of(stream.subject) not in KINDS:
                raise InputError(
                    f"nothing can be observed of {stream.subject!r}", remedy=f"use one of {', '.join(KINDS)}"
                )
            number = self._numbers[stream] = len(self._numbers)
            self._by_subject.setdefault(stream.subject, []).append(stream)
            self._by_resource.setdefault(stream[1:], {})[stream.subject] = number
            self._days.append({})
            self._spans.append(_span_days(stream.subject))
            self._seconds.append(slot_seconds_of(stream.subject))
        return number

    def _row(self, key: int) -> int:
        days = self._days[key >> _DAY_BITS]
        row = days.get(key & _DAY_MASK)
        if row is None:
            row = days[key & _DAY_MASK] = len(self._level_of)
            self._level_of.append(-1)
        return row

    def _level_row(self, seconds: int, row: int) -> int:
        """Return where the peaks of a row stand among those of its length, a new place if need be."""
        level = self._level_of[row]
        if level < 0:
            level = self._level_of[row] = self._level_counts[seconds]
            self._level_counts[seconds] += 1
        return level

    def _grown(self, seconds: int) -> Levels:
        """Return the peaks of a length, with a place for every row that has some."""
        levels = self._levels[seconds]
        levels.grow(self._level_counts[seconds])
        return levels

    def _raise(self, samples: Samples, streams: Integers, rows: Integers, places: Integers) -> None:
        """Note the peaks of those subjects that have them."""
        by_subject = np.array(self._seconds, np.int64)[streams]
        good = (samples.amounts >= 0) & (samples.amounts <= AMOUNT_MAX)
        for seconds in self._levels:
            if not (by_subject == seconds).any():
                continue
            meant = good & (by_subject[samples.numbers] == seconds)
            if not meant.any():
                continue
            places_meant = places[meant]
            is_meant = np.zeros(len(rows), np.bool_)
            is_meant[places_meant] = True
            found = np.array(self._level_of, np.int64)[rows]
            for place in np.flatnonzero(is_meant & (found < 0)):
                found[place] = self._level_row(seconds, int(rows[place]))
            levels = self._grown(seconds)
            levels.raise_to(found[places_meant], samples.at_seconds[meant], samples.amounts[meant])


def slots_of(stream: Stream) -> int:
    """Return how many peaks a row of a stream has: those of a day, or one for each day of a week."""
    return _span_days(stream.subject) * DAY_SECONDS // slot_seconds_of(stream.subject)


def kept_day(stream: Stream, day: int) -> int:
    """Return the day under which a day of a stream is kept."""
    span = _span_days(stream.subject)
    return day // span * span


def _span_days(subject: str) -> int:
    """Return how many days are kept together of a subject."""
    return WEEK_DAYS if kind_of(subject) in _SUMMARY_ONLY else 1


def slot_seconds_of(subject: str) -> int:
    """Return how long the slots are that a subject has peaks of."""
    kind = kind_of(subject)
    if kind in _SUMMARY_ONLY:
        return DAY_SECONDS
    return COARSE_SECONDS if kind in _COARSE else FINE_SECONDS
