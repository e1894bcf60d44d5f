"""What every snapshot must satisfy, whichever source it comes from: the one place where that is written.

Names are present and known where they are referred to, no size is negative or beyond 64 bits. What quotas
say of each other is no matter of this: a cluster whose quotas are wrong is read, and findings say so. The
hard part is that it runs over every row of every cluster that is read: maps of resources are shared by many
rows, so each distinct map is looked at once.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from ullage.model.admission import (
    DisruptionBudget,
    LimitRange,
    PodGroup,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ullage.model.cluster import Group, Node, Snapshot, Workload
from ullage.model.delta import TABLE_FACTS, TABLES, Delta
from ullage.model.drive_checks import check_disks
from ullage.model.errors import InputError
from ullage.model.ganeti_checks import check_group, check_host, check_instance, check_policy
from ullage.model.ledger import is_capacity_name
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.quantity import INT64_MAX, parse_nano
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.row_checks import NAME, check_name, check_size, too_large
from ullage.model.storage import Claim, PersistentVolume, StorageCapacity
from ullage.model.table import Keyed, Table

FACTOR_MAX: Final = 1_000_000
REPLICAS_MAX: Final = 10_000_000
_SHARE: Final = re.compile(r"([0-9]{1,10}%?)?")
Row = TypeVar("Row", bound=Keyed)


def unique(rows: Iterable[Row], what: str) -> Table[Row]:
    """Return rows as a table; two of one key are an error, because a table would keep only the later."""
    listed = list(rows)
    table = Table(listed)
    if len(table) == len(listed):
        return table
    counts = Counter(row.key for row in listed)
    repeated = min(key for key, count in counts.items() if count > 1)
    raise InputError("is there twice", where=f"{what} {repeated}", remedy="remove or rename one of the two")


def check_snapshot(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot, with a group for every group that a node names; else raise an InputError."""
    if not 0 <= snapshot.revision <= INT64_MAX:
        raise InputError("the revision is not a number from 0 to 2^63 - 1", remedy="leave it out")
    if snapshot.taken_seconds is not None and abs(snapshot.taken_seconds) > INT64_MAX:
        raise too_large("the snapshot", "takenSeconds")
    if snapshot.instance_policy is not None:
        check_policy(snapshot.instance_policy, "instancePolicy")
    rows = _Rows(snapshot.resource_types)
    for node in snapshot.nodes:
        rows.node(node)
    for workload in snapshot.workloads:
        rows.workload(workload)
    for name in TABLES[3:]:
        for row in getattr(snapshot, name):
            rows.other(name, row)
    _check_nodes_known(snapshot)
    named = {node.group for node in snapshot.nodes}
    missing = [Group(name) for name in sorted(named) if name not in snapshot.groups]
    if not missing:
        return snapshot
    return msgspec.structs.replace(snapshot, groups=snapshot.groups.changed(missing))


def check_delta(delta: Delta, types: ResourceTypes) -> Delta:
    """Return the delta if each of its rows can stand in a snapshot and none is there twice."""
    rows = _Rows(types)
    for name in TABLES:
        for row in unique(getattr(delta, name), TABLE_FACTS[name].singular):
            rows.row(name, row)
    return delta


def row_check(types: ResourceTypes) -> Callable[[str, object], None]:
    """Return what raises where a row of a table, by itself, cannot stand in a snapshot."""
    return _Rows(types).row


def check_workload(workload: Workload, types: ResourceTypes) -> None:
    """Raise where a workload that stands alone has no name or a size that nothing can have."""
    _Rows(types).workload(workload)


