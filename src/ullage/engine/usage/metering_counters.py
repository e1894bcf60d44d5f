"""What tenants consumed of what is counted only as it is used, hour by hour, from readings of many counters.

Readings may come late, twice and in any order, as long as none comes later than `late_seconds` after a newer
one of its counter: so long they wait to be put in order. What comes still later counts where it is newer than
all that was counted, and nothing otherwise: it has passed before, within what the next reading showed.

What passed between two readings is divided over the hours between them. Where they are further apart than
`gap_seconds`, it is kept as one span: how much passed is known, but not when, and whoever asks about periods
that a span crosses is told that their parts of it are estimated. After a restart it is what the counter
shows: what it counted between the last reading and its end is known to nobody, and restarts are told. Where
epochs overlap, each is counted by its own readings, also where several have one at the same second.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, takewhile
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from ullage.engine.capacity.metering import LEFT_MAX, Meter, Reading
from ullage.engine.usage.metering_calendar import HOUR_SECONDS, end_of, start_of
from ullage.engine.usage.metering_split import Span, split
from ullage.model.errors import InputError

GAP_SECONDS: Final = 3600
LATE_SECONDS: Final = 900
KEPT_SECONDS: Final = 35 * 86_400
"""Counters that were not read for so long may be those of pods and interfaces that are gone."""
UNREAD_MAX: Final = 100_000
"""So many of those are kept all the same: one that comes back tells what passed meanwhile."""
WAITING_MAX: Final = 100_000
"""Readings of one counter that wait; the oldest are counted when there are more."""


FAMILY_WORDS: Final = 3


class CounterName(NamedTuple):
    """Whose counter, and which: `network/web-1/eth0` counts in the unit `network`."""

    tenant: str
    counter: str

    @property
    def unit(self) -> str:
        """What it counts: its name up to the first slash."""
        return self.counter.partition("/")[0]

    @property
    def family(self) -> "CounterName":
        """What it is without what tells counters of one unit, pod and interface apart."""
        return CounterName(self.tenant, "/".join(self.counter.split("/")[:FAMILY_WORDS]))

    @property
    def account(self) -> "Account":
        """Where it counts."""
        return Account(self.tenant, self.unit)


class Account(NamedTuple):
    """Whose consumption, and of what."""

    tenant: str
    unit: str


class Counted(msgspec.Struct, frozen=True):
    """A counter: what was counted of it from its first reading on, and the readings that wait, in order.

    `firsts` are its first reading, and those of other epochs at the same second: nothing counts until them.
    """

    meter: Meter = Meter()
    firsts: tuple[Reading, ...] = ()
    waiting: tuple[Reading, ...] = ()

    @property
    def newest_seconds(self) -> int | None:
        """The moment of the newest reading."""
        if self.waiting:
            return self.waiting[-1].seconds
        return None if self.meter.last is None else self.meter.last.seconds

    @property
    def oldest(self) -> tuple[Reading, ...]:
        """The readings of the oldest second."""
        if self.firsts or not self.waiting:
            return self.firsts
        return tuple(takewhile(lambda each: each.seconds == self.waiting[0].seconds, self.waiting))


class Hour(NamedTuple):
    """What passed in an hour, and how many counters restarted before the reading that was taken in it."""

    passed: int = 0
    restarts: int = 0


class Consumed(NamedTuple):
    """What passed in a period, how much of that is estimated, and how often counters restarted in it."""

    passed: int
    estimated: int
    restarts: int


class Meters:
    """The counters of all tenants, and what they come to."""

    def __init__(self, gap_seconds: int = GAP_SECONDS, late_seconds: int = LATE_SECONDS) -> None:
        self.gap_seconds = gap_seconds
        self.late_seconds = late_seconds
        self.counters: dict[CounterName, Counted] = {}
        self.hours: dict[Account, dict[int, Hour]] = {}
        self.spans: dict[Account, list[Span]] = {}
        self.forgotten: dict[Account, int] = {}
        """How many counters or epochs were forgotten; what passes until one comes back is unknown."""

    def add(self, name: CounterName, readings: Iterable[Reading], wraps_at: int | None = None) -> int:
        """Take readings of a counter in, in any order; return how many counted nothing for being too late.

        `wraps_at` states at which value the counter starts again from 0 without having been restarted.
        """
        old = self.counters.get(name, Counted())
        meter = old.meter
        if wraps_at is not None and wraps_at != meter.wraps_at:
            if old.oldest:
                raise InputError(
                    f"counter {name.counter} of {name.tenant} wrapped around at {meter.wraps_at or 'nothing'}"
                    f" so far, now at {wraps_at or 'nothing'}",
                    remedy="state it once and for all",
                )
            meter = msgspec.structs.replace(meter, wraps_at=wraps_at)
        waiting = {(each.seconds, each.epoch): each for each in old.waiting}
        late = 0
        for each in readings:
            if meter.last is not None and each.seconds <= meter.last.seconds:
                late += 1
                continue
            other = waiting.get((each.seconds, each.epoch))
            if other is None or other.value < each.value:
                waiting[each.seconds, each.epoch] = each
        in_order = [waiting[place] for place in sorted(waiting)]
        if not in_order:
            return late
        border = in_order[-1].seconds - self.late_seconds
        if len(in_order) > WAITING_MAX:
            border = max(border, in_order[-WAITING_MAX - 1].seconds)
        done = bisect_right(in_order, border, key=lambda each: each.seconds)
        counted = Counted(meter, old.firsts, tuple(in_order))
        self.counters[name] = self._settled(name, counted, done)
        return late

    def began(self, name: CounterName, seconds: int, first: Reading) -> None:
        """Count a counter from 0 at a moment on, if a reading that is known to be its first is its oldest."""
        counted = self.counters.get(name)
        if counted is None or counted.oldest != (first,) or seconds >= first.seconds:
            return
        begin, meter = Reading(seconds, 0, first.epoch), counted.meter
        if not counted.firsts:
            self.counters[name] = Counted(meter, (), (begin, *counted.waiting))
            return
        self._account(name.account, Meter(0, begin), first)
        meter = msgspec.structs.replace(meter, total=meter.total + first.value)
        self.counters[name] = Counted(meter, (begin,), counted.waiting)

    def unread(self, begin_seconds: int, end_seconds: int) -> dict[Account, int]:
        """Return how many counters had counted before they were first read, in a time when others were."""
        oldest = {name: each.oldest for name, each in self.counters.items()}
        earliest = min((each[0].seconds for each in oldest.values() if each), default=0)
        begin = max(begin_seconds, earliest + self.late_seconds + 1)
        found = (
            name.account
            for name, each in oldest.items()
            if any(first.value and begin <= first.seconds < end_seconds for first in each)
            and not self._was_read_before(name, each[0])
        )
        return dict(Counter(found))

    def _was_read_before(self, name: CounterName, first: Reading) -> bool:
        """Whether the family of a counter was counted until its first reading, so that nothing is unknown."""
        family = self.counters.get(name.family) if name != name.family else None
        return family is not None and (family.newest_seconds or 0) >= first.seconds

    def settle(self) -> None:
        """Count every reading that waits: whatever is older comes too late from now on."""
        for name, counted in self.counters.items():
            self.counters[name] = self._settled(name, counted, len(counted.waiting))

    def forget(self, unread_max: int = UNREAD_MAX) -> None:
        """Drop the oldest of the counters that were not read for KEPT_SECONDS, where these are too many.

        What they counted stays, and how many they were. One that comes back counts from its first reading
        on, as a new one does.
        """
        newest = max((each.newest_seconds or 0 for each in self.counters.values()), default=0)
        unread = sorted(
            (counted.newest_seconds or 0, name)
            for name, counted in self.counters.items()
            if (counted.newest_seconds or 0) < newest - KEPT_SECONDS
        )
        for _, name in unread[: max(len(unread) - unread_max, 0)]:
            counted = self.counters.pop(name)
            self._settled(name, counted, len(counted.waiting))
            self.forgotten[name.account] = self.forgotten.get(name.account, 0) + 1

    def accounts(self) -> list[Account]:
        """Return whose consumption of what is known, in order."""
        return sorted({*self.hours, *self.spans, *(name.account for name in self.counters)})

    def span_seconds(self) -> tuple[int, int] | None:
        """Return from when to when anything was read; None where nothing was."""
        oldest = [each.oldest[0].seconds for each in self.counters.values() if each.oldest]
        newest = [each.newest_seconds for each in self.counters.values()]
        known = [each for each in newest if each is not None]
        return (min(oldest), max(known)) if oldest and known else None

    def known_hours(self) -> tuple[int, int] | None:
        """Return from when to when anything is known, in full hours, also of counters that were forgotten."""
        read = self.span_seconds()
        moments = [] if read is None else [*read]
        for hours in self.hours.values():
            moments += [hour * HOUR_SECONDS for hour in hours]
        for spans in self.spans.values():
            moments += [end for each in spans for end in (each.begin, each.end)]
        if not moments:
            return None
        return start_of("hour", min(moments)), end_of("hour", max(moments))

    def consumed(self, account: Account, borders: Sequence[int]) -> list[Consumed]:
        """Return what passed between each two borders: full hours, in order."""
        passed, estimated, restarts = ([0] * (len(borders) - 1) for _ in range(3))
        for hour, found in self.hours.get(account, {}).items():
            place = _place(borders, hour * HOUR_SECONDS)
            if place is not None:
                passed[place] += found.passed
                restarts[place] += found.restarts
        for span in self.spans.get(account, ()):
            first = max(0, bisect_right(borders, span.begin) - 1)
            met = borders[first : bisect_left(borders, span.end) + 1]
            for place, part in enumerate(split(span, met), first):
                passed[place] += part
                if span.begin < borders[place] or span.end > borders[place + 1]:
                    estimated[place] += part
        return [Consumed(*each) for each in zip(passed, estimated, restarts, strict=True)]

    def merge(self, other: "Meters") -> None:
        """Add all that other meters counted; where both read a counter, one did so after the other."""
        if (self.gap_seconds, self.late_seconds) != (other.gap_seconds, other.late_seconds):
            raise InputError("meters of other gaps cannot be added", remedy="meter with the same")
        for name in sorted(set(self.counters) & set(other.counters)):
            _check_apart(name, self.counters[name], other.counters[name])
        for account, hours in other.hours.items():
            for hour, found in hours.items():
                self._count(account, hour, found)
        for account, spans in other.spans.items():
            self.spans.setdefault(account, []).extend(spans)
        for account, count in other.forgotten.items():
            self.forgotten[account] = self.forgotten.get(account, 0) + count
        for name, theirs in other.counters.items():
            ours = self.counters.get(name)
            self.counters[name] = theirs if ours is None else self._joined(name, ours, theirs)

    def _settled(self, name: CounterName, counted: Counted, done: int) -> Counted:
        """Return a counter of which so many of the waiting readings are counted."""
        meter, account = counted.meter, name.account
        for _, found in groupby(counted.waiting[:done], attrgetter("seconds")):
            together = tuple(found)
            for reading in together:
                self._account(account, meter, reading)
            after = meter.read(*together)
            if len(after.left) == LEFT_MAX:
                self._forget_epochs(account, _epochs(meter).union(each.epoch for each in together), after)
            meter = after
        return Counted(meter, counted.oldest if done else counted.firsts, counted.waiting[done:])

    def _forget_epochs(self, account: Account, known: frozenset[str], after: Meter) -> None:
        """Note how many epochs a meter no longer knows: one that comes back would count in full once more."""
        gone = len(known - _epochs(after))
        if gone:
            self.forgotten[account] = self.forgotten.get(account, 0) + gone

    def _account(self, account: Account, before: Meter, reading: Reading) -> None:
        """Note what passed until a reading where it belongs."""
        last, passed, restarted = before.passed(reading)
        if restarted:
            self._count(account, (reading.seconds - 1) // HOUR_SECONDS, Hour(0, 1))
        if not passed:
            return
        first, end = last.seconds // HOUR_SECONDS, -(-reading.seconds // HOUR_SECONDS)
        if end - first == 1:
            self._count(account, first, Hour(passed))
            return
        span = Span(last.seconds, reading.seconds, passed)
        if span.end - span.begin > self.gap_seconds:
            self.spans.setdefault(account, []).append(span)
            return
        parts = split(span, [hour * HOUR_SECONDS for hour in range(first, end + 1)])
        for hour, part in enumerate(parts, first):
            if part:
                self._count(account, hour, Hour(part))

    def _count(self, account: Account, hour: int, more: Hour) -> None:
        hours = self.hours.setdefault(account, {})
        known = hours.get(hour)
        hours[hour] = (
            more if known is None else Hour(known.passed + more.passed, known.restarts + more.restarts)
        )

    def _joined(self, name: CounterName, one: Counted, other: Counted) -> Counted:
        """Return a counter as if both had been one; what passed between the two is noted."""
        early, late = sorted((one, other), key=_beginning)
        early = self._settled(name, early, len(early.waiting))
        if not late.firsts:
            return Counted(early.meter, early.firsts, late.waiting)
        for reading in late.firsts:
            self._account(name.account, early.meter, reading)
        bridged = early.meter.read(*late.firsts)
        meter = msgspec.structs.replace(
            late.meter,
            total=bridged.total + late.meter.total,
            resets=bridged.resets + late.meter.resets,
            left=_left(early.meter, late.meter),
        )
        return Counted(meter, early.firsts, late.waiting)


def _beginning(counted: Counted) -> int:
    return counted.oldest[0].seconds if counted.oldest else -1


def _epochs(meter: Meter) -> frozenset[str]:
    return frozenset(each.epoch for each in (*meter.left, meter.last) if each is not None)


def _left(early: Meter, late: Meter) -> tuple[Reading, ...]:
    """Return the last readings of the epochs that two meters have left, one after the other."""
    known = _epochs(late)
    older = (each for each in (*early.left, early.last) if each is not None and each.epoch not in known)
    return (*older, *late.left)[-LEFT_MAX:]


def _check_apart(name: CounterName, one: Counted, other: Counted) -> None:
    """Refuse two that read the same counter at the same time: what both saw would count twice.

    So would an epoch that the later one has seen begin, and the earlier one too.
    """
    early, late = sorted((one, other), key=_beginning)
    bridged = {each.epoch for each in late.firsts}
    in_both = (_epochs(early.meter) | {each.epoch for each in early.waiting}) & _epochs(late.meter)
    is_mixed = (early.newest_seconds or 0) >= _beginning(late) or in_both - bridged
    if one.meter.wraps_at != other.meter.wraps_at or is_mixed:
        raise InputError(
            f"counter {name.counter} of {name.tenant} was read by both at the same time, or otherwise",
            remedy="let one of them read it",
        )


def _place(borders: Sequence[int], moment: int) -> int | None:
    """Return between which two borders a moment lies; None where it lies outside."""
    place = bisect_right(borders, moment) - 1
    return place if 0 <= place < len(borders) - 1 else None
