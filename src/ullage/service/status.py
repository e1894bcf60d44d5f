"""How full are we: every term of the arithmetic, with the findings that matter first.

For the cluster, its groups, domains, nodes, quotas, devices and drives.
"""

from collections.abc import Mapping
from typing import Any

from ullage.engine.capacity.devices import DeviceSummary, summarise_devices
from ullage.engine.capacity.findings import findings_of
from ullage.engine.capacity.summary import Summary, summarise_domains, summarise_groups, total
from ullage.engine.columns import Columns
from ullage.engine.quota.use import QuotaUse, quota_use
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.resources import Resources
from ullage.model.verdict import Finding
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster


class NodeStatus(Record, frozen=True):
    """The terms of one node, each a map by resource; a resource without a bound has no limit and no free."""

    name: str
    group: str
    domain: str
    state: str
    workloads: int
    capacity: Resources
    reserve: Resources
    allocatable: Resources
    limit: Resources
    promised: Resources
    actual: Resources | None
    committed: Resources
    free: Resources


class QuotaStatus(Record, frozen=True):
    """A quota and what it uses."""

    name: str
    kind: str
    namespaces: tuple[str, ...]
    workloads: int
    min: Resources
    max: Resources
    used: Resources
    borrowed: Resources


class DriveStatus(Record, frozen=True):
    """Drives of one class on one node; `offering` counts those that take new volumes."""

    node: str
    drive_class: str
    drives: int
    offering: int
    size_bytes: int
    offering_bytes: int


class StatusReport(Record, frozen=True, omit_defaults=False):
    """Everything that `ullage status` knows."""

    cluster: str
    revision: int
    policy: str
    total: Mapping[str, Any]
    groups: tuple[Mapping[str, Any], ...]
    domains: tuple[Mapping[str, Any], ...]
    nodes: tuple[NodeStatus, ...]
    workloads: Mapping[str, int]
    quotas: tuple[QuotaStatus, ...]
    devices: tuple[Mapping[str, Any], ...]
    drives: tuple[DriveStatus, ...]
    findings: tuple[Finding, ...]
    not_simulated: tuple[str, ...]


def status(asked: Asked) -> Answer:
    """Answer how full a cluster is."""
    from ullage.service.status_page import status_page

    snapshot = read_cluster(asked)
    columns = Columns(snapshot)
    groups = summarise_groups(columns)
    domains = summarise_domains(columns)
    quotas = quota_use(snapshot)
    devices = summarise_devices(columns)
    report = StatusReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        total=_map(total(groups, snapshot.name)),
        groups=tuple(_map(group) for group in groups),
        domains=tuple(_map(domain) for domain in domains),
        nodes=_nodes(columns),
        workloads=_states(snapshot, asked.namespace),
        quotas=tuple(_quota(use) for use in quotas if _in_namespace(use, asked.namespace)),
        devices=tuple(_device_map(each) for each in devices),
        drives=_drives(snapshot),
        findings=findings_of(columns, groups, quotas),
        not_simulated=snapshot.unknowns,
    )
    page = status_page(report, total(groups, snapshot.name), groups, domains, snapshot.resource_types)
    return Answer(page, versioned("StatusReport", report, snapshot.resource_types))


def _map(summary: Summary) -> dict[str, Any]:
    fields = summary._asdict()
    fields["spareNodes"] = fields.pop("spare_nodes")
    return fields


def _device_map(device: DeviceSummary) -> dict[str, Any]:
    fields = device._asdict()
    fields["starts"] = {str(size): count for size, count in device.starts.items()}
    return fields


def _nodes(columns: Columns) -> tuple[NodeStatus, ...]:
    counts: dict[str, int] = {}
    for workload in columns.snapshot.workloads:
        if workload.holds_capacity:
            counts[workload.node] = counts.get(workload.node, 0) + 1
    return tuple(_node(columns, row, counts) for row in range(len(columns.nodes)))


def _node(columns: Columns, row: int, counts: Mapping[str, int]) -> NodeStatus:
    node = columns.nodes[row]
    figures = columns.figures(row)
    bounds = {name: each.bounds for name, each in figures.items()}
    return NodeStatus(
        name=node.name,
        group=node.group,
        domain=node.domain,
        state=node.state,
        workloads=counts.get(node.name, 0),
        capacity=Resources({name: each.capacity for name, each in bounds.items()}),
        reserve=Resources({name: each.reserve for name, each in bounds.items()}),
        allocatable=Resources({name: each.allocatable for name, each in bounds.items()}),
        limit=Resources({name: each.limit for name, each in bounds.items() if each.limit is not None}),
        promised=Resources({name: each.promised for name, each in figures.items()}),
        actual=node.actual,
        committed=Resources({name: each.committed for name, each in figures.items()}),
        free=Resources({name: each.free for name, each in figures.items() if each.free is not None}),
    )


def _states(snapshot: Snapshot, namespace: str) -> dict[str, int]:
    """Count workloads by state; `ok` means that it has a node."""
    counts: dict[str, int] = {}
    for workload in snapshot.workloads:
        if not namespace or workload.namespace == namespace:
            counts[workload.state] = counts.get(workload.state, 0) + 1
    return dict(sorted(counts.items()))


def _in_namespace(use: QuotaUse, namespace: str) -> bool:
    return not namespace or namespace in use.quota.namespaces


def _quota(use: QuotaUse) -> QuotaStatus:
    quota = use.quota
    return QuotaStatus(
        quota.name, quota.kind, quota.namespaces, use.workloads, quota.min, quota.max, use.used, use.borrowed
    )


def _drives(snapshot: Snapshot) -> tuple[DriveStatus, ...]:
    found: dict[tuple[str, str], DriveStatus] = {}
    for node in snapshot.nodes:
        for drive in node.drives:
            offers = drive.health not in {"SUSPECT", "BAD"} and drive.status == "ONLINE" and drive.clean
            offers = offers and drive.usage == "IN_USE" and not drive.system
            before = found.get((node.name, drive.drive_class))
            old = before or DriveStatus(node.name, drive.drive_class, 0, 0, 0, 0)
            found[node.name, drive.drive_class] = DriveStatus(
                node.name,
                drive.drive_class,
                old.drives + 1,
                old.offering + offers,
                old.size_bytes + drive.size_bytes,
                old.offering_bytes + (drive.size_bytes if offers else 0),
            )
    return tuple(found[key] for key in sorted(found))
