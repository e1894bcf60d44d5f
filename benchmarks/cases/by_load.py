"""The weight of memory in use in the score: how often nodes are over, and how many moves that takes.

Virtual machines fill twelve nodes to a ratio, in a random order, each where most can still be promised, so
that promises are even and use is not. A cluster has a higher ratio because its machines use less of what
they are promised: on the mean 86 % of all memory is in use at its daily peak, whatever the ratio. They are
balanced by the mean of the daily peaks of a week, with the weight W x (ratio - 1) for several W, and the week
that follows is the judge.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ullage.engine.balance.candidates import Balancing
from ullage.engine.balance.facts import NO_LOAD, View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.score import TERMS, values_of, with_load
from ullage.engine.balance.search import balance
from ullage.model.ganeti import GanetiCluster, GanetiGroup, GanetiNode, Instance

Table = npt.NDArray[np.float64]
GI = 1 << 30
DAY = 24
WEEK = 7 * DAY
NODES = 12
NODE_BYTES = 64 * GI
IN_USE = 0.86
FULL = Fraction(9, 10)
"""How much of what may be promised is: the rest is room for moves."""
RATIOS = tuple(Fraction(number, 10) for number in (10, 12, 14, 16, 18, 20))
WEIGHTS = (0, 1, 2, 5, 10, 20)
SEEDS = 20
GAIN_PARTS = 10


def cluster_of(ratio: Fraction, numbers: np.random.Generator) -> tuple[GanetiCluster, Table]:
    """Return a cluster and two weeks of what its machines use, hour by hour, in bytes."""
    left = [int(ratio * FULL * NODE_BYTES)] * NODES
    sizes: list[int] = []
    places: list[int] = []
    while True:
        size = int(numbers.choice([1, 2, 4, 8], p=[0.3, 0.35, 0.25, 0.1])) * GI
        at = max(range(NODES), key=lambda node: (left[node], -node))
        if left[at] < size:
            break
        left[at] -= size
        sizes.append(size)
        places.append(at)
    hours = np.arange(2 * WEEK)
    together = 1 + 0.15 * np.sin(2 * np.pi * hours / DAY)
    levels = numbers.beta(1.6, 2.4, (len(sizes), 1))
    shares = levels * together * np.exp(numbers.normal(0, 0.12, (len(sizes), len(hours))))
    days = np.exp(numbers.normal(0, 0.04, 14))
    uses = shares * np.repeat(days, DAY) * np.array(sizes)[:, None]
    uses *= IN_USE * NODES * NODE_BYTES / uses.sum(axis=0).reshape(14, DAY).max(axis=1).mean()
    nodes = tuple(
        GanetiNode(f"node-{at}", "g", NODE_BYTES, 0, NODE_BYTES, GI, GI, 1 << 20) for at in range(NODES)
    )
    instances = tuple(
        Instance(f"machine-{number:04}", size, (), 1000, f"node-{at}", template="ext")
        for number, (size, at) in enumerate(zip(sizes, places, strict=True))
    )
    return GanetiCluster((GanetiGroup("g", "g"),), nodes, instances), uses


def outcome(ratio: Fraction, weight: int, seed: int) -> tuple[float, int, float, float]:
    """Return how often nodes are over in the second week, the moves, and how uneven use and promises are."""
    cluster, uses = cluster_of(ratio, np.random.default_rng(seed))
    levels = uses[:, :WEEK].reshape(len(uses), 7, DAY).max(axis=2).mean(axis=1)
    loads = {
        each.name: NO_LOAD._replace(memory=float(int(level)))
        for each, level in zip(cluster.instances, levels, strict=True)
    }
    fleet = Fleet(cluster, View(exact=True, memory_ratio=ratio, loads=loads))
    terms = with_load(TERMS, ratio, float(weight * (ratio - 1)))
    uneven = [
        term.weight * value
        for term, value in zip(terms, values_of(fleet.hosts, fleet.states, terms), strict=True)
        if term.kind == "deviation"
    ]
    worth = sum(uneven) / (GAIN_PARTS * NODES)
    options = Balancing(min_score=-np.inf, min_gain=worth, min_gain_limit=np.inf)
    moves = sum(1 for _ in balance(fleet, options, terms))
    used = np.zeros((NODES, WEEK))
    for number, place in enumerate(fleet.places):
        used[place.primary] += uses[number, WEEK:]
    named = dict(zip((term.name for term in terms), values_of(fleet.hosts, fleet.states, terms), strict=True))
    return float(np.mean(used > NODE_BYTES)), moves, named["dynamic_mem_cv"], named["free_mem_cv"]


def run() -> dict[str, object]:
    """Measure every ratio and weight."""
    figures: dict[str, object] = {}
    over: dict[tuple[Fraction, int], float] = {}
    for ratio in RATIOS:
        for weight in WEIGHTS:
            found = np.array([outcome(ratio, weight, seed) for seed in range(SEEDS)]).mean(axis=0)
            over[ratio, weight] = float(found[0])
            name = f"ratio {float(ratio)}, weight {weight} x (ratio - 1)"
            figures[f"{name}: node-time over"] = float(found[0])
            figures[f"{name}: moves"] = float(found[1])
            figures[f"{name}: deviation of memory in use"] = float(found[2])
            figures[f"{name}: deviation of free memory"] = float(found[3])
    without = sum(over[ratio, 0] for ratio in RATIOS if ratio > 1)
    with_five = sum(over[ratio, 5] for ratio in RATIOS if ratio > 1)
    return {**figures, "bars": {"node-time over with 5, times that with 0": [with_five / without, "<=", 0.5]}}
