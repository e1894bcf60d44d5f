"""What quotas use, borrow and lend, without a look at single workloads: the same numbers as accounts, sooner.

Workloads that ask for the same are counted once. The hard thing is GPU memory, which is derived container by
container and by the node's own size of a GPU: only workloads that ask for GPUs are looked at so closely.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ullage.engine.columns import RulesByPlace
from ullage.engine.quota.accounts import counted_request
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.shares import beyond, lent
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.validation import in_force
from ullage.engine.requests import gpu_gigabytes
from ullage.model.cluster import HOLDING_STATES, Quota, Snapshot, Workload
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import rules_for


class QuotaUse(NamedTuple):
    """A quota beside its use, with all below it, over the resources that it names.

    `borrowed` is what it uses beyond its guaranteed `min`, `lent` the part of it that others use.
    """

    quota: Quota
    workloads: int
    used: Resources
    borrowed: Resources
    lent: Resources


class _Alike(NamedTuple):
    """Running workloads of a quota that count the same: one of them, how many, and the size of their GPUs."""

    quota: int
    workload: Workload
    workloads: int
    gigabytes: int


def quota_use(snapshot: Snapshot) -> list[QuotaUse]:
    """Return the use of every quota, by name; a workload without a node uses nothing."""
    book = Book(in_force(snapshot.quotas), rules_for(snapshot.policy, snapshot.resource_types).quota_mode)
    if not book.quotas:
        return []
    totals = [[0] * len(book.resources) for _ in book.quotas]
    workloads = [0] * len(book.quotas)
    for alike in _running(snapshot, book):
        counted = book.amounts(counted_request(alike.workload, alike.gigabytes))
        total = totals[alike.quota]
        for place, amount in enumerate(counted):
            total[place] += amount * alike.workloads
        for above in book.chains[alike.quota]:
            workloads[above] += alike.workloads
    standing = Standing(book, (Member("", place, tuple(each), NOTHING) for place, each in enumerate(totals)))
    lends = lent(standing).whole
    found: list[QuotaUse] = []
    for place, quota in enumerate(book.quotas):
        named = {*quota.min, *quota.max}
        used = book.readable(standing.used[place]).only(named)
        borrowed = book.readable(beyond(standing.used[place], book.mins[place]))
        found.append(QuotaUse(quota, workloads[place], used, borrowed, book.readable(lends[place])))
    return found


def _running(snapshot: Snapshot, book: Book) -> Iterator[_Alike]:
    """Yield the running workloads under quotas; equal requests are mostly one object, found by identity."""
    sizes = RulesByPlace(snapshot)
    default = rules_for(snapshot.policy, snapshot.resource_types).gpu_memory_gigabytes
    queued = any(quota.queues for quota in book.quotas)
    quota_of: dict[str, int] = {}
    groups: dict[tuple[int, int, int], list[Workload]] = {}
    for run in snapshot.workloads.runs():
        for workload in run:
            if not workload.node or workload.state not in HOLDING_STATES:
                continue
            place = NO_QUOTA if queued else quota_of.get(workload.namespace)
            if queued or place is None:
                place = book.place_of(workload.namespace, workload.labels)
                quota_of[workload.namespace] = place
            if place != NO_QUOTA:
                key = (place, id(workload.requests), id(workload.containers))
                groups.setdefault(key, []).append(workload)
    for (place, *_), members in groups.items():
        if not any(gpu_gigabytes(name, default) is not None for name in members[0].requests):
            yield _Alike(place, members[0], len(members), default)
            continue
        nodes = (snapshot.nodes.get(workload.node) for workload in members)
        by_size = Counter(default if node is None else sizes.of(node).gpu_memory_gigabytes for node in nodes)
        for gigabytes, count in by_size.items():
            yield _Alike(place, members[0], count, gigabytes)
