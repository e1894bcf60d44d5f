"""Evacuation of many hosts tried at once, where none of their machines has a standby.

Every host that fails is a scenario of its own, a row of the arrays; step by step each moves its next machine
to the host that leaves the group most even. The arithmetic is that of the plain trial to the last bit: sums
run over hosts from left to right and over terms in their order.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.evacuation_room import Rooms
from ullage.engine.balance.facts import NOWHERE, Machine
from ullage.engine.balance.score import TERMS
from ullage.engine.balance.space_columns import Booleans, Columns, Floats, Integers, Whole, suits
from ullage.engine.balance.space_scores import FAILING, LOADS, deviations, known_of, unchanged
from ullage.engine.balance.state import check_migration

MEMORY, PROCESSORS, DISK = 0, 2, 4
ROWS: Final = (0, 13, 6, 15, 1, 14, 12, 16)
"""The terms of free memory, processors, free disk and busy disks, each now and later, as amounts are kept."""
ROUNDING: Final = 1e-15
"""More than what rounding can change of a variance, for each host and each square of the largest value.

A root changes by no more than the root of that.
"""
CELLS_MAX: Final = 2_000_000
"""How many numbers are looked at in one go; more hosts than that fail in turn."""


class Scenario(NamedTuple):
    """A host that fails, in a fleet that has perhaps one machine more than the columns show, and where."""

    rooms: Rooms
    number: int
    extra: Machine | None = None
    host: int = NOWHERE


def try_evacuations(rooms: Rooms, numbers: Sequence[int]) -> list[bool] | None:
    """Return for each of some hosts of one group whether it can be evacuated; None where this cannot tell."""
    if not numbers:
        return []
    fleet = rooms.fleet
    scenarios = [Scenario(rooms, number) for number in numbers]
    if not suits(fleet) or not all(suits_scenario(each) for each in scenarios):
        return None
    columns = Columns(fleet.of_group(fleet.hosts[numbers[0]].group), ())
    return None if columns.any_exclusive else try_scenarios(columns, scenarios)


def suits_scenario(scenario: Scenario) -> bool:
    """Whether the machines of a host that fails differ in nothing but what they ask for.

    Those that are made anew look at all hosts that count, so these must be of one group.
    """
    fleet = scenario.rooms.fleet
    source = fleet.hosts[scenario.number]
    leaves, _ = scenario.rooms.leaves(scenario.number)
    if source.offline or leaves.mirrored or (scenario.extra is not None and scenario.extra.has_standby):
        return False
    if leaves.anew and (source.sends or any(fleet.hosts[at].group != source.group for at in fleet.scope)):
        return False
    if any(size_failure(fleet.machines[each], source) is not None for each in leaves.anew):
        return False
    machines = [fleet.machines[each] for each in (*leaves.relocated, *leaves.anew)]
    return not any(machine.exclusion_tags or machine.desired_locations for machine in machines)


def try_scenarios(columns: Columns, scenarios: Sequence[Scenario]) -> list[bool]:
    """Return for each scenario whether its host can be evacuated; columns are the hosts of one group."""
    at_once = max(1, CELLS_MAX // (len(TERMS) * len(columns.numbers)))
    found: list[bool] = []
    for start in range(0, len(scenarios), at_once):
        found += _Scenarios(columns, scenarios[start : start + at_once]).verdicts()
    return found


class _Scenarios:
    """Hosts that fail, one to a row; columns are the hosts of their group.

    Rows whose host is decided leave the arrays. `deltas` and `loading` are what each machine of a host that
    fails adds to where it runs, in the order in which they move.
    """

    def __init__(self, columns: Columns, scenarios: Sequence[Scenario]) -> None:
        self.columns = columns
        leaving = [each.rooms.leaves(each.number)[0] for each in scenarios]
        machines = [
            [each.rooms.fleet.machines[at] for at in (*leaves.relocated, *leaves.anew)]
            for each, leaves in zip(scenarios, leaving, strict=True)
        ]
        rows = len(scenarios)
        self.names: Integers = np.arange(rows)
        self.steps: Integers = np.array([len(each) for each in machines])
        self.moved: Integers = np.array([len(leaves.relocated) for leaves in leaving])
        self.sources: Integers = np.array([columns.position[each.number] for each in scenarios])
        self.amounts: Integers = np.repeat(_amounts(columns)[:, None], rows, axis=1)
        self.loads: Floats = np.repeat(columns.values[list(LOADS)][:, None], rows, axis=1)
        self.held: Integers = np.repeat(columns.machines[None], rows, axis=0)
        most = int(self.steps.max())
        self.deltas: Integers = np.zeros((len(ROWS), rows, most), dtype=np.int64)
        self.loading: Floats = np.zeros((len(LOADS), rows, most))
        self.is_local: Booleans = np.zeros((rows, most), dtype=bool)
        known_deltas: dict[int, tuple[Integers, Floats, list[bool]]] = {}
        for row, each in enumerate(machines):
            key = id(leaving[row])
            if each and key not in known_deltas:
                known_deltas[key] = (
                    np.array([_deltas(machine) for machine in each]).T,
                    np.array([machine.load for machine in each]).T,
                    [machine.local for machine in each],
                )
            if each:
                amounts, loads, local = known_deltas[key]
                self.deltas[:, row, : len(each)] = amounts
                self.loading[:, row, : len(each)] = loads
                self.is_local[row, : len(each)] = local
        needs = -self.deltas[MEMORY]
        self.largest: Integers = np.maximum(np.maximum.accumulate(needs[:, ::-1], axis=1)[:, ::-1], 1)
        self.has_local: Booleans = np.logical_or.reduce(self.is_local, axis=1)
        self._add_extra(scenarios)
        self.open = _open_hosts(columns, scenarios)
        known = known_of(columns)
        self.constants = [unchanged(known, at) for at in range(len(TERMS))]
        self.kept = columns.reserved + columns.floor
        self.has_reserve = bool(columns.reserved.any())
        every = [machine for each in machines for machine in each]
        every += [each.extra for each in scenarios if each.extra is not None]
        self.merged = _Merged(columns, every)
        self.values = self.merged.values(self.amounts, self.loads)
        self.asked = self.merged.asked(self.deltas, self.loading)
        grown = np.abs(self.asked).sum(axis=2).max(axis=1) * self.merged.units.max(axis=1)
        largest = np.abs(self.values).max() + grown.max()
        rounded = sqrt(ROUNDING * len(columns.numbers) * (1.0 + float(largest) ** 2))
        self.slip = 2.0 * float(self.merged.weights.sum()) * rounded

    def _add_extra(self, scenarios: Sequence[Scenario]) -> None:
        """Put the machine that a scenario has more than the columns where it is."""
        for row, each in enumerate(scenarios):
            if each.extra is not None:
                at = self.columns.position[each.host]
                self.amounts[:, row, at] += _deltas(each.extra)
                self.loads[:, row, at] += each.extra.load
                self.held[row, at] += 1

    def verdicts(self) -> list[bool]:
        """Move machine after machine of every host; a host whose machine finds no place has failed."""
        found = [True] * len(self.names)
        for step in range(self.deltas.shape[2]):
            self._keep(np.array([each > step for each in self.steps], dtype=bool))
            if not self.names.size:
                break
            self._keep(~self._is_sure(step))
            if not self.names.size:
                break
            self._take(self.sources, step, -(self.moved > step).astype(np.int64))
            possible = self._possible(step)
            fits: Booleans = np.logical_or.reduce(possible, axis=1)
            if not fits.all():
                for name in self.names[~fits]:
                    found[name] = False
                self._keep(fits)
                possible = possible[fits]
            if self.names.size:
                self._take(self._best(step, possible), step, np.ones_like(self.names))
        return found

    def _is_sure(self, step: int) -> Booleans:
        """Return which rows need no more trying: slots of the largest size are left for all that is left."""
        room = np.where(self.open, self.amounts[MEMORY] - self.columns.floor, 0)
        slots = (np.maximum(room, 0) // self.largest[:, step, None]).sum(axis=1)
        sure: Booleans = (slots >= self.steps - step) & ~self.has_local
        return sure

    def _possible(self, step: int) -> Booleans:
        """Return which hosts take the next machine: those with memory for it, and disk where it is local."""
        free = self.amounts[MEMORY] - self.columns.floor
        possible: Booleans = self.open & (free >= -self.deltas[MEMORY, :, step, None])
        local = self.is_local[:, step]
        if local.any():
            space = self.amounts[DISK] - self.columns.disk_hard
            possible &= ~local[:, None] | (space >= -self.deltas[DISK, :, step, None])
        return possible

    def _keep(self, rows: Booleans) -> None:
        """Forget the other rows."""
        if rows.all():
            return
        self.names, self.steps, self.sources = self.names[rows], self.steps[rows], self.sources[rows]
        self.held, self.open = self.held[rows], self.open[rows]
        self.moved, self.is_local = self.moved[rows], self.is_local[rows]
        self.largest, self.has_local = self.largest[rows], self.has_local[rows]
        self.amounts, self.loads = self.amounts[:, rows], self.loads[:, rows]
        self.deltas, self.loading = self.deltas[:, rows], self.loading[:, rows]
        self.values, self.asked = self.values[:, rows], self.asked[:, rows]

    def _take(self, hosts: Integers, step: int, signs: Integers) -> None:
        """Put the next machines on hosts, one in each row, or take them off, or neither, by sign."""
        rows = np.arange(hosts.size)
        self.amounts[:, rows, hosts] += signs * self.deltas[:, :, step]
        self.loads[:, rows, hosts] += signs * self.loading[:, :, step]
        self.values[:, rows, hosts] += signs * self.asked[:, :, step] * self.merged.units[:, hosts]
        if self.has_reserve:
            self.held[rows, hosts] += signs

    def _best(self, step: int, possible: Booleans) -> Integers:
        """Return the host in each row that leaves the group most even, the last of equals.

        Only where scores are as close as rounding may bring them are they worked out in full.
        """
        score = np.where(possible, self._close_to(step), np.inf)
        close = score <= score.min(axis=1)[:, None] + self.slip
        best: Integers = np.argmax(close, axis=1)
        tied = np.flatnonzero(np.count_nonzero(close, axis=1) > 1)
        if tied.size:
            best[tied] = self._exact_best(step, tied, close[tied])
        return best

    def _close_to(self, step: int) -> Floats:
        """Return the part of the score that depends on where the next machine goes, but for rounding."""
        values, count = self.values, len(self.columns.numbers)
        more = self.asked[:, :, step, None] * self.merged.units[:, None]
        total = values.sum(axis=2)[:, :, None]
        squared = (values * values).sum(axis=2)[:, :, None]
        variance = (2.0 * values + more) * more
        variance += squared
        variance /= count
        more += total
        more /= count
        more *= more
        variance -= more
        np.maximum(variance, 0.0, out=variance)
        np.sqrt(variance, out=variance)
        score: Floats = (self.merged.weights @ variance.reshape(len(values), -1)).reshape(variance.shape[1:])
        return score + self._failing(step, np.arange(len(self.names))) if self.has_reserve else score

    def _exact_best(self, step: int, rows: Integers, possible: Booleans) -> Integers:
        """Return the host in each row that leaves the group most even, of those that are too close."""
        score = np.zeros(possible.shape)
        made: dict[bytes, Floats] = {}
        changed = self._values(step, rows)
        for at, term in enumerate(TERMS):
            if at == FAILING:
                score += term.weight * self._failing(step, rows)
            elif at in changed:
                before, after = changed[at]
                key = before.tobytes() + after.tobytes()
                if key not in made:
                    made[key] = deviations(before, after)
                score += term.weight * made[key]
            elif self.constants[at]:
                score += term.weight * self.constants[at]
        score[~possible] = np.inf
        best: Integers = possible.shape[1] - 1 - np.argmin(score[:, ::-1], axis=1)
        return best

    def _values(self, step: int, rows: Integers) -> dict[int, tuple[Floats, Floats]]:
        """Return the values of the terms that change, as they are and with the machine on each host."""
        found = {}
        for kind, at in enumerate(ROWS):
            if kind < DISK or self.merged.has_local:
                amounts = self.amounts[kind, rows]
                after = amounts + self.deltas[kind, rows, step, None]
                found[at] = _shares(self.columns, kind, amounts), _shares(self.columns, kind, after)
        for place, at in enumerate(LOADS):
            load = self.loads[place, rows]
            found[at] = load, load + self.loading[place, rows, step, None]
        return found

    def _failing(self, step: int, rows: Integers) -> Floats:
        """Return how many machines are on hosts that could not take over, for each place of the next one."""
        free = self.amounts[MEMORY, rows] - self.kept
        held = self.held[rows]
        before = np.where(free < 0, held, 0)
        after = np.where(free + self.deltas[MEMORY, rows, step, None] < 0, held + 1, 0)
        counted: Floats = (before.sum(axis=1)[:, None] - before + after).astype(np.float64)
        return counted


class _Merged:
    """Terms that stay the same all the way as one, with the sum of their weights: enough for bounds."""

    def __init__(self, columns: Columns, machines: Sequence[Machine]) -> None:
        self.has_local = any(each.local for each in machines)
        amounts = _amounts(columns)
        same_memory = all(each.uses_memory for each in machines)
        kinds = range(len(ROWS) if self.has_local else DISK)
        merged = {
            kind + 1: _equal(amounts[kind], amounts[kind + 1]) and (kind != MEMORY or same_memory)
            for kind in kinds[::2]
        }
        self.kinds = [kind for kind in kinds if not merged.get(kind)]
        weights = [TERMS[ROWS[kind]].weight * (2 if merged.get(kind + 1) else 1) for kind in self.kinds]
        loads = columns.values[list(LOADS)]
        alike = all(_equal(loads[0], load) for load in loads[1:])
        alike = alike and all(each.load.count(each.load[0]) == len(LOADS) for each in machines)
        self.loads = [0] if alike else list(range(len(LOADS)))
        load_weight = len(LOADS) if alike else 1
        weights += [TERMS[LOADS[place]].weight * load_weight for place in self.loads]
        self.weights: Floats = np.array(weights)
        ones = np.ones(len(columns.numbers))
        units = [_whole_of(columns, kind).units() for kind in self.kinds]
        units = [
            unit / columns.cpu_speed if kind // 2 == PROCESSORS // 2 else unit
            for kind, unit in zip(self.kinds, units, strict=True)
        ]
        self.units: Floats = np.array(units + [ones] * len(self.loads))

    def values(self, amounts: Integers, loads: Floats) -> Floats:
        """Return the values of the merged terms."""
        return self.asked(amounts, loads) * self.units[:, None]

    def asked(self, amounts: Integers, loads: Floats) -> Floats:
        """Return amounts of the merged terms."""
        return np.concatenate((amounts[self.kinds], loads[self.loads]), dtype=np.float64)


def _open_hosts(columns: Columns, scenarios: Sequence[Scenario]) -> Booleans:
    """Return the hosts to which the machines of each host that fails may move."""
    rows = len(scenarios)
    found: Booleans = np.ones((rows, len(columns.numbers)), dtype=bool)
    for row, each in enumerate(scenarios):
        hosts = each.rooms.fleet.hosts
        source = hosts[each.number]
        found[row, columns.position[each.number]] = False
        if source.sends:
            found[row] &= [check_migration(source, hosts[at]) is None for at in columns.numbers]
    return found


def _equal(one: Integers | Floats, other: Integers | Floats) -> bool:
    return bool((one == other).all())


def _deltas(machine: Machine) -> tuple[int, ...]:
    """Return what a machine adds to the amounts of its host."""
    cpu = machine.cpu if machine.counts_cpu else 0
    disk, busy = (-machine.disk, machine.spindle_use) if machine.local else (0, 0)
    memory = -machine.memory if machine.uses_memory else 0
    return memory, -machine.memory, cpu, cpu, disk, disk, busy, busy


def _amounts(columns: Columns) -> Integers:
    """Return what is free or used of every kind, in the order of ROWS."""
    now, later = columns.now, columns.later
    every = (now[0], later[0], now[2], later[2], now[1], later[1], now[4], later[4])
    return np.array([each.astype(np.int64) for each in every])


def _whole_of(columns: Columns, kind: int) -> Whole:
    wholes = (columns.memory_whole, columns.cpu_whole, columns.disk_whole, columns.spindles_whole)
    return wholes[kind // 2]


def _shares(columns: Columns, kind: int, amounts: Integers) -> Floats:
    """Return amounts of a kind as the values of its term."""
    shares = _whole_of(columns, kind).share(amounts, 1.0 if kind // 2 == DISK // 2 else 0.0)
    return shares / columns.cpu_speed if kind // 2 == PROCESSORS // 2 else shares
