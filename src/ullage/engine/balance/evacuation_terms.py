"""What the machines of a host that fails add to others: amounts in the order in which they move, and terms.

Terms that stay the same all the way are taken as one, which is enough to tell most hosts apart.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.evacuation_room import Rooms
from ullage.engine.balance.evacuation_trial import Leaving
from ullage.engine.balance.facts import NOWHERE, Machine
from ullage.engine.balance.score import TERMS
from ullage.engine.balance.space_columns import Booleans, Columns, Floats, Integers, Whole
from ullage.engine.balance.space_scores import LOADS

MEMORY, PROCESSORS, DISK = 0, 2, 4
ROWS: Final = (0, 13, 6, 15, 1, 14, 12, 16)
"""The terms of free memory, processors, free disk and busy disks, each now and later, as amounts are kept."""
KNOWN_MAX: Final = 2000
"""How many hosts' machines are remembered."""


class Scenario(NamedTuple):
    """A host that fails, in a fleet that has perhaps one machine more than the columns show, and where."""

    rooms: Rooms
    number: int
    extra: Machine | None = None
    host: int = NOWHERE


def suits_scenario(scenario: Scenario) -> bool:
    """Whether the machines of a host that fails differ in nothing but what they ask for, as does one more.

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


class Amounts(NamedTuple):
    """What machines add to where they run, in the order in which they move: rows are kinds of amounts.

    `is_even` tells that every machine's loads are the same, `all_run` that all of them use memory.
    """

    leaves: Leaving
    deltas: Integers
    loads: Floats
    is_local: Booleans
    is_even: bool
    all_run: bool


class KnownAmounts:
    """What the machines of hosts add to others, remembered as long as they are the same."""

    def __init__(self) -> None:
        self._known: dict[int, Amounts] = {}
        self._suits: dict[int, tuple[Leaving, bool]] = {}

    def suits(self, scenario: Scenario) -> bool:
        """Whether scenarios can be tried together with this one."""
        leaves, _ = scenario.rooms.leaves(scenario.number)
        if id(leaves) not in self._suits:
            if len(self._suits) >= KNOWN_MAX:
                self._suits.clear()
            self._suits[id(leaves)] = leaves, suits_scenario(scenario._replace(extra=None))
        has_standby = scenario.extra is not None and scenario.extra.has_standby
        return self._suits[id(leaves)][1] and not has_standby

    def leaving(self, scenario: Scenario) -> Amounts:
        """Return what the machines of a host that fails add to others."""
        leaves, _ = scenario.rooms.leaves(scenario.number)
        known = self._known.get(id(leaves))
        if known is None:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            machines = scenario.rooms.fleet.machines
            known = amounts_of(leaves, [machines[at] for at in (*leaves.relocated, *leaves.anew)])
            self._known[id(leaves)] = known
        return known


def amounts_of(leaves: Leaving, machines: Sequence[Machine]) -> Amounts:
    """Return what machines add to where they run."""
    return Amounts(
        leaves,
        np.array([_deltas(machine) for machine in machines], dtype=np.int64).reshape(-1, len(ROWS)).T,
        np.array([machine.load for machine in machines]).reshape(-1, len(LOADS)).T,
        np.array([machine.local for machine in machines], dtype=bool),
        all(len(set(machine.load)) == 1 for machine in machines),
        all(machine.uses_memory for machine in machines),
    )


class Merged:
    """Terms that stay the same all the way as one, with the sum of their weights: enough for bounds."""

    def __init__(self, columns: Columns, machines: Sequence[Amounts]) -> None:
        self.has_local = any(each.is_local.any() for each in machines)
        amounts = held_amounts(columns)
        same_memory = all(each.all_run for each in machines)
        kinds = range(len(ROWS) if self.has_local else DISK)
        merged = {
            kind + 1: _equal(amounts[kind], amounts[kind + 1]) and (kind != MEMORY or same_memory)
            for kind in kinds[::2]
        }
        self.kinds = [kind for kind in kinds if not merged.get(kind)]
        weights = [TERMS[ROWS[kind]].weight * (2 if merged.get(kind + 1) else 1) for kind in self.kinds]
        loads = columns.values[list(LOADS)]
        alike = all(_equal(loads[0], load) for load in loads[1:])
        alike = alike and all(each.is_even for each in machines)
        self.loads = [0] if alike else list(range(len(LOADS)))
        load_weight = len(LOADS) if alike else 1
        weights += [TERMS[LOADS[place]].weight * load_weight for place in self.loads]
        self.weights: Floats = np.array(weights)
        self.row_of = {ROWS[kind]: row for row, kind in enumerate(self.kinds)}
        self.row_of |= {ROWS[kind]: self.row_of[ROWS[kind - 1]] for kind in merged if merged[kind]}
        self.row_of |= {at: len(self.kinds) + (0 if alike else place) for place, at in enumerate(LOADS)}
        """Where terms are among these."""
        ones = np.ones(len(columns.numbers))
        units = [_whole_of(columns, kind).units() for kind in self.kinds]
        units = [
            unit / columns.cpu_speed if kind // 2 == PROCESSORS // 2 else unit
            for kind, unit in zip(self.kinds, units, strict=True)
        ]
        self.units: Floats = np.array(units + [ones] * len(self.loads))

    def values(self, amounts: Integers, loads: Floats) -> Floats:
        """Return the values of the merged terms."""
        return self.asked(amounts, loads) * self.units

    def exact(self, columns: Columns, amounts: Integers, loads: Floats) -> Floats:
        """Return the values of the merged terms, to the last bit."""
        shares = [_shares(columns, kind, amounts[kind]) for kind in self.kinds]
        return np.concatenate((shares, loads[self.loads]))

    def asked(self, amounts: Integers, loads: Floats) -> Floats:
        """Return amounts of the merged terms."""
        return np.concatenate((amounts[self.kinds], loads[self.loads]), dtype=np.float64)


def _equal(one: Integers | Floats, other: Integers | Floats) -> bool:
    return bool((one == other).all())


def _deltas(machine: Machine) -> tuple[int, ...]:
    """Return what a machine adds to the amounts of its host."""
    cpu = machine.cpu if machine.counts_cpu else 0
    disk, busy = (-machine.disk, machine.spindle_use) if machine.local else (0, 0)
    memory = -machine.memory if machine.uses_memory else 0
    return memory, -machine.memory, cpu, cpu, disk, disk, busy, busy


def held_amounts(columns: Columns) -> Integers:
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
