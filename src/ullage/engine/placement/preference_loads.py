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
from ullage.engine.placement.room import WINDOWS
from ullage.engine.placement.rules import EVERY, Rows
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
QUARTER: Final = HALF // 2
HALF_USED: Final = 1 / 2
"""Half of what is used of a resource that is used up."""
# As arrays, numbers cost NumPy a third less than as Python's own.
_NONE: Final = np.array(0)
_ONE: Final = np.array(1)
_HALF_USED: Final = np.array(HALF_USED)
_WHOLE: Final = np.array(1, np.float64)
_SCORES: Final = np.array(SCORE_MAX, np.float64)

USED_CPU, USED_MEMORY, FREE_CPU, UNEVEN, FREE_MEMORY, BOUNDS = range(6)
"""Rows of what is known of nodes: what is requested, a hundred times what is free with the unstated counted,
and by how much less than 100 cpu and memory are evenly used. From BOUNDS on, what each of them is divided by:
twice the limit, the limit, and 1. Whole numbers as floats: exact up to 64 TiB of memory."""


class Counted(NamedTuple):
    """CPU and memory of a workload with what its containers do not state: to be placed, and running."""

    asked_cpu: int
    asked_memory: int
    cpu: int
    memory: int


class Amounts(NamedTuple):
    """What a shape changes in the rows above BOUNDS: where it is weighed, as a column, and once it runs."""

    weighed: Floats
    states_none: bool
    running: tuple[float, float, float, float]


class Desk:
    """Space to work out the scores of so many nodes, used again and again.

    The views are made once: to make one costs a third of what an operation on so few nodes costs.
    """

    __slots__ = (
        "asked", "bounds", "cpu", "even", "firsts", "halves", "least", "memory", "parts", "seconds", "shares",
        "sums", "table", "uneven", "whole",
    )  # fmt: skip

    def __init__(self, size: int) -> None:
        self.table: Floats = np.empty((2 * BOUNDS, size))
        self.asked: Floats = np.empty((BOUNDS, size))
        self.shares, self.bounds = self.table[:BOUNDS], self.table[BOUNDS:]
        self.halves = self.table[: USED_MEMORY + 1]
        self.cpu, self.memory = self.halves
        self.even = self.memory
        self.parts = self.table[USED_MEMORY:BOUNDS]
        self.whole: Integers = np.empty(self.parts.shape, np.int64)
        self.firsts, self.seconds = self.whole[:2], self.whole[2:]
        self.sums: Integers = np.empty((2, size), np.int64)
        self.uneven, self.least = self.sums


