"""Meters as rows of text, to be kept and read again exactly: a row for each counter, day and month.

Numbers are written as text: what passed may have more than 64 bits. Meters with the same contents have the
same rows, so that whoever keeps them writes those that changed.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from ullage.engine.capacity.metering import Meter, Reading
from ullage.engine.usage.metering_calendar import HOUR_SECONDS, start_of
from ullage.engine.usage.metering_counters import Account, Counted, CounterName, Hour, Meters
from ullage.engine.usage.metering_split import Span

SETTINGS: Final = '["settings"]'
_DAY_HOURS: Final = 24
_Key = tuple[str, ...]
_ReadingRow = tuple[str, str, str]


class _CounterRow(msgspec.Struct, array_like=True):
    """A counter; `left` is written where epochs were left, `beside` where others were read with the first."""

    total: str
    resets: str
    wraps_at: str
    first: _ReadingRow | None
    last: _ReadingRow | None
    waiting: list[_ReadingRow]
    left: list[_ReadingRow] = []
    beside: list[_ReadingRow] = []


_KEY: Final = msgspec.json.Decoder(tuple[str, ...])
_COUNTER: Final = msgspec.json.Decoder(_CounterRow)
_NUMBERS: Final = msgspec.json.Decoder(list[tuple[str, ...]])


def rows_of(meters: Meters) -> dict[str, str]:
    """Return meters as rows: each a text under a name."""
    rows = {SETTINGS: _text([_texts(meters.gap_seconds, meters.late_seconds)])}
    for name, counted in meters.counters.items():
        rows[_text(("counter", *name))] = _counter_text(counted)
    for account, hours in meters.hours.items():
        days: dict[int, list[_Key]] = {}
        for hour in sorted(hours):
            days.setdefault(hour // _DAY_HOURS, []).append(_texts(hour, *hours[hour]))
        for day, found in days.items():
            rows[_text(("hours", *account, str(day)))] = _text(found)
    for account, spans in meters.spans.items():
        months: dict[int, list[_Key]] = {}
        for span in sorted(spans):
            months.setdefault(start_of("month", span.begin) // HOUR_SECONDS, []).append(_texts(*span))
        for month, found in months.items():
            rows[_text(("spans", *account, str(month)))] = _text(found)
    for account, count in meters.forgotten.items():
        rows[_text(("forgotten", *account))] = _text([_texts(count)])
    return rows


def meters_of(rows: Mapping[str, str]) -> Meters:
    """Return the meters of rows; of none at all, new ones. A msgspec.DecodeError where one is not ours."""
    meters = Meters()
    for name, text in rows.items():
        try:
            _take(meters, name, text)
        except (ValueError, TypeError, IndexError):
            raise msgspec.DecodeError(f"the meter {name} is not as we write them") from None
    return meters


def _take(meters: Meters, name: str, text: str) -> None:
    kind, *key = _KEY.decode(name)
    if name == SETTINGS:
        meters.gap_seconds, meters.late_seconds = (int(each) for each in _NUMBERS.decode(text)[0])
    elif kind == "counter":
        meters.counters[CounterName(*key)] = _counted(_COUNTER.decode(text))
    elif kind == "hours":
        hours = meters.hours.setdefault(Account(*key[:2]), {})
        for hour, *found in _numbers(text):
            hours[hour] = Hour(*found)
    elif kind == "spans":
        spans = meters.spans.setdefault(Account(*key[:2]), [])
        spans.extend(Span(*found) for found in _numbers(text))
    elif kind == "forgotten":
        ((meters.forgotten[Account(*key)],),) = _numbers(text)


def _counter_text(counted: Counted) -> str:
    meter = counted.meter
    first, *beside = map(_reading_row, counted.firsts) if counted.firsts else (None,)
    row: tuple[object, ...] = (
        *_texts(meter.total, meter.resets, meter.wraps_at),
        first,
        None if meter.last is None else _reading_row(meter.last),
        [_reading_row(each) for each in counted.waiting],
    )
    if meter.left or beside:
        row = (*row, [_reading_row(each) for each in meter.left])
    return _text((*row, beside) if beside else row)


def _counted(row: _CounterRow) -> Counted:
    last = None if row.last is None else _reading(row.last)
    left = tuple(_reading(each) for each in row.left)
    meter = Meter(int(row.total), last, resets=int(row.resets), wraps_at=int(row.wraps_at), left=left)
    firsts = () if row.first is None else (_reading(row.first), *map(_reading, row.beside))
    return Counted(meter, firsts, tuple(_reading(each) for each in row.waiting))


def _reading_row(reading: Reading) -> _ReadingRow:
    return str(reading.seconds), str(reading.value), reading.epoch


def _reading(row: _ReadingRow) -> Reading:
    seconds, value, epoch = row
    return Reading(int(seconds), int(value), epoch)


def _numbers(text: str) -> Iterable[tuple[int, ...]]:
    return (tuple(int(each) for each in row) for row in _NUMBERS.decode(text))


def _texts(*numbers: int) -> _Key:
    return tuple(str(each) for each in numbers)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
