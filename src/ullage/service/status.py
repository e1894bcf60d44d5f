"""How full are we: every term of the arithmetic, with the findings that matter first.

For the cluster, its groups, domains, nodes, quotas, devices and drives.
"""

from collections.abc import Mapping

from ullage.engine.capacity.devices import DeviceSummary, summarise_devices
from ullage.engine.capacity.findings import findings_of
from ullage.engine.capacity.summary import Summary, summarise_domains, summarise_groups, total
from ullage.engine.columns import Columns
from ullage.engine.quota.use import QuotaUse, quota_use
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.drives import Drive
from ullage.model.resources import NOTHING, Resources
from ullage.model.verdict import Finding
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_cluster
from ullage.service.held import columns_of


class NodeStatus(Record, frozen=True):
    """The terms of one node, each a map by resource; a resource without a bound has no limit and no free.

    `standby` is what it holds free for failover of others.
    """

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
    standby: Resources = NOTHING


class WorkloadStatus(Record, frozen=True):
    """A workload that was asked for."""

    name: str
    namespace: str
    kind: str
    state: str
    node: str
    priority: int
    requests: Resources


class QuotaStatus(Record, frozen=True):
    """A quota and what it uses, with all below it; `lent` is what others use of its min.

    Up to its `entitlement` it may claim from others, who could claim back what is `claimable` of its use.
    """

    name: str
    kind: str
    namespaces: tuple[str, ...]
    workloads: int
    min: Resources
    max: Resources
    used: Resources
    borrowed: Resources
    lent: Resources
    entitlement: Resources
    claimable: Resources


class DeviceStatus(Record, frozen=True):
    """Devices of one model: how many are free, and how many workloads of each size still start."""

    model: str
    resource: str
    nodes: int
    devices: int
    free: int
    starts: Mapping[str, int]


class DriveStatus(Record, frozen=True):
    """Drives of one class on one node; `offering` counts those that take new volumes."""

    node: str
    drive_class: str
    drives: int
    system: int
    failing: int
    offering: int
    size_bytes: int
    offering_bytes: int


class StatusReport(Record, frozen=True):
    """Everything that `ullage status` knows; `listed` holds the workloads where they were asked for."""

    cluster: str
    revision: int
    policy: str
    total: Summary
    groups: tuple[Summary, ...]
    domains: tuple[Summary, ...]
    nodes: tuple[NodeStatus, ...]
    workloads: Mapping[str, int]
    listed: tuple[WorkloadStatus, ...]
    quotas: tuple[QuotaStatus, ...]
    devices: tuple[DeviceStatus, ...]
    drives: tuple[DriveStatus, ...]
    findings: tuple[Finding, ...]
    not_simulated: tuple[str, ...]


def status(asked: Asked, by: str = "") -> Answer:
    """Answer how full a cluster is; `by` names the one part of it that is wanted."""
    return status_of(read_cluster(asked, needs_nodes=False), asked, by)


def status_of(snapshot: Snapshot, asked: Asked, by: str = "") -> Answer:
    """Answer how full a cluster is that was read already."""
    from ullage.service.status_page import status_page

    check_namespace(snapshot, asked.namespace)
    lists = bool(asked.namespace) or by == "workload"
    report = status_report(snapshot, asked.namespace, lists=lists)
    types = snapshot.resource_types
    return Answer(
        lambda: status_page(report, types, asked, by),
        lambda: versioned("StatusReport", report, types),
        shortened=lambda: status_page(report, types, asked, by, shortened=True),
    )


def status_report(snapshot: Snapshot, namespace: str = "", *, lists: bool = False) -> StatusReport:
    """Return every number of a cluster; on demand each workload too."""
    columns = columns_of(snapshot)
    groups = summarise_groups(columns)
    quotas = quota_use(columns)
    return StatusReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        total=total(groups, snapshot.name),
        groups=tuple(groups),
        domains=tuple(summarise_domains(columns)),
        nodes=_nodes(columns),
        workloads=_states(snapshot, namespace),
        listed=_listed(snapshot, namespace) if lists else (),
        quotas=tuple(_quota(use) for use in quotas if not namespace or namespace in use.quota.namespaces),
        devices=tuple(_device(each) for each in summarise_devices(columns)),
        drives=_drives(snapshot),
        findings=findings_of(columns, groups, quotas),
        not_simulated=snapshot.unknowns,
    )


def _device(device: DeviceSummary) -> DeviceStatus:
    starts = {str(size): count for size, count in device.starts.items()}
    return DeviceStatus(device.model, device.resource, device.nodes, device.devices, device.free, starts)


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
        standby=Resources({name: each.standby for name, each in figures.items() if each.standby}) or NOTHING,
    )


def _states(snapshot: Snapshot, namespace: str) -> dict[str, int]:
    """Count workloads by state; `ok` means that it has a node."""
    counts: dict[str, int] = {}
    for workload in snapshot.workloads:
        if not namespace or workload.namespace == namespace:
            state = workload.told_state
            counts[state] = counts.get(state, 0) + 1
    return dict(sorted(counts.items()))


def _listed(snapshot: Snapshot, namespace: str) -> tuple[WorkloadStatus, ...]:
    return tuple(
        WorkloadStatus(
            each.name, each.namespace, each.kind, each.told_state, each.node, each.priority, each.requests
        )
        for each in snapshot.workloads
        if not namespace or each.namespace == namespace
    )


def _quota(use: QuotaUse) -> QuotaStatus:
    quota = use.quota
    return QuotaStatus(
        name=quota.name,
        kind=quota.kind,
        namespaces=quota.namespaces,
        workloads=use.workloads,
        min=quota.min,
        max=quota.max,
        used=use.used,
        borrowed=use.borrowed,
        lent=use.lent,
        entitlement=use.entitlement,
        claimable=use.claimable,
    )


def _drives(snapshot: Snapshot) -> tuple[DriveStatus, ...]:
    found: dict[tuple[str, str], list[Drive]] = {}
    for node in snapshot.nodes:
        for drive in node.drives:
            found.setdefault((node.name, drive.drive_class), []).append(drive)
    rows = []
    for (node_name, drive_class), drives in sorted(found.items()):
        offering = [drive for drive in drives if drive.offers_space]
        rows.append(
            DriveStatus(
                node_name,
                drive_class,
                len(drives),
                sum(drive.system for drive in drives),
                sum(not drive.is_healthy for drive in drives),
                len(offering),
                sum(drive.size_bytes for drive in drives),
                sum(drive.size_bytes for drive in offering),
            )
        )
    return tuple(rows)
