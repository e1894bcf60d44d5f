"""A Delta: what changed between two snapshots, and the way from one to the other.

`apply` costs as much as the delta is long, never as much as the cluster is large; `difference` is its
inverse: apply(old, difference(old, new)) has the content of new.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar

import msgspec

from ullage.model.admission import (
    Autoscaler,
    DisruptionBudget,
    LimitRange,
    Namespace,
    PodGroup,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ullage.model.cluster import Group, Node, Quota, Snapshot, Workload
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.storage import Claim, PersistentVolume, StorageCapacity, StorageClass, StorageDriver
from ullage.model.table import Keyed, Table

Row = TypeVar("Row", bound=Keyed)


class Delta(Record, frozen=True, kw_only=True):
    """Rows put and keys dropped, by table; `revision` is the one it applies to, None for any."""

    revision: int | None = None
    nodes: tuple[Node, ...] = ()
    groups: tuple[Group, ...] = ()
    workloads: tuple[Workload, ...] = ()
    quotas: tuple[Quota, ...] = ()
    reservations: tuple[LedgerEntry, ...] = ()
    claims: tuple[Claim, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    storage_capacities: tuple[StorageCapacity, ...] = ()
    storage_drivers: tuple[StorageDriver, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    resource_quotas: tuple[ResourceQuota, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()
    disruption_budgets: tuple[DisruptionBudget, ...] = ()
    pod_groups: tuple[PodGroup, ...] = ()
    autoscalers: tuple[Autoscaler, ...] = ()
    dropped: Mapping[str, tuple[str, ...]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return not any(getattr(self, table) or self.dropped.get(table) for table in TABLES)


class TableFacts(NamedTuple):
    """What is known of a table: the record of its rows, its name in files, and what one row is called."""

    row_type: type[msgspec.Struct]
    file_name: str
    singular: str


TABLE_FACTS: Final[Mapping[str, TableFacts]] = {
    "nodes": TableFacts(Node, "nodes", "node"),
    "groups": TableFacts(Group, "groups", "group"),
    "workloads": TableFacts(Workload, "workloads", "workload"),
    "quotas": TableFacts(Quota, "quotas", "quota"),
    "reservations": TableFacts(LedgerEntry, "reservations", "reservation"),
    "claims": TableFacts(Claim, "claims", "claim"),
    "volumes": TableFacts(PersistentVolume, "volumes", "volume"),
    "storage_classes": TableFacts(StorageClass, "storageClasses", "storage class"),
    "storage_capacities": TableFacts(StorageCapacity, "storageCapacities", "storage capacity"),
    "storage_drivers": TableFacts(StorageDriver, "storageDrivers", "storage driver"),
    "namespaces": TableFacts(Namespace, "namespaces", "namespace"),
    "limit_ranges": TableFacts(LimitRange, "limitRanges", "limit range"),
    "resource_quotas": TableFacts(ResourceQuota, "resourceQuotas", "resource quota"),
    "priority_classes": TableFacts(PriorityClass, "priorityClasses", "priority class"),
    "runtime_classes": TableFacts(RuntimeClass, "runtimeClasses", "runtime class"),
    "disruption_budgets": TableFacts(DisruptionBudget, "disruptionBudgets", "disruption budget"),
    "pod_groups": TableFacts(PodGroup, "podGroups", "pod group"),
    "autoscalers": TableFacts(Autoscaler, "autoscalers", "autoscaler"),
}
"""Every table of a snapshot, in the order of its fields."""

TABLES: Final = tuple(TABLE_FACTS)
BY_FILE_NAME: Final[Mapping[str, str]] = {facts.file_name: name for name, facts in TABLE_FACTS.items()}
"""The tables by the names that files give them."""


class Change(NamedTuple):
    """How one row differs: `before` is None for a new row, `after` for one that is gone."""

    table: str
    key: str
    before: Keyed | None
    after: Keyed | None


def apply(snapshot: Snapshot, delta: Delta) -> Snapshot:
    """Return the snapshot after the delta, one revision later."""
    if delta.revision not in {None, snapshot.revision}:
        raise InputError(
            f"the delta is for revision {delta.revision}, the snapshot is at {snapshot.revision}",
            remedy="read the cluster again",
        )
    unknown = set(delta.dropped) - set(TABLES)
    if unknown:
        raise InputError(
            f"the delta drops from {min(unknown)!r}", remedy=f"tables are {', '.join(BY_FILE_NAME)}"
        )
    changed: dict[str, object] = {}
    for name in TABLES:
        table: Table[Keyed] = getattr(snapshot, name)
        changed[name] = table.changed(getattr(delta, name), delta.dropped.get(name, ()))
    return msgspec.structs.replace(snapshot, revision=snapshot.revision + 1, **changed)


def difference(old: Snapshot, new: Snapshot) -> Delta:
    """Return the delta that turns the rows of one snapshot into those of another."""
    put: dict[str, object] = {}
    dropped: dict[str, tuple[str, ...]] = {}
    for name in TABLES:
        before: Table[Keyed] = getattr(old, name)
        rows, keys = before.difference(getattr(new, name))
        put[name] = tuple(rows)
        if keys:
            dropped[name] = tuple(keys)
    return msgspec.structs.replace(Delta(revision=old.revision, dropped=dropped), **put)


def changes(old: Snapshot, delta: Delta) -> list[Change]:
    """Return a delta row by row, each beside the row it replaces."""
    found: list[Change] = []
    for name in TABLES:
        before: Table[Keyed] = getattr(old, name)
        rows: tuple[Keyed, ...] = getattr(delta, name)
        found += [Change(name, row.key, before.get(row.key), row) for row in rows]
        found += [Change(name, key, before.get(key), None) for key in delta.dropped.get(name, ())]
    return found
