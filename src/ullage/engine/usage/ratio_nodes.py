"""Nodes composed anew from what really ran: how much of them is used, moment by moment, at each ratio.

A composed node has the memory of a real one. It takes workloads in a random order, none twice, until what
they were promised fills ratio x allocatable exactly; of the last one only the part that still fits counts.
All of them are taken at the same moments, so what peaks together in truth peaks together here. The order of
one node is the same for all ratios: a higher one only adds to it, so use never falls as the ratio grows.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.steps import Steps, counted
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.student import Floats

ANYWHERE: Final = -1
NEAR_PEAK: Final = 0.95
"""Slots of a day with at least this part of its peak are those which are over together with it."""


class Evidence(NamedTuple):
    """What is known of a group: peaks of workloads and nodes in slots of whole days, nothing missing.

    `uses` has a row for each workload, `own` says on which node alone it can be (a daemon). `beyond` is what
    is used of each node above its reserve by nobody who is known. Days are numbered since 1970.
    """

    requests: Integers
    uses: Integers
    own: Integers
    allocatable: Integers
    swap: Integers
    beyond: Integers
    day_slots: int
    day_numbers: Integers

    @property
    def days(self) -> int:
        """How many days were observed."""
        return len(self.day_numbers)


class Composed(NamedTuple):
    """What composed nodes use, by ratio.

    `over` and `over_swap` are the share of slots in which a node of the day is above its memory, and above
    memory and swap together, by day; `peaks` the logarithms of the highest use of each node on each day, as
    part of its memory, `near` how much of all time is near the peak of its day; `rooms` the logarithms of
    memory and swap together as part of memory.
    """

    over: Floats
    over_swap: Floats
    peaks: Floats
    near: Floats
    rooms: Floats


def composed(
    evidence: Evidence,
    ratios: Sequence[Fraction],
    growth: Floats,
    nodes: int,
    seed: int,
    *,
    steps: Steps | None = None,
) -> Composed:
    """Compose so many nodes by a seed; `growth` is what use is multiplied by, day by day."""
    evidence = in_order(evidence)
    random = np.random.Generator(np.random.PCG64(seed))
    days, slots = evidence.days, evidence.day_slots
    anywhere = np.flatnonzero(evidence.own == ANYWHERE)
    over = np.zeros((2, len(ratios), days))
    peaks = np.empty((len(ratios), nodes, days))
    near = np.empty((len(ratios), nodes))
    rooms = np.empty(nodes)
    factors = np.repeat(growth, slots)
    for number in counted(range(nodes), nodes, "nodes composed", steps):
        at = number * len(evidence.allocatable) // nodes
        whole = int(evidence.allocatable[at])
        limits = np.array([ratio.numerator * whole // ratio.denominator for ratio in ratios], np.int64)
        order = np.concatenate((np.flatnonzero(evidence.own == at), random.permutation(anywhere)))
        used = _filled(evidence, order, limits) + evidence.beyond[at]
        shares = (used * factors / whole).reshape(len(ratios), days, slots)
        room = 1 + int(evidence.swap[at]) / whole
        over[0] += np.count_nonzero(shares > 1, axis=2)
        over[1] += np.count_nonzero(shares > room, axis=2)
        highest = shares.max(axis=2)
        bars = np.where(highest > 0, NEAR_PEAK * highest, np.inf)
        near[:, number] = np.mean(shares >= bars[:, :, None], axis=(1, 2))
        with np.errstate(divide="ignore"):
            peaks[:, number] = np.log(highest)
        rooms[number] = np.log(room)
    over /= nodes * slots
    return Composed(over[0], over[1], peaks, near, rooms)


def in_order(evidence: Evidence) -> Evidence:
    """Return the same with nodes and workloads in an order that does not depend on names."""
    nodes = sorted(
        range(len(evidence.allocatable)),
        key=lambda at: (
            int(evidence.allocatable[at]),
            int(evidence.swap[at]),
            evidence.beyond[at].tolist(),
            sorted((int(evidence.requests[w]), *evidence.uses[w].tolist()) for w in _owned(evidence, at)),
        ),
    )
    place = {ANYWHERE: ANYWHERE} | {at: number for number, at in enumerate(nodes)}
    own = np.array([place[int(at)] for at in evidence.own], np.int64)
    workloads = sorted(
        range(len(own)),
        key=lambda at: (int(own[at]), int(evidence.requests[at]), evidence.uses[at].tolist()),
    )
    return Evidence(
        evidence.requests[workloads],
        evidence.uses[workloads],
        own[workloads],
        evidence.allocatable[nodes],
        evidence.swap[nodes],
        evidence.beyond[nodes],
        evidence.day_slots,
        evidence.day_numbers,
    )


def _owned(evidence: Evidence, node: int) -> list[int]:
    return [int(at) for at in np.flatnonzero(evidence.own == node)]


def _filled(evidence: Evidence, order: Integers, limits: Integers) -> Floats:
    """Return what workloads use, taken in order until each limit is reached, a row for each limit.

    Where all of them together are promised less than that, the same ones are there again in part.
    """
    promised = np.cumsum(evidence.requests[order])
    taken = min(int(np.searchsorted(promised, limits.max(initial=0), side="right")) + 1, len(order))
    order, promised = order[:taken], promised[:taken]
    sums = np.zeros((taken + 1, evidence.uses.shape[1]), np.int64)
    np.cumsum(evidence.uses[order], axis=0, out=sums[1:])
    whole = np.searchsorted(promised, limits, side="right")
    used: Floats = sums[whole].astype(np.float64)
    before = np.concatenate(([0], promised))[whole]
    partly = np.flatnonzero(whole < taken)
    last = order[whole[partly]]
    parts = (limits - before)[partly] / evidence.requests[last]
    used[partly] += parts[:, None] * evidence.uses[last]
    short = np.flatnonzero(whole == taken)
    if len(short) and taken and promised[-1] > 0:
        used[short] *= (limits[short] / promised[-1])[:, None]
    return used
