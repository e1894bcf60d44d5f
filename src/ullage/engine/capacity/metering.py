"""Metering: how much passed, from counters that are read now and then and may start again from zero.

A counter belongs to an epoch (a boot, an interface that was made anew). A new epoch, or a value below the
last one, means that it started again: what it shows now has passed since. Where it is stated that a counter
wraps around, a value below the last one of the same epoch means that instead. Readings that are not newer
than the last one count nothing, so that a reading delivered twice, or late, changes nothing.
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

    `from_start` counts the first reading in full, for counters that were made with their workload. A counter
    that `wraps_at` a value shows 0 in place of it; 0 is a counter that never does.
    """

    total: int = 0
    last: Reading | None = None
    from_start: bool = False
    resets: int = 0
    wraps_at: int = 0

    def read(self, reading: Reading) -> "Meter":
        """Return the meter after one more reading."""
        if reading.value < 0:
            raise InputError(f"counter value {reading.value} is negative", remedy="read the counter again")
        if self.wraps_at and reading.value >= self.wraps_at:
            raise InputError(
                f"counter value {reading.value} of a counter that wraps around at {self.wraps_at}",
                remedy="state where it wraps around, or that it does not",
            )
        last = self.last
        if last is None:
            return self._after(reading, reading.value if self.from_start else 0)
        if reading.seconds <= last.seconds:
            return self
        if reading.epoch == last.epoch and (reading.value >= last.value or self.wraps_at):
            around = self.wraps_at if reading.value < last.value else 0
            return self._after(reading, reading.value - last.value + around)
        return self._after(reading, reading.value, resets=1)

    def _after(self, reading: Reading, passed: int, resets: int = 0) -> "Meter":
        return Meter(self.total + passed, reading, self.from_start, self.resets + resets, self.wraps_at)
