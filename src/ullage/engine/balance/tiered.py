"""How many more machines fit: of one size, or of a size that shrinks as the cluster fills up.

The hard thing is the order in which sizes are tried, since what is placed first changes what fits later. A
size that no longer fits shrinks by one unit of what is short most often. Where that leads nowhere, one
resource alone is shrunk until something fits, from the smallest size that was tried upwards.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.engine.balance.allocation import (
    Allocation,
    Found,
    Pairs,
    allocate_pair,
    allocate_single,
    pairs_of,
)
from ullage.engine.balance.facts import Machine, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, is_redundant
from ullage.engine.balance.state import FAILURES, FailureKind
from ullage.model.ganeti import MIB, Disk, DiskTemplate, Instance

MEMORY_UNIT: Final = 64 * MIB
DISK_UNIT: Final = 256 * MIB
CPU_UNIT: Final = 1000
STEP_MIN: Final = 20
STEP_SMALL: Final = 10
Counts = Mapping[FailureKind, int]


class NewSize(NamedTuple):
    """The size of machines to be added, with one disk each."""

    memory_bytes: int
    disk_bytes: int
    cpu_milli: int
    spindles: int = 1
    spindle_use: int = 1
    template: DiskTemplate = "drbd"

    def machine(self) -> Machine:
        """Return a machine of this size that runs."""
        disks = (Disk(self.disk_bytes, self.spindles),)
        return machine_of(
            Instance(
                "new",
                self.memory_bytes,
                disks,
                self.cpu_milli,
                template=self.template,
                spindle_use=self.spindle_use,
            )
        )

    def shrunk(self, kind: FailureKind) -> "NewSize | None":
        """Return the next smaller size where a kind of failure is the reason; None at the smallest."""
        if kind == "FailMem" and self.memory_bytes >= 2 * MEMORY_UNIT:
            return self._replace(memory_bytes=self.memory_bytes - MEMORY_UNIT)
        if kind == "FailDisk" and self.disk_bytes >= 2 * DISK_UNIT:
            return self._replace(disk_bytes=self.disk_bytes - DISK_UNIT)
        if kind == "FailCPU" and self.cpu_milli >= 2 * CPU_UNIT:
            return self._replace(cpu_milli=self.cpu_milli - CPU_UNIT)
        if kind == "FailSpindles" and self.spindles >= 2:
            return self._replace(spindles=self.spindles - 1)
        return None


class Ground:
    """A fleet that is being filled, and what was added to it so far.

    With `redundancy` every host must stay evacuable; machines that have a standby are not asked for that.
    """

    def __init__(self, fleet: Fleet, targets: Sequence[int], redundancy: Redundancy | None = None) -> None:
        self.fleet = fleet.copy()
        self.targets = targets
        self.pairs: Pairs = pairs_of(fleet, targets)
        self.redundancy = redundancy
        self.added: list[tuple[NewSize, Machine]] = []

    def ask(self, size: NewSize, redundancy: Redundancy | None, *, counted: bool = True) -> Found:  # noqa: ARG002 - plain code counts anyway
        """Return the best place for a machine; failures beside it only where they are to be counted."""
        if size.template == "drbd":
            return allocate_pair(self.fleet, size.machine(), self.pairs, redundancy=redundancy)
        return allocate_single(self.fleet, size.machine(), self.targets, redundancy=redundancy)

    def fits(self, size: NewSize) -> tuple[bool, Counts]:
        """Return whether a machine has a place where the cluster stays redundant, and why others are none."""
        found = self.ask(size, self.redundancy)
        return found.best is not None, found.failures

    def add(self, size: NewSize, best: Allocation) -> None:
        """Add a machine where it was found to go."""
        name = f"new-{len(self.added)}"
        machine = best.machine._replace(name=name, instance=replace(best.machine.instance, name=name))
        self.added.append((size, self.fleet.add(machine, best.placed)))

    def is_redundant(self) -> bool:
        """Return whether the cluster is as redundant as asked for."""
        return self.redundancy is None or is_redundant(self.fleet, **self.redundancy._asdict())

    def mark(self) -> tuple[Fleet, int]:
        """Return what is needed to come back here."""
        return self.fleet.copy(), len(self.added)

    def go_back(self, mark: tuple[Fleet, int]) -> None:
        """Forget what was added since."""
        self.fleet = mark[0]
        del self.added[mark[1] :]


def fill(ground: Ground, size: NewSize, limit: int | None = None) -> Counts:
    """Add machines of one size until none fits, or there are `limit` more; return why no other fits.

    Many are added at once where the cluster is redundant after them, else a few, else one by one.
    """
    if ground.redundancy is None or size.template == "drbd":
        return _one_by_one(ground, size, limit, None)
    step = _step(ground, size)
    while True:
        mark = ground.mark()
        failures = _one_by_one(ground, size, step if limit is None else min(step, limit), None)
        if ground.is_redundant():
            limit = None if limit is None else max(0, limit - step)
            if limit == 0 or len(ground.added) == mark[1]:
                return failures
            step = STEP_SMALL if step == STEP_SMALL else _step(ground, size)
            continue
        ground.go_back(mark)
        if step == STEP_SMALL:
            return _one_by_one(ground, size, limit, ground.redundancy)
        step = STEP_SMALL


def _step(ground: Ground, size: NewSize) -> int:
    """Return how many machines are worth trying at once: about what fits, less one for each host."""
    held = [ground.fleet.states[number] for number in ground.fleet.scope]
    free = sum(max(0, state.now.memory_free - state.reserved) for state in held)
    return max(STEP_MIN, free // max(1, size.memory_bytes) - len(held))


def _one_by_one(ground: Ground, size: NewSize, limit: int | None, redundancy: Redundancy | None) -> Counts:
    while True:
        found = ground.ask(size, redundancy, counted=limit == 0)
        if found.best is None or limit == 0:
            return found.failures
        ground.add(size, found.best)
        limit = None if limit is None else limit - 1


def fill_tiered(ground: Ground, size: NewSize, total: int | None = None) -> Counts:
    """Add machines of a size that shrinks until nothing fits, or `total` were added; return why no more."""
    start: NewSize | None = size
    failures: Counts = {}
    while start is not None:
        failures, tried = _down(ground, start, total)
        if total is not None and len(ground.added) >= total:
            break
        start = next((found for found in (_leap(ground, *each) for each in reversed(tried)) if found), None)
    return failures


def _down(ground: Ground, size: NewSize, total: int | None) -> tuple[Counts, list[tuple[NewSize, Counts]]]:
    """Shrink a size step by step; return why the last that fitted stopped, and the sizes from it on."""
    tried: list[tuple[NewSize, Counts]] = []
    smaller: NewSize | None = size
    while smaller is not None:
        before = len(ground.added)
        failures = fill(ground, smaller, None if total is None else total - before)
        if len(ground.added) > before:
            tried = []
        tried.append((smaller, failures))
        if total is not None and len(ground.added) >= total:
            break
        smaller = smaller.shrunk(by_count(failures)[-1])
    return tried[0][1], tried


def by_count(failures: Counts) -> list[FailureKind]:
    """Return all kinds of failure, the most frequent last."""
    return sorted(FAILURES, key=lambda kind: failures.get(kind, 0))


def _leap(ground: Ground, size: NewSize, failures: Counts) -> NewSize | None:
    """Return the first size that fits when one resource alone is shrunk, the one most often short first."""
    for kind in reversed(by_count(failures)):
        found = _suffices(ground, size, kind)
        if found is not None:
            return found
    return None


def _suffices(ground: Ground, size: NewSize, kind: FailureKind) -> NewSize | None:
    """Shrink one resource until something fits, or another one is what is short; never to the smallest."""
    smaller = size.shrunk(kind)
    while smaller is not None:
        fits, failures = ground.fits(size)
        if fits:
            return size
        if kind not in failures:
            return None
        size, smaller = smaller, smaller.shrunk(kind)
    return None
