"""What quotas use, borrow, lend and may claim, without a look at single workloads: as accounts, but sooner.

Workloads that ask for the same are counted once. The hard thing is GPU memory, which is derived container by
container and by the node's own size of a GPU: only workloads that ask for GPUs are looked at so closely.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import asks_to_run, counted_request, holds_quota
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.claimable import claimable
from ullage.engine.quota.cluster_capacity import shared_capacity
from ullage.engine.quota.gpu_sizes import GpuSizes
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.shares import beyond, entitlements, guaranteed, lent, names_of
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.validation import in_force
from ullage.engine.requests import WHOLE_GPU
from ullage.model.cluster import HOLDING_STATES, Quota, Snapshot, Workload
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import rules_for


class QuotaUse(NamedTuple):
    """A quota beside its use, with all below it, over the resources that it names.

    `borrowed` is what it uses beyond its guaranteed `min`, `lent` the part of it that others use; up to its
    `entitlement` it may claim, and `claimable` is what others could claim of its use.
    """

    quota: Quota
    workloads: int
    used: Resources
    borrowed: Resources
    lent: Resources
    entitlement: Resources
    claimable: Resources


class _Alike(NamedTuple):
    """Workloads of a quota that count the same: one of them, how many, and the size of their GPUs."""

    quota: int
    workload: Workload
    workloads: int
    gigabytes: int


def quota_use(columns: Columns) -> list[QuotaUse]:
    """Return the use of every quota, by name; who has no node and is not admitted uses none, but may ask."""
    snapshot = columns.snapshot
    book = Book(in_force(snapshot.quotas), rules_for(snapshot.policy, snapshot.resource_types).quota_mode)
    if not book.quotas:
        return []
    running, asking = _groups(snapshot, book)
    workloads = [0] * len(book.quotas)
    for alike in running:
        for above in book.chains[alike.quota]:
            workloads[above] += alike.workloads
    standing = Standing(book, _members(book, running))
    waiting, capacity = _members(book, asking), shared_capacity(columns)
    shares = standing.entitlements(waiting, capacity)
    exposed = claimable(standing, waiting, capacity)
    lends, entitled = lent(standing).whole, entitlements(Rules(standing, shares))
    found: list[QuotaUse] = []
    for place, quota in enumerate(book.quotas):
        named = names_of(book, place, standing.used[place])
        used = book.readable(standing.used[place]).only(named)
        borrowed = book.readable(beyond(standing.used[place], guaranteed(book, place)))
        found.append(
            QuotaUse(
                quota,
                workloads[place],
                used,
                borrowed.only(named),
                book.readable(lends[place]).only(named),
                book.readable(entitled[place]),
                book.readable(exposed[place]).without_zeros(),
            )
        )
    return found


def _members(book: Book, groups: Iterable[_Alike]) -> list[Member]:
    """Return what workloads count in all, as one member of each quota."""
    totals = [[0] * len(book.resources) for _ in book.quotas]
    for alike in groups:
        total = totals[alike.quota]
        for place, amount in enumerate(book.amounts(counted_request(alike.workload, alike.gigabytes))):
            total[place] += amount * alike.workloads
    return [Member("", place, tuple(each), NOTHING) for place, each in enumerate(totals)]


def _groups(snapshot: Snapshot, book: Book) -> tuple[list[_Alike], list[_Alike]]:
    """Return those that run under quotas, and those that ask to; equal requests are mostly one object."""
    queued = any(quota.queues for quota in book.quotas)
    quota_of: dict[str, int] = {}
    running: dict[tuple[int, int, int], list[Workload]] = {}
    asking: dict[tuple[int, int, int], list[Workload]] = {}
    for run in snapshot.workloads.runs():
        for workload in run:
            runs = bool(workload.node) and workload.state in HOLDING_STATES
            runs = runs or (workload.admitted and holds_quota(workload))
            if not runs and not asks_to_run(workload):
                continue
            place = NO_QUOTA if queued else quota_of.get(workload.namespace)
            if queued or place is None:
                place = book.place_of(workload.namespace, workload.labels)
                quota_of[workload.namespace] = place
            if place != NO_QUOTA:
                key = (place, id(workload.requests), id(workload.containers))
                (running if runs else asking).setdefault(key, []).append(workload)
    return list(_sized(snapshot, running)), list(_sized(snapshot, asking))


def _sized(snapshot: Snapshot, groups: Mapping[tuple[int, int, int], list[Workload]]) -> Iterator[_Alike]:
    """Yield groups by the size of the GPUs of their nodes, where they ask for GPUs."""
    sizes = GpuSizes(snapshot)
    for (place, *_), members in groups.items():
        if WHOLE_GPU not in members[0].requests:
            yield _Alike(place, members[0], len(members), 0)
            continue
        by_size = Counter(sizes.of_name(workload.node) for workload in members)
        for gigabytes, count in by_size.items():
            yield _Alike(place, members[0], count, gigabytes)