class Loads:
    """What is used of cpu and memory on each node, and the scores that follow from it.

    A resource that the policy does not bound has limit 0 and is not weighed. `like` are the loads of a
    cluster from which this one differs little.
    """

    def __init__(self, columns: Columns, order: npt.NDArray[np.intp], like: "Loads | None" = None) -> None:
        self.columns = columns
        self.known: dict[tuple[object, ...], tuple[Workload, Counted]] = {}
        self._known_before = {} if like is None else like.known
        limit = _both(columns, columns.limit)
        promised = _both(columns, columns.promised)
        self.unstated = self._unstated_running() if like is None else self._unstated_after(like)
        free = (limit - promised - self.unstated.T).astype(np.float64) * SCORE_MAX
        bound = np.maximum(limit, 1)
        one, twice = np.ones(len(order)), bound * 2
        rows = (*promised, free[0], one, free[1], *twice, bound[0], one, bound[1])
        self._state: Floats = np.ascontiguousarray(np.array(rows, np.float64)[:, order])
        self.width = len(order)
        self.items = cast("memoryview[float]", self._state.reshape(-1).data)
        weighed = np.maximum((limit > 0).sum(axis=0), 1)[order]
        self._halvings: Integers = weighed - 1
        self.both_weighed: Floats = (weighed == len(COUNTED)).astype(np.float64)
        self.all_weighed = bool(self.both_weighed.all())
        self.crowded = bool((promised > limit).any())
        self._desks = {size: Desk(size) for size in WINDOWS}
        self._state[UNEVEN] = 0
        even = self._work_out(np.zeros((BOUNDS, 1)), EVERY).whole[0]
        self._state[UNEVEN] = SCORE_MAX - even

    def counted(self, workload: Workload) -> Counted:
        """Return what a workload counts for."""
        identity = _identity(workload)
        found = self.known.get(identity) or self._known_before.get(identity)
        if found is None:
            requests = self.columns.taken(workload)
            found = self.known[identity] = workload, _counted(workload, requests)
        return found[1]

    def amounts(self, workload: Workload, requests: Resources) -> Amounts:
        """Return the amounts of a workload."""
        asked_cpu, asked_memory, counted_cpu, counted_memory = self.counted(workload)
        cpu, memory = requests.of(CPU), requests.of(MEMORY)
        weighed = [cpu, memory, -asked_cpu * SCORE_MAX, 0, -asked_memory * SCORE_MAX]
        running = (cpu, memory, -counted_cpu * SCORE_MAX, -counted_memory * SCORE_MAX)
        return Amounts(np.array(weighed, np.float64)[:, None], not cpu and not memory, running)

    def scores(self, amounts: Amounts, rows: Rows) -> Integers:
        """Return both scores of nodes added up, less a number that is the same for all nodes."""
        desk = self._work_out(amounts.weighed, rows)
        scores: Integers = desk.least.copy() if amounts.states_none else np.add(desk.least, desk.uneven)
        return scores

    def least(self, amounts: Amounts, rows: Rows) -> Integers:
        """Return how much of nodes would be left, of 100: the mean over cpu and memory."""
        least: Integers = self._work_out(amounts.weighed, rows).least
        return least.copy()

    def balanced(self, amounts: Amounts, rows: Rows) -> Integers:
        """Return by how much nodes would be used more evenly, 75 of 100 for no change.

        The score is skipped, and 0, where a workload states no request.
        """
        desk = self._work_out(amounts.weighed, rows)
        return np.zeros_like(desk.uneven) if amounts.states_none else desk.uneven + QUARTER

    def _work_out(self, weighed: Floats, rows: Rows) -> Desk:
        """Return a desk with what would be left of nodes, and by how much more evenly they would be used.

        Halving is exact, so this is kube-scheduler's arithmetic. No more than all counts as used; where no
        node is over its limit, more would be used only on nodes that do not take the shape.
        """
        if isinstance(rows, slice):
            desk = Desk(self.width)
            desk.table[...] = self._state
        else:
            desk = self._desks.get(len(rows)) or Desk(len(rows))
            self._state.take(rows, 1, desk.table, "clip")
        shares, even, whole, sums = desk.shares, desk.even, desk.whole, desk.sums
        desk.asked[...] = weighed
        np.add(shares, desk.asked, shares)
        np.divide(shares, desk.bounds, shares)
        if self.crowded:
            np.minimum(desk.halves, _HALF_USED, out=desk.halves)
        np.subtract(desk.cpu, desk.memory, even)
        np.abs(even, even)
        if not self.all_weighed:
            even *= self.both_weighed[rows]
        np.subtract(_WHOLE, even, even)
        np.multiply(even, _SCORES, even)
        whole[...] = desk.parts
        np.maximum(whole, _NONE, out=whole)
        np.add(desk.firsts, desk.seconds, sums)
        if self.all_weighed:
            np.right_shift(sums, _ONE, sums)
        else:
            desk.uneven >>= _ONE
            desk.least >>= self._halvings[rows]
        return desk

    def _unstated_running(self) -> Integers:
        """Return what running workloads count for on top of their requests, [node, resource]."""
        nodes = len(self.columns.nodes)
        extras: dict[tuple[int, int], int] = {}
        pairs = np.fromiter(self._kinds_and_rows(extras), np.int64)
        kinds, rows = np.divmod(pairs, max(1, nodes))
        total = np.zeros((nodes, len(COUNTED)), np.int64)
        if len(pairs):
            np.add.at(total, rows, np.array(list(extras), np.int64)[kinds])
        return total

    def _unstated_after(self, like: "Loads") -> Integers:
        """Return the same from what it was in a cluster that differs little, by the workloads that differ."""
        row_of, before = self.columns.node_index, like.columns
        total = np.zeros((len(row_of), len(COUNTED)), np.int64)
        for name, row in before.node_index.items():
            if name in row_of:
                total[row_of[name]] = like.unstated[row]
        put, dropped = before.snapshot.workloads.difference(self.columns.snapshot.workloads)
        for key in (*dropped, *(workload.key for workload in put)):
            old = before.snapshot.workloads.get(key)
            if old is not None and old.holds_capacity and old.node in row_of:
                total[row_of[old.node]] -= self._extra(old)
        for workload in put:
            if workload.holds_capacity:
                total[row_of[workload.node]] += self._extra(workload)
        return total

    def _extra(self, workload: Workload) -> tuple[int, int]:
        """Return by how much cpu and memory of a running workload count for more than its requests."""
        requests, counted = self.columns.taken(workload), self.counted(workload)
        return counted.cpu - requests.of(CPU), counted.memory - requests.of(MEMORY)

    def _kinds_and_rows(self, extras: dict[tuple[int, int], int]) -> Iterator[int]:
        """Yield the kind of extra * number of nodes + row of each workload that has any."""
        row_of = self.columns.node_index
        nodes = max(1, len(row_of))
        by_identity: dict[tuple[object, ...], int] = {}
        for run in self.columns.snapshot.workloads.runs():
            for workload in run:
                if not workload.node or workload.state not in HOLDING_STATES:
                    continue
                identity = _identity(workload)
                first = by_identity.get(identity)
                if first is None:
                    extra = self._extra(workload)
                    first = nodes * extras.setdefault(extra, len(extras)) if any(extra) else -1
                    by_identity[identity] = first
                if first >= 0:
                    yield first + row_of[workload.node]


class Load:
    """What one shape adds to the loads of nodes."""

    __slots__ = ("_loads", "amounts")

    def __init__(self, loads: Loads, amounts: Amounts) -> None:
        self.amounts = amounts
        self._loads = loads

    def add(self, row: int, count: int) -> None:
        """Take note of so many more workloads on a node."""
        loads = self._loads
        items, width = loads.items, loads.width
        used_cpu, used_memory, free_cpu, free_memory = self.amounts.running
        cpu = items[row] = items[row] + used_cpu * count
        at = row + width
        memory = items[at] = items[at] + used_memory * count
        items[at + width] += free_cpu * count
        items[row + FREE_MEMORY * width] += free_memory * count
        at = row + BOUNDS * width
        cpu /= items[at]
        memory /= items[at + width]
        if cpu > HALF_USED or memory > HALF_USED:
            loads.crowded = True
            cpu, memory = min(cpu, HALF_USED), min(memory, HALF_USED)
        if loads.all_weighed or loads.both_weighed[row]:
            items[row + UNEVEN * width] = SCORE_MAX - int((1 - abs(cpu - memory)) * SCORE_MAX)


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
