"""The sums of a cluster as plain numbers, for those who count over time: metrics and history.

Amounts are in the unit that a resource is counted in (cores, bytes, devices), so that a line over weeks needs
no parsing. Nothing here is by node or workload: a large cluster has as many figures as a small one.
"""

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.engine.capacity.summary import Summary
    from ullage.engine.columns import Columns
    from ullage.engine.quota.use import QuotaUse
    from ullage.model.resources import ResourceTypes
    from ullage.service.asked import Asked

TERMS: Final = (
    "capacity",
    "reserve",
    "allocatable",
    "limit",
    "promised",
    "committed",
    "free",
    "blocked",
    "spare",
    "ullage",
)
"""What is summed of every resource, in the order of the arithmetic."""
QUOTAS_MAX: Final = 1000
"""Quotas that are counted, by name; with more, a figure for each would be too many."""


class ResourceFigures(msgspec.Struct, frozen=True, rename="camel"):
    """One resource of a cluster or group; what has no bound has no limit, and nothing that needs one."""

    resource: str
    capacity: float
    reserve: float
    allocatable: float
    limit: float | None
    promised: float
    committed: float
    free: float | None
    blocked: float | None
    spare: float | None
    ullage: float | None


class GroupFigures(msgspec.Struct, frozen=True, rename="camel"):
    """A group of nodes; the cluster itself is one without a name."""

    group: str
    nodes: int
    ready: int
    resources: tuple[ResourceFigures, ...]


class QuotaFigures(msgspec.Struct, frozen=True, rename="camel"):
    """One resource of a quota; None where it guarantees or bounds nothing of it."""

    quota: str
    resource: str
    min: float | None
    max: float | None
    used: float
    borrowed: float
    lent: float


class DeviceFigures(msgspec.Struct, frozen=True, rename="camel"):
    """Devices of one model, and how many workloads of each size still start."""

    model: str
    resource: str
    devices: int
    free: int
    starts: dict[str, int]


class DriveFigures(msgspec.Struct, frozen=True, rename="camel"):
    """Drives of one class."""

    drive_class: str
    drives: int
    failing: int
    size_bytes: int
    used_bytes: int
    promised_bytes: int
    free_bytes: int
    closed_bytes: int


class ClusterFigures(msgspec.Struct, frozen=True, rename="camel"):
    """All sums of a cluster; `findings` are counted by severity, nodes and workloads by state."""

    cluster: str
    revision: int
    policy: str
    total: GroupFigures
    groups: tuple[GroupFigures, ...]
    nodes: dict[str, int]
    workloads: dict[str, int]
    quotas: tuple[QuotaFigures, ...]
    devices: tuple[DeviceFigures, ...]
    drives: tuple[DriveFigures, ...]
    findings: dict[str, int]


def figures(asked: "Asked") -> ClusterFigures:
    """Return the sums of a cluster, with every promise counted."""
    from ullage.service.asked import read_cluster
    from ullage.service.held import columns_of

    return figures_of(columns_of(read_cluster(asked)))


def figures_of(columns: "Columns") -> ClusterFigures:
    """Return the sums of a cluster that was read already."""
    from ullage.engine.capacity.devices import summarise_devices
    from ullage.engine.capacity.findings import findings_of
    from ullage.engine.capacity.summary import summarise_groups, total
    from ullage.engine.quota.use import quota_use

    snapshot = columns.snapshot
    types = snapshot.resource_types
    groups = summarise_groups(columns)
    quotas = quota_use(columns)
    found = findings_of(columns, groups, quotas)
    return ClusterFigures(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        total=_group(total(groups, ""), types),
        groups=tuple(_group(each, types) for each in groups),
        nodes=_counted(each.state for each in snapshot.nodes),
        workloads=_counted(each.told_state for each in snapshot.workloads),
        quotas=tuple(each for use in quotas[:QUOTAS_MAX] for each in _quota(use, types)),
        devices=tuple(
            DeviceFigures(
                each.model,
                each.resource,
                each.devices,
                each.free,
                {str(size): count for size, count in each.starts.items()},
            )
            for each in summarise_devices(columns)
        ),
        drives=tuple(_drives(columns)),
        findings=_counted(each.severity for each in found),
    )


def in_units(resource: str, amount: int, types: "ResourceTypes") -> float:
    """Return an amount in the unit that a resource is counted in."""
    steps: int = 10 ** types[resource].internal_scale_exponent
    return amount / steps


def _group(summary: "Summary", types: "ResourceTypes") -> GroupFigures:
    rows = []
    for name in summary.capacity:
        if not summary.capacity.of(name) and not summary.promised.of(name):
            continue
        terms = {term: getattr(summary, term) for term in TERMS}
        amounts = {
            term: in_units(name, values.of(name), types) if name in values else None
            for term, values in terms.items()
        }
        rows.append(msgspec.convert({"resource": name, **amounts}, ResourceFigures))
    return GroupFigures(summary.name, summary.nodes, summary.ready, tuple(rows))


def _quota(use: "QuotaUse", types: "ResourceTypes") -> "Iterator[QuotaFigures]":
    quota = use.quota
    for name in sorted({*quota.min, *quota.max, *use.used}):
        least, most = (
            in_units(name, bound.of(name), types) if name in bound else None
            for bound in (quota.min, quota.max)
        )
        used, borrowed, lent = (
            in_units(name, each.of(name), types) for each in (use.used, use.borrowed, use.lent)
        )
        yield QuotaFigures(quota.name, name, least, most, used, borrowed, lent)


def _drives(columns: "Columns") -> "Iterator[DriveFigures]":
    from ullage.service.disks_list import disks_of, totals_of

    if not any(node.drives or node.volume_groups for node in columns.nodes):
        return
    for each in totals_of(disks_of(columns)):
        yield DriveFigures(
            each.drive_class,
            each.drives,
            each.failing,
            each.size_bytes,
            each.used_bytes,
            each.promised_bytes,
            each.free_bytes,
            each.closed_bytes,
        )


def _counted(words: "Iterable[str]") -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items()))
