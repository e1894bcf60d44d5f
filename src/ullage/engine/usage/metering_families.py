"""Counters whose source does not always say which one it read: a label that comes, goes and comes back.

`network-sent/web-1/eth0/ID` is a counter of the family `network-sent/web-1/eth0`. A reading that names no id
goes on with the counter of the family that was read last, and is of one of its own where there is none. The
hard thing is to count nothing twice, whatever part of the time is read again: so what counts is what was read
last of all that was ever read, and what is older is late. Where an id comes up, its first reading ends what
was counted without one.
"""

from collections.abc import Sequence

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import CounterName, Meters


class Families:
    """Takes readings of families of counters into meters."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._members: dict[CounterName, set[CounterName]] = {}
        for name in meters.counters:
            self._members.setdefault(name.family, set()).add(name)

    def add(self, name: CounterName, readings: Sequence[Reading]) -> int:
        """Take readings in order of time; return how many counted nothing for being too late."""
        if not readings:
            return 0
        last = self._last(name.family)
        if name == name.family:
            return self._unnamed(name, readings, last)
        if last == name.family and name not in self._meters.counters:
            self._meters.add(last, [each for each in readings[:1] if each.seconds > self._newest(last)])
        self._members.setdefault(name.family, set()).add(name)
        return self._meters.add(name, readings)

    def began(self, name: CounterName, seconds: int, first: Reading) -> None:
        """Count a counter from 0 at a moment on, unless it was read before without its id."""
        known = name.family in self._meters.counters and name != name.family
        if not known or self._newest(name.family) < first.seconds:
            self._meters.began(name, seconds, first)

    def _unnamed(self, family: CounterName, readings: Sequence[Reading], last: CounterName | None) -> int:
        if last is None or last == family:
            self._members.setdefault(family, set()).add(family)
            return self._meters.add(family, readings)
        newest = self._newest(last)
        newer = [each for each in readings if each.seconds > newest]
        return len(readings) - len(newer) + self._meters.add(last, newer)

    def _last(self, family: CounterName) -> CounterName | None:
        """Return which counter of a family was read last."""
        return max(self._members.get(family, ()), key=lambda each: (self._newest(each), each), default=None)

    def _newest(self, name: CounterName) -> int:
        counted = self._meters.counters.get(name)
        newest = None if counted is None else counted.newest_seconds
        return -1 if newest is None else newest
