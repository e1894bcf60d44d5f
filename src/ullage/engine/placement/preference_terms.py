"""What draws workloads to nodes through other workloads: kube-scheduler's soft spread and inter-pod affinity.

Both count workloads by the values of node labels and are normalised over the nodes that would take the
workload. The hard thing is to do this in a few array operations: what depends on the set of such nodes alone
is kept while the set stays the same, and where one label decides, scores are made by value and looked up.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.counters import Counter
from ullage.engine.placement.node_columns import Codes, Flags
from ullage.engine.placement.rules import Rows

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Numbers = TypeVar("Numbers", Integers, Floats)
Whole = TypeVar("Whole", int, Integers)

FEW: Final = 16
"""Up to so many values, plain lists are faster than arrays."""

SCORE_MAX: Final = 100
HALF: Final = 1 / 2
SPREAD_WEIGHT: Final = 2
PULL_WEIGHT: Final = 2


class SpreadPart(NamedTuple):
    """One soft spread: what is counted, by which value of each node, and how much skew is forgiven.

    `by_node` says that each node is a value of its own; -1 is a node without the label, which counts for
    nothing.
    """

    counter: Counter
    codes: Codes
    skew_max: int
    by_node: bool


class Lookup:
    """The values that some nodes have: `codes` says which one each of them has, `present` which there are.

    No codes: the values are the nodes themselves, in order. None present: all values are, and every node has
    one. Otherwise there is one value more, the last, for nodes that have none.
    """

    __slots__ = ("codes", "nodes", "present", "size")

    def __init__(self, codes: Codes, values: int, rows: Rows) -> None:
        here: Places = codes[rows].astype(np.intp)
        seen = np.zeros(values + 1, np.bool_)
        seen[here] = True
        self.nodes = len(here)
        self.size = int(np.count_nonzero(seen))
        complete = self.size == values and not seen[-1]
        self.present: Places | None = None if complete else np.flatnonzero(seen)
        same = complete and self.size == self.nodes and bool((here == np.arange(self.size)).all())
        self.codes: Places | None = None if same else here

    def on_nodes(self, by_value: Numbers) -> Numbers:
        """Return for each node what its value has."""
        return by_value if self.codes is None else by_value.take(self.codes)

    def bounds(self, by_value: Integers) -> tuple[int, int]:
        """Return the least and the largest of what the values have."""
        if self.present is not None:
            by_value = by_value.take(self.present)
        return int(np.minimum.reduce(by_value)), int(np.maximum.reduce(by_value))

    def bounds_of_few(self, by_value: list[int]) -> tuple[int, int]:
        """Return the same where the values are a list."""
        if self.present is not None:
            by_value = [by_value[value] for value in self.present.tolist()]
        return min(by_value), max(by_value)


class SoftSpread:
    """All soft spreads of a shape; nodes that lack one of the labels score 0 where all are required."""

    def __init__(self, parts: Sequence[SpreadPart], *, all_required: bool) -> None:
        self.parts = parts
        self._labelled: Flags | None = None
        if all_required:
            labelled = np.logical_and.reduce([part.codes >= 0 for part in parts])
            self._labelled = None if labelled.all() else labelled

    def on(self, rows: Rows) -> "SpreadOn":
        """Return the spreads as they are seen where these nodes would take the shape."""
        places: Places | None = None
        if self._labelled is not None:
            labelled = self._labelled[rows]
            if not labelled.all():
                places = np.flatnonzero(labelled)
                rows = places if isinstance(rows, slice) else rows[places]
        return SpreadOn(self.parts, rows, places)


class SpreadOn:
    """Soft spreads over a set of nodes; `places` are those among them that have all labels, None for all."""

    def __init__(self, parts: Sequence[SpreadPart], rows: Rows, places: Places | None) -> None:
        self._places = places
        self._lookups: list[tuple[SpreadPart, float, Lookup]] = []
        for part in parts:
            found = Lookup(part.codes, len(part.counter.counts), rows)
            size = found.nodes if part.by_node else found.size
            self._lookups.append((part, math.log(size + 2), found))

    def scores(self, nodes: int) -> Integers:
        """Return the scores of the nodes, so many of them: 200 for the emptiest values."""
        if self._places is None:
            return self._scores()
        scores = np.zeros(nodes, np.int64)
        if len(self._places):
            scores[self._places] = self._scores()
        return scores

    def _scores(self) -> Integers:
        if len(self._lookups) > 1:
            return self._sum()
        ((part, weight, found),) = self._lookups
        if len(part.counter.counts) <= FEW:
            few = [int(each + HALF) for each in _of_few(part, weight, found)]
            low, high = found.bounds_of_few(few)
            return found.on_nodes(np.array([_fewest_best(each, low, high) for each in few], np.int64))
        many = _rounded(_of_many(part, weight, found))
        return found.on_nodes(_fewest_best(many, *found.bounds(many)))

    def _sum(self) -> Integers:
        total, *others = (_on_nodes(part, weight, found) for part, weight, found in self._lookups)
        for each in others:
            total = total + each
        raw = _rounded(total)
        return _fewest_best(raw, int(np.minimum.reduce(raw)), int(np.maximum.reduce(raw)))


def _on_nodes(part: SpreadPart, weight: float, found: Lookup) -> Floats:
    few = len(part.counter.counts) <= FEW
    return found.on_nodes(np.array(_of_few(part, weight, found)) if few else _of_many(part, weight, found))


def _of_few(part: SpreadPart, weight: float, found: Lookup) -> list[float]:
    """Return what a spread has against each value; nothing against nodes without one."""
    forgiven = part.skew_max - 1
    by_value = [count * weight + forgiven for count in part.counter.counts.tolist()]
    return by_value if found.present is None else [*by_value, 0]


def _of_many(part: SpreadPart, weight: float, found: Lookup) -> Floats:
    by_value: Floats = part.counter.counts * np.float64(weight)
    by_value += part.skew_max - 1
    return by_value if found.present is None else np.append(by_value, 0)


def _rounded(raw: Floats) -> Integers:
    """Return the nearest whole numbers, halves away from 0; none is negative."""
    whole: Integers = (raw + HALF).astype(np.int64)
    return whole


def _fewest_best(raw: Whole, low: int, high: int) -> Whole:
    """Return the score of what spreads have against a value: none has most, the largest has least."""
    if not high:
        return raw * 0 + SCORE_MAX * SPREAD_WEIGHT
    return (high + low - raw) * SCORE_MAX // high * SPREAD_WEIGHT


class Pulls:
    """The weighted terms that draw a shape to other workloads or push it away, by node label."""

    def __init__(self) -> None:
        self._by_label: dict[str, tuple[Codes, list[tuple[Counter, int]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_label)

    def add(self, label: str, codes: Codes, counter: Counter, weight: int) -> None:
        """Let each counted workload draw by so much; a negative weight pushes away."""
        self._by_label.setdefault(label, (codes, []))[1].append((counter, weight))

    def on(self, rows: Rows) -> "PullsOn":
        """Return the terms as they are seen where these nodes would take the shape."""
        found = [
            (terms, Lookup(codes, len(terms[0][0].counts), rows)) for codes, terms in self._by_label.values()
        ]
        return PullsOn(found)


class PullsOn:
    """Weighted terms over a set of nodes."""

    def __init__(self, labels: Sequence[tuple[list[tuple[Counter, int]], Lookup]]) -> None:
        self._labels = labels

    def scores(self) -> Integers:
        """Return the scores of the nodes: 200 where the sum of weights is largest, 0 where it is least."""
        if len(self._labels) > 1:
            return self._sum()
        ((terms, found),) = self._labels
        if len(terms[0][0].counts) > FEW:
            many = _weights(terms, found)
            return found.on_nodes(_stretched(many, *found.bounds(many)))
        few = _weights_of_few(terms, found)
        low, high = found.bounds_of_few(few)
        span = (high - low) or 1
        scores = [int((each - low) / span * SCORE_MAX) * PULL_WEIGHT for each in few]
        return found.on_nodes(np.array(scores, np.int64))

    def _sum(self) -> Integers:
        total = np.zeros(self._labels[0][1].nodes, np.int64)
        for terms, found in self._labels:
            total += found.on_nodes(_weights(terms, found))
        return _stretched(total, int(np.minimum.reduce(total)), int(np.maximum.reduce(total)))


def _weights(terms: Sequence[tuple[Counter, int]], found: Lookup) -> Integers:
    """Return the sum of weights by value, 0 for nodes without one."""
    (counter, weight), *others = terms
    total = counter.counts * weight
    for counter, weight in others:
        total += counter.counts * weight
    return total if found.present is None else np.append(total, 0)


def _weights_of_few(terms: Sequence[tuple[Counter, int]], found: Lookup) -> list[int]:
    (counter, weight), *others = terms
    total = [count * weight for count in counter.counts.tolist()]
    for counter, weight in others:
        total = [sum_ + count * weight for sum_, count in zip(total, counter.counts.tolist(), strict=True)]
    return total if found.present is None else [*total, 0]


def _stretched(raw: Integers, low: int, high: int) -> Integers:
    """Return the scores of sums of weights; where all are equal, none has any."""
    shares = (raw - low) / ((high - low) or 1)
    shares *= SCORE_MAX
    scores: Integers = shares.astype(np.int64)
    scores *= PULL_WEIGHT
    return scores


def normalised(raw: Integers, weight: int, *, fewest_best: bool) -> Integers | int:
    """Return raw counts as shares of the largest of them, times a weight; one number where all are equal."""
    high = int(raw.max(initial=0))
    if not high:
        return SCORE_MAX * weight if fewest_best else 0
    shares = raw * SCORE_MAX // high
    scores: Integers = (SCORE_MAX - shares if fewest_best else shares) * weight
    return scores
