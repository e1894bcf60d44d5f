"""Lower bounds of the scores of moves: one number for all moves of a machine, of one kind, to any host.

A standard deviation is concave in the change of the variance, so the chord over the range of possible changes
lies below it; the chord is linear, so it splits into a part of the machine and a part of the new host, which
is the same for all machines of a size. Near an even state the chord over counts is too far below, but then
hosts have few different counts: for those terms a table by count is exact.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ullage.engine.balance.classes import Classes, classes_of, stepped_terms
from ullage.engine.balance.columns import FAILOVER, KINDS, TO_PRIMARY, Booleans, Columns, Floats, Integers
from ullage.engine.balance.rows import Spread, deviation, forced
from ullage.engine.balance.sides import FR, RF, R, Sides, sides_of
from ullage.engine.balance.sizes import Sizes


class Chord(NamedTuple):
    """The chord below a weighted deviation: `least` + `slope` x (change of the variance)."""

    least: Floats
    slope: Floats


def chord_of(weights: Floats, variance: Floats, low: Floats, high: Floats) -> Chord:
    """Return the chords below deviations whose variances change by between `low` and `high`."""
    low = np.maximum(low, -variance)
    high = np.maximum(high, low)
    below, above = np.sqrt(variance + low), np.sqrt(variance + high)
    apart = above + below
    slope = np.where(apart > 0, weights / np.where(apart > 0, apart, 1.0), 0.0)
    return Chord(weights * below - slope * low, slope)


class Bounds:
    """What moves do to the hosts that machines have, kept from step to step; bounds follow from it."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        everyone = np.arange(len(columns.movers))
        self.sides = sides_of(columns, everyone)
        mirrors = {machine.mirror for machine in columns.machines}
        self.kinds = [
            kind for kind, name in enumerate(KINDS) if ("external" if name == "fa" else "internal") in mirrors
        ]
        self.sizes = {True: Sizes(columns, primary=True), False: Sizes(columns, primary=False)}
        inside = columns.linear.inverse[:, columns.online]
        self.inverse_range = inside.min(axis=1, initial=np.inf), inside.max(axis=1, initial=0.0)
        self.sums_most = self._sums_most(everyone)
        self.stepped, self.amounts = stepped_terms(columns)

    def renew(self, hosts: Iterable[int]) -> None:
        """Take over what changed for machines that are on some hosts, and for these as new hosts."""
        columns, touched = self.columns, np.array(list(hosts))
        changed = np.zeros(columns.size + 1, np.bool_)
        changed[touched] = True
        m = np.flatnonzero(changed[columns.primary] | changed[columns.standby])
        for whole, part in zip(self.sides, sides_of(columns, m), strict=True):
            whole[:, m] = part
        self.sums_most[:, m] = self._sums_most(m)
        for sizes in self.sizes.values():
            sizes.renew(touched)

    def _sums_most(self, m: Integers) -> Floats:
        """Return the largest square of what each sum changes by, whichever the new host."""
        low, high = self.inverse_range
        found = np.empty((len(KINDS), len(m), len(low)))
        for kind, to_primary in enumerate(TO_PRIMARY):
            amounts = (self.columns.linear.primary if to_primary else self.columns.linear.standby)[m]
            sums = self.sides.sums[kind, m]
            found[kind] = np.maximum((sums + amounts * low) ** 2, (sums + amounts * high) ** 2)
        return found

    def sides_for(self, kind: int, m: Integers) -> Sides:
        """Return what moves of a kind do to the hosts of some machines."""
        return Sides(*(each[kind, m] for each in self.sides))

    @property
    def failovers(self) -> Sides:
        """What failovers do to the two hosts of each machine."""
        return Sides(*(each[FAILOVER] for each in self.sides))

    def lower(self, spread: Spread) -> Floats:
        """Return the bounds of all kinds of moves of all machines, one kind after another."""
        columns = self.columns
        found = np.full((len(KINDS), len(columns.movers)), np.inf)
        kinds = [kind for kind in self.kinds if self.sides.possible[kind].any()]
        if not kinds or not columns.online_count:
            return found.ravel()
        classes = classes_of(columns, self.stepped)
        own, targets = self._chords(kinds, spread, self.stepped if classes else [])
        kept, reserved = self._reserved(kinds, spread)
        fails = columns.weight["n1_cnt"] * columns.fails
        for row, kind in enumerate(kinds):
            target = targets[row] + (reserved[row] + fails)
            least = own[row] + kept[row] + self.sides.fixed[kind]
            least += self._least(kind, target, spread, classes) + spread.constant
            found[kind] = np.where(self.sides.possible[kind], least, np.inf)
        return found.ravel()

    def _chords(self, kinds: list[int], spread: Spread, skipped: list[int]) -> tuple[Floats, list[Floats]]:
        """Return the chords of terms as the part of each machine, and the part of each size and new host."""
        count, hosts, sides = spread.size, HostParts(self.columns, spread), self.sides
        own = sides.squares[kinds] - sides.sums[kinds] * (2 * spread.mean[:-1])
        possible = sides.possible[kinds][:, :, None]
        ranges = {role: hosts.range_of(sizes.least, sizes.most) for role, sizes in self.sizes.items()}
        low = np.array([ranges[TO_PRIMARY[kind]][0] for kind in kinds])
        high = np.array([ranges[TO_PRIMARY[kind]][1] for kind in kinds])
        most = self.sums_most[kinds]
        low += own.min(axis=1, where=possible, initial=np.inf)
        high += own.max(axis=1, where=possible, initial=-np.inf)
        apart = most.max(axis=1, where=possible, initial=0.0) / count
        chord = chord_of(spread.weights[:-1], spread.variance[:-1], (low - apart) / count, high / count)
        chord.slope[:, skipped] = chord.least[:, skipped] = 0.0
        slope = (chord.slope / count)[:, :, None]
        own -= most / count
        per_machine = (own @ slope)[:, :, 0] + chord.least.sum(axis=1, keepdims=True)
        tables = [
            self.sizes[TO_PRIMARY[kind]].table(hosts.tilt * slope[row], hosts.bend * slope[row])
            for row, kind in enumerate(kinds)
        ]
        return per_machine, tables

    def _reserved(self, kinds: list[int], spread: Spread) -> tuple[Floats, list[Floats]]:
        """Return the same of reserved memory, of which the chord and the sum count."""
        columns, sides = self.columns, self.sides
        count, mean, old = spread.size, float(spread.mean[-1]), spread.reserved
        possible = sides.possible[kinds]
        parts = (
            (old[columns.primary], sides.primary_least[kinds], sides.primary_most[kinds]),
            (old[columns.standby], sides.standby_least[kinds], sides.standby_most[kinds]),
        )
        ranges = np.array([self._reserved_range(kind, mean, old) for kind in kinds])
        for was, least, most in parts:
            ranges += _ranges(was, least, most, mean, possible)
        low, high, least_sum, most_sum = ranges.T
        farthest = np.maximum(np.abs(least_sum), np.abs(most_sum)) ** 2 / count**2
        chord = chord_of(spread.weights[-1:], spread.variance[-1:], low / count - farthest, high / count)
        slopes, total = chord.slope / count, columns.weight["reserved_mem_rtotal"]
        bottoms = np.where(slopes > 0, mean - total / (2 * np.where(slopes > 0, slopes, 1.0)), -np.inf)
        found = np.repeat((chord.least - chord.slope * farthest)[:, None], len(columns.movers), axis=1)
        slope = slopes[:, None]
        for was, least, most in parts:
            inner = least if bottoms.max() <= 0 else np.clip(bottoms[:, None], least, most)
            found += slope * (inner * (inner - 2 * mean) - was * (was - 2 * mean)) + total * (inner - was)
        tables = []
        for row, kind in enumerate(kinds):
            if TO_PRIMARY[kind]:
                tables.append(np.zeros(columns.size + 1))
                continue
            each = float(slopes[row])
            table = self.sizes[False].reserved_table(each, mean, total, float(bottoms[row]))
            tables.append(table - (each * old * (old - 2 * mean) + total * old))
        return found, tables

    def _reserved_range(self, kind: int, mean: float, old: Floats) -> Floats:
        """Return the range of what the new host changes."""
        least, most = (old, old) if TO_PRIMARY[kind] else self.sizes[False].reserved_range()
        online = self.columns.online[None, :]
        found: Floats = _ranges(old, least[None, :], most[None, :], mean, online)[0]
        return found

    def _least(self, kind: int, target: Floats, spread: Spread, classes: Classes | None) -> Floats:
        """Return the least over all hosts of what a new host adds, for each machine."""
        columns, sizes = self.columns, self.sizes[TO_PRIMARY[kind]]
        force = forced(columns, kind, slice(None))
        found = np.empty(len(columns.movers))
        table = None if classes is None else self._stepped_table(kind, spread, classes)
        for is_forced in (False, True):
            chosen = np.flatnonzero(force == is_forced)
            if not len(chosen):
                continue
            rows = sizes.bucket[chosen]
            fitting = np.where(sizes.fits(force=is_forced), target, np.inf)
            if classes is None or table is None:
                found[chosen] = fitting.min(axis=1)[rows]
            else:
                by_class = np.minimum.reduceat(fitting[:, classes.hosts], classes.starts, axis=1)
                exact, line = table
                found[chosen] = (exact[line[chosen]] + by_class[rows]).min(axis=1)
        return found

    def _stepped_table(self, kind: int, spread: Spread, classes: Classes) -> tuple[Floats, Integers]:
        """Return the deviations of terms in steps by class of the new host, and which line is a machine's."""
        columns = self.columns
        key = self.amounts
        if kind != R:
            key = key * (len(classes.starts) + 1) + classes.of[columns.primary]
        if kind in {R, RF, FR}:
            key = key * (len(classes.starts) + 1) + classes.of[columns.standby]
        example = np.full(int(key.max()) + 1, -1)
        example[key] = np.arange(len(key))
        present = np.flatnonzero(example >= 0)
        line = np.empty(len(example), np.int64)
        line[present] = np.arange(len(present))
        some = example[present]
        amounts = (columns.linear.primary if TO_PRIMARY[kind] else columns.linear.standby)[some]
        found = np.zeros((len(some), len(classes.starts)))
        hosts = classes.hosts[classes.starts]
        for term in self.stepped:
            change = amounts[:, term, None] * columns.linear.inverse[term, hosts]
            squares = change * (2 * columns.values[term, hosts] + change)
            squares += self.sides.squares[kind, some, term][:, None]
            found += deviation(spread, term, squares, change + self.sides.sums[kind, some, term][:, None])
        return found, line[key]


