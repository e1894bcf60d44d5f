"""A fleet that is being filled, looked at as columns: the same answers as the plain one, sooner."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.allocation import Allocation, Found
from ullage.engine.balance.facts import NOWHERE, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.pair_scores import PairScores
from ullage.engine.balance.redundancy_guard import Guard
from ullage.engine.balance.space_columns import UNBOUNDED, Booleans, Columns, Floats, Integers, suits
from ullage.engine.balance.space_scores import single_scores
from ullage.engine.balance.space_tests import (
    FITS,
    Codes,
    Standby,
    disk_change_below,
    pair_counts,
    primary_codes,
    single_counts,
    standby_codes,
)
from ullage.engine.balance.state import FAILURES, Failure, FailureKind, add_primary, add_standby
from ullage.engine.balance.tiered import UNITS, Counts, Ground, NewSize


def ground_of(fleet: Fleet, targets: Sequence[int], redundancy: Redundancy | None = None) -> Ground:
    """Return a fleet to be filled, looked at as columns where these can hold it."""
    kind = QuickGround if suits(fleet) else Ground
    return kind(fleet, targets, redundancy)


SPARSE_MIN: Final = 3
"""From which share on all pairs are looked at, since choosing some costs more than it saves: one third."""


class Pairs(NamedTuple):
    """Primaries and standbys by position, and which of these pairs are possible."""

    rows: Integers
    others: Integers
    possible: Booleans


class QuickGround(Ground):
    """A fleet that is being filled, with its columns and what was found for sizes that do not fit."""

    def __init__(self, fleet: Fleet, targets: Sequence[int], redundancy: Redundancy | None = None) -> None:
        super().__init__(fleet, targets, redundancy)
        self._columns = Columns(self.fleet, targets)
        self._refused: dict[tuple[NewSize, bool], Found] = {}
        self._floor, self._least = _least_of(self.fleet, targets)
        self._placeable: dict[NewSize, bool] = {}
        self._scorer: PairScores | None = None
        self._last: tuple[NewSize, Machine] | None = None
        self._lost: bool | None = None
        self._breaking: tuple[NewSize, int] | None = None
        self._guard = None if redundancy is None else Guard(redundancy, self.fleet, self._columns)

    def ask(self, size: NewSize, redundancy: Redundancy | None, *, counted: bool = True) -> Found:
        """Return the best place for a machine; failures beside it only where they are to be counted."""
        key = size, redundancy is None
        if key in self._refused:
            return self._refused[key]
        if size.template != "drbd":
            found = self._single(self._machine(size), redundancy)
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
        kept = self._guard.first(self.fleet, self._pairs_in_order(self._machine(size)))
        return kept is not None, found.failures

    def add(self, size: NewSize, best: Allocation) -> None:
        """Add a machine where it was found to go."""
        super().add(size, best)
        self._columns.read(self.fleet, best.placed.changed)
        if self._scorer is not None:
            self._scorer.renew([self._columns.position[at] for at in best.placed.changed])
        self._forget()

    def go_back(self, mark: tuple[Fleet, int]) -> None:
        """Forget what was added since."""
        now = self.fleet.states
        super().go_back(mark)
        changed = [at for at, state in enumerate(self.fleet.states) if state is not now[at]]
        self._columns.read(self.fleet, changed)
        self._scorer = None
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

    def _single(self, machine: Machine, redundancy: Redundancy | None) -> Found:
        columns = self._columns
        codes = primary_codes(self.fleet, columns, machine)
        failures = single_counts(columns, codes)
        places = np.flatnonzero((codes == FITS) & columns.is_target)
        if not places.size:
            return Found(None, 0, failures)
        guard = None if redundancy is None else self._guard
        if guard is not None and self._is_past_help(guard):
            return Found(None, 0, _with_dropped(failures, places.size))
        scores = single_scores(columns, machine, places)[::-1]
        order = [int(np.argmin(scores))] if guard is None else np.argsort(scores, kind="stable").tolist()
        candidates = (self._single_at(machine, places, scores, at) for at in order)
        if guard is None:
            return Found(next(candidates), places.size, failures)
        found = guard.first(self.fleet, candidates)
        if found is None:
            return Found(None, 0, _with_dropped(failures, places.size))
        dropped, best = found
        return Found(best, places.size - dropped, _with_dropped(failures, dropped))

    def _single_at(self, machine: Machine, places: Integers, scores: Floats, at: int) -> Allocation:
        place = Place(self._columns.numbers[places[places.size - 1 - at]])
        return self._placed(machine, place, float(scores[at]))

    def _pair(self, machine: Machine, *, counted: bool) -> Found:
        codes = primary_codes(self.fleet, self._columns, machine)
        standby = standby_codes(self._columns, machine)
        pairs = self._possible(machine, codes, standby)
        failures = {}
        if counted or pairs is None:
            failures = pair_counts(self._columns, codes, standby, machine.memory)
        if pairs is None:
            return Found(None, 0, failures)
        scores = self._scores(machine, pairs)
        at = scores.size - 1 - int(np.argmin(scores.ravel()[::-1]))
        best = self._pair_at(machine, pairs, scores, at)
        return Found(best, int(np.count_nonzero(pairs.possible)), failures)

    def _possible(self, machine: Machine, codes: Codes, standby: Standby) -> Pairs | None:
        """Return the pairs that fail no test; None where there are none."""
        columns = self._columns
        rows = np.flatnonzero(codes == FITS)
        others = np.flatnonzero((standby.before == FITS) & (standby.after == FITS))
        if not rows.size or not others.size:
            return None
        if rows.size * others.size * SPARSE_MIN >= columns.pairs.size:
            fits = (standby.before == FITS) & (standby.after == FITS)
            possible = columns.pairs & (columns.room_for_pair >= machine.memory)
            possible &= (codes == FITS)[:, None] & fits[None, :]
            rows = others = np.arange(len(columns.numbers))
        else:
            block = np.ix_(rows, others)
            possible = columns.pairs[block] & (columns.room_for_pair[block] >= machine.memory)
        return Pairs(rows, others, possible) if possible.any() else None

    def _scores(self, machine: Machine, pairs: Pairs) -> Floats:
        if self._scorer is None or self._scorer.machine.memory != machine.memory:
            self._scorer = PairScores(self._columns, machine)
        self._scorer.machine = machine
        scores = self._scorer.scores(pairs.rows, pairs.others)
        np.copyto(scores, np.inf, where=~pairs.possible)
        return scores

    def _pair_at(self, machine: Machine, pairs: Pairs, scores: Floats, at: int) -> Allocation:
        row, column = divmod(at, pairs.others.size)
        numbers = self._columns.numbers
        place = Place(numbers[pairs.rows[row]], numbers[pairs.others[column]])
        return self._placed(machine, place, float(scores[row, column]))

    def _pairs_in_order(self, machine: Machine) -> Iterator[Allocation]:
        """Yield the pairs that are possible, the most even first."""
        codes = primary_codes(self.fleet, self._columns, machine)
        pairs = self._possible(machine, codes, standby_codes(self._columns, machine))
        if pairs is None:
            return
        scores = self._scores(machine, pairs)
        order = np.argsort(scores.ravel()[::-1], kind="stable")
        for at in order[: int(pairs.possible.sum())]:
            yield self._pair_at(machine, pairs, scores, scores.size - 1 - int(at))

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
        left = [
            rooms.places_left(number, size.memory_bytes)
            for number in self._guard.hosts
            if self.fleet.hosts[number].group in groups
        ]
        needed = max(1, min(left, default=UNBOUNDED) + 1)
        codes = primary_codes(self.fleet, self._columns, self._machine(size))
        fits = np.count_nonzero((codes == FITS) & self._columns.is_target)
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
            codes = primary_codes(self.fleet, self._columns, machine)
            if smaller.template == "drbd":
                standby = standby_codes(self._columns, machine)
                self._placeable[smaller] = self._possible(machine, codes, standby) is not None
            else:
                self._placeable[smaller] = bool(((codes == FITS) & self._columns.is_target).any())
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


def _with_dropped(failures: dict[FailureKind, int], dropped: int) -> dict[FailureKind, int]:
    """Return why hosts take no machine, those counted that would leave the cluster without redundancy."""
    if not dropped:
        return failures
    counts = {**failures, "FailN1": dropped}
    return {kind: counts[kind] for kind in FAILURES if kind in counts}