class _Rows:
    """The checks that need no other row; remembers the maps of resources that it has found good."""

    def __init__(self, types: ResourceTypes) -> None:
        self.types = types
        self.good: set[Resources] = set()

    def row(self, table: str, row: object) -> None:
        if isinstance(row, Node):
            self.node(row)
        elif isinstance(row, Workload):
            self.workload(row)
        else:
            self.other(table, row)

    def amounts(self, resources: Resources | None, where: str, field: str) -> None:
        if resources is None or resources in self.good:
            return
        for name, amount in resources.items():
            if amount < 0:
                raise InputError(
                    f"{name} is {self.types[name].print(amount)}",
                    where=f"{where}: {field}",
                    remedy="use 0 or more",
                )
        self.good.add(resources)

    def node(self, node: Node) -> None:
        where = f"node {node.name}"
        check_name(node.name, "node")
        check_name(node.group, where, "group")
        self.amounts(node.capacity, where, "capacity")
        self.amounts(node.reserve, where, "reserve")
        self.amounts(node.actual, where, "actual")
        if not 0 < node.cpu_conversion_factor <= FACTOR_MAX:
            raise InputError(
                f"cpuConversionFactor is {node.cpu_conversion_factor}",
                where=where,
                remedy=f"use more than 0 and at most {FACTOR_MAX}",
            )
        if node.host is not None:
            check_host(node.host, where)
        if node.swap_bytes is not None:
            check_size(node.swap_bytes, where, "swapBytes")
        for driver, most in node.attach_limits.items():
            check_size(most, where, f"attachLimits: {driver}")
        for device in node.devices:
            check_size(device.memory_bytes, where, f"device {device.id}: memoryBytes")
        if node.drives or node.volume_groups or node.placed_volumes:
            check_disks(node, where)

    def workload(self, workload: Workload) -> None:
        if not NAME.fullmatch(workload.name):
            check_name(workload.name, "workload")
        if workload.requests not in self.good:
            self.amounts(workload.requests, f"workload {workload.key}", "requests")
        if workload.limits not in self.good:
            self.amounts(workload.limits, f"workload {workload.key}", "limits")
        if not -INT64_MAX <= workload.priority <= INT64_MAX:
            raise too_large(f"workload {workload.key}", "priority")
        if workload.created_seconds is not None and abs(workload.created_seconds) > INT64_MAX:
            raise too_large(f"workload {workload.key}", "createdSeconds")
        if workload.started_seconds is not None and abs(workload.started_seconds) > INT64_MAX:
            raise too_large(f"workload {workload.key}", "startedSeconds")
        if workload.gang_min:
            check_size(workload.gang_min, f"workload {workload.key}", "gangMin")
        if workload.instance is not None:
            check_instance(workload.instance, f"workload {workload.key}")
        if workload.containers or workload.volumes or workload.overhead or workload.outages:
            self._workload_parts(workload)

    def _workload_parts(self, workload: Workload) -> None:
        where = f"workload {workload.key}"
        self.amounts(workload.overhead, where, "overhead")
        for container in workload.containers:
            self.amounts(container.requests, where, f"container {container.name}: requests")
            self.amounts(container.limits, where, f"container {container.name}: limits")
        for volume in workload.volumes:
            check_size(volume.size_bytes, where, f"volume {volume.name}: sizeBytes")
        for outage in workload.outages:
            check_size(outage.restarts, where, f"container {outage.container}: restarts")
            check_size(outage.ended_seconds or 0, where, f"container {outage.container}: endedSeconds")

    def other(self, table: str, row: Any) -> None:
        if not isinstance(row, TABLE_FACTS[table].row_type):
            raise TypeError(f"a row of {table} is a {type(row).__name__}")
        if isinstance(row, LedgerEntry):
            self._reservation(row)
        else:
            self._named(TABLE_FACTS[table].singular, row)

    def _named(self, what: str, row: Any) -> None:
        check_name(row.name, what)
        where = f"{what} {row.key}"
        if isinstance(row, Group) and row.ganeti is not None:
            check_group(row.ganeti, where)
        elif isinstance(row, Claim | PersistentVolume):
            check_size(row.size_bytes, where, "sizeBytes")
        elif isinstance(row, StorageCapacity):
            check_size(row.capacity_bytes, where, "capacityBytes")
            check_size(row.volume_bytes_max or 0, where, "volumeBytesMax")
        elif isinstance(row, LimitRange):
            self._limit_range(row, where)
        elif isinstance(row, ResourceQuota):
            for field, texts in (("hard", row.hard), ("used", row.used or {})):
                _check_quantities(texts, f"{where}: {field}")
        elif isinstance(row, PriorityClass) and abs(row.value) > INT64_MAX:
            raise too_large(where, "value")
        elif isinstance(row, RuntimeClass):
            self.amounts(row.overhead, where, "overhead")
        elif isinstance(row, DisruptionBudget):
            _check_budget(row, where)
        elif isinstance(row, PodGroup):
            check_size(row.members_min, where, "membersMin")

    def _reservation(self, entry: LedgerEntry) -> None:
        where = f"reservation {entry.key}"
        check_name(entry.reservation, where, "reservation")
        self.amounts(entry.resources, where, "resources")
        if entry.holds and not is_capacity_name(entry.capacity):
            raise InputError(
                f"capacity {entry.capacity[:80]!r} is nothing that can be held",
                where=where,
                remedy="write node/NODE, drive/NODE/UUID, group/NODE/NAME, quota/NAME or cache/NODE",
            )
        for field, value in (
            ("createdSeconds", entry.created_seconds),
            ("expiresSeconds", entry.expires_seconds),
            ("queuePosition", entry.queue_position),
        ):
            if value is not None and abs(value) > INT64_MAX:
                raise too_large(where, field)

    def _limit_range(self, limits: LimitRange, where: str) -> None:
        for item in limits.items:
            inside = f"{where}: {item.kind}"
            self.amounts(item.min, inside, "min")
            self.amounts(item.max, inside, "max")
            self.amounts(item.default_limits, inside, "defaultLimits")
            self.amounts(item.default_requests, inside, "defaultRequests")
            for name, ratio in item.limit_request_ratio_max.items():
                if not 0 < ratio <= FACTOR_MAX:
                    raise InputError(
                        f"{name} is {ratio}",
                        where=f"{inside}: limitRequestRatioMax",
                        remedy=f"use more than 0 and at most {FACTOR_MAX}",
                    )


def _check_quantities(quantities: Mapping[str, str], where: str) -> None:
    for name, text in quantities.items():
        try:
            nano = parse_nano(text)
        except InputError as error:
            raise error.at(f"{where}: {name}") from None
        if nano < 0:
            raise InputError(f"{name} is {text}", where=where, remedy="use 0 or more")


def _check_budget(budget: DisruptionBudget, where: str) -> None:
    for field, text in (("minAvailable", budget.min_available), ("maxUnavailable", budget.max_unavailable)):
        if not _SHARE.fullmatch(text):
            raise InputError(
                f"{field} is {text[:20]!r}",
                where=where,
                remedy="write a number such as 2 or a share such as 50%",
            )
    check_size(budget.disruptions_allowed or 0, where, "disruptionsAllowed")


def _check_nodes_known(snapshot: Snapshot) -> None:
    known = set(snapshot.nodes.keys())
    for workload in snapshot.workloads:
        if workload.node and workload.node not in known:
            raise _unknown_node(workload, "node", workload.node, len(known))
        if workload.standby and workload.standby not in known:
            raise _unknown_node(workload, "standby", workload.standby, len(known))


def _unknown_node(workload: Workload, field: str, name: str, known: int) -> InputError:
    return InputError(
        f"{field} {name!r} is none of the {known} nodes",
        where=f"workload {workload.key}",
        remedy="add the node, correct the name, or leave it out for a workload that waits",
    )
