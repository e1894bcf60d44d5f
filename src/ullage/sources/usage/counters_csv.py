"""Readings of counters as a table: `tenant,counter,time,value[,epoch][,wraps]`.

The counter `network/web-1/eth0` counts in the unit `network`; the rest of its name tells it from others. A
time is seconds since 1970 or RFC 3339. An epoch changes whenever the counter starts again. Where `wraps` is
given, the counter shows 0 in place of this value and goes on.
"""

import csv
import io
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import CounterName
from ullage.model.errors import InputError
from ullage.sources.input_files import InputFile, read_files
from ullage.sources.limits import DEFAULT_LIMITS
from ullage.sources.places import one_line, shown
from ullage.sources.usage.csv_samples import seconds_of

COLUMNS: Final = ("tenant", "counter", "time", "value", "epoch", "wraps")
REQUIRED: Final = COLUMNS[:4]
ROWS_MAX: Final = 20_000_000
NAME_CHARACTERS_MAX: Final = 300
VALUE_MAX: Final = (1 << 64) - 1
_REMEDY: Final = f"begin with the line {','.join(REQUIRED)}[,epoch][,wraps]"
_TIMES_MAX: Final = 1 << 16
"""How many texts of times are remembered: they repeat from counter to counter."""
_UNIT: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")


class CounterReadings(NamedTuple):
    """The readings of one counter, and where it wraps around, if that is stated."""

    readings: list[Reading]
    wraps_at: int | None


def read_counters(path: str) -> Mapping[CounterName, CounterReadings]:
    """Return the readings of a table by counter, as they stand there (`-`: standard input; gzip too)."""
    found: dict[CounterName, CounterReadings] = {}
    for file in read_files(path, DEFAULT_LIMITS):
        _read(file, found)
    return found


def _read(file: InputFile, found: dict[CounterName, CounterReadings]) -> None:
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(file.data), "utf-8-sig", newline=""), strict=True)
    try:
        places = _places(next((row for row in reader if any(map(str.strip, row))), []))
        for count, row in enumerate(reader):
            if row:
                _take(row, places, found, count)
    except InputError as error:
        raise error.at(f"{file.name}:{reader.line_num or 1}") from None
    except csv.Error as error:
        where = f"{file.name}:{reader.line_num}"
        raise InputError(one_line(str(error)), where=where, remedy="quote it as CSV does") from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", where=file.name, remedy="save the file as UTF-8") from None


def _places(header: list[str]) -> tuple[int | None, ...]:
    """Return where each column stands, in our order."""
    columns = [each.strip() for each in header]
    unknown = [each for each in columns if each not in COLUMNS]
    missing = [each for each in REQUIRED if each not in columns]
    twice = [each for place, each in enumerate(columns) if each in columns[:place]]
    problem = ""
    if missing:
        problem = f"there is no column {missing[0]}"
    elif unknown:
        problem = f"column {shown(unknown[0])!r} is unknown"
    elif twice:
        problem = f"column {twice[0]} is there twice"
    if problem:
        raise InputError(problem, remedy=_REMEDY)
    return (*(columns.index(each) if each in columns else None for each in COLUMNS), len(columns))


def _take(
    row: list[str], places: tuple[int | None, ...], found: dict[CounterName, CounterReadings], count: int
) -> None:
    """Put one row to the others of its counter; an empty line is passed over."""
    if count >= ROWS_MAX:
        raise InputError(f"more than {ROWS_MAX} readings", remedy="split the file")
    if len(row) != places[-1]:
        if len(row) == 1 and not row[0].strip():
            return
        raise InputError(
            f"{len(row)} fields where the first line names {places[-1]}",
            remedy="give every line the same fields, empty ones too",
        )
    tenant, counter, time, value, epoch, wraps = [
        "" if place is None else row[place].strip() for place in places[:-1]
    ]
    name = CounterName(tenant, counter)
    wraps_at = _whole("wraps", wraps) if wraps else None
    known = found.get(name)
    if known is None:
        _check(name, epoch)
        known = found[name] = CounterReadings([], wraps_at)
    elif wraps_at != known.wraps_at:
        told = "nothing" if known.wraps_at is None else str(known.wraps_at)
        raise InputError(f"wraps: {wraps or 'nothing'}, before it was {told}", remedy="state one of the two")
    reading = Reading(_seconds(time), _whole("value", value), epoch)
    if wraps_at is not None and reading.value >= wraps_at:
        raise InputError(f"value {value} of a counter that wraps around at {wraps_at}", remedy="correct one")
    known.readings.append(reading)


@lru_cache(_TIMES_MAX)
def _seconds(text: str) -> int:
    return seconds_of(text)


def _check(name: CounterName, epoch: str) -> None:
    """Refuse names that cannot be told apart or printed."""
    for column, text in (("tenant", name.tenant), ("counter", name.counter), ("epoch", epoch or "-")):
        if not text:
            raise InputError(f"{column} is empty", remedy="fill it in")
        if len(text) > NAME_CHARACTERS_MAX or not text.isprintable():
            raise InputError(
                f"{column} {shown(text)!r} is too long, or cannot be printed", remedy="shorten it"
            )
    if not _UNIT.fullmatch(name.unit):
        raise InputError(
            f"counter {shown(name.counter)!r} names no unit",
            remedy="begin with what it counts, in a-z, 0-9 and '-', as network/web-1",
        )


def _whole(column: str, text: str) -> int:
    number = int(text) if text.isdecimal() and text.isascii() and len(text) <= 20 else VALUE_MAX + 2
    if number > VALUE_MAX + (column == "wraps"):
        raise InputError(f"{column} {shown(text)!r} is no whole number of 64 bits", remedy="use digits only")
    return number
