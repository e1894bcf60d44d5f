"""What moves do to the two hosts that machines leave or keep, by kind, whichever new host they get.

All but one thing is the same for every new host: where the old primary becomes the standby (rf), or the old
standby stays one (frf), the memory that it keeps depends on what it keeps for the new host already. For these
the least and the most is given here, and the whole of it by `kept_for`.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.columns import FAILOVER, KINDS, Booleans, Columns, Floats, Integers

R: Final = KINDS.index("r")
RF: Final = KINDS.index("rf")
FRF: Final = KINDS.index("frf")
FR: Final = KINDS.index("fr")
FA: Final = KINDS.index("fa")
EACH: Final = range(len(KINDS) + 1)
"""All kinds, the failover last."""


def _column(*kinds: int) -> Integers:
    """Return a 1 for some kinds."""
    return np.array([[int(kind in kinds)] for kind in EACH])


LEAVES_PRIMARY: Final = _column(FRF, FR, FA)
PRIMARY_CHANGES: Final = _column(RF, FRF, FR, FA, FAILOVER)
TO_STANDBY: Final = _column(RF, FAILOVER)
"""Kinds in which the old primary becomes the standby."""
TAKES_OVER: Final = _column(FR, FAILOVER)
"""Kinds in which the old standby becomes the primary."""
LEAVES_STANDBY: Final = _column(R, RF)


class Sides(NamedTuple):
    """The two hosts of machines after a move: a row for each kind, in it one for each machine.

    `squares` and `sums` are what the squares and the sum of each deviation change by, `fixed` what the rest
    of the score does. Reserved memory is a share: of the primary and of the standby, least and most.
    """

    possible: Booleans
    squares: Floats
    sums: Floats
    fixed: Floats
    primary_least: Floats
    primary_most: Floats
    standby_least: Floats
    standby_most: Floats


def sides_of(columns: Columns, m: Integers) -> Sides:
    """Return what each kind of moves does to the two hosts of machines."""
    primary, standby = columns.primary[m], columns.standby[m]
    linear = columns.linear
    as_primary, as_standby = linear.primary[m], linear.standby[m]
    from_primary = TO_STANDBY[:, :, None] * as_standby - PRIMARY_CHANGES[:, :, None] * as_primary
    gone = TAKES_OVER + LEAVES_STANDBY
    from_standby = TAKES_OVER[:, :, None] * as_primary - gone[:, :, None] * as_standby
    squares, sums = np.zeros(from_primary.shape), np.zeros(from_primary.shape)
    for at, amounts in ((primary, from_primary), (standby, from_standby)):
        change = amounts * linear.inverse[:, at].T
        squares += change * (2 * columns.values[:, at].T + change)
        sums += change
    reserved = reserved_of(columns, m)
    fixed = _failing(columns, m, reserved) + _offline(columns, m)
    if columns.tagged[m].any():
        fixed = fixed + columns.weight["pri_tags_score"] * _conflicts(columns, m)
        if columns.has_pairs:
            fixed = fixed + columns.weight["location_exclusion_score"] * _paired(columns, m)
    if columns.has_locations:
        fixed = fixed + columns.weight["location_score"] * _locations(columns, m)
    share = columns.reserved_inverse
    return Sides(
        columns.allowed[:, m] & _possible(columns, m, reserved),
        squares,
        sums,
        fixed,
        reserved.primary_least * share[primary],
        reserved.primary_most * share[primary],
        reserved.standby_least * share[standby],
        reserved.standby_most * share[standby],
    )


class Reserved(NamedTuple):
    """The memory that the two hosts keep for others after a move, in bytes: the least and the most."""

    primary_before: Integers
    primary_least: Integers
    primary_most: Integers
    standby_left: Integers
    standby_least: Integers
    standby_most: Integers


def reserved_of(columns: Columns, m: Integers) -> Reserved:
    """Return what hosts of machines keep for others, by kind of move."""
    primary, standby, need = columns.primary[m], columns.standby[m], columns.need[m]
    before, left = columns.reserved[primary], left_of(columns, m)
    primary_least = np.repeat(before[None, :], len(EACH), axis=0)
    primary_most, standby_least = primary_least.copy(), np.repeat(left[None, :], len(EACH), axis=0)
    standby_most = standby_least.copy()
    swapped = np.maximum(before, columns.peers[primary, standby] + need)
    primary_least[FAILOVER] = primary_most[FAILOVER] = swapped
    primary_least[RF], primary_most[RF] = np.maximum(before, need), before + need
    standby_least[FRF], standby_most[FRF] = np.maximum(left, need), left + need
    return Reserved(before, primary_least, primary_most, left, standby_least, standby_most)


def left_of(columns: Columns, m: Integers) -> Integers:
    """Return the memory that standbys of machines keep for others without these, in bytes."""
    primary, standby = columns.primary[m], columns.standby[m]
    others = np.where(
        columns.reserved_for[standby] == primary, columns.reserved_next[standby], columns.reserved[standby]
    )
    found: Integers = np.maximum(np.maximum(others, columns.peers[standby, primary] - columns.need[m]), 0)
    return found


def kept_for(columns: Columns, kind: int, m: Integers) -> Integers:
    """Return what the host whose reserve depends on the new one keeps for each: a row for each machine."""
    at = columns.primary[m] if kind == RF else columns.standby[m]
    before = columns.reserved[at] if kind == RF else left_of(columns, m)
    found: Integers = np.maximum(before[:, None], columns.peers[at] + columns.need[m][:, None])
    return found


def _failing(columns: Columns, m: Integers, reserved: Reserved) -> Floats:
    """Return how many more machines are on hosts that could not take over, at least."""
    change: Integers = np.zeros((len(EACH), len(m)), np.int64)
    for at, uses, least, gone in (
        (columns.primary[m], PRIMARY_CHANGES, reserved.primary_least, LEAVES_PRIMARY),
        (columns.standby[m], -TAKES_OVER, reserved.standby_least, LEAVES_STANDBY),
    ):
        online, count = columns.online[at], columns.count[at]
        fails = columns.memory[at] + uses * columns.uses[m] - least <= columns.floor[at]
        change += (fails * (count - gone) - columns.fails[at] * count) * online
    found: Floats = columns.weight["n1_cnt"] * change.astype(np.float64)
    return found


def _offline(columns: Columns, m: Integers) -> Floats:
    """Return what leaving hosts that are offline is worth."""
    primary, standby = ~columns.online[columns.primary[m]], ~columns.online[columns.standby[m]]
    everyone, primaries = columns.weight["offline_all_cnt"], columns.weight["offline_pri_cnt"]
    found: Floats = -(
        (everyone * LEAVES_PRIMARY + primaries * PRIMARY_CHANGES) * primary
        + everyone * LEAVES_STANDBY * standby
    )
    return found


def _conflicts(columns: Columns, m: Integers) -> Floats:
    """Return how many more machines share a host with another one of their exclusion tag."""
    found = np.zeros((len(EACH), len(m)))
    for row in np.flatnonzero(columns.tagged[m]):
        tags = columns.machines[m[row]].exclusion_tags
        primary, standby = columns.primary[m[row]], columns.standby[m[row]]
        if columns.online[primary]:
            last = sum(columns.tag_rows[tag][primary] <= tags.count(tag) for tag in set(tags))
            found[:, row] -= PRIMARY_CHANGES[:, 0] * (len(tags) - last)
        found[:, row] += TAKES_OVER[:, 0] * conflicts_on(columns, tags)[standby]
    return found


def conflicts_on(columns: Columns, tags: Sequence[str]) -> Integers:
    """Return how many more conflicts each host would have with a machine of some tags."""
    found = np.full(columns.size + 1, len(tags))
    for tag in set(tags):
        found -= columns.tag_rows[tag] == 0
    return found


def _paired(columns: Columns, m: Integers) -> Floats:
    """Return how many more machines share a failure domain with their like, without the new host's."""
    found = np.zeros((len(EACH), len(m)))
    for row in np.flatnonzero(columns.tagged[m]):
        tags, left = left_domains(columns, int(m[row]))
        standby = columns.standby[m[row]]
        joined = columns.hosts[standby].locations if columns.online[standby] else frozenset()
        found[:, row] = PRIMARY_CHANGES[:, 0] * columns.pairs.more(tags, left)
        found[TAKES_OVER[:, 0] == 1, row] = columns.pairs.more(tags, left, joined)
    return found


