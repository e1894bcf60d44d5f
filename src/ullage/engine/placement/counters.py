"""How many workloads of a kind there are in each zone, rack or node, kept up to date as they are placed.

What others see of a workload (its namespace, labels, ports, affinity) is its `Member`; replicas share one.
A `Counter` counts the members it means by the values of a node label. It is filled from the running
workloads by a few array operations, and each placement changes one number.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ullage.engine.placement.node_columns import Codes
from ullage.model.cluster import HOLDING_STATES, Snapshot, Workload
from ullage.model.constraints import Constraints, HostPort, PodAffinityTerm

Integers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
ANY_ADDRESS: Final = frozenset(("", "0.0.0.0"))  # noqa: S104 - compared with, nothing listens here


class Member:
    """What rules see of a workload; one object for all workloads that are equal in this."""

    __slots__ = ("constraints", "counted_by", "counters_seen", "labels", "namespace", "terminating")

    def __init__(
        self, namespace: str, labels: Mapping[str, str], constraints: Constraints, *, terminating: bool
    ) -> None:
        self.namespace = namespace
        self.labels = labels
        self.constraints = constraints
        self.terminating = terminating
        self.counted_by: list[Counter] = []
        self.counters_seen = 0

    @property
    def ports(self) -> tuple[HostPort, ...]:
        """The ports of its node that it takes."""
        return self.constraints.host_ports

    @property
    def required_away(self) -> tuple[PodAffinityTerm, ...]:
        """The workloads that may not be near it."""
        affinity = self.constraints.affinity
        return affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()

    @property
    def required_near(self) -> tuple[PodAffinityTerm, ...]:
        """The workloads that must be near it."""
        affinity = self.constraints.affinity
        return affinity.pod_affinity.required if affinity and affinity.pod_affinity else ()


Means = Callable[[Member], bool]


class Counter:
    """Workloads that a rule means, by the values of a label; nodes with code -1 are not counted on."""

    __slots__ = ("_code_of", "codes", "counts", "dependents", "means")

    def __init__(self, codes: Codes, size: int, means: Means) -> None:
        self.codes = codes
        self.counts: Integers = np.zeros(max(size, 1), np.int64)
        self.means = means
        self.dependents: list[Dependent] = []
        self._code_of = codes.tolist()

    def add(self, row: int, count: int) -> None:
        """Count so many more workloads on a node."""
        code = self._code_of[row]
        if code >= 0:
            self.counts[code] += count
            for each in self.dependents:
                each.stale = True

    def add_many(self, rows: Rows, counts: Integers) -> None:
        """Count so many more workloads on each of these nodes."""
        codes = self.codes[rows]
        known = codes >= 0
        np.add.at(self.counts, codes[known], counts[known])
        for each in self.dependents:
            each.stale = True

    def fill(self, rows: Rows) -> None:
        """Count one workload on each of these nodes."""
        codes = self.codes[rows]
        self.counts += np.bincount(codes[codes >= 0], minlength=len(self.counts))


class Dependent:
    """Something that is to be judged again when a counter that it looks at has changed."""

    __slots__ = ("stale",)

    def __init__(self) -> None:
        self.stale = True


class Members:
    """What rules see of each workload, and the running ones as pairs of member and node row."""

    def __init__(self, snapshot: Snapshot, row_of: Mapping[str, int]) -> None:
        self._snapshot = snapshot
        self._row_of = row_of
        self._known: dict[tuple[object, ...], Member] = {}
        self._all: list[Member] = []
        self._place: dict[Member, int] = {}
        self._running: tuple[Rows, Rows] | None = None

    def of(self, workload: Workload) -> Member:
        """Return the member that a workload is."""
        key = (
            workload.namespace,
            frozenset(workload.labels.items()),
            workload.terminating,
            _seen_of(workload.constraints),
        )
        found = self._known.get(key)
        if found is None:
            found = Member(
                workload.namespace, workload.labels, workload.constraints, terminating=workload.terminating
            )
            self._known[key] = found
            self._place[found] = len(self._all)
            self._all.append(found)
        return found

    def running(self) -> list[Member]:
        """Return every member that some running workload is."""
        kinds, _ = self._pairs()
        return [self._all[place] for place in np.unique(kinds)]

    def rows_of(self, means: Means) -> Rows:
        """Return the node of every running workload that is meant."""
        kinds, rows = self._pairs()
        meant = np.fromiter(map(means, self._all), np.bool_, len(self._all))
        found: Rows = rows[meant[kinds]]
        return found

    def _pairs(self) -> tuple[Rows, Rows]:
        if self._running is None:
            flat = np.fromiter(self._numbers(), np.intp)
            self._running = flat[::2], flat[1::2]
        return self._running

    def _numbers(self) -> Iterator[int]:
        """Yield member and row of each running workload in turn; replicas mostly share their objects."""
        by_identity: dict[tuple[object, ...], int] = {}
        for run in self._snapshot.workloads.runs():
            for workload in run:
                if not workload.node or workload.state not in HOLDING_STATES:
                    continue
                identity = (
                    workload.namespace, id(workload.labels), id(workload.constraints), workload.terminating,
                )  # fmt: skip
                place = by_identity.get(identity)
                if place is None:
                    place = by_identity[identity] = self._place[self.of(workload)]
                yield place
                yield self._row_of[workload.node]


def _seen_of(constraints: Constraints) -> object:
    """Return what others see of constraints, as a key: terms hold selectors, which are no keys themselves."""
    affinity = constraints.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return constraints.host_ports
    terms = msgspec.msgpack.encode((affinity.pod_affinity, affinity.pod_anti_affinity))
    return constraints.host_ports, terms


def ports_conflict(one: tuple[HostPort, ...], other: tuple[HostPort, ...]) -> bool:
    """Whether two workloads cannot share a node because of a port; no address means every address."""
    return any(
        (mine.port, mine.protocol) == (theirs.port, theirs.protocol)
        and (mine.host_ip == theirs.host_ip or not ANY_ADDRESS.isdisjoint((mine.host_ip, theirs.host_ip)))
        for mine in one
        for theirs in other
    )
