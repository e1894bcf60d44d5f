"""What is wrong with meters that were kept: rows that nobody wrote like this, and sums that do not add up.

A row is right if reading and writing it again gives the same text, its numbers follow from each other, and
hours and spans have at least what the counters of their account count: counters are forgotten, hours are not.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from ullage.engine.capacity.metering import LEFT_MAX, Reading
from ullage.engine.usage.metering_counters import Account, Counted, Hour, Meters
from ullage.engine.usage.metering_rows import SETTINGS, meters_of, rows_of

_KEY: Final = msgspec.json.Decoder(tuple[str, ...])


class Wrong(NamedTuple):
    """What is wrong, and with what: a row, by its kind and whose it is, or an account."""

    subject: str
    what: str


def problems_of(rows: Mapping[str, str]) -> Iterator[Wrong]:
    """Yield what is wrong with the rows of meters; of those that are damaged no sums are taken."""
    if rows and SETTINGS not in rows:
        yield Wrong(_subject(SETTINGS), "it is not there")
    sound: dict[str, str] = {}
    for name, text in sorted(rows.items()):
        wrong = _row_problem(name, text)
        if wrong:
            yield Wrong(_subject(name), wrong)
        else:
            sound[name] = text
    if len(sound) == len(rows):
        yield from _sums(meters_of(sound))


def _subject(name: str) -> str:
    """Return the name of a row for people."""
    try:
        return "/".join(_KEY.decode(name))
    except msgspec.DecodeError:
        return name


def _row_problem(name: str, text: str) -> str:
    try:
        meters = meters_of({name: text})
    except msgspec.DecodeError:
        return "it is not as we write them"
    if rows_of(meters).get(name) != text:
        return "it is not as it was written"
    if meters.gap_seconds < 0 or meters.late_seconds < 0:
        return "it has a time below 0"
    found = [*map(_counter_problem, meters.counters.values())]
    found += [_hour_problem(hour) for hours in meters.hours.values() for hour in hours.values()]
    found += [
        "a span ends before it begins, or nothing passed in it"
        for spans in meters.spans.values()
        for span in spans
        if span.begin >= span.end or span.passed <= 0
    ]
    found += ["fewer than one counter was forgotten" for count in meters.forgotten.values() if count < 1]
    return next(filter(None, found), "")


def _hour_problem(hour: Hour) -> str:
    return "less than nothing passed in an hour" if min(hour) < 0 else ""


def _counter_problem(counted: Counted) -> str:
    """Return what does not follow from what else is known of a counter; empty where everything does."""
    meter, firsts = counted.meter, counted.firsts
    last = meter.last
    if bool(firsts) != (last is not None) or (last is None and not counted.waiting):
        return "it has no first or no last reading"
    read = (*meter.left, *(() if last is None else (last,)), *counted.waiting)
    if any(_is_out_of_range(each, meter.wraps_at) for each in (*firsts, *read)):
        return "a reading is below 0, or not below where it wraps around"
    if any(not _are_in_order(*pair) for pair in (*pairwise(read), *pairwise(firsts))):
        return "its readings are out of order"
    if min(meter.total, meter.resets, meter.wraps_at) < 0:
        return "it counted less than nothing"
    if last is None:
        return "" if meter.total == meter.resets == 0 else "it counted something before its first reading"
    if any(each.seconds != firsts[0].seconds for each in firsts):
        return "its first readings are not of one second"
    if firsts[0].seconds > last.seconds:
        return "its first reading is later than its last"
    return _total_problem(counted, last)


def _are_in_order(one: Reading, other: Reading) -> bool:
    """Whether a reading may follow another one: later, or at the same second in another epoch."""
    return (one.seconds, one.epoch) < (other.seconds, other.epoch)


def _total_problem(counted: Counted, last: Reading) -> str:
    meter = counted.meter
    first_values = {each.epoch: each.value for each in counted.firsts}
    if meter.resets or len(meter.left) == LEFT_MAX:
        came_back = bool(meter.left)
        is_right = meter.total >= last.value - (first_values.get(last.epoch, 0) if came_back else 0)
    else:
        rest = meter.total - sum(each.value for each in (*meter.left, last)) + sum(first_values.values())
        is_right = rest % meter.wraps_at == 0 if meter.wraps_at else rest == 0
    return "" if is_right else "what it counted is not what its readings say"


def _is_out_of_range(reading: Reading, wraps_at: int) -> bool:
    return reading.value < 0 or bool(wraps_at and reading.value >= wraps_at)


def _sums(meters: Meters) -> Iterator[Wrong]:
    """Yield accounts whose hours and spans have less than their counters counted."""
    counted: dict[Account, Hour] = {}
    for name, each in meters.counters.items():
        known = counted.get(name.account, Hour())
        counted[name.account] = Hour(known.passed + each.meter.total, known.restarts + each.meter.resets)
    for account, wanted in sorted(counted.items()):
        hours = meters.hours.get(account, {}).values()
        passed = sum(each.passed for each in hours)
        passed += sum(each.passed for each in meters.spans.get(account, ()))
        restarts = sum(each.restarts for each in hours)
        if passed < wanted.passed:
            what = f"its counters counted {wanted.passed}, its hours only {passed}"
            yield Wrong("/".join(account), what)
        elif restarts < wanted.restarts:
            what = f"its counters restarted {wanted.restarts} times, its hours have {restarts}"
            yield Wrong("/".join(account), what)