def left_domains(columns: Columns, at: int) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return a machine's exclusion tags, and the failure domains in which it is counted with them."""
    primary = columns.primary[at]
    counts = columns.hosts[primary].locations if columns.online[primary] else frozenset()
    return columns.machines[at].exclusion_tags, counts


def _locations(columns: Columns, m: Integers) -> Floats:
    """Return the change of how machines are spread over failure domains, at least: without the new host's."""
    primary, standby = columns.primary[m], columns.standby[m]
    unmet_here, unmet_there = _unmet(columns, m, primary), _unmet(columns, m, standby)
    shared = columns.shared[primary, standby]
    here, there = columns.online[primary], columns.online[standby]
    found: Floats = -(here * (shared + PRIMARY_CHANGES * unmet_here)).astype(np.float64)
    found += TAKES_OVER * there * unmet_there
    found[FAILOVER] += there * shared
    return found


def _unmet(columns: Columns, m: Integers, at: Integers) -> Integers:
    """Return how many of the places that machines wish for their hosts do not have, one host for each.

    Wishes are few and machines many: a row of all hosts for each machine would be gigabytes.
    """
    wishes = {wish: row for row, wish in enumerate(columns.unmet_rows)}
    rows = np.array([wishes[columns.machines[each].desired_locations] for each in m], np.int64)
    found: Integers = np.stack(list(columns.unmet_rows.values()))[rows, at]
    return found


