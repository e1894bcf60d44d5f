"""What every subject of usage was promised and may have at most, so that use can be held against it.

For pods and containers these are request and limit. A node was promised what is committed on it and may have
what is allocatable; groups and the cluster likewise. A workload counts those of its pods that were observed:
use of some is not held against the requests of all. Which those were a summary of it does not tell: there,
what was promised to them is what the summary states.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from ullage.engine.capacity.summary import summarise_groups, total
from ullage.engine.columns import Columns
from ullage.engine.placement.limit_ranges import containers_of
from ullage.engine.quota.use import QuotaUse, quota_use
from ullage.engine.usage.book import Book
from ullage.engine.usage.homes import NO_NAMESPACE, pod_subject, workload_subject
from ullage.engine.usage.owners import owner_of
from ullage.model.cluster import Snapshot, Workload
from ullage.model.resources import Resources
from ullage.model.usage import Promised, kind_of

NAMESPACED: Final = frozenset(("pod", "container", "workload", "namespace"))
"""Kinds of subjects that are of one namespace."""
CROWDS: Final = frozenset(("workload", "namespace"))
"""Kinds of subjects that count only those of their pods that were observed."""
NOTHING_PROMISED: Final = Promised()
Seen = Callable[[Sequence[str]], Collection[str]]


def seen_in(book: Book) -> Seen:
    """Return who says which pods a book has observed."""
    return lambda pods: {each for each in pods if book.streams_of(each)}


def promise_of(subject: str, book: Book, promised: Mapping[str, Promised]) -> Promised:
    """Return what a subject was promised: by a cluster, or of a crowd as its summary states it."""
    stated = book.stated.get(subject)
    if stated is not None and stated.promised is not None and kind_of(subject) in CROWDS:
        return stated.promised
    return promised.get(subject, NOTHING_PROMISED)


def promised_to(columns: Columns, seen: Seen, subject: str = "") -> dict[str, Promised]:
    """Return what every subject of a cluster was promised; at least one where only that is asked about.

    `seen` says which of some pods were observed.
    """
    kind, _, name = subject.partition("/")
    found: dict[str, Promised] = {}
    if kind in {"", "node"}:
        found.update(_of_nodes(columns, name))
    if kind in {"", "group", "cluster"}:
        found.update(_of_groups(columns))
    if kind in {"", "quota"}:
        found.update((f"quota/{use.quota.name}", _of_quota(use)) for use in quota_use(columns))
    crews: dict[str, list[Workload]] = {}
    for workload in _holders(columns.snapshot, subject):
        found[pod_subject(workload)] = Promised(workload.requests, workload.limits, 1, 1)
        namespace = workload.namespace or NO_NAMESPACE
        for container in containers_of(workload):
            inside = f"container/{namespace}/{workload.name}/{container.name}"
            found[inside] = Promised(container.requests, container.limits)
        crews.setdefault(workload_subject(owner_of(workload)), []).append(workload)
        crews.setdefault(f"namespace/{namespace}", []).append(workload)
    found.update((crowd, _of_crew(crew, seen)) for crowd, crew in crews.items() if subject in {"", crowd})
    return found


def promised_to_workloads(snapshot: Snapshot, seen: Seen) -> dict[str, Promised]:
    """Return what every workload of a cluster was promised."""
    crews: dict[str, list[Workload]] = {}
    for workload in _holders(snapshot):
        crews.setdefault(workload_subject(owner_of(workload)), []).append(workload)
    return {subject: _of_crew(crew, seen) for subject, crew in crews.items()}


def _of_crew(crew: list[Workload], seen: Seen) -> Promised:
    observed = seen([pod_subject(each) for each in crew])
    counted = [each for each in crew if pod_subject(each) in observed]
    return _together(counted or crew, len(crew))


def _holders(snapshot: Snapshot, subject: str = "") -> Iterator[Workload]:
    """Yield who holds something, of the namespace of a subject where that has one."""
    kind, _, rest = subject.partition("/")
    if subject and kind not in NAMESPACED:
        return
    wanted = rest.partition("/")[0]
    for run in snapshot.workloads.runs():
        for workload in run:
            if subject and (workload.namespace or NO_NAMESPACE) != wanted:
                continue
            if workload.holds_capacity and not workload.promised:
                yield workload


def _of_quota(use: QuotaUse) -> Promised:
    return Promised(use.used, use.quota.max)


def _of_nodes(columns: Columns, only: str = "") -> Iterator[tuple[str, Promised]]:
    """Yield what nodes were promised, all of them or one."""
    committed, allocatable = columns.committed, columns.allocatable
    for row, node in enumerate(columns.nodes):
        if only in {"", node.name}:
            amounts = committed[row].tolist(), allocatable[row].tolist()
            request, limit = (dict(zip(columns.resources, each, strict=True)) for each in amounts)
            named = set(node.capacity)
            yield f"node/{node.name}", Promised(Resources(request).only(named), Resources(limit).only(named))


def _of_groups(columns: Columns) -> Iterator[tuple[str, Promised]]:
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
