"""How full are we: every term of the arithmetic, with the findings that matter first.

For the cluster, its groups, domains, nodes, quotas, devices and drives.
"""

from collections import Counter
from collections.abc import Container, Mapping
from typing import NamedTuple

from ullage.engine.capacity.devices import DeviceSummary, summarise_devices
from ullage.engine.capacity.findings import findings_of
from ullage.engine.capacity.node_terms import node_terms
from ullage.engine.capacity.summary import Summary, summarise_domains, summarise_groups, total
from ullage.engine.columns import Columns
from ullage.engine.quota.use import QuotaUse, quota_use
from ullage.model.cluster import HOLDING_STATES, Snapshot
from ullage.model.constraints import Record
from ullage.model.drives import Drive
from ullage.model.resources import NOTHING, Resources
from ullage.model.usage import UsageSummary
from ullage.model.verdict import Finding
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_cluster
from ullage.service.held import columns_of, is_held


class NodeStatus(Record, frozen=True):
    """The terms of one node, each a map by resource; a resource without a bound has no limit and no free.

    `standby` is what it holds free for failover of others; `usage` is told where it is asked for.
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
    usage: Mapping[str, UsageSummary] = {}


class WorkloadStatus(Record, frozen=True):
    """A workload that was asked for; `limits` and `usage` are told where usage is asked for."""

    name: str
    namespace: str
    kind: str
    state: str
    node: str
    priority: int
    requests: Resources
    limits: Resources = NOTHING
    usage: Mapping[str, UsageSummary] = {}


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


class Known(NamedTuple):
    """A cluster and what was found of it."""

    snapshot: Snapshot
    report: StatusReport


def status(asked: Asked, by: str = "", usage: str = "") -> Answer:
    """Answer how full a cluster is; `by` names the one part of it that is wanted, `usage` a source of use."""
    return status_of(read_cluster(asked, needs_nodes=False), asked, by, usage)


def status_of(snapshot: Snapshot, asked: Asked, by: str = "", usage: str = "") -> Answer:
    """Answer how full a cluster is that was read already."""
    from ullage.service.status_page import status_page

    check_namespace(snapshot, asked.namespace)
    report = _report(snapshot, asked.namespace, lists=bool(asked.namespace) or by == "workload")
    if usage:
        from ullage.service.status_usage import with_usage

        report = with_usage(report, snapshot, asked, usage)
    types = snapshot.resource_types
    return Answer(
        lambda: status_page(report, types, asked, by),
        lambda: versioned("StatusReport", report, types),
        shortened=lambda: status_page(report, types, asked, by, shortened=True),
    )


def _report(snapshot: Snapshot, namespace: str, *, lists: bool) -> StatusReport:
    """Return every number of a cluster; of one that is held, those that were counted before."""
    if namespace or lists or not is_held(snapshot):
        return status_report(snapshot, namespace, lists=lists)
    from ullage.service.status_kept import kept_report

    return kept_report(snapshot).report


def status_report(
    snapshot: Snapshot, namespace: str = "", *, lists: bool = False, like: Known | None = None
) -> StatusReport:
    """Return every number of a cluster; on demand each workload too.

    `like` is what is known of a cluster from which this one may differ little: equal parts are taken from it.
    """
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
        nodes=_nodes(columns, like),
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


def _nodes(columns: Columns, like: Known | None) -> tuple[NodeStatus, ...]:
    """Return the terms of every node; those that others had on which nothing has changed are as they were."""
    snapshot = columns.snapshot
    changed: Container[str] = columns.node_index
    if like is not None and _has_same_nodes(like.snapshot, snapshot):
        changed = _changed_nodes(like.snapshot, snapshot)
    counts = Counter(
        each.node
        for run in snapshot.workloads.runs()
        for each in run
        if each.node in changed and each.state in HOLDING_STATES
    )
    return tuple(
        like.report.nodes[row] if like and node.name not in changed else _node(columns, row, counts)
        for row, node in enumerate(columns.nodes)
    )


def _has_same_nodes(one: Snapshot, other: Snapshot) -> bool:
    same = ("nodes", "groups", "policy", "resource_types")
    return all(getattr(one, name) is getattr(other, name) for name in same)


def _changed_nodes(one: Snapshot, other: Snapshot) -> set[str]:
    """Return the nodes of workloads that two clusters do not share, and those they would fail over to."""
    put, dropped = one.workloads.difference(other.workloads)
    gone = (one.workloads.get(key) for key in (*dropped, *(each.key for each in put)))
    return {name for each in (*put, *gone) if each is not None for name in (each.node, each.standby)}


def _node(columns: Columns, row: int, counts: Mapping[str, int]) -> NodeStatus:
    node = columns.nodes[row]
    terms = node_terms(columns, row)
    return NodeStatus(
        name=node.name,
        group=node.group,
        domain=node.domain,
        state=node.state,
        workloads=counts.get(node.name, 0),
        capacity=terms.capacity,
        reserve=terms.reserve,
        allocatable=terms.allocatable,
        limit=terms.limit,
        promised=terms.promised,
        actual=node.actual,
        committed=terms.committed,
        free=terms.free,
        standby=terms.standby,
    )


def _states(snapshot: Snapshot, namespace: str) -> dict[str, int]:
    """Count workloads by state; `ok` means that it has a node."""
    counts = Counter(
        each.state if each.instance is None else each.told_state
        for run in snapshot.workloads.runs()
        for each in run
        if not namespace or each.namespace == namespace
    )
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
