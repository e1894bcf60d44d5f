"""The scores of all moves of some machines, of one kind, to all hosts: as good as exact, many at a time.

Deviations are taken from the sums of squares and what a move changes of them, so a score differs from the
exact one by rounding: `Spread.doubt` bounds by how much. Which of the best is chosen is settled exactly.
"""

from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.columns import TO_PRIMARY, Booleans, Columns, Floats, Integers
from ullage.engine.balance.sides import (
    FA,
    FR,
    FRF,
    RF,
    R,
    Sides,
    conflicts_on,
    kept_for,
    left_domains,
    left_of,
)

ROUNDING: Final = 2.0**-52


class Spread(NamedTuple):
    """The deviations as they are: mean (from the centre) and variance by term, last the reserved memory.

    `constant` is the rest of the score, `doubt` more than what rounding may add to the score of a move.
    """

    size: int
    mean: Floats
    variance: Floats
    reserved: Floats
    weights: Floats
    constant: float
    doubt: float


def spread_of(columns: Columns, score: float) -> Spread:
    """Return how deviations are, in a state of some score."""
    count = max(columns.online_count, 1)
    reserved: Floats = columns.reserved * columns.reserved_inverse
    values = np.vstack([columns.values, reserved])[:, columns.online]
    mean = values.sum(axis=1) / count
    apart = values - mean[:, None]
    variance = (apart * apart).sum(axis=1) / count
    weights = np.append(columns.linear.weights, columns.weight["reserved_mem_cv"])
    doubt = float((weights * _doubts(columns, apart, variance, count)).sum()) + ROUNDING * (1.0 + abs(score))
    constant = score - float((weights * np.sqrt(variance)).sum())
    return Spread(count, mean, variance, reserved, weights, constant, doubt)


def _doubts(columns: Columns, apart: Floats, variance: Floats, count: int) -> Floats:
    """Return by how much rounding may change each deviation after a move, here or in a plain sum."""
    largest = np.abs(apart).max(axis=1, initial=0.0)
    change = np.append(columns.largest_change, 1.0)
    error = ROUNDING * (count * variance + 16 * (largest + change) ** 2)
    lowest = np.maximum(variance - 3 * change * (2 * largest + change) / count, error)
    found: Floats = 2 * error / np.sqrt(np.where(lowest > 0, lowest, 1.0))
    return found


def deviation(spread: Spread, term: int, squares: Floats, sums: Floats) -> Floats:
    """Return a weighted deviation after its squares and its sum changed."""
    count = spread.size
    change = (squares - sums * (2 * spread.mean[term] + sums / count)) / count
    found: Floats = spread.weights[term] * np.sqrt(np.maximum(spread.variance[term] + change, 0.0))
    return found


def failover_scores(columns: Columns, spread: Spread, sides: Sides) -> Floats:
    """Return the scores of swapping the two hosts of each machine; infinite where that is not possible."""
    score = spread.constant + sides.fixed
    for term in range(sides.squares.shape[1]):
        score = score + deviation(spread, term, sides.squares[:, term], sides.sums[:, term])
    old = spread.reserved[columns.primary], spread.reserved[columns.standby]
    new = sides.primary_least, sides.standby_least
    squares = new[0] ** 2 - old[0] ** 2 + new[1] ** 2 - old[1] ** 2
    sums = new[0] - old[0] + new[1] - old[1]
    score = score + deviation(spread, -1, squares, sums) + columns.weight["reserved_mem_rtotal"] * sums
    return np.where(sides.possible, score, np.inf)


def target_scores(columns: Columns, spread: Spread, kind: int, m: Integers, sides: Sides) -> Floats:
    """Return the scores of moves to each host, a row for each machine; infinite where one is not possible."""
    linear = columns.linear
    amounts = (linear.primary if TO_PRIMARY[kind] else linear.standby)[m]
    score = np.zeros((len(m), columns.size + 1))
    for term in range(amounts.shape[1]):
        change = amounts[:, term, None] * linear.inverse[term]
        squares = change * (2 * columns.values[term] + change) + sides.squares[:, term, None]
        score += deviation(spread, term, squares, change + sides.sums[:, term, None])
    primary, standby = columns.primary[m], columns.standby[m]
    shares = [sides.primary_least[:, None], sides.standby_least[:, None]]
    possible = columns.online & sides.possible[:, None]
    fixed = (spread.constant + sides.fixed)[:, None]
    if kind in {RF, FRF}:
        at = primary if kind == RF else standby
        kept = kept_for(columns, kind, m)
        shares[0 if kind == RF else 1] = kept * columns.reserved_inverse[at][:, None]
        allowed, failing = _kept(columns, kind, m, kept)
        possible = possible & allowed
        fixed = fixed + columns.weight["n1_cnt"] * failing
    allowed, failing, share = _taken(columns, kind, m)
    rows = np.arange(len(m))
    allowed[rows, primary] = allowed[rows, standby] = False
    squares, sums = -(spread.reserved**2), -spread.reserved
    squares, sums = squares + share * share, sums + share
    for at, new in ((primary, shares[0]), (standby, shares[1])):
        old = spread.reserved[at][:, None]
        squares, sums = squares + new * new - old * old, sums + new - old
    score += deviation(spread, -1, squares, sums) + columns.weight["reserved_mem_rtotal"] * sums
    score += fixed + columns.weight["n1_cnt"] * failing
    _add_tags(columns, kind, m, score)
    if columns.has_locations:
        score += columns.weight["location_score"] * _locations(columns, kind, m)
    return np.where(possible & allowed, score, np.inf)


