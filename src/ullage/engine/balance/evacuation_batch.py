"""Evacuation of many hosts tried at once, where none of their machines has a standby.

Every host that fails is a scenario of its own, a row of the arrays; step by step each moves its next machine
to the host that leaves the group most even. Scores are taken but for rounding; where that may decide, they
are worked out as in the plain trial to the last bit: sums run over hosts from left to right and over terms in
their order.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ullage.engine.balance.evacuation_room import Rooms
from ullage.engine.balance.evacuation_terms import (
    DISK,
    MEMORY,
    ROWS,
    Amounts,
    KnownAmounts,
    Merged,
    Scenario,
    amounts_of,
    held_amounts,
    suits_scenario,
)
from ullage.engine.balance.evacuation_trial import Trial
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.score import TERMS
from ullage.engine.balance.space_columns import Booleans, Columns, Floats, Integers, suits
from ullage.engine.balance.space_scores import FAILING, LOADS, deviations, known_of, unchanged
from ullage.engine.balance.state import check_migration

ROUNDING: Final = 1e-15
"""More than what rounding can change of a variance, for each host and each square of the largest value.

A root changes by no more than the root of that, and by no more than that divided by the root.
"""
SURE_EVERY: Final = 4
"""After how many steps it is asked whether all that is left surely finds room."""
CELLS_MAX: Final = 2_000_000
"""How many numbers are looked at in one go; more hosts than that fail in turn."""


def try_evacuations(rooms: Rooms, numbers: Sequence[int]) -> list[bool] | None:
    """Return for each of some hosts of one group whether it can be evacuated; None where this cannot tell."""
    if not numbers:
        return []
    fleet = rooms.fleet
    scenarios = [Scenario(rooms, number) for number in numbers]
    if not suits(fleet) or not all(suits_scenario(each) for each in scenarios):
        return None
    columns = Columns(fleet.of_group(fleet.hosts[numbers[0]].group), ())
    if columns.any_exclusive:
        return None
    return [trial.is_evacuated is True for trial in trials_of(columns, scenarios)]


def trials_of(
    columns: Columns,
    scenarios: Sequence[Scenario],
    known: KnownAmounts | None = None,
    *,
    together: Sequence[int] | None = None,
    to_the_end: bool = False,
) -> list[Trial]:
    """Return what became of each host that fails; columns are the hosts of one group.

    Trials end early where all that is left surely finds room, or one machine surely finds none, unless asked
    for `to_the_end`. Of scenarios that belong `together`, by number, one that fails ends the others.
    """
    together = range(len(scenarios)) if together is None else together
    at_once = max(1, CELLS_MAX // (len(TERMS) * len(columns.numbers)))
    known = KnownAmounts() if known is None else known
    found: list[Trial] = []
    for start in range(0, len(scenarios), at_once):
        part = scenarios[start : start + at_once]
        leaving = [known.leaving(each) for each in part]
        wanted = _Scenarios(columns, part, leaving, together[start : start + at_once])
        found += wanted.trials(to_the_end=to_the_end)
    return found


class _Scenarios:
    """Hosts that fail, one to a row; columns are the hosts of their group.

    Rows whose host is decided leave the arrays of what is on the way; `names` tells which are left.
    """

    def __init__(
        self,
        columns: Columns,
        scenarios: Sequence[Scenario],
        leaving: Sequence[Amounts],
        together: Sequence[int],
    ) -> None:
        self.columns, self.scenarios, self.leaving = columns, scenarios, leaving
        self.together: Integers = np.array(together)
        rows, steps = len(scenarios), np.array([len(each.is_local) for each in leaving])
        most = int(steps.max())
        self.deltas: Integers = np.zeros((len(ROWS), rows, most), dtype=np.int64)
        self.loading: Floats = np.zeros((len(LOADS), rows, most))
        is_local: Booleans = np.zeros((rows, most), dtype=bool)
        of = {id(each): each for each in leaving}
        for row, each in enumerate(of.values()):
            count = len(each.is_local)
            self.deltas[:, row, :count], self.loading[:, row, :count] = each.deltas, each.loads
            is_local[row, :count] = each.is_local
        of_row = {name: row for row, name in enumerate(of)}
        chosen = [of_row[id(each)] for each in leaving]
        self.deltas, self.loading = self.deltas[:, chosen], self.loading[:, chosen]
        is_local = is_local[chosen]
        self.chosen: Integers = np.full((rows, most), NOWHERE)
        extras = [
            (row, each.host, each.extra) for row, each in enumerate(scenarios) if each.extra is not None
        ]
        self.extra_at: tuple[Integers, Integers] = (
            np.array([row for row, _, _ in extras], dtype=np.int64),
            np.array([columns.position[host] for _, host, _ in extras], dtype=np.int64),
        )
        self.extra = amounts_of(leaving[0].leaves, [machine for _, _, machine in extras])
        self.merged = Merged(columns, [*leaving, self.extra])
        self.base, self.base_loads = held_amounts(columns), columns.values[LOADS]
        self.has_reserve = bool(columns.reserved.any())
        self.sources: Integers = np.array([columns.position[each.number] for each in scenarios])
        self.moved: Integers = np.array([len(each.leaves.relocated) for each in leaving])
        self._start(steps, is_local)

    def _start(self, steps: Integers, is_local: Booleans) -> None:
        """Set up what is on the way: rows of what is left to move, and of what hosts hold.

        What the host that fails holds itself is known in advance for every step, so it is kept apart: its
        place among values stays empty, and `own` and `own_squared` are what it adds to sums.
        """
        columns, merged, rows = self.columns, self.merged, len(self.scenarios)
        count, every = len(columns.numbers), np.arange(rows)
        asked = merged.asked(self.deltas, self.loading)
        values = np.repeat(merged.values(self.base, self.base_loads)[:, None], rows, axis=1)
        free = np.repeat(self.base[None, MEMORY] - columns.floor, rows, axis=0)
        space = np.repeat(self.base[None, DISK] - columns.disk_hard, rows, axis=0)
        held = np.repeat(columns.machines[None], rows, axis=0)
        at = self.extra_at
        values[:, *at] += merged.asked(self.extra.deltas, self.extra.loads) * merged.units[:, at[1]]
        free[at] += self.extra.deltas[MEMORY]
        space[at] += self.extra.deltas[DISK]
        held[at] += 1
        grown = np.abs(asked).sum(axis=2).max(axis=1) * merged.units.max(axis=1)
        largest = np.abs(values).max(axis=(1, 2)) + grown
        is_moved = np.arange(asked.shape[2]) < self.moved[:, None]
        gone = np.add.accumulate(np.where(is_moved, asked, 0.0), axis=2)
        own = values[:, every, self.sources, None] - gone * merged.units[:, self.sources, None]
        values[:, every, self.sources] = 0.0
        self.doubt: Floats = ROUNDING * (count + asked.shape[2]) * (1.0 + largest * largest)[:, None]
        """What rounding may change of variances, by term."""
        self.slip_max = 2.0 * float(merged.weights @ np.sqrt(self.doubt[:, 0]))
        self.names: Integers = every
        self.steps, self.is_local = steps, is_local
        self.needs: Integers = -self.deltas[MEMORY].T
        self.largest: Integers = np.maximum.accumulate(self.needs[::-1])[::-1]
        self.asked, self.own = asked.transpose(2, 0, 1), own.transpose(2, 0, 1)
        self.values: Floats = values
        self.total, self.squared = values.sum(axis=2), count * (values * values).sum(axis=2)
        self.own_squared = count * self.own * self.own
        self.weights: Floats = merged.weights / count
        is_uniform = bool((merged.units == merged.units[:, :1]).all())
        self.units: Floats = merged.units[:, None, :1] if is_uniform else merged.units[:, None]
        self.ends = set(steps.tolist())
        self.roots: Floats = values
        self.free: Integers = np.where(_closed_hosts(columns, self.scenarios), -1, free)
        self.space, self.held, self.all_free = space, held, free

    def trials(self, *, to_the_end: bool) -> list[Trial]:
        """Move machine after machine of every host; a host whose machine finds no place has failed."""
        evacuated: list[bool | None] = [None] * len(self.scenarios)
        for step in range(self.deltas.shape[2]):
            if step in self.ends:
                self._settle(evacuated, self.steps > step, is_evacuated=True)
            if self.names.size and not to_the_end and step % SURE_EVERY == 0:
                self._settle(evacuated, ~self._is_sure(step), is_evacuated=True)
                self._settle(evacuated, self._may_fit(step), is_evacuated=False)
            if not self.names.size:
                break
            score = self._close_to(step)
            lowest = np.minimum.reduce(score, axis=1)
            if np.maximum.reduce(lowest) == np.inf:
                left = self._settle(evacuated, lowest < np.inf, is_evacuated=False)
                score, lowest, self.roots = score[left], lowest[left], self.roots[:, left]
            best = self._best(step, score, lowest)
            self.chosen[self.names, step] = best
            self._take(best, step)
        self._settle(evacuated, np.zeros_like(self.names, dtype=bool), is_evacuated=True)
        numbers = self.columns.numbers
        return [
            Trial(can, [numbers[at] for at in row if at != NOWHERE])
            for can, row in zip(evacuated, self.chosen.tolist(), strict=True)
        ]

    def _settle(self, evacuated: list[bool | None], left: Booleans, *, is_evacuated: bool) -> Booleans:
        """Note what became of rows, and forget them, with all that belong to one that failed.

        Return the rows that are left.
        """
        if np.logical_and.reduce(left):
            return left
        gone = self.names[~left]
        for name in gone.tolist():
            evacuated[name] = is_evacuated
        if not is_evacuated:
            left = left & ~np.isin(self.together[self.names], self.together[gone])
        self.names, self.steps, self.is_local = self.names[left], self.steps[left], self.is_local[left]
        self.free, self.needs, self.largest = self.free[left], self.needs[:, left], self.largest[:, left]
        self.asked, self.own, self.values = self.asked[:, :, left], self.own[:, :, left], self.values[:, left]
        self.own_squared = self.own_squared[:, :, left]
        self.total, self.squared = self.total[:, left], self.squared[:, left]
        self.space, self.held, self.all_free = self.space[left], self.held[left], self.all_free[left]
        return left

    def _may_fit(self, step: int) -> Booleans:
        """Return the rows in which some host has room for the largest machine that is left."""
        may: Booleans = np.maximum.reduce(self.free, axis=1) >= self.largest[step]
        return may

    def _is_sure(self, step: int) -> Booleans:
        """Return which rows need no more trying: slots of the largest size are left for all that is left."""
        largest = np.maximum(self.largest[step], 1)[:, None]
        slots = np.add.reduce(np.maximum(self.free, 0) // largest, axis=1)
        sure: Booleans = slots >= self.steps - step
        return sure & ~self.is_local[:, step:].any(axis=1) if self.merged.has_local else sure

    def _take(self, hosts: Integers, step: int) -> None:
        """Put the next machines on hosts, one in each row."""
        rows = np.arange(hosts.size)
        more = self.asked[step] * self.merged.units[:, hosts]
        before = self.values[:, rows, hosts]
        self.values[:, rows, hosts] = before + more
        self.total = self.total + more
        before += before
        before += more
        before *= len(self.columns.numbers) * more
        self.squared = self.squared + before
        self.free[rows, hosts] -= self.needs[step]
        if self.merged.has_local:
            self.space[rows, hosts] += self.deltas[DISK, self.names, step]
        if self.has_reserve:
            self.all_free[rows, hosts] -= self.needs[step]
            self.held[rows, hosts] += 1

    def _close_to(self, step: int) -> Floats:
        """Return scores of the hosts for the next machine, as far as they depend on it, but for rounding.

        They are infinite for hosts that do not take it: for want of memory, or disk where it is local.
        """
        count = len(self.columns.numbers)
        more = self.asked[step][:, :, None] * self.units
        total = self.total + self.own[step]
        squares = self.squared + self.own_squared[step]
        squares -= total * total
        roots = (2.0 * count) * self.values
        roots += (count - 1.0) * more - (2.0 * total)[:, :, None]
        roots *= more
        roots += squares[:, :, None]
        np.maximum(roots, 0.0, out=roots)
        np.sqrt(roots, out=roots)
        self.roots = roots
        found: Floats = (self.weights @ roots.reshape(len(roots), -1)).reshape(roots.shape[1:])
        if self.has_reserve:
            found += self._failing(step, self.all_free - self.columns.reserved, self.held, self.names)
        is_closed = self.free < self.needs[step][:, None]
        if self.merged.has_local:
            lacks = self.space < -self.deltas[DISK, self.names, step][:, None]
            is_closed |= lacks & self.is_local[:, step, None]
        np.putmask(found, is_closed, np.inf)
        return found

    def _best(self, step: int, score: Floats, lowest: Floats) -> Integers:
        """Return the host in each row that leaves the group most even, the last of equals.

        Only where scores are as close as rounding may bring them are they worked out in full.
        """
        close = score <= (lowest + self.slip_max)[:, None]
        best: Integers = close.argmax(axis=1)
        if np.count_nonzero(close) > best.size:
            close = score <= (lowest + self._slip())[:, None]
            best = close.argmax(axis=1)
            tied = np.flatnonzero(np.count_nonzero(close, axis=1) > 1)
            if tied.size:
                best[tied] = self._exact_best(step, self.names[tied], close[tied])
        return best

    def _slip(self) -> Floats:
        """Return by how much the scores of two hosts may be off, by row."""
        least = np.minimum.reduce(self.roots, axis=2) / len(self.columns.numbers)
        slip: Floats = 2.0 * (self.merged.weights @ (self.doubt / np.maximum(least, np.sqrt(self.doubt))))
        return slip

    def _exact_best(self, step: int, names: Integers, possible: Booleans) -> Integers:
        """Return the host in each row that leaves the group most even, of those that are too close."""
        amounts, loads, held = self._replayed(step, names)
        known, merged = known_of(self.columns), self.merged
        after = amounts + self.deltas[:, names, step, None]
        loads_after = loads + self.loading[:, names, step, None]
        before = merged.exact(self.columns, amounts, loads).reshape(-1, possible.shape[1])
        made = deviations(before, merged.exact(self.columns, after, loads_after).reshape(before.shape))
        made = made.reshape(-1, *possible.shape)
        score = np.zeros(possible.shape)
        for at, term in enumerate(TERMS):
            if at == FAILING:
                free = amounts[MEMORY] - self.columns.floor - self.columns.reserved
                score += term.weight * self._failing(step, free, held, names)
            elif at in merged.row_of:
                score += term.weight * made[merged.row_of[at]]
            elif unchanged(known, at):
                score += term.weight * unchanged(known, at)
        score[~possible] = np.inf
        best: Integers = possible.shape[1] - 1 - np.argmin(score[:, ::-1], axis=1)
        return best

    def _replayed(self, step: int, names: Integers) -> tuple[Integers, Floats, Integers]:
        """Return what hosts hold in some rows before a step, exactly: amounts, loads, and machines."""
        count = names.size
        amounts = np.repeat(self.base[:, None], count, axis=1)
        loads = np.repeat(self.base_loads[:, None], count, axis=1)
        held = np.repeat(self.columns.machines[None], count, axis=0)
        for row, name in enumerate(names.tolist()):
            moved = min(step + 1, len(self.leaving[name].leaves.relocated))
            source = self.columns.position[self.scenarios[name].number]
            hosts = np.concatenate((np.full(moved, source), self.chosen[name, :step]))
            signs = np.repeat((-1, 1), (moved, step))
            past = np.concatenate((np.arange(moved), np.arange(step)))
            extra = np.flatnonzero(self.extra_at[0] == name)
            at = self.extra_at[1][extra]
            amounts[:, row, at] += self.extra.deltas[:, extra]
            loads[:, row, at] += self.extra.loads[:, extra]
            held[row, at] += 1
            np.add.at(amounts[:, row].T, hosts, (signs * self.deltas[:, name, past]).T)
            np.add.at(loads[:, row].T, hosts, (signs * self.loading[:, name, past]).T)
            np.add.at(held[row], hosts, signs)
        return amounts, loads, held

    def _failing(self, step: int, free: Integers, held: Integers, names: Integers) -> Floats:
        """Return how many machines are on hosts that could not take over, for each place of the next one."""
        before = np.where(free < 0, held, 0)
        after = np.where(free + self.deltas[MEMORY, names, step, None] < 0, held + 1, 0)
        counted: Floats = (before.sum(axis=1)[:, None] - before + after).astype(np.float64)
        return counted


def _closed_hosts(columns: Columns, scenarios: Sequence[Scenario]) -> Booleans:
    """Return the hosts to which the machines of each host that fails may not move."""
    found: Booleans = np.zeros((len(scenarios), len(columns.numbers)), dtype=bool)
    found[np.arange(len(scenarios)), [columns.position[each.number] for each in scenarios]] = True
    for row, each in enumerate(scenarios):
        hosts = each.rooms.fleet.hosts
        source = hosts[each.number]
        if source.sends:
            found[row] |= [check_migration(source, hosts[at]) is not None for at in columns.numbers]
    return found
