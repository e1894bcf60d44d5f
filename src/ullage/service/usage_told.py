"""Use as a server tells it apart from the question `usage show`: of one subject, over time, and just now.

Only what is asked about is read from the file, which may hold months of fifty thousand containers, and
whoever belongs to a crowd of which nothing was recorded as such.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ullage.engine.capacity.summary import summarise_groups, total
from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.decaying import status_with_prediction
from ullage.engine.usage.levels import DAY_SECONDS, MISSING
from ullage.model.errors import InputError
from ullage.model.usage import MEASURES, USAGE, kind_of
from ullage.service.asked import Asked, read_cluster
from ullage.service.figures import in_units
from ullage.service.held import columns_of
from ullage.service.observed import SERVER_REMEDY, recorded_file
from ullage.service.usage_part import read_part
from ullage.service.usage_records import ResourceUse, SubjectSeries, UsageSeries
from ullage.service.usage_show import last_seconds
from ullage.service.usage_subject import nobody, promised_of
from ullage.sources.usage_documents import status_document
from ullage.stores.usage_parts import last_day, looking, read_subjects

if TYPE_CHECKING:
    from ullage.engine.usage.buckets import Integers
    from ullage.model.cluster import Snapshot
    from ullage.model.resources import ResourceTypes

SECONDS_MAX: Final = 253_402_300_799
FRESH_SECONDS: Final = 3600
"""So long before the last observation of a resource, a node that was silent since counts as gone."""


class SeriesQuestion(NamedTuple):
    """Which points are meant: of a subject, perhaps of one resource or measure, in a span of time."""

    subject: str
    resource: str = ""
    measure: str = ""
    from_seconds: int = 0
    to_seconds: int = 0
    points_max: int = 500


def subject_status(asked: Asked, subject: str) -> dict[str, Any]:
    """Return the status of one subject as a document, with what it was promised."""
    snapshot = read_cluster(asked)
    path = recorded_file(asked)
    if not path.exists():
        raise InputError("nothing was observed", remedy=SERVER_REMEDY)
    with looking(path) as connection:
        book = read_part(connection, snapshot, [subject])
        status = status_with_prediction(book, subject)
        if status is None:
            raise nobody(connection, subject)
        promised = promised_of(connection, snapshot, subject)
    return status_document(status, snapshot.resource_types, last_seconds(book, subject) or None, promised)


def subject_series(asked: Asked, question: SeriesQuestion) -> SubjectSeries:
    """Return the points of a subject in a span of time; where nothing was observed there are none."""
    snapshot = read_cluster(asked)
    subject = question.subject
    if question.measure and question.measure not in MEASURES:
        raise InputError(f"no measure {question.measure!r}", remedy=f"use one of {', '.join(MEASURES)}")
    if kind_of(subject) == "container":
        raise InputError(f"{subject} has no points over time", remedy="ask about its pod")
    book = _book_of(asked, snapshot, question)
    meant = [
        each
        for each in book.streams_of(subject)
        if question.resource in {"", each.resource} and question.measure in {"", each.measure}
    ]
    return SubjectSeries(
        snapshot.name,
        subject,
        question.from_seconds,
        question.to_seconds,
        tuple(_series(book, each, question, snapshot.resource_types) for each in meant),
    )


def use_now(asked: Asked) -> tuple[ResourceUse, ...]:
    """Return what a cluster uses by its last observations, of each resource that was observed of late."""
    path = recorded_file(asked)
    if not path.exists():
        return ()
    snapshot = read_cluster(asked)
    nodes = [f"node/{each.name}" for each in snapshot.nodes]
    with looking(path) as connection:
        day = last_day(connection, USAGE)
        if day is None:
            return ()
        book = read_subjects(connection, [*nodes, "cluster"], day - 1)
    whole = total(summarise_groups(columns_of(snapshot)), "cluster")
    types = snapshot.resource_types
    used = _last_levels(book)
    return tuple(
        ResourceUse(
            name,
            in_units(name, amount, types),
            in_units(name, whole.committed.of(name), types),
            in_units(name, whole.allocatable.of(name), types),
        )
        for name, amount in sorted(used.items())
    )


def _last_levels(book: Book) -> dict[str, int]:
    """Return the sums of what nodes used last; where none was observed, what was said of the cluster."""
    levels = list(_levels(book))
    ends: dict[str, int] = {}
    for stream, at, _ in levels:
        ends[stream.resource] = max(at, ends.get(stream.resource, 0))
    fresh = [(stream, amount) for stream, at, amount in levels if at > ends[stream.resource] - FRESH_SECONDS]
    found: dict[str, int] = {}
    of_nodes = {stream.resource for stream, _ in fresh if stream.subject != "cluster"}
    for stream, amount in fresh:
        if (stream.subject == "cluster") != (stream.resource in of_nodes):
            found[stream.resource] = found.get(stream.resource, 0) + amount
    return found


def _levels(book: Book) -> Iterator[tuple[Stream, int, int]]:
    """Yield the last level of every stream of use, and when it was."""
    for stream in book.streams(measure=USAGE):
        days = book.days(stream)
        slots = book.slots(stream, days[-1], 1)
        places = np.flatnonzero(slots != MISSING)
        if len(places):
            at = days[-1] * DAY_SECONDS + int(places[-1]) * book.slot_seconds(stream)
            yield stream, at, int(slots[places[-1]])


def _book_of(asked: Asked, snapshot: "Snapshot", question: SeriesQuestion) -> Book:
    path = recorded_file(asked)
    if not path.exists():
        return Book()
    with looking(path) as connection:
        return read_part(connection, snapshot, [question.subject], question.from_seconds // DAY_SECONDS)


def peaks_of(book: Book, stream: Stream, first_day: int, points_max: int) -> list[tuple[int, int]]:
    """Return the peaks of a stream from a day on, as (time, amount), at most so many."""
    question = SeriesQuestion(stream.subject, "", "", first_day * DAY_SECONDS, SECONDS_MAX, points_max)
    times, amounts, _ = _peaks(book, stream, question)
    return list(zip(times.tolist(), amounts.tolist(), strict=True))


def _series(book: Book, stream: Stream, question: SeriesQuestion, types: "ResourceTypes") -> UsageSeries:
    times, amounts, step = _peaks(book, stream, question)
    values = [in_units(stream.resource, each, types) for each in amounts.tolist()]
    return UsageSeries(stream.resource, stream.measure, step, times.tolist(), values)


def _peaks(book: Book, stream: Stream, question: SeriesQuestion) -> "tuple[Integers, Integers, int]":
    """Return the peaks of a stream with their times, in steps as long as the bound on points wants them."""
    seconds = book.slot_seconds(stream)
    days = [day for day in book.days(stream) if _is_in(day, question)]
    slots = [book.slots(stream, day, 1) for day in days]
    times: Integers = np.concatenate(
        [np.arange(len(each)) * seconds + day * DAY_SECONDS for each, day in zip(slots, days, strict=True)]
        or [_NONE]
    )
    amounts: Integers = np.concatenate(slots or [_NONE])
    kept = (amounts != MISSING) & (times + seconds > question.from_seconds) & (times <= question.to_seconds)
    times, amounts = times[kept], amounts[kept]
    if not len(times):
        return times, amounts, seconds
    first = int(times[0])
    span = int(times[-1]) - first + seconds
    step = max(1, -(-span // (question.points_max * seconds))) * seconds
    places = (times - first) // step
    starts = np.flatnonzero(np.concatenate(([True], places[1:] != places[:-1])))
    return first + places[starts] * step, np.maximum.reduceat(amounts, starts), step


_NONE: Final = np.empty(0, np.int64)


def _is_in(day: int, question: SeriesQuestion) -> bool:
    return (day + 1) * DAY_SECONDS > question.from_seconds and day * DAY_SECONDS <= question.to_seconds
