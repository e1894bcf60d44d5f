"""How full nodes are in the eyes of kube-scheduler: its NodeResourcesFit and NodeResourcesBalancedAllocation.

Both look at cpu and memory alone. The hard thing is what counts as used: for the first score each container
that states no request counts as 100m and 200Mi, on running workloads too; the second takes requests as they
are. What a pod states as a whole replaces the sum of its containers, save where the first score looks at the
pod to be placed: there kube-scheduler does not see it. The arithmetic is kube-scheduler's own, integers where
it has integers and 64-bit floats where it has those, so that the scores are equal and not merely close.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, cast

import msgspec
import numpy as np
import numpy.typing as npt

from ullage.engine.columns import Columns
from ullage.engine.placement.rules import Rows
from ullage.engine.requests import effective_request
from ullage.model.cluster import HOLDING_STATES, Container, Workload
from ullage.model.resources import Resources

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CPU: Final = "cpu"
MEMORY: Final = "memory"
COUNTED: Final = (CPU, MEMORY)
UNSTATED: Final = Resources({CPU: 100, MEMORY: 200 << 20})
"""What a container counts for where it states no request."""
SCORE_MAX: Final = 100
HALF: Final = SCORE_MAX // 2
# As arrays, numbers cost NumPy a third less than as Python's own.
_NONE: Final = np.array(0)
_ONE: Final = np.array(1)
_WHOLE: Final = np.array(1, np.float64)
_SCORES: Final = np.array(SCORE_MAX, np.float64)

FREE, USED, LIMIT, TWICE = 0, 2, 4, 6
"""Rows of what is known of nodes, cpu before memory: a hundred times what is free with the unstated counted,
what is requested, the limit, and twice the limit. Whole numbers as floats: exact up to 64 TiB of memory."""


class Counted(NamedTuple):
    """CPU and memory of a workload with what its containers do not state: to be placed, and running."""

    asked_cpu: int
    asked_memory: int
    cpu: int
    memory: int


class Amounts(NamedTuple):
    """What a shape changes in FREE and USED: where it is weighed, as a column, and once it runs."""

    weighed: Floats
    states_none: bool
    running: tuple[float, float, float, float]


class Loads:
    """What is used of cpu and memory on each node, and the scores that follow from it.

    A resource that the policy does not bound has limit 0 and is not weighed. `_surplus` is by how much the
    cpu and memory of a node are used less than half evenly.
    """

    def __init__(self, columns: Columns, order: npt.NDArray[np.intp]) -> None:
        self._columns = columns
        self._known: dict[tuple[object, ...], tuple[Workload, Counted]] = {}
        limit = _both(columns, columns.limit)
        promised = _both(columns, columns.promised)
        free = limit - promised - self._unstated_running()
        bound = np.maximum(limit, 1)
        rows = np.concatenate((free.astype(np.float64) * SCORE_MAX, promised, bound, bound))
        self._state: Floats = np.ascontiguousarray(rows[:, order])
        self._state[TWICE:] *= 2
        weighed = np.maximum((limit > 0).sum(axis=0), 1)[order]
        self._weighed: Integers = weighed
        self._both_weighed: Floats = (weighed == len(COUNTED)).astype(np.float64)
        self._all_weighed = bool(self._both_weighed.all())
        self._crowded = bool((promised > limit).any())
        used = np.minimum(self._state[USED:LIMIT], self._state[LIMIT:TWICE])
        self._surplus: Integers = HALF - self._evenness(used / self._state[TWICE:], slice(None))
        self._items = cast("memoryview[float]", self._state.reshape(-1).data)

    def counted(self, workload: Workload) -> Counted:
        """Return what a workload counts for."""
        identity = _identity(workload)
        found = self._known.get(identity)
        if found is None:
            requests = self._columns.taken(workload)
            found = self._known[identity] = workload, _counted(workload, requests)
        return found[1]

    def amounts(self, workload: Workload, requests: Resources) -> Amounts:
        """Return the amounts of a workload."""
        asked_cpu, asked_memory, counted_cpu, counted_memory = self.counted(workload)
        cpu, memory = requests.of(CPU), requests.of(MEMORY)
        weighed = [-asked_cpu * SCORE_MAX, -asked_memory * SCORE_MAX, cpu, memory]
        running = (-counted_cpu * SCORE_MAX, -counted_memory * SCORE_MAX, cpu, memory)
        return Amounts(np.array(weighed, np.float64)[:, None], not cpu and not memory, running)

    def add(self, amounts: Amounts, row: int, count: int) -> None:
        """Count so many more workloads on a node."""
        items, width = self._items, len(self._weighed)
        free_cpu, free_memory, used_cpu, used_memory = amounts.running
        items[row] += free_cpu * count
        items[row + width] += free_memory * count
        at = row + USED * width
        cpu = items[at] = items[at] + used_cpu * count
        memory = items[at + width] = items[at + width] + used_memory * count
        at = row + LIMIT * width
        cpu_limit, memory_limit = items[at], items[at + width]
        if cpu > cpu_limit or memory > memory_limit:
            self._crowded = True
            cpu, memory = min(cpu, cpu_limit), min(memory, memory_limit)
        if self._all_weighed or self._both_weighed[row]:
            apart = abs(cpu / (cpu_limit * 2) - memory / (memory_limit * 2))
            self._surplus[row] = HALF - int((1 - apart) * SCORE_MAX)

    def scores(self, amounts: Amounts, rows: Rows) -> Integers:
        """Return both scores of nodes added up, less a number that is the same for all nodes."""
        shares = self._shares(amounts, rows)
        scores = self._least(shares, rows)
        if not amounts.states_none:
            scores += self._gain(shares, rows)
        return scores

    def least(self, amounts: Amounts, rows: Rows) -> Integers:
        """Return how much of nodes would be left, of 100: the mean over cpu and memory."""
        return self._least(self._shares(amounts, rows), rows)

    def balanced(self, amounts: Amounts, rows: Rows) -> Integers:
        """Return by how much nodes would be used more evenly, 75 of 100 for no change.

        The score is skipped, and 0, where a workload states no request.
        """
        if amounts.states_none:
            return np.zeros(len(self._weighed[rows]), np.int64)
        return self._gain(self._shares(amounts, rows), rows) + HALF

    def _shares(self, amounts: Amounts, rows: Rows) -> Floats:
        """Return what would be left of cpu and memory, in hundredths, and halves of what would be used.

        No more than all counts as used; where no node is over its limit, more would be used only on nodes
        that do not take the shape.
        """
        state = self._state.copy() if isinstance(rows, slice) else self._state.take(rows, axis=1)
        shares: Floats = state[:LIMIT]
        shares += amounts.weighed
        if self._crowded:
            np.minimum(shares[USED:], state[LIMIT:TWICE], out=shares[USED:])
        shares /= state[LIMIT:]
        return shares

    def _least(self, shares: Floats, rows: Rows) -> Integers:
        left: Integers = shares[FREE:USED].astype(np.int64)
        np.maximum(left, _NONE, out=left)
        mean: Integers = left[0] + left[1]
        if self._all_weighed:
            mean >>= _ONE
        else:
            mean //= self._weighed[rows]
        return mean

    def _gain(self, shares: Floats, rows: Rows) -> Integers:
        gain = self._evenness(shares[USED:], rows)
        gain += self._surplus if isinstance(rows, slice) else self._surplus.take(rows)
        gain >>= _ONE
        return gain

    def _evenness(self, halves: Floats, rows: Rows) -> Integers:
        """Return how evenly cpu and memory are used, of 100, from halves of the shares that are used.

        Halving is exact, so this is kube-scheduler's arithmetic.
        """
        apart = halves[0] - halves[1]
        np.abs(apart, out=apart)
        if not self._all_weighed:
            apart *= self._both_weighed[rows]
        np.subtract(_WHOLE, apart, out=apart)
        apart *= _SCORES
        even: Integers = apart.astype(np.int64)
        return even

    def _unstated_running(self) -> Integers:
        """Return what running workloads count for on top of their requests."""
        nodes = len(self._columns.nodes)
        extras: dict[tuple[int, int], int] = {}
        pairs = np.fromiter(self._unstated(extras), np.int64)
        kinds, rows = np.divmod(pairs, max(1, nodes))
        total = np.zeros((nodes, 2), np.int64)
        if len(pairs):
            np.add.at(total, rows, np.array(list(extras), np.int64)[kinds])
        return total.T

    def _unstated(self, extras: dict[tuple[int, int], int]) -> Iterator[int]:
        """Yield the kind of extra * number of nodes + row of each workload that has any."""
        row_of = self._columns.node_index
        nodes = max(1, len(row_of))
        by_identity: dict[tuple[object, ...], int] = {}
        for run in self._columns.snapshot.workloads.runs():
            for workload in run:
                if not workload.node or workload.state not in HOLDING_STATES:
                    continue
                identity = _identity(workload)
                first = by_identity.get(identity)
                if first is None:
                    requests = self._columns.taken(workload)
                    counted = self.counted(workload)
                    extra = (counted.cpu - requests.of(CPU), counted.memory - requests.of(MEMORY))
                    first = nodes * extras.setdefault(extra, len(extras)) if any(extra) else -1
                    by_identity[identity] = first
                if first >= 0:
                    yield first + row_of[workload.node]


class Load:
    """What one shape adds to the loads of nodes."""

    def __init__(self, loads: Loads, amounts: Amounts) -> None:
        self.amounts = amounts
        self._loads = loads

    def add(self, row: int, count: int) -> None:
        """Take note of so many more workloads on a node."""
        self._loads.add(self.amounts, row, count)


def _both(columns: Columns, table: Integers) -> Integers:
    """Return cpu and memory of a table by node, 0 where no node has them."""
    found = np.zeros((len(COUNTED), len(columns.nodes)), np.int64)
    for place, name in enumerate(COUNTED):
        column = columns.resource_index.get(name)
        if column is not None:
            found[place] = table[:, column]
    return found


def _identity(workload: Workload) -> tuple[object, ...]:
    """Return what replicas share: the objects that their requests were read into."""
    return id(workload.containers), id(workload.requests), id(workload.overhead), workload.kind


def _counted(workload: Workload, requests: Resources) -> Counted:
    """Return cpu and memory; requests other than the sum of the containers were stated as a whole."""
    overhead = workload.overhead
    containers = workload.containers or (Container("", requests=requests - overhead),)
    filled = effective_request([_filled(each) for each in containers], overhead)
    stated = effective_request(containers, overhead)
    as_a_whole = any(stated.of(name) != requests.of(name) for name in COUNTED)
    running = {**filled, **requests.only(COUNTED)} if as_a_whole else filled
    return Counted(filled[CPU], filled[MEMORY], running[CPU], running[MEMORY])


def _filled(container: Container) -> Container:
    return msgspec.structs.replace(container, requests=Resources({**UNSTATED, **container.requests}))
