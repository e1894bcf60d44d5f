"""A fleet that is being filled, looked at as columns: the same answers as the plain one, sooner."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ullage.engine.balance.allocation import Allocation, Found, after
from ullage.engine.balance.evacuation_room import Rooms
from ullage.engine.balance.facts import NOWHERE, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, is_redundant, watched
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.space_columns import Booleans, Columns, Floats, Integers, suits
from ullage.engine.balance.space_scores import PairScores, single_scores
from ullage.engine.balance.space_tests import (
    FITS,
    Codes,
    Standby,
    pair_counts,
    primary_codes,
    single_counts,
    standby_codes,
)
from ullage.engine.balance.state import FAILURES, Failure, FailureKind, add_primary, add_standby
from ullage.engine.balance.tiered import Counts, Ground, NewSize


def ground_of(fleet: Fleet, targets: Sequence[int], redundancy: Redundancy | None = None) -> Ground:
    """Return a fleet to be filled, looked at as columns where these can hold it."""
    kind = QuickGround if suits(fleet) else Ground
    return kind(fleet, targets, redundancy)


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
        self._lost: bool | None = None

    def ask(self, size: NewSize, redundancy: Redundancy | None, *, counted: bool = True) -> Found:
        """Return the best place for a machine; failures beside it only where they are to be counted."""
        key = size, redundancy is None
        if key in self._refused:
            return self._refused[key]
        if size.template != "drbd":
            found = self._single(size.machine(), redundancy)
        elif redundancy is None:
            found = self._pair(size.machine(), counted=counted)
        else:
            found = super().ask(size, redundancy)
        if found.best is None:
            self._refused[key] = found
        return found

    def fits(self, size: NewSize) -> tuple[bool, Counts]:
        """Return whether a machine has a place where the cluster stays redundant, and why others are none."""
        if size.template != "drbd" or self.redundancy is None:
            return super().fits(size)
        found = self.ask(size, None)
        if found.best is None:
            return False, found.failures
        if self._is_past_help(self.redundancy):
            return False, found.failures
        for candidate in self._pairs_in_order(size.machine()):
            if self._keeps(candidate, self.redundancy):
                return True, found.failures
        return False, found.failures

    def add(self, size: NewSize, best: Allocation) -> None:
        """Add a machine where it was found to go."""
        super().add(size, best)
        self._columns.read(self.fleet, best.placed.changed)
        self._forget()

    def go_back(self, mark: tuple[Fleet, int]) -> None:
        """Forget what was added since."""
        now = self.fleet.states
        super().go_back(mark)
        changed = [at for at, state in enumerate(self.fleet.states) if state is not now[at]]
        self._columns.read(self.fleet, changed)
        self._forget()

    def _forget(self) -> None:
        self._refused.clear()
        self._lost = None

    def _single(self, machine: Machine, redundancy: Redundancy | None) -> Found:
        columns = self._columns
        codes = primary_codes(self.fleet, columns, machine)
        failures = single_counts(columns, codes)
        places = np.flatnonzero((codes == FITS) & columns.is_target)
        if not places.size:
            return Found(None, 0, failures)
        if redundancy is not None and self._is_past_help(redundancy):
            return Found(None, 0, _with_dropped(failures, places.size))
        scores = single_scores(columns, machine, places)[::-1]
        dropped = 0
        for at in np.argsort(scores, kind="stable") if redundancy else [np.argmin(scores)]:
            place = Place(columns.numbers[places[places.size - 1 - at]])
            best = self._placed(machine, place, float(scores[at]))
            if redundancy is None or self._keeps(best, redundancy):
                return Found(best, places.size - dropped, _with_dropped(failures, dropped))
            dropped += 1
        return Found(None, 0, _with_dropped(failures, dropped))

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
        return Found(best, int(pairs.possible.sum()), failures)

    def _possible(self, machine: Machine, codes: Codes, standby: Standby) -> Pairs | None:
        """Return the pairs that fail no test; None where there are none."""
        columns = self._columns
        rows = np.flatnonzero(codes == FITS)
        others = np.flatnonzero((standby.before == FITS) & (standby.after == FITS))
        if not rows.size or not others.size:
            return None
        block = np.ix_(rows, others)
        possible = columns.pairs[block] & (columns.room_for_pair[block] >= machine.memory)
        return Pairs(rows, others, possible) if possible.any() else None

    def _scores(self, machine: Machine, pairs: Pairs) -> Floats:
        scores = PairScores(self._columns, machine).scores(pairs.rows, pairs.others)
        scores[~pairs.possible] = np.inf
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

    def _keeps(self, candidate: Allocation, redundancy: Redundancy) -> bool:
        return is_redundant(after(self.fleet, candidate), **redundancy._asdict())

    def _is_past_help(self, redundancy: Redundancy) -> bool:
        """Whether a host cannot be evacuated as it is, and counting room says so: a new machine adds none."""
        if self._lost is None:
            rooms = Rooms(self.fleet)
            hosts = watched(self.fleet, redundancy)
            self._lost = any(rooms.verdict(number) is False for number in hosts)
        return self._lost


def _with_dropped(failures: dict[FailureKind, int], dropped: int) -> dict[FailureKind, int]:
    """Return why hosts take no machine, those counted that would leave the cluster without redundancy."""
    if not dropped:
        return failures
    counts = {**failures, "FailN1": dropped}
    return {kind: counts[kind] for kind in FAILURES if kind in counts}