def _kept(columns: Columns, kind: int, m: Integers, kept: Integers) -> tuple[Booleans, Floats]:
    """Return whether the host whose reserve depends on the new host allows each, and what fails by it."""
    if kind == RF:
        at, memory = columns.primary[m], columns.memory[columns.primary[m]] + columns.uses[m]
        before, force = columns.reserved[at], columns.force_standby[m]
    else:
        at, memory = columns.standby[m], columns.memory[columns.standby[m]]
        before, force = left_of(columns, m), columns.force_primary[m]
    floor = columns.floor[at]
    fails = memory[:, None] - kept <= floor[:, None]
    allowed = ~fails | (force | (memory - before <= floor))[:, None]
    counted = memory - np.maximum(before, columns.need[m]) <= floor
    more = (fails & ~counted[:, None]) * (columns.online[at] * columns.count[at])[:, None]
    return allowed, more.astype(np.float64)


def _taken(columns: Columns, kind: int, m: Integers) -> tuple[Booleans, Floats, Floats]:
    """Return which hosts take machines, how many more machines are on failing ones, and what they reserve."""
    to_primary = TO_PRIMARY[kind]
    asked = (columns.asked.primary if to_primary else columns.asked.standby)[m]
    force = forced(columns, kind, m)
    memory = columns.memory - columns.floor
    soft, hard = columns.rooms[to_primary, False], columns.rooms[to_primary, True]
    allowed = np.ones((len(m), columns.size + 1), np.bool_)
    for each in range(asked.shape[1]):
        allowed &= asked[:, each, None] <= soft[each]
    if force.any():
        for row in np.flatnonzero(force):
            allowed[row] = (asked[row][:, None] <= hard).all(axis=0)
    if to_primary:
        fails = memory - columns.uses[m][:, None] - columns.reserved <= 0
        share: Floats = columns.reserved * columns.reserved_inverse
    else:
        peer = columns.primary[m] if kind == R else columns.standby[m]
        reserved = np.maximum(columns.reserved, columns.peers[:, peer].T + columns.need[m][:, None])
        fails = memory - reserved <= 0
        allowed &= ~fails | columns.fails | force[:, None]
        share = reserved * columns.reserved_inverse
    return allowed, fails * (columns.count + 1.0) - columns.fails * columns.count, share


def forced(columns: Columns, kind: int, m: Integers | slice) -> Booleans:
    """Return for which machines the new host's soft rules are ignored."""
    if kind == RF:
        return np.full(len(columns.need[m]), columns.options.force)
    found: Booleans = (columns.force_standby if kind == R else columns.force_primary)[m]
    return found


def _add_tags(columns: Columns, kind: int, m: Integers, score: Floats) -> None:
    """Add to scores what live migration forbids, and what exclusion tags forbid or cost."""
    primary, standby = columns.primary[m], columns.standby[m]
    if kind in {RF, FA, FRF}:
        may = columns.may[standby if kind == FRF else primary]
        score[~may] = np.inf
    if not TO_PRIMARY[kind]:
        return
    force = forced(columns, kind, m)
    for row in np.flatnonzero(columns.tagged[m]):
        tags = columns.machines[m[row]].exclusion_tags
        score[row] += columns.weight["pri_tags_score"] * conflicts_on(columns, tags)
        if columns.has_pairs:
            score[row] += columns.weight["location_exclusion_score"] * _joined(columns, int(m[row]))
        if not force[row]:
            present = np.add.reduce([columns.tag_rows[tag] for tag in tags])
            score[row, present > 0] = np.inf


def _joined(columns: Columns, at: int) -> Floats:
    """Return how many more machines share a failure domain with their like by what each new host adds."""
    tags, left = left_domains(columns, at)
    gone = columns.pairs.more(tags, left)
    more = {
        places: columns.pairs.more(tags, left, places) - gone
        for places in {host.locations for host in columns.hosts}
    }
    return np.array([*(more[host.locations] for host in columns.hosts), 0.0])


def _locations(columns: Columns, kind: int, m: Integers) -> Integers:
    """Return what the new host adds to how machines are spread over failure domains."""
    primary, standby = columns.primary[m], columns.standby[m]
    beside = standby if kind in {FRF, FR} else primary
    found: Integers = columns.shared[beside]
    if kind == FA:
        found = np.zeros_like(found)
    if TO_PRIMARY[kind]:
        unmet = np.array([columns.unmet_rows[columns.machines[at].desired_locations] for at in m])
        found = found + unmet
    else:
        found = found * columns.online[primary if kind == R else standby][:, None]
    return found
