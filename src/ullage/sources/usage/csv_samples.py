"""Observations as a table: `subject,resource,time,value[,measure]`.

A time is seconds since 1970 or RFC 3339; a value is a quantity, and an empty one is a point that was dropped.
The hard thing is a table of any length in a bounded room: lines are read one by one and handed on in batches,
and what is wrong is said with the line that it stands in.
"""

import contextlib
import csv
import gzip
import io
import math
import sys
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import numpy as np

from ullage.engine.usage.book import DAY_MAX, Samples
from ullage.engine.usage.levels import DAY_SECONDS
from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.model.errors import InputError
from ullage.model.resources import ResourceType, ResourceTypes, canonical_name
from ullage.model.usage import KINDS, MEASURES, USAGE, kind_of
from ullage.sources.given import given
from ullage.sources.input_files import STANDARD_INPUT
from ullage.sources.places import one_line, shown

if TYPE_CHECKING:
    from _csv import Reader

COLUMNS: Final = ("subject", "resource", "time", "value", "measure")
REQUIRED: Final = COLUMNS[:4]
BATCH_POINTS: Final = 1 << 16
"""How many points are handed on together."""
POINTS_MAX: Final = 2_000_000_000
SUBJECTS_MAX: Final = 2_000_000
SUBJECT_CHARACTERS_MAX: Final = 600
LINE_BYTES_MAX: Final = 1 << 16
_KNOWN_MAX: Final = 1 << 16
"""How many texts of values and times are remembered: they repeat."""
_PLAIN_DIGITS_MAX: Final = 18
"""So many digits always fit 64 bits."""
_PARTS: Final = {"node": (2, 2), "pod": (3, 3), "container": (4, 4), "workload": (3, 4), "cluster": (1, 1)}
"""Of how many words the names of subjects are."""
_REMEDY: Final = f"begin with the line {','.join(REQUIRED)}[,measure]"
_GZIP_MAGIC: Final = b"\x1f\x8b"


def read_csv(path: str, types: ResourceTypes | None = None) -> Iterator[Samples]:
    """Yield the observations of a table (`-`: standard input; gzip too); an InputError where one is none."""
    with _opened(path) as (stream, name):
        reader = csv.reader(_lines(stream, name), strict=True)
        try:
            yield from _batches(reader, name, types or ResourceTypes())
        except csv.Error as error:
            raise InputError(
                one_line(str(error)), where=f"{name}:{reader.line_num}", remedy="quote it as CSV does"
            ) from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InputError("damaged gzip data", where=name, remedy="compress the file again") from None
        except OSError as error:
            raise InputError(
                f"cannot be read: {(error.strerror or str(error)).lower()}", where=name
            ) from None


def subject_problem(subject: str) -> str:
    """Return what is wrong with the name of a subject; empty where nothing is."""
    parts = subject.split("/")
    if kind_of(subject) not in KINDS:
        return f"nothing can be observed of {shown(subject)!r}"
    least, most = _PARTS.get(parts[0], (2, SUBJECT_CHARACTERS_MAX))
    if not least <= len(parts) <= most or not all(parts):
        return f"{shown(subject)!r} does not name a {parts[0]}"
    if len(subject) > SUBJECT_CHARACTERS_MAX or not subject.isprintable():
        return f"{shown(subject)!r} is too long, or cannot be printed"
    return ""


def seconds_of(text: str) -> int:
    """Return a time, as seconds since 1970 or RFC 3339; an InputError."""
    seconds = -1
    if text.isascii() and text.isdigit() and len(text) < 20:
        seconds = int(text)
    else:
        try:
            at = datetime.fromisoformat(text)
            if at.tzinfo is not None and "-" in text:
                seconds = math.floor(at.timestamp())
        except (ValueError, OverflowError):
            seconds = -1
    if not 0 <= seconds < DAY_MAX * DAY_SECONDS:
        raise InputError(
            f"{shown(text)!r} is no usable time",
            remedy="write seconds since 1970, or as 2026-01-31T12:00:00Z",
        )
    return seconds


class _Batch:
    """Points of one resource by one measure that wait to be handed on."""

    def __init__(self, of_type: ResourceType, measure: str) -> None:
        self.resource, self.measure = of_type.name, measure
        self.scale: int = 10**of_type.internal_scale_exponent
        self.digits_max = _PLAIN_DIGITS_MAX - of_type.internal_scale_exponent
        self.subjects: dict[str, int] = {}
        self.numbers: list[int] = []
        self.at_seconds: list[int] = []
        self.amounts: list[int] = []

    def samples(self) -> Samples:
        columns = (np.array(each, np.int64) for each in (self.numbers, self.at_seconds, self.amounts))
        return Samples(self.resource, self.measure, list(self.subjects), *columns)


