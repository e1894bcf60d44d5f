"""A fleet that is being filled, looked at as columns: the same answers as the plain one, sooner."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import gcd

import numpy as np

from ullage.engine.balance.allocation import Allocation, Found
from ullage.engine.balance.facts import NOWHERE, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.pair_choice import Pair, best_pair, possible_pairs
from ullage.engine.balance.pair_scores import Changing, PairScores
from ullage.engine.balance.redundancy_guard import Candidate, Guard
from ullage.engine.balance.space_columns import UNBOUNDED, Booleans, Columns, Floats, Integers, suits
from ullage.engine.balance.space_scores import SingleScores
from ullage.engine.balance.space_tests import (
    allowed_by_size,
    disk_change_below,
    fitting,
    pair_counts,
    primary_codes,
    single_counts,
    standby_codes,
    surely_fit,
)
from ullage.engine.balance.state import FAILURES, Failure, FailureKind, add_primary, add_standby
from ullage.engine.balance.tiered import STEP_SMALL, UNITS, Counts, Ground, NewSize


def ground_of(fleet: Fleet, targets: Sequence[int], redundancy: Redundancy | None = None) -> Ground:
    """Return a fleet to be filled, looked at as columns where these can hold it."""
    kind = QuickGround if suits(fleet) else Ground
    return kind(fleet, targets, redundancy)


class QuickGround(Ground):
    """A fleet that is being filled, with its columns and what was found for sizes that do not fit."""

    def __init__(self, fleet: Fleet, targets: Sequence[int], redundancy: Redundancy | None = None) -> None:
        super().__init__(fleet, targets, redundancy)
        self._read = Columns(self.fleet, targets)
        self._refused: dict[tuple[NewSize, bool], Found] = {}
        self._floor, self._least = _least_of(self.fleet, targets)
        self._placeable: dict[NewSize, bool] = {}
        self._grain = gcd(*(machine.memory for machine in self.fleet.machines))
        self._changing: Changing | None = None
        self._singles: SingleScores | None = None
        self._allowed: tuple[Machine, Booleans] | None = None
        self._last: tuple[NewSize, Machine] | None = None
        self._lost: bool | None = None
        self._breaking: tuple[NewSize, int] | None = None
        self._guard = None if redundancy is None else Guard(redundancy, self.fleet, self._read)

    @property
    def _columns(self) -> Columns:
        """The hosts as they are now."""
        return self._read.renewed(self.fleet)

    def ask(self, size: NewSize, redundancy: Redundancy | None, *, counted: bool = True) -> Found:
        """Return the best place for a machine; failures beside it only where they are to be counted."""
        key = size, redundancy is None
        if key in self._refused:
            return self._refused[key]
        if size.template != "drbd":
            found = self._single(self._machine(size), redundancy, counted=counted)
        elif redundancy is None:
            found = self._pair(self._machine(size), counted=counted)
        else:
            found = super().ask(size, redundancy)
        if found.best is None:
            self._refused[key] = found
        return found

    def fits(self, size: NewSize) -> tuple[bool, Counts]:
        """Return whether a machine has a place where the cluster stays redundant, and why others are none."""
        if size.template != "drbd" or self._guard is None:
            return super().fits(size)
        found = self.ask(size, None)
        if found.best is None or self._is_past_help(self._guard):
            return False, found.failures
        machine = self._machine(size)
        pairs = self._pairs_in_order(machine)
        kept = self._guard.first(
            self.fleet, (Candidate(machine, each.placed.place, partial(_same, each)) for each in pairs)
        )
        return kept is not None, found.failures

    def add(self, size: NewSize, best: Allocation) -> None:
        """Add a machine where it was found to go."""
        super().add(size, best)
        self._read.note(best.placed.changed)
        self._grain = gcd(self._grain, size.memory_bytes)
        self._forget()

    def go_back(self, mark: tuple[Fleet, int]) -> None:
        """Forget what was added since."""
        now = self.fleet.states
        super().go_back(mark)
        changed = [at for at, state in enumerate(self.fleet.states) if state is not now[at]]
        self._read.note(changed)
        self._forget()

    def _forget(self) -> None:
        self._refused.clear()
        self._placeable.clear()
        self._lost = None
        self._breaking = None

    def _machine(self, size: NewSize) -> Machine:
        """Return a machine of a size, the last one again if it was of that size."""
        if self._last is None or self._last[0] != size:
            self._last = size, size.machine()
        return self._last[1]

    def _single(self, machine: Machine, redundancy: Redundancy | None, *, counted: bool) -> Found:
        columns = self._columns
        places, _ = self._fitting(machine)
        failures = {}
        if counted or redundancy is not None or not places.size:
            failures = single_counts(columns, primary_codes(self.fleet, columns, machine))
        if not places.size:
            return Found(None, 0, failures)
        guard = None if redundancy is None else self._guard
        if guard is not None and self._is_past_help(guard):
            return Found(None, 0, _with_dropped(failures, places.size))
        if self._singles is None or not self._singles.suits(columns, machine):
            self._singles = SingleScores(columns, machine)
        scores = self._singles.scores(columns, places)[::-1]
        if guard is None:
            return Found(
                self._single_at(machine, places, scores, int(np.argmin(scores))), places.size, failures
            )
        order = np.argsort(scores, kind="stable").tolist()
        hosts = [columns.numbers[at] for at in places[::-1].tolist()]
        found = guard.first(
            self.fleet,
            (
                Candidate(machine, Place(hosts[at]), partial(self._single_at, machine, places, scores, at))
                for at in order
            ),
        )
        if found is None:
            return Found(None, 0, _with_dropped(failures, places.size))
        dropped, best = found
        return Found(best, places.size - dropped, _with_dropped(failures, dropped))

    def _single_at(self, machine: Machine, places: Integers, scores: Floats, at: int) -> Allocation:
        place = Place(self._columns.numbers[places[places.size - 1 - at]])
        return self._placed(machine, place, float(scores[at]))

    def _pair(self, machine: Machine, *, counted: bool) -> Found:
        columns = self._columns
        rows, others = self._fitting(machine)
        pair = None
        if rows.size and others.size:
            pair = best_pair(self._scorer(machine), rows, others, self._grain)
        failures = {}
        if counted or pair is None:
            codes = primary_codes(self.fleet, columns, machine)
            failures = pair_counts(columns, codes, standby_codes(columns, machine), machine.memory)
        if pair is None:
            return Found(None, 0, failures)
        fits = np.count_nonzero(possible_pairs(columns, machine, rows, others)) if counted else 1
        return Found(self._pair_at(machine, pair), int(fits), failures)

    def _scorer(self, machine: Machine) -> PairScores:
        if self._changing is None or not self._changing.suits(self._columns, machine):
            self._changing = Changing(self._columns, machine)
        return PairScores(self._columns, machine, self._changing)

    def _fitting(self, machine: Machine) -> tuple[Integers, Integers]:
        """Return the hosts that fit as primaries, and those that fit as standbys, by position."""
        if self._allowed is None or self._allowed[0] is not machine:
            self._allowed = machine, allowed_by_size(self.fleet, self._columns, machine)
        fits = fitting(self._columns, machine, self._allowed[1])
        is_target = self._columns.is_target
        return (fits.primary & is_target).nonzero()[0], (fits.standby & is_target).nonzero()[0]

    def _pair_at(self, machine: Machine, pair: Pair) -> Allocation:
        numbers = self._columns.numbers
        return self._placed(machine, Place(numbers[pair.primary], numbers[pair.standby]), pair.score)

    def _pairs_in_order(self, machine: Machine) -> Iterator[Allocation]:
        """Yield the pairs that are possible, the most even first."""
        columns = self._columns
        rows, others = self._fitting(machine)
        possible = possible_pairs(columns, machine, rows, others)
        scorer = self._scorer(machine)
        scores = scorer.scores(rows, others, scorer.kept(rows, others))
        scores[~possible] = np.inf
        order = np.argsort(scores.ravel()[::-1], kind="stable")
        for at in order[: int(possible.sum())]:
            row, column = divmod(scores.size - 1 - int(at), others.size)
            pair = Pair(int(rows[row]), int(others[column]), float(scores[row, column]))
            yield self._pair_at(machine, pair)

    def _placed(self, machine: Machine, place: Place, score: float) -> Allocation:
        """Return a place that fails no test as the primitives make it."""
        hosts, states = self.fleet.hosts, self.fleet.states
        at, standby = place
        made = {at: add_primary(hosts[at], states[at], machine, self.fleet.here.shared(place))}
        if standby != NOWHERE:
            made[standby] = add_standby(hosts[standby], states[standby], machine, at)
        changed = {each: state for each, state in made.items() if not isinstance(state, Failure)}
        if len(changed) < len(made):
            raise ValueError(f"columns and primitives differ about {machine.name} on {place}")
        return Allocation(machine, Moved(place, changed), score)

    def is_redundant(self) -> bool:
        """Return whether the cluster is as redundant as asked for."""
        return self._guard is None or self._guard.holds(self.fleet)

    def surely_breaks(self, size: NewSize, count: int) -> bool:
        """Whether so many more machines surely fit, and leave too little room to evacuate some host."""
        if self._breaking is None or self._breaking[0] != size:
            self._breaking = size, self._breaking_count(size)
        return self._breaking[1] <= count

    def _breaking_count(self, size: NewSize) -> int:
        """Return how many machines surely fit that leave too little room; UNBOUNDED if none do."""
        groups = {self.fleet.hosts[number].group for number in self.targets}
        if self._guard is None or len(groups) != 1:
            return UNBOUNDED
        rooms = self._guard.rooms(self.fleet)
        hosts = [number for number in self._guard.hosts if self.fleet.hosts[number].group in groups]
        machine = self._machine(size)
        fits = surely_fit(self._columns, machine, self._fitting(machine)[0])
        for count_left in (rooms.places_by_memory, rooms.places_left):
            left = [count_left(number, size.memory_bytes) for number in hosts]
            needed = max(1, min(left, default=UNBOUNDED) + 1)
            if needed <= min(fits, STEP_SMALL):
                break
        return needed if fits >= needed else UNBOUNDED

    def same_down_to(self, size: NewSize, kind: FailureKind) -> NewSize:
        """Return the smallest size, with one resource less, that surely fails as this one does."""
        if kind != "FailDisk" or (self._guard is not None and size.template != "drbd"):
            return size
        disk, unit = size.disk_bytes, UNITS[kind][1]
        steps = (disk - disk_change_below(self.fleet, self._columns, disk) - 1) // unit
        same = size.shrunk(kind, min(steps, disk // unit - 1))
        return size if same is None else same

    def never_fits(self, size: NewSize) -> bool:
        """Whether neither a machine of this size nor a smaller one has a place: all policies ask for more."""
        return any(one < other for one, other in zip(size.amounts, self._floor, strict=True))

    def largest_that_fits(self, size: NewSize, kind: FailureKind) -> NewSize | None:
        """Return a size from which on machines may have a place as one resource is shrunk; None for never.

        What fits, fits when it is smaller, down to the least that the policy allows.
        """
        if self._least is None or not self._is_allowed(size):
            return None if self.never_fits(size) else size
        low, high = 0, size.steps(kind, self._least[UNITS[kind][0]])
        if not self._has_place(size, kind, high):
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._has_place(size, kind, middle) else (middle + 1, high)
        return size.shrunk(kind, low)

    def is_hopeless(self, size: NewSize) -> bool:
        """Whether no machine of this size and up has a place, however little of one resource it asks."""
        least = self._least
        if least is None or not self._is_allowed(size):
            return False
        return not any(
            self._has_place(size, kind, size.steps(kind, least[at])) for kind, (at, _) in UNITS.items()
        )

    def _has_place(self, size: NewSize, kind: FailureKind, steps: int) -> bool:
        smaller = size.shrunk(kind, steps) or size
        if smaller not in self._placeable:
            machine = self._machine(smaller)
            rows, others = self._fitting(machine)
            if smaller.template == "drbd":
                self._placeable[smaller] = bool(possible_pairs(self._columns, machine, rows, others).any())
            else:
                self._placeable[smaller] = bool(rows.size)
        return self._placeable[smaller]

    def _is_allowed(self, size: NewSize) -> bool:
        """Whether a size is not below what policies allow."""
        least = self._least
        return least is not None and all(one >= other for one, other in zip(size.amounts, least, strict=True))

    def _is_past_help(self, guard: Guard) -> bool:
        if self._lost is None:
            self._lost = guard.is_past_help(self.fleet)
        return self._lost


Amounts = tuple[int, int, int, int]
"""Memory, disk, processors and spindles."""


def _least_of(fleet: Fleet, targets: Sequence[int]) -> tuple[Amounts, Amounts | None]:
    """Return what is less than every policy allows, and the least that is allowed if there is but one."""
    lows = {
        (low.memory_bytes, low.disk_bytes, low.cpus * 1000, low.spindle_use)
        for bounds in {fleet.hosts[number].policy.bounds for number in targets}
        for low, _ in bounds
    }
    if not lows:
        return (0, 0, 0, 0), None
    memory, disk, cpu, _ = (min(amounts) for amounts in zip(*lows, strict=True))
    every = [pair for bounds in {fleet.hosts[at].policy.bounds for at in targets} for pair in bounds]
    return (memory, disk, cpu, 0), lows.pop() if len(every) == 1 else None


def _same(allocation: Allocation) -> Allocation:
    return allocation


def _with_dropped(failures: dict[FailureKind, int], dropped: int) -> dict[FailureKind, int]:
    """Return why hosts take no machine, those counted that would leave the cluster without redundancy."""
    if not dropped:
        return failures
    counts = {**failures, "FailN1": dropped}
    return {kind: counts[kind] for kind in FAILURES if kind in counts}
