"""From which nodes a volume can be reached, and where a storage class can make one.

A volume on a local disk is reached from one node of thousands, and there may be one for each workload: so
what is kept for it is the rows it is reached from, found by label value, and no mask over all nodes.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.node_columns import Flags, NodeColumns
from ullage.engine.placement.rules import Rows
from ullage.engine.placement.selectors import requirements_of
from ullage.model.cluster import Snapshot
from ullage.model.constraints import NodeSelector, NodeSelectorTerm, Requirement
from ullage.model.quantity import readable_bytes
from ullage.model.storage import PersistentVolume, StorageClass

Integers = npt.NDArray[np.int64]
RowArray = npt.NDArray[np.intp]

NO_PROVISIONER: Final = frozenset(("", "kubernetes.io/no-provisioner"))
"""Provisioners of classes whose volumes are made by hand."""
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
ZONE_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    ZONE: ZONE,
    REGION: REGION,
}
"""Labels that say where a volume is, and the label that a node may have in its stead."""
ZONE_SEPARATOR: Final = "__"
NOWHERE: Final[RowArray] = np.zeros(0, np.intp)


class Reach:
    """The nodes from which something can be had, as sorted rows."""

    __slots__ = ("_count", "rows")

    def __init__(self, rows: RowArray, count: int) -> None:
        self.rows = rows
        self._count = count

    def mask(self, rows: Rows) -> Flags:
        """Return which of these nodes are among them."""
        if isinstance(rows, slice):
            flags = np.zeros(self._count, np.bool_)
            flags[self.rows] = True
            return flags[rows]
        if not len(self.rows):
            return np.zeros(len(rows), np.bool_)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        found: Flags = self.rows[places] == rows
        return found

    def has(self, row: int) -> bool:
        """Whether a node is among them."""
        place = int(np.searchsorted(self.rows, row))
        return place < len(self.rows) and int(self.rows[place]) == row


class OnNodes:
    """A rule that a few nodes meet, whatever is placed."""

    local = True
    once = False

    def __init__(self, reach: Reach, reason: str) -> None:
        self.reason = reason
        self.reach = reach

    def allows(self, rows: Rows) -> Flags:
        """Return the nodes that meet it."""
        return self.reach.mask(rows)


class Places:
    """The nodes of a cluster as volumes, storage classes and published capacities see them."""

    def __init__(self, snapshot: Snapshot, nodes: NodeColumns) -> None:
        self._snapshot = snapshot
        self._nodes = nodes
        self.count = len(nodes.nodes)
        self._by_value: dict[str, dict[str, RowArray]] = {}
        self._reaches: dict[NodeSelector, Reach] = {}
        self._zones: dict[tuple[tuple[str, str], ...], Reach | None] = {}
        self._rooms: dict[str, Integers] = {}
        self._provided: dict[tuple[str, int], Flags | None] = {}

    def nowhere(self) -> Reach:
        """Return the reach of what does not exist."""
        return Reach(NOWHERE, self.count)

    def at(self, row: int) -> Reach:
        """Return the reach of what is on one node."""
        return Reach(np.array([row], np.intp), self.count)

    def of_volume(self, volume: PersistentVolume) -> Reach | None:
        """Return the nodes that the node affinity of a volume names; None where it has none."""
        affinity = volume.node_affinity
        if affinity is None:
            return None
        found = self._reaches.get(affinity)
        if found is None:
            parts = [self._rows_of(term) for term in affinity.node_selector_terms]
            rows = np.unique(np.concatenate([NOWHERE, *parts]))
            found = self._reaches[affinity] = Reach(rows, self.count)
        return found

    def in_zone(self, volume: PersistentVolume) -> Reach | None:
        """Return the nodes that do not contradict the zone labels of a volume; None where all are such.

        A node without any zone or region contradicts nothing; one with some must have all of the volume's.
        """
        key = tuple((label, volume.labels[label]) for label in ZONE_LABELS if label in volume.labels)
        if not key:
            return None
        if key not in self._zones:
            self._zones[key] = self._in_zones(key)
        return self._zones[key]

    def _in_zones(self, labels: Iterable[tuple[str, str]]) -> Reach | None:
        allowed = np.ones(self.count, np.bool_)
        for label, text in labels:
            zones = {part.strip() for part in text.split(ZONE_SEPARATOR)}
            if "" in zones:
                continue
            instead = ZONE_LABELS[label]
            absent = self._nodes.topology(label).codes < 0
            allowed &= np.where(absent, self._value_in(instead, zones), self._value_in(label, zones))
        unlabelled = [self._nodes.topology(label).codes < 0 for label in ZONE_LABELS]
        allowed |= np.logical_and.reduce(unlabelled)
        return None if allowed.all() else Reach(np.flatnonzero(allowed), self.count)

    def _value_in(self, label: str, values: set[str]) -> Flags:
        return self._nodes.meets(Requirement(label, "In", tuple(values)))

    def _rows_of(self, term: NodeSelectorTerm) -> RowArray:
        """Return the nodes on which a term of a volume holds; kube-scheduler passes over its fields."""
        expressions = term.match_expressions
        if not expressions and not term.match_fields:
            return NOWHERE
        if len(expressions) == 1 and expressions[0].operator == "In":
            by_value = self._rows_by_value(expressions[0].key)
            return np.concatenate([by_value.get(value, NOWHERE) for value in expressions[0].values])
        return np.flatnonzero(self._meet_all(expressions))

    def _meet_all(self, requirements: Iterable[Requirement]) -> Flags:
        found = np.ones(self.count, np.bool_)
        for each in requirements:
            found &= self._nodes.meets(each)
        return found

    def _rows_by_value(self, label: str) -> dict[str, RowArray]:
        found = self._by_value.get(label)
        if found is None:
            codes, values = self._nodes.topology(label)
            order = np.argsort(codes, kind="stable")
            starts = np.searchsorted(codes[order], np.arange(len(values) + 1)).tolist()
            found = self._by_value[label] = {
                value: order[starts[code] : starts[code + 1]] for code, value in enumerate(values)
            }
        return found

    # Where a class can make a volume

    def provided(self, storage: StorageClass, size_bytes: int) -> Flags | None:
        """Return the nodes for which a class can make a volume; None for all of them."""
        key = storage.name, size_bytes
        if key not in self._provided:
            masks = [self._allowed(storage), self._with_room(storage, size_bytes)]
            known = [mask for mask in masks if mask is not None]
            self._provided[key] = np.logical_and.reduce(known) if known else None
        return self._provided[key]

    def _allowed(self, storage: StorageClass) -> Flags | None:
        """Return the nodes that the allowed topologies of a class name; None where it names none."""
        if not storage.allowed_topologies:
            return None
        found = np.zeros(self.count, np.bool_)
        for term in storage.allowed_topologies:
            if term.requirements:
                found |= self._meet_all(term.requirements)
        return found

    def too_large(self, storage: StorageClass, size_bytes: int) -> str:
        """Say that a volume is larger than any that a class can make; nothing where it is not."""
        room = self._published(storage)
        largest = int(room.max(initial=-1)) if room is not None else size_bytes
        if largest >= size_bytes:
            return ""
        most = f"at most {readable_bytes(largest)} can be made" if largest > 0 else "nothing can be made"
        return f"{readable_bytes(size_bytes)} asked, {most}"

    def _with_room(self, storage: StorageClass, size_bytes: int) -> Flags | None:
        """Return the nodes with published capacity for a volume; None where its driver publishes none."""
        room = self._published(storage) if size_bytes > 0 else None
        return None if room is None else room >= size_bytes

    def _published(self, storage: StorageClass) -> Integers | None:
        """Return the largest volume that a class can make for each node; None where nobody publishes that."""
        driver = self._snapshot.storage_drivers.get(storage.provisioner)
        if driver is None or not driver.checks_capacity:
            return None
        if storage.name not in self._rooms:
            self._rooms[storage.name] = self._room(storage.name)
        return self._rooms[storage.name]

    def _room(self, class_name: str) -> Integers:
        """Return the largest volume that a class can make for each node, -1 where it publishes nothing."""
        room = np.full(self.count, -1, np.int64)
        for each in self._snapshot.storage_capacities:
            requirements = requirements_of(each.topology)
            if each.storage_class != class_name or requirements is None:
                continue
            size_bytes = each.capacity_bytes if each.volume_bytes_max is None else each.volume_bytes_max
            rows = (
                self._rows_of(NodeSelectorTerm(requirements))
                if requirements
                else np.arange(self.count, dtype=np.intp)
            )
            room[rows] = np.maximum(room[rows], size_bytes)
        return room