def _possible(columns: Columns, m: Integers, reserved: Reserved) -> Booleans:
    """Return for which machines the two hosts allow each kind of moves, to some new host at least."""
    primary, standby = columns.primary[m], columns.standby[m]
    disk = columns.disk > columns.disk_floor
    found = np.ones((len(EACH), len(m)), np.bool_)
    found[R] = (columns.memory[primary] > columns.floor[primary]) & disk[primary]
    force_primary, force_standby = columns.force_primary[m], columns.force_standby[m]
    found[RF] = _stands_by(columns, m, RF, reserved, force=force_standby, disk=disk[primary])
    over = columns.may[primary, standby] & _takes_over(columns, m, reserved.standby_left, disk)
    found[FR] = over
    found[FRF] = over & _stands_by(columns, m, FRF, reserved, force=force_primary, disk=disk[standby])
    ignored = disk[primary] | ~columns.online[primary]
    found[FAILOVER] = over & _stands_by(columns, m, FAILOVER, reserved, force=force_primary, disk=ignored)
    return found


def _takes_over(columns: Columns, m: Integers, left: Integers, hard_disk: Booleans) -> Booleans:
    """Return which machines their standbys could run."""
    at, uses = columns.standby[m], columns.uses[m]
    memory, floor = columns.memory[at], columns.floor[at]
    hard = (memory - uses > floor) & hard_disk[at]
    _, later, disk, spindles, cpu = columns.rooms[True, False][:, at]
    asked = columns.asked.primary[m]
    soft = (memory - uses - left > floor) | (memory - left <= floor)
    soft &= (asked[:, 1] <= later) & (disk >= 0) & (spindles >= 0) & (asked[:, 4] <= cpu)
    for row in np.flatnonzero(columns.tagged[m]):
        tags = columns.machines[m[row]].exclusion_tags
        soft[row] &= not any(columns.tag_rows[tag][at[row]] for tag in tags)
    found: Booleans = hard & (soft | columns.force_primary[m])
    return found


def _stands_by(
    columns: Columns, m: Integers, kind: int, reserved: Reserved, *, force: Booleans, disk: Booleans
) -> Booleans:
    """Return for which machines a host that they have already could be the standby."""
    asked, need = columns.asked.primary[m], columns.need[m]
    if kind == FRF:
        at, freed, freed_later = columns.standby[m], np.zeros_like(need), np.zeros_like(need)
        before, after = reserved.standby_left, reserved.standby_least[kind]
    else:
        at, freed, freed_later = columns.primary[m], asked[:, 0], asked[:, 1]
        before, after = reserved.primary_before, reserved.primary_least[kind]
    memory, floor = columns.memory[at] + freed, columns.floor[at]
    _, later, room, spindles, _ = columns.rooms[False, False][:, at]
    soft = (memory - after > floor) | (memory - before <= floor)
    soft &= (memory - need > floor) & (need - freed_later <= later) & (room >= 0) & (spindles >= 0)
    found: Booleans = disk & (soft | force)
    return found