def _ranges(was: Floats, least: Floats, most: Floats, mean: float, counts: Booleans) -> Floats:
    """Return the range of the change of squares and that of sums, a row for each kind, where it counts."""
    before = was * (was - 2 * mean)
    inner = np.clip(mean, least, most)
    upper = np.maximum(least * (least - 2 * mean), most * (most - 2 * mean)) - before
    return np.stack(
        [
            (inner * (inner - 2 * mean) - before).min(axis=1, where=counts, initial=np.inf),
            upper.max(axis=1, where=counts, initial=-np.inf),
            (least - was).min(axis=1, where=counts, initial=np.inf),
            (most - was).max(axis=1, where=counts, initial=-np.inf),
        ],
        axis=1,
    )


class HostParts:
    """What an amount changes the squares of hosts by: amount x `tilt` + square of the amount x `bend`."""

    def __init__(self, columns: Columns, spread: Spread) -> None:
        inverse = columns.linear.inverse
        self.tilt = 2 * inverse * (columns.values - spread.mean[:-1, None])
        self.bend = inverse * inverse
        self.online = columns.online

    def range_of(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Return the least and the most of it by term, over hosts that are online, for amounts in a range."""
        tilt, bend = self.tilt[:, self.online], self.bend[:, self.online]
        bottom = np.where(bend > 0, -tilt / np.where(bend > 0, 2 * bend, 1.0), 0.0)
        bottom = np.clip(bottom, least[:, None], most[:, None])
        low = (bottom * (tilt + bottom * bend)).min(axis=1)
        high = [(ends[:, None] * (tilt + ends[:, None] * bend)).max(axis=1) for ends in (least, most)]
        return low, np.maximum(*high)
