"""What can run out, and at which amount: resources of cluster and groups, quotas, drives, workloads.

Promises run out where nothing more can be promised (committed + ullage), use where there is physically no
more (capacity). Some bounds only tell when something changes, such as a quota that begins to borrow: those
are not `hard`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from ullage.engine.capacity.summary import Summary, summarise_groups, total
from ullage.engine.columns import Columns
from ullage.engine.quota.use import quota_use
from ullage.engine.usage.homes import workload_subject
from ullage.engine.usage.owners import owner_of
from ullage.model.cluster import Workload
from ullage.model.resources import Resources
from ullage.model.usage import COMMITTED, USAGE
from ullage.service.disks_list import disks_of, totals_of

STORAGE: Final = "storage-space"
LIMIT: Final = "limit"
CAPACITY: Final = "capacity"
MAX: Final = "max"
MIN: Final = "min"
ENTITLEMENT: Final = "entitlement"
SPACE: Final = "space"
REQUESTS: Final = "requests"
LIMITS: Final = "limits"


class Bound(NamedTuple):
    """An amount that a series may reach; a hard one cannot be passed."""

    subject: str
    resource: str
    measure: str
    name: str
    amount: int
    hard: bool = True


def bounds_of(columns: Columns, kinds: Sequence[str]) -> list[Bound]:
    """Return every bound of some kinds: resource, quota, drives, workload.

    Equal ones are told once, by their first name; where there is nothing, nothing runs out.
    """
    found: dict[tuple[str, str, str, int], Bound] = {}
    for kind in kinds:
        for bound in _OF_KIND[kind](columns):
            if bound.amount:
                found.setdefault((bound.subject, bound.resource, bound.measure, bound.amount), bound)
    return list(found.values())


def _of_resources(columns: Columns) -> Iterator[Bound]:
    groups = summarise_groups(columns)
    yield from _of_summary("cluster", total(groups, "cluster"))
    if len(groups) > 1:
        for group in groups:
            yield from _of_summary(f"group/{group.name}", group)


def _of_summary(subject: str, summary: Summary) -> Iterator[Bound]:
    for name, capacity in summary.capacity.items():
        if name in summary.ullage:
            promised = summary.committed.of(name) + max(0, summary.ullage[name])
            yield Bound(subject, name, COMMITTED, LIMIT, promised)
        if capacity:
            yield Bound(subject, name, USAGE, CAPACITY, capacity)


def _of_quotas(columns: Columns) -> Iterator[Bound]:
    for use in quota_use(columns):
        subject = f"quota/{use.quota.name}"
        named: tuple[tuple[str, Resources], ...] = (
            (MAX, use.quota.max),
            (MIN, use.quota.min),
            (ENTITLEMENT, use.entitlement),
        )
        for measure in (COMMITTED, USAGE):
            for bound, amounts in named:
                for resource, amount in amounts.items():
                    hard = bound == MAX and measure == COMMITTED
                    yield Bound(subject, resource, measure, bound, amount, hard)


def _of_drives(columns: Columns) -> Iterator[Bound]:
    for each in totals_of(disks_of(columns)):
        space = each.used_bytes + each.promised_bytes + each.free_bytes
        for measure in (COMMITTED, USAGE):
            yield Bound(f"drives/{each.drive_class}", STORAGE, measure, SPACE, space)


def _of_workloads(columns: Columns) -> Iterator[Bound]:
    """Yield what the replicas of a workload asked for together, and may have where all are bounded."""
    crews: dict[str, list[Workload]] = {}
    for run in columns.snapshot.workloads.runs():
        for each in run:
            if each.holds_capacity and not each.promised:
                crews.setdefault(workload_subject(owner_of(each)), []).append(each)
    for subject, crew in sorted(crews.items()):
        resources = sorted({name for each in crew for name in (*each.requests, *each.limits)} - {"pods"})
        for resource in resources:
            requests = sum(each.requests.of(resource) for each in crew)
            if all(resource in each.limits for each in crew):
                limits = sum(each.limits[resource] for each in crew)
                yield Bound(subject, resource, USAGE, LIMITS, limits)
            if requests:
                yield Bound(subject, resource, USAGE, REQUESTS, requests, hard=False)


_OF_KIND: Final[Mapping[str, Callable[[Columns], Iterator[Bound]]]] = MappingProxyType(
    {"resource": _of_resources, "quota": _of_quotas, "drives": _of_drives, "workload": _of_workloads}
)
KINDS: Final = tuple(_OF_KIND)
DEFAULT_KINDS: Final = ("resource", "quota", "drives")
