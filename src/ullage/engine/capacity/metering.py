"""Metering: how much passed, from counters that are read now and then and may start again from zero.

A counter belongs to an epoch (a boot, an interface that was made anew). A new epoch, or a value below the
last one, means that it started again: what it shows now has passed since. Where it is stated that a counter
wraps around, a value below the last one of the same epoch means that instead. Readings that are not newer
than the last one count nothing, so that a reading delivered twice, or late, changes nothing.

Epochs may overlap: a counter that was made anew may be read while the old one is still read too, also at the
same moment. So a reading counts from the last one of its own epoch on, and no epoch starts twice, as long as
no more than LEFT_MAX others were read meanwhile.
"""

from typing import Final, NamedTuple

import msgspec

from ullage.model.errors import InputError

LEFT_MAX: Final = 1000
"""Of so many epochs that were left the last reading is kept: those that were read last."""


class Reading(msgspec.Struct, frozen=True):
    """What a counter showed at a moment; `epoch` changes whenever the counter is known to start again."""

    seconds: int
    value: int
    epoch: str = ""


class Passed(NamedTuple):
    """What passed until a reading, since which other one, and whether the counter started again meanwhile."""

    since: Reading
    amount: int
    restarted: bool = False


class Meter(msgspec.Struct, frozen=True):
    """What has passed so far, and the reading up to which it is counted.

    `from_start` counts the first reading in full, for counters that were made with their workload. A counter
    that `wraps_at` a value shows 0 in place of it; 0 is a counter that never does. `left` has the last
    readings of other epochs, in order of time.
    """

    total: int = 0
    last: Reading | None = None
    from_start: bool = False
    resets: int = 0
    wraps_at: int = 0
    left: tuple[Reading, ...] = ()

    def before(self, reading: Reading) -> Reading | None:
        """Return the last reading of the same epoch; None where there was none, or too long ago."""
        known = self.left if self.last is None else (*self.left, self.last)
        return next((each for each in known if each.epoch == reading.epoch), None)

    def passed(self, reading: Reading) -> Passed:
        """Return what passed until a reading; where nothing was read before, nothing."""
        last = self.last
        if last is None:
            return Passed(reading, reading.value if self.from_start else 0)
        before = self.before(reading)
        if before is not None and (reading.value >= before.value or self.wraps_at):
            around = self.wraps_at if reading.value < before.value else 0
            return Passed(before, reading.value - before.value + around)
        return Passed(before or last, reading.value, restarted=True)

    def read(self, *readings: Reading) -> "Meter":
        """Return the meter after more readings: one, or those of several epochs at one moment."""
        for reading in readings:
            self._check(reading)
        if self.last is not None and readings[0].seconds <= self.last.seconds:
            return self
        meter = self
        for reading in readings:
            meter = meter._after(reading, self.passed(reading))
        return meter

    def _check(self, reading: Reading) -> None:
        if reading.value < 0:
            raise InputError(f"counter value {reading.value} is negative", remedy="read the counter again")
        if self.wraps_at and reading.value >= self.wraps_at:
            raise InputError(
                f"counter value {reading.value} of a counter that wraps around at {self.wraps_at}",
                remedy="state where it wraps around, or that it does not",
            )

    def _after(self, reading: Reading, passed: Passed) -> "Meter":
        left, last = self.left, self.last
        if last is not None and last.epoch != reading.epoch:
            left = (*(each for each in left if each.epoch != reading.epoch), last)[-LEFT_MAX:]
        total, resets = self.total + passed.amount, self.resets + passed.restarted
        return Meter(total, reading, self.from_start, resets, self.wraps_at, left)
