"""Why a new machine does not go where: the first test that fails, for all hosts or pairs at once.

A code is the place of a kind of failure in FAILURES, FITS where no test fails. Tests are applied from the
last to the first, so that the first one's code stays.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.facts import Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.space_columns import Booleans, Columns, Held, Integers
from ullage.engine.balance.state import FAILURES, FailureKind

Codes = npt.NDArray[np.int8]
FITS: Final = len(FAILURES)
COUNT_MAX: Final = 1_000_000
"""More machines than ever fit on a host."""
MEMORY: Final = np.int8(FAILURES.index("FailMem"))
DISK: Final = np.int8(FAILURES.index("FailDisk"))
CPU: Final = np.int8(FAILURES.index("FailCPU"))
SPINDLES: Final = np.int8(FAILURES.index("FailSpindles"))


class Standby(NamedTuple):
    """Why hosts do not become the standby of a machine: tests before the one by pair, and those after it."""

    before: Codes
    after: Codes


def primary_codes(fleet: Fleet, columns: Columns, machine: Machine) -> Codes:
    """Return for each host why it does not take a machine as its primary."""
    codes = np.full(len(columns.numbers), FITS, dtype=np.int8)
    if not columns.is_same_later:
        _set(codes, _over_cpu(columns, columns.later[2], machine), CPU)
        if machine.local:
            _disk_tests(columns, columns.later, machine, codes)
        _set(codes, machine.memory > columns.later[0] - columns.floor, MEMORY)
    _set(codes, _over_cpu(columns, columns.now[2], machine), CPU)
    _set(codes, machine.memory > columns.room_kept, MEMORY)
    if machine.local:
        _disk_tests(columns, columns.now, machine, codes)
    _set(codes, machine.memory > columns.room, MEMORY)
    _size_tests(fleet, columns, machine, codes)
    return codes


def standby_codes(columns: Columns, machine: Machine) -> Standby:
    """Return for each host why it does not become the standby of a machine."""
    before = np.full(len(columns.numbers), FITS, dtype=np.int8)
    after = before.copy()
    _set(before, machine.memory > columns.room, MEMORY)
    _disk_tests(columns, columns.now, machine, before)
    if not columns.is_same_later:
        _set(after, machine.memory > columns.later[0] - columns.floor, MEMORY)
        _disk_tests(columns, columns.later, machine, after)
    return Standby(before, after)


class Fitting(NamedTuple):
    """Which hosts take a machine as its primary, and which become its standby, each by itself.

    One without disks on its hosts has no standby.
    """

    primary: Booleans
    standby: Booleans


def fitting(columns: Columns, machine: Machine, allowed: Booleans) -> Fitting:
    """Return which hosts fail no test; `allowed` are those whose policy allows the size of a machine."""
    both = [columns.now] if columns.is_same_later else [columns.now, columns.later]
    primary = allowed & (columns.room_as_primary >= machine.memory)
    for held in both:
        primary &= ~_over_cpu(columns, held[2], machine)
    if not machine.local:
        return Fitting(primary, np.zeros_like(allowed))
    disks = np.ones_like(allowed)
    for held in both:
        disks &= held[1] - columns.disk_floor >= machine.disk
        busy = held[4] + machine.spindle_use > columns.spindles_high
        if columns.any_exclusive:
            lacks = True if machine.spindles is None else held[3] < machine.spindles
            busy = np.where(columns.exclusive, lacks, busy)
        disks &= ~busy
    return Fitting(primary & disks, disks & (columns.room_as_standby >= machine.memory))


def surely_fit(columns: Columns, machine: Machine, places: Integers) -> int:
    """Return how many machines surely fit on hosts that take one, in whatever order these are filled up."""
    if machine.local or not machine.memory:
        return places.size
    counts = columns.room_as_primary[places] // machine.memory
    for held in (columns.now, columns.later):
        most = (columns.cpu_most - held[2])[places]
        counts = np.minimum(counts, np.clip(most / max(1, machine.cpu) - 1, 0, COUNT_MAX).astype(np.int64))
    return int(np.maximum(counts, 1).sum())


def allowed_by_size(fleet: Fleet, columns: Columns, machine: Machine) -> Booleans:
    """Return the hosts whose policy allows the size of a machine."""
    codes = np.full(len(columns.numbers), FITS, dtype=np.int8)
    _size_tests(fleet, columns, machine, codes)
    allowed: Booleans = codes == FITS
    return allowed


def pair_counts(columns: Columns, primary: Codes, standby: Standby, memory: int) -> dict[FailureKind, int]:
    """Return how many pairs fail for which reason."""
    standbys = columns.pairs.sum(axis=1)
    counts = np.bincount(primary, weights=standbys, minlength=FITS + 1).astype(np.int64)
    rows = np.flatnonzero((primary == FITS) & (standbys > 0))
    counts[FITS] = 0
    if rows.size:
        too_little = memory > columns.room_for_pair[rows]
        codes = np.where(too_little, MEMORY, standby.after)
        codes = np.where(standby.before != FITS, standby.before, codes)
        counts += np.bincount(codes[columns.pairs[rows]], minlength=FITS + 1)
    return _named(counts)


def single_counts(columns: Columns, primary: Codes) -> dict[FailureKind, int]:
    """Return how many hosts fail for which reason."""
    return _named(np.bincount(primary[columns.is_target], minlength=FITS + 1))


def disk_change_below(fleet: Fleet, columns: Columns, disk: int) -> int:
    """Return the largest smaller disk at which a test may have another outcome than at this one, or 0."""
    bounds = [pair for _, number in columns.alike for pair in fleet.hosts[number].policy.bounds]
    limits = [limit for low, high in bounds for limit in (low.disk_bytes - 1, high.disk_bytes)]
    now, later = columns.now[1] - columns.disk_floor, columns.later[1] - columns.disk_floor
    every = np.concatenate((now, later, np.array(limits, dtype=np.int64)))
    return int(np.where(every < disk, every, 0).max(initial=0))


def _named(counts: Integers) -> dict[FailureKind, int]:
    return {kind: int(counts[at]) for at, kind in enumerate(FAILURES) if counts[at]}


def _set(codes: Codes, fails: Booleans, code: np.int8) -> None:
    codes[fails] = code


def _disk_tests(columns: Columns, held: Held, machine: Machine, codes: Codes) -> None:
    _set(codes, ~columns.exclusive & (held[4] + machine.spindle_use > columns.spindles_high), DISK)
    if columns.any_exclusive:
        asked = machine.spindles
        lacks = np.ones_like(columns.exclusive) if asked is None else held[3] < asked
        _set(codes, columns.exclusive & lacks, SPINDLES)
    _set(codes, machine.disk > held[1] - columns.disk_floor, DISK)


def _over_cpu(columns: Columns, cpu: Integers, machine: Machine) -> Booleans:
    over: Booleans = cpu + machine.cpu > columns.cpu_most
    return over


def _size_tests(fleet: Fleet, columns: Columns, machine: Machine, codes: Codes) -> None:
    """Apply the sizes that policies allow: the same for all hosts of a group, but for exclusive storage."""
    for alike, first in columns.alike:
        failure = size_failure(machine, fleet.hosts[first])
        if failure is not None:
            codes[alike] = FAILURES.index(failure.kind)