class _Rows:
    """What the rows so far have taught: names that are good, texts whose worth is known."""

    def __init__(self, types: ResourceTypes) -> None:
        self._types = types
        self._subjects: set[str] = set()
        self._of_type: dict[str, ResourceType] = {}
        self._amounts: dict[tuple[str, str], int] = {}
        self.seconds: dict[str, int] = {}
        self.batches: dict[tuple[str, str], _Batch] = {}

    def batch(self, resource: str, measure: str) -> _Batch:
        """Return where points of a resource, as it is spelled here, wait."""
        found = _Batch(self._type(resource), measure)
        if measure not in MEASURES:
            raise InputError(f"{shown(measure)!r} is no measure", remedy=f"use one of {', '.join(MEASURES)}")
        self.batches[resource, measure] = found
        return found

    def number(self, batch: _Batch, subject: str) -> int:
        """Return the number of a subject in a batch where it is new."""
        if subject not in self._subjects:
            problem = subject_problem(subject)
            if problem:
                raise InputError(problem, remedy="write node/NAME, pod/NAMESPACE/NAME and the like")
            if len(self._subjects) >= SUBJECTS_MAX:
                raise InputError(f"more than {SUBJECTS_MAX} subjects", remedy="split the file")
            self._subjects.add(subject)
        return batch.subjects.setdefault(subject, len(batch.subjects))

    def amount(self, resource: str, text: str) -> int:
        """Return what a value comes to that is not plain digits; -1 where it is empty."""
        amount = self._amounts.get((resource, text))
        if amount is None:
            amount = -1
            if text:
                amount = self._type(resource).parse(text)
                if not 0 <= amount <= AMOUNT_MAX:
                    raise InputError(
                        f"{shown(text)} cannot be used", remedy=f"use 0 to {AMOUNT_MAX}, or leave it empty"
                    )
            if len(self._amounts) >= _KNOWN_MAX:
                self._amounts.clear()
            self._amounts[resource, text] = amount
        return amount

    def check_count(self, count: int) -> None:
        """Refuse a table that goes on for ever."""
        if count > POINTS_MAX:
            raise InputError(f"more than {POINTS_MAX} points", remedy="split the file")

    def moment(self, text: str) -> int:
        """Return a time that was not met yet, and remember it."""
        if len(self.seconds) >= _KNOWN_MAX:
            self.seconds.clear()
        self.seconds[text] = found = seconds_of(text)
        return found

    def _type(self, resource: str) -> ResourceType:
        found = self._of_type.get(resource)
        if found is None:
            found = self._of_type[resource] = self._types[canonical_name(resource)]
        return found


def _batches(reader: "Reader", name: str, types: ResourceTypes) -> Iterator[Samples]:
    places = _places(next(reader, []), name)
    rows = _Rows(types)
    for count, row in enumerate(reader, 1):
        try:
            if count % BATCH_POINTS == 0:
                yield from (batch.samples() for batch in rows.batches.values())
                rows.batches.clear()
                rows.check_count(count)
            _take(row, places, rows)
        except InputError as error:
            raise error.at(f"{name}:{reader.line_num}") from None
    yield from (batch.samples() for batch in rows.batches.values())


def _take(row: list[str], places: tuple[int, ...], rows: _Rows) -> None:
    """Put one row where it waits; an empty line is passed over."""
    if len(row) != len(places):
        if not row or (len(row) == 1 and not row[0].strip()):
            return
        raise InputError(
            f"{len(row)} fields where the first line names {len(places)}",
            remedy="give every line the same fields, empty ones too",
        )
    subject, resource, time, value = row[places[0]], row[places[1]], row[places[2]], row[places[3]]
    measure = row[places[4]] or USAGE if len(places) > len(REQUIRED) else USAGE
    batch = rows.batches.get((resource, measure)) or rows.batch(resource, measure)
    number = batch.subjects.get(subject)
    if number is None:
        number = rows.number(batch, subject)
    seconds = rows.seconds.get(time)
    if seconds is None:
        seconds = rows.moment(time)
    if value.isdecimal() and value.isascii() and len(value) <= batch.digits_max:
        amount = int(value) * batch.scale  # most values are, and a quantity costs ten times as much
    else:
        amount = rows.amount(resource, value)
    batch.numbers.append(number)
    batch.at_seconds.append(seconds)
    batch.amounts.append(amount)


def _places(header: list[str], name: str) -> tuple[int, ...]:
    """Return where each column stands, in our order."""
    columns = [each.strip().removeprefix("\ufeff") for each in header]
    problem = ""
    for column in REQUIRED:
        if column not in columns:
            problem = f"there is no column {column}"
            break
    for place, column in enumerate(columns):
        if column not in COLUMNS:
            problem = problem or f"column {shown(column)!r} is unknown"
        elif column in columns[:place]:
            problem = problem or f"column {column} is there twice"
    if problem:
        raise InputError(problem, where=f"{name}:1", remedy=_REMEDY)
    return tuple(columns.index(each) for each in COLUMNS if each in columns)


def _lines(stream: BinaryIO, name: str) -> Iterator[str]:
    number = 0
    while line := stream.readline(LINE_BYTES_MAX):
        number += 1
        if len(line) >= LINE_BYTES_MAX:
            raise InputError(
                f"a line of more than {LINE_BYTES_MAX} bytes",
                where=f"{name}:{number}",
                remedy="is it a table of observations?",
            )
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise InputError(
                "is not UTF-8", where=f"{name}:{number}", remedy="save the file as UTF-8"
            ) from None


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """Give what was sent along under a name, standard input, or a file, unpacked; and its name."""
    if "\0" in path:
        raise InputError("a path holds a NUL character", where=one_line(path), remedy="correct it")
    name = STANDARD_INPUT if path == "-" else one_line(path)
    data = given(path)
    with contextlib.ExitStack() as closed:
        try:
            raw = io.BytesIO(data) if data is not None else _file(path)
            if path != "-":
                closed.enter_context(raw)
            buffered = io.BufferedReader(cast("io.RawIOBase", raw))
            closed.callback(buffered.detach)
            is_packed = buffered.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
        except OSError as error:
            raise InputError(
                f"cannot be read: {(error.strerror or str(error)).lower()}",
                where=name,
                remedy="check the path, or use - for standard input",
            ) from None
        yield cast("BinaryIO", gzip.GzipFile(fileobj=buffered) if is_packed else buffered), name


def _file(path: str) -> BinaryIO:
    if path != "-":
        return Path(path).open("rb")
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise InputError("closed", where=STANDARD_INPUT, remedy="name a file, or pipe a table in")
    return cast("BinaryIO", stream)
