"""What every subject of usage was promised and may have at most, so that use can be held against it.

For pods and containers these are request and limit. A node was promised what is committed on it and may have
what is allocatable; groups and the cluster likewise. A workload counts those of its pods that were observed:
use of some is not held against the requests of all.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ullage.engine.capacity.summary import summarise_groups, total
from ullage.engine.columns import Columns
from ullage.engine.placement.limit_ranges import containers_of
from ullage.engine.quota.use import quota_use
from ullage.engine.usage.book import Book
from ullage.engine.usage.homes import NO_NAMESPACE, pod_subject, workload_subject
from ullage.engine.usage.owners import owner_of
from ullage.model.cluster import Workload
from ullage.model.resources import NOTHING, Resources


class Promised(NamedTuple):
    """What a subject asked for, and what it may have; a resource without a bound is not in `limit`.

    `pods` of `all_pods` were observed and count.
    """

    request: Resources = NOTHING
    limit: Resources = NOTHING
    pods: int = 0
    all_pods: int = 0


def promised_to(columns: Columns, book: Book) -> dict[str, Promised]:
    """Return what every subject of a cluster was promised."""
    found = dict(_of_machines(columns))
    for use in quota_use(columns):
        found[f"quota/{use.quota.name}"] = Promised(use.used, use.quota.max)
    crews: dict[str, list[Workload]] = {}
    for run in columns.snapshot.workloads.runs():
        for workload in run:
            if not workload.holds_capacity or workload.promised:
                continue
            found[pod_subject(workload)] = Promised(workload.requests, workload.limits, 1, 1)
            namespace = workload.namespace or NO_NAMESPACE
            for container in containers_of(workload):
                subject = f"container/{namespace}/{workload.name}/{container.name}"
                found[subject] = Promised(container.requests, container.limits)
            crews.setdefault(workload_subject(owner_of(workload)), []).append(workload)
            crews.setdefault(f"namespace/{namespace}", []).append(workload)
    for subject, crew in crews.items():
        seen = [each for each in crew if book.streams_of(pod_subject(each))]
        found[subject] = _together(seen or crew, len(crew))
    return found


def _of_machines(columns: Columns) -> Iterator[tuple[str, Promised]]:
    for row, node in enumerate(columns.nodes):
        request = {name: int(columns.committed[row, at]) for at, name in enumerate(columns.resources)}
        limit = {name: int(columns.allocatable[row, at]) for at, name in enumerate(columns.resources)}
        named = set(node.capacity)
        yield f"node/{node.name}", Promised(Resources(request).only(named), Resources(limit).only(named))
    groups = summarise_groups(columns)
    for group in groups:
        yield f"group/{group.name}", Promised(group.committed, group.allocatable)
    whole = total(groups, "cluster")
    yield "cluster", Promised(whole.committed, whole.allocatable)


def _together(crew: list[Workload], all_pods: int) -> Promised:
    """Return the sums of some pods; what not all of them bound has no bound."""
    request: dict[str, int] = {}
    limit: dict[str, int] = {}
    for each in crew:
        for name, amount in each.requests.items():
            request[name] = request.get(name, 0) + amount
    for name in set.intersection(*(set(each.limits) for each in crew)):
        limit[name] = sum(each.limits[name] for each in crew)
    return Promised(Resources(request), Resources(limit), len(crew), all_pods)
