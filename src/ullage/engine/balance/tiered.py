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

UNITS: Final[dict[FailureKind, tuple[int, int]]] = {
    "FailMem": (0, 64 * MIB),
    "FailDisk": (1, 256 * MIB),
    "FailCPU": (2, 1000),
    "FailSpindles": (3, 1),
}
"""What is shrunk for which kind of failure: the place among amounts, and by how much at a time."""
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

    @property
    def amounts(self) -> tuple[int, int, int, int]:
        """What can be shrunk: memory, disk, processors, spindles."""
        return self.memory_bytes, self.disk_bytes, self.cpu_milli, self.spindles

    def shrunk(self, kind: FailureKind, steps: int = 1) -> "NewSize | None":
        """Return a smaller size where a kind of failure is the reason; None below the smallest."""
        if kind not in UNITS:
            return None
        at, unit = UNITS[kind]
        memory, disk, cpu, spindles = (
            amount - steps * unit if place == at else amount for place, amount in enumerate(self.amounts)
        )
        if self.amounts[at] - steps * unit < unit:
            return None
        return NewSize(memory, disk, cpu, spindles, self.spindle_use, self.template)

    def steps(self, kind: FailureKind, least: int) -> int:
        """Return how often it can be shrunk, and still has as much of a resource and can be shrunk again."""
        at, unit = UNITS[kind]
        return max(0, (self.amounts[at] - max(least, 2 * unit)) // unit)


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

    def surely_breaks(self, size: NewSize, count: int) -> bool:  # noqa: ARG002 - plain code tries
        """Whether so many more machines surely fit, and leave the cluster without redundancy."""
        return False

    def same_down_to(self, size: NewSize, kind: FailureKind) -> NewSize:  # noqa: ARG002 - plain code tries
        """Return the smallest size, with one resource less, that surely fails as this one does."""
        return size

    def never_fits(self, size: NewSize) -> bool:  # noqa: ARG002 - plain code tries
        """Whether neither a machine of this size nor a smaller one can have a place."""
        return False

    def largest_that_fits(self, size: NewSize, kind: FailureKind) -> NewSize | None:  # noqa: ARG002 - plain code tries
        """Return a size from which on machines may have a place as one resource is shrunk; None for never."""
        return size

    def is_hopeless(self, size: NewSize) -> bool:  # noqa: ARG002 - plain code tries
        """Whether no machine of this size and up has a place, however little of one resource it asks."""
        return False

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
    ahead: list[Allocation] = []
    while True:
        part = step if limit is None else min(step, limit)
        if not ground.surely_breaks(size, part):
            mark = ground.mark()
            added = _add_many(ground, size, part, ahead)
            if ground.is_redundant():
                limit = None if limit is None else max(0, limit - step)
                if limit == 0 or not added:
                    return ground.ask(size, None).failures
                del ahead[: len(added)]
                step = STEP_SMALL if step == STEP_SMALL else _step(ground, size)
                continue
            ground.go_back(mark)
            ahead = max(added, ahead, key=len)
        if step == STEP_SMALL:
            return _one_by_one(ground, size, limit, ground.redundancy)
        step = STEP_SMALL


def _add_many(ground: Ground, size: NewSize, count: int, ahead: Sequence[Allocation]) -> list[Allocation]:
    """Add machines whether or not the cluster stays redundant; `ahead` is where the next ones go."""
    added: list[Allocation] = []
    while len(added) < count:
        known = ahead[len(added)] if len(added) < len(ahead) else None
        best = known or ground.ask(size, None, counted=False).best
        if best is None:
            break
        ground.add(size, best)
        added.append(best)
    return added


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
        start = _leap_from(ground, tried)
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
        kind = by_count(failures)[-1]
        same = ground.same_down_to(smaller, kind)
        if same != smaller:
            tried.append((same, failures))
        smaller = same.shrunk(kind)
        if smaller is not None and ground.never_fits(smaller):
            break
    return tried[0][1], tried


def by_count(failures: Counts) -> list[FailureKind]:
    """Return all kinds of failure, the most frequent last."""
    return sorted(FAILURES, key=lambda kind: failures.get(kind, 0))


Leaps = dict[tuple[NewSize, FailureKind], NewSize | None]
"""The first size that fits when one resource of a size is shrunk, None for none, as far as it is known."""


def _leap_from(ground: Ground, tried: Sequence[tuple[NewSize, Counts]]) -> NewSize | None:
    """Return the first size that fits when one resource alone is shrunk, from the smallest size tried on.

    The resource that is short most often comes first.
    """
    known: Leaps = {}
    for size, failures in reversed(tried):
        if ground.is_hopeless(size):
            return None
        for kind in reversed(by_count(failures)):
            found = _leap(ground, size, kind, known)
            if found is not None:
                return found
    return None


def _leap(ground: Ground, size: NewSize, kind: FailureKind, known: Leaps) -> NewSize | None:
    """Shrink one resource until something fits, or another one is what is short; never to the smallest."""
    passed: list[NewSize] = []
    found: NewSize | None = None
    current: NewSize | None = size
    while current is not None and current.shrunk(kind) is not None:
        if (current, kind) in known:
            found = known[current, kind]
            break
        passed.append(current)
        fits, failures = ground.fits(current)
        if fits or kind not in failures:
            found = current if fits else None
            break
        start = ground.largest_that_fits(current, kind)
        current = current.shrunk(kind) if start == current else start
    known.update(((each, kind), found) for each in passed)
    return found
