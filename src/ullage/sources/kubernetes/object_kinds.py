"""Objects that are read one to one into a table of the snapshot: which kinds, and what has been read of them.

A kind that is not here is one row of OBJECT_KINDS. The hard thing is the class of claims that name none: it
is the newest of the default classes, which may stand behind them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ullage.model.admission import PodGroup, PriorityClass, RuntimeClass
from ullage.model.cluster import Quota, Snapshot
from ullage.model.delta import TABLE_FACTS
from ullage.model.storage import Claim, StorageClass
from ullage.model.table import Table
from ullage.sources.kubernetes import admission_objects as admission
from ullage.sources.kubernetes import storage_objects as storage
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.classes import read_priority_class, read_runtime_class, read_workload_class
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.objects import (
    DEFAULT_NAMESPACE,
    names_no_class,
    read_claim,
    read_elastic_quota,
    read_quota,
    with_names_of_their_own,
)
from ullage.sources.kubernetes.wire import ClaimWire, PriorityClassWire, QuotaWire, RuntimeClassWire

_CLAIM: Final = msgspec.json.Decoder(ClaimWire)
_QUOTA: Final = msgspec.json.Decoder(QuotaWire)
_RUNTIME_CLASS: Final = msgspec.json.Decoder(RuntimeClassWire)
_PRIORITY_CLASS: Final = msgspec.json.Decoder(PriorityClassWire)
NOS: Final = "nos.nebuly.com"
KUEUE: Final = "kueue.x-k8s.io"
OWN_GROUP: Final = "ullage.dev"


class ObjectKind(NamedTuple):
    """The table that objects of a kind go to, and how a row of it is read: by amounts and namespace."""

    table: str
    decoder: msgspec.json.Decoder[Any]
    read: Callable[[Any, Amounts, str], Any]


OBJECT_KINDS: Final[Mapping[Kind, ObjectKind]] = {
    Kind("", "PersistentVolumeClaim"): ObjectKind("claims", _CLAIM, read_claim),
    Kind("", "PersistentVolume"): ObjectKind(
        "volumes", storage.VOLUME, lambda wire, amounts, _: storage.read_volume(wire, amounts)
    ),
    Kind("storage.k8s.io", "StorageClass"): ObjectKind(
        "storage_classes", storage.STORAGE_CLASS, lambda wire, *_: storage.read_storage_class(wire)
    ),
    Kind("storage.k8s.io", "CSIStorageCapacity"): ObjectKind(
        "storage_capacities", storage.STORAGE_CAPACITY, storage.read_capacity
    ),
    Kind("storage.k8s.io", "CSIDriver"): ObjectKind(
        "storage_drivers", storage.STORAGE_DRIVER, lambda wire, *_: storage.read_driver(wire)
    ),
    Kind("", "Namespace"): ObjectKind(
        "namespaces", admission.NAMESPACE, lambda wire, *_: admission.read_namespace(wire)
    ),
    Kind("", "LimitRange"): ObjectKind("limit_ranges", admission.LIMIT_RANGE, admission.read_limit_range),
    Kind("", "ResourceQuota"): ObjectKind(
        "resource_quotas", admission.RESOURCE_QUOTA, admission.read_resource_quota
    ),
    Kind("scheduling.k8s.io", "PriorityClass"): ObjectKind(
        "priority_classes", _PRIORITY_CLASS, lambda wire, *_: read_priority_class(wire)
    ),
    Kind(KUEUE, "WorkloadPriorityClass"): ObjectKind(
        "priority_classes", _PRIORITY_CLASS, lambda wire, *_: read_workload_class(wire)
    ),
    Kind("node.k8s.io", "RuntimeClass"): ObjectKind(
        "runtime_classes", _RUNTIME_CLASS, lambda wire, amounts, _: read_runtime_class(wire, amounts)
    ),
    Kind("policy", "PodDisruptionBudget"): ObjectKind(
        "disruption_budgets",
        admission.DISRUPTION_BUDGET,
        lambda wire, _, namespace: admission.read_budget(wire, namespace),
    ),
    Kind(NOS, "ElasticQuota"): ObjectKind(
        "quotas",
        _QUOTA,
        lambda wire, amounts, namespace: read_elastic_quota(wire, "ElasticQuota", amounts, namespace),
    ),
    Kind(NOS, "CompositeElasticQuota"): ObjectKind(
        "quotas",
        _QUOTA,
        lambda wire, amounts, namespace: read_elastic_quota(
            wire, "CompositeElasticQuota", amounts, namespace
        ),
    ),
    Kind(OWN_GROUP, "Quota"): ObjectKind(
        "quotas", _QUOTA, lambda wire, amounts, _: read_quota(wire, amounts)
    ),
}

QUOTA_KINDS: Final = frozenset(kind for kind, each in OBJECT_KINDS.items() if each.table == "quotas")


class Known(NamedTuple):
    """What a cluster has that manifests may name."""

    runtime_classes: Iterable[RuntimeClass] = ()
    priority_classes: Iterable[PriorityClass] = ()
    default_class: str = ""
    find_claim: Callable[[str], Claim | None] = Table[Claim]().get
    pod_groups: Iterable[PodGroup] = ()
    quotas: Iterable[Quota] = ()


def known_of(snapshot: Snapshot) -> Known:
    """What manifests may name in a cluster."""
    default = next((each.name for each in snapshot.storage_classes if each.default), "")
    return Known(
        snapshot.runtime_classes,
        snapshot.priority_classes,
        default,
        snapshot.claims.get,
        snapshot.pod_groups,
        snapshot.quotas,
    )


class Taken(NamedTuple):
    """An object that was read: what it is called, its key, and whether the same was read before."""

    what: str
    key: str
    again: bool


class ObjectRows:
    """The rows that have been read, by table and key."""

    def __init__(self, amounts: Amounts, namespace: str = DEFAULT_NAMESPACE) -> None:
        self._amounts = amounts
        self._namespace = namespace
        self._rows: dict[str, dict[str, Any]] = {kind.table: {} for kind in OBJECT_KINDS.values()}
        self._classless: set[str] = set()
        self._defaults: dict[str, float] = {}

    def take(self, item: Item) -> Taken:
        """Read an object of one of the kinds; raises a Fault."""
        kind = OBJECT_KINDS[item.kind]
        wire = item.decode(kind.decoder)
        row = kind.read(wire, self._amounts, self._namespace)
        rows = self._rows[kind.table]
        is_quota = isinstance(row, Quota)
        what = row.kind if is_quota else TABLE_FACTS[kind.table].singular
        key = f"{what} {row.key}" if is_quota else row.key
        taken = Taken(what, row.key, rows.get(key) == row)
        rows[key] = row
        if isinstance(wire, ClaimWire) and names_no_class(wire):
            self._classless.add(row.key)
        if isinstance(wire, storage.ClassObject) and row.default:
            created = wire.metadata.creation_timestamp
            self._defaults[row.key] = created.timestamp() if created is not None else 0
        return taken

    def rows(self, table: str) -> Mapping[str, Any]:
        """The rows of a table as they were read; quotas by kind and name."""
        return self._rows[table]

    def default_class(self) -> str:
        """The class of claims that name none: of several default ones the newest."""
        return min(self._defaults, key=lambda name: (-self._defaults[name], name), default="")

    def tables(self, default_class: str = "") -> dict[str, tuple[Any, ...]]:
        """All rows by table; there is one default class, and claims that name none have it.

        `default_class` stands for a class that is known from elsewhere.
        """
        own = self.default_class()
        found = {table: tuple(rows.values()) for table, rows in self._rows.items()}
        found["quotas"] = with_names_of_their_own(found["quotas"])
        found["storage_classes"] = tuple(
            _default_or_not(each, is_default=each.name == own) for each in found["storage_classes"]
        )
        found["claims"] = tuple(
            msgspec.structs.replace(each, storage_class=own or default_class)
            if each.key in self._classless
            else each
            for each in found["claims"]
        )
        return found


def _default_or_not(row: StorageClass, *, is_default: bool) -> StorageClass:
    return row if row.default == is_default else msgspec.structs.replace(row, default=is_default)
