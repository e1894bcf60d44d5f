"""Who usually asks for devices: what runs, what waits and what is expected, as shapes with their frequency.

The hard thing is where each of them may go: selectors, taints and names of resources all say so. Nodes that
are open to the same of them form a class, and a shape knows its classes, which the score against
fragmentation takes for models of devices.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.placement.device_shares import devices_asked
from ullage.engine.placement.fragmentation import Shape, typical_mix
from ullage.engine.placement.held_devices import amounts_milli
from ullage.engine.placement.node_columns import Flags, NodeColumns
from ullage.model.cluster import HOLDING_STATES, Batch, Workload
from ullage.model.constraints import Constraints
from ullage.model.resources import Resources

CLASSES_MAX: Final = 256
"""Classes of nodes that are told apart; whoever would need more is taken to be welcome everywhere."""
NOWHERE: Final = frozenset(("nowhere",))
"""The class of no node."""


class Asking(NamedTuple):
    """What a workload asks for beside devices, how many of these with how many thousandths, and where."""

    requests: Resources
    device_count: int
    device_milli: int
    open: Flags


class DeviceMix:
    """Shapes that ask for devices; `classes` has the class of each node, nothing for one without devices."""

    def __init__(
        self, columns: Columns, nodes: NodeColumns, offered: Mapping[str, Flags], expected: Iterable[Batch]
    ) -> None:
        self._nodes = nodes
        self._offered = offered
        self._resources = tuple(columns.resources)
        self._classes_of: dict[bytes, frozenset[str]] = {}
        counted = self._counted(columns, expected)
        self.classes = self._classify(counted)
        found: Counter[Shape] = Counter()
        for asking, count in counted:
            found[self.shape_of(asking)] += count
        self.mix = typical_mix(found.elements())

    def asking(self, requests: Resources, constraints: Constraints) -> Asking:
        """Return what is asked for: no devices where there are none of its kind."""
        for name, amount_milli in amounts_milli(requests, self._offered).items():
            parts = devices_asked(amount_milli)
            if parts is not None:
                return Asking(requests, *parts, self._nodes.closed_to(constraints).open & self._offered[name])
        return Asking(requests, 0, 0, self._nodes.closed_to(constraints).open)

    def shape_of(self, asking: Asking) -> Shape:
        """Return what is asked for as the score against fragmentation sees it."""
        amounts = tuple(0 if name in self._offered else asking.requests.of(name) for name in self._resources)
        classes = self._classes_of.get(asking.open.tobytes(), frozenset())
        return Shape(amounts, asking.device_count, asking.device_milli, classes)

    def _counted(self, columns: Columns, expected: Iterable[Batch]) -> list[tuple[Asking, int]]:
        """Return what is asked for and how often, the most frequent first."""
        counts: Counter[tuple[int, int, str]] = Counter()
        first: dict[tuple[int, int, str], Workload] = {}
        for workload, count in _asking_workloads(columns, expected):
            key = (id(workload.requests), id(workload.constraints), workload.kind)
            counts[key] += count
            first.setdefault(key, workload)
        found = []
        for key, workload in first.items():
            asking = self.asking(columns.taken(workload), workload.constraints)
            if asking.device_count:
                found.append((asking, counts[key]))
        return sorted(found, key=lambda each: -each[1])

    def _classify(self, counted: Sequence[tuple[Asking, int]]) -> list[str]:
        """Return the class of each node, and note which classes are open to whom."""
        with_devices: Flags = np.logical_or.reduce(list(self._offered.values()))
        rows = np.flatnonzero(with_devices)
        codes = np.zeros(len(rows), np.intp)
        told_apart: dict[bytes, Flags] = {}
        for asking, _ in counted:
            key = asking.open.tobytes()
            if key in told_apart:
                continue
            names, finer = np.unique(codes * 2 + asking.open[rows], return_inverse=True)
            if len(names) <= CLASSES_MAX:
                codes = finer
                told_apart[key] = asking.open[rows]
        for key, flags in told_apart.items():
            if not flags.all():
                self._classes_of[key] = frozenset(map(str, set(codes[flags].tolist()))) or NOWHERE
        classes = [""] * len(with_devices)
        for row, code in zip(rows.tolist(), codes.tolist(), strict=True):
            classes[row] = str(code)
        return classes


def _asking_workloads(columns: Columns, expected: Iterable[Batch]) -> Iterator[tuple[Workload, int]]:
    """Yield what runs or waits, and what is expected and not among these, with how many there are."""
    workloads = columns.snapshot.workloads
    for run in workloads.runs():
        for workload in run:
            if workload.state == "init" or (workload.node and workload.state in HOLDING_STATES):
                yield workload, 1
    for batch in expected:
        if batch.replicas > 0 and workloads.get(batch.key) is None:
            yield batch.workload, batch.replicas
