"""Metering: how much passed, from counters that are read now and then and may start again from zero.

A counter belongs to an epoch (a boot, an interface that was made anew). A new epoch, or a value below the
last one, means that it started again: what it shows now has passed since. Readings that are not newer than
the last one count nothing, so that a reading delivered twice, or late, changes nothing.
"""

import msgspec

from ullage.model.errors import InputError


class Reading(msgspec.Struct, frozen=True):
    """What a counter showed at a moment; `epoch` changes whenever the counter is known to start again."""

    seconds: int
    value: int
    epoch: str = ""


class Meter(msgspec.Struct, frozen=True):
    """What has passed so far, and the reading up to which it is counted.

    `from_start` counts the first reading in full, for counters that were made with their workload.
    """

    total: int = 0
    last: Reading | None = None
    from_start: bool = False
    resets: int = 0

    def read(self, reading: Reading) -> "Meter":
        """Return the meter after one more reading."""
        if reading.value < 0:
            raise InputError(f"counter value {reading.value} is negative", remedy="read the counter again")
        last = self.last
        if last is None:
            passed = reading.value if self.from_start else 0
            return Meter(self.total + passed, reading, self.from_start, self.resets)
        if reading.seconds <= last.seconds:
            return self
        if reading.epoch != last.epoch or reading.value < last.value:
            return Meter(self.total + reading.value, reading, self.from_start, self.resets + 1)
        return Meter(self.total + reading.value - last.value, reading, self.from_start, self.resets)
