"""Rules between workloads: ports, affinity, anti-affinity and spread, each as a mask over nodes.

A rule that looks at one node's own state is `local`: a placement changes its mask on that node alone. The
others look at whole zones, and their masks are made anew when a counter they depend on has changed.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.counters import Counter
from ullage.engine.placement.node_columns import Codes, Flags

Rows = npt.NDArray[np.intp] | slice
EVERY: Final = slice(None)
SIZE_REASON: Final = "size of the node"
"""How reasons begin that speak of what a node has, however empty it is."""


class Holder(Protocol):
    """Something that a placed workload takes on its node, and gives back where the count is negative."""

    def add(self, row: int, count: int) -> None:
        """Take note of so many more workloads on a node."""


class Rule(Protocol):
    """Something that must hold on a node for a shape to be placed there.

    `once` says that a workload of the shape itself keeps the next one off its node.
    """

    reason: str
    local: bool
    once: bool

    def allows(self, rows: Rows) -> Flags:
        """Return which of these nodes it allows."""


class Away:
    """No counted workload may share the value of a label with the shape: anti-affinity, from either side.

    The label is empty where each node is counted for itself.
    """

    def __init__(self, counter: Counter, reason: str, *, local: bool, once: bool, label: str = "") -> None:
        self.reason = reason
        self.label = label
        self.local = local
        self.once = once and local
        self.counter = counter
        self._absent = counter.codes < 0
        self._any_absent = bool(self._absent.any())

    def allows(self, rows: Rows) -> Flags:
        """Return the nodes without such a neighbour; a node without the label has no neighbours."""
        free: Flags = self.counter.counts[self.counter.codes[rows]] == 0
        return free | self._absent[rows] if self._any_absent else free


class Near:
    """A counted workload must share the value of each label with the shape: affinity.

    Where there is no such workload anywhere, one that is meant by its own terms may be the first.
    """

    reason = "pod affinity"
    local = False
    once = False

    def __init__(self, counters: Sequence[Counter], *, may_be_first: bool) -> None:
        self.counters = counters
        self.may_be_first = may_be_first
        present = [counter.codes >= 0 for counter in counters]
        self._labelled: Flags = np.logical_and.reduce(present)

    def allows(self, rows: Rows) -> Flags:
        """Return the nodes that have all labels and a neighbour by each of them."""
        allowed = self._labelled[rows]
        if self.may_be_first and not any(counter.counts.any() for counter in self.counters):
            return allowed
        for counter in self.counters:
            allowed = allowed & (counter.counts[counter.codes[rows]] > 0)
        return allowed


class Spread:
    """Counted workloads may lie over the values of a label by so much more on one than on the emptiest.

    `codes` are the values of all nodes; the counter counts only on nodes that take part.
    """

    local = False
    once = False

    def __init__(
        self, counter: Counter, codes: Codes, label: str, *, skew_max: int, itself: int, domains_min: int
    ) -> None:
        self.reason = f"topology spread over {label}"
        self.counter = counter
        self._codes = codes
        self.labelled = codes >= 0
        self.room = skew_max - itself
        self._domains_min = domains_min
        self._nodes = np.bincount(counter.codes[counter.codes >= 0], minlength=len(counter.counts))
        self._look()

    def _look(self) -> None:
        """Take note of which values some node has."""
        self.present = np.flatnonzero(self._nodes)
        self._every = len(self.present) == len(self._nodes)
        self.from_zero = len(self.present) < self._domains_min

    def lose(self, row: int, *, back: bool) -> None:
        """Take a node out of the cluster, or bring it back: a value that no node has no longer counts."""
        code = int(self.counter.codes[row])
        if code >= 0:
            self._nodes[code] += 1 if back else -1
            if self._nodes[code] == int(back):
                self._look()

    def allows(self, rows: Rows) -> Flags:
        """Return the nodes on which one more keeps the skew in bounds."""
        counts = self.counter.counts
        if self.from_zero or not len(self.present):
            lowest = 0
        elif self._every:
            lowest = int(counts.min())
        else:
            lowest = int(counts[self.present].min())
        by_value = counts <= self.room + lowest
        return by_value[self._codes[rows]] & self.labelled[rows]


class Fixed:
    """A mask that no placement changes."""

    local = True
    once = False

    def __init__(self, open_rows: Flags, reason: str) -> None:
        self.reason = reason
        self._open = open_rows

    def allows(self, rows: Rows) -> Flags:
        """Return the nodes that are open."""
        return self._open[rows]


class Slotted:
    """A rule that only bounds how many replicas of its shape each node takes, and says how many that are."""
