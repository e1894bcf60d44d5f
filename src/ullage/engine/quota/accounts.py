"""The quotas of a snapshot with all who run and wait under them: the ledger from which every answer is read.

What a workload counts is derived from it each time, so that the ledger cannot differ from the cluster. The
hard thing is GPU memory: it is added container by container before these are summed up, and by the node's own
size of a GPU where the workload runs.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Final

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.running import sets_of
from ullage.engine.quota.book import Amounts, Book, Member
from ullage.engine.quota.cluster_capacity import node_room, shared_capacity
from ullage.engine.quota.gpu_sizes import GpuSizes
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.run_time import RunTime
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.validation import in_force
from ullage.engine.quota.victim_gangs import by_gang, gang_of
from ullage.engine.redundancy.budgets import Budgets
from ullage.engine.redundancy.daemons import is_daemon
from ullage.engine.requests import WHOLE_GPU, effective_request, gpu_gigabytes, with_gpu_memory
from ullage.model.cluster import Snapshot, Workload
from ullage.model.resources import Resources
from ullage.model.settings import rules_for

ENDED: Final = frozenset(("error", "deleted"))
QUEUE_GATE: Final = "kueue.x-k8s.io/admission"
"""Kueue holds pods back by it until their queue has the quota: they ask already."""


class Accounts:
    """Who runs, who is leaving (and still counts), who asks to run, and who of the first could be evicted.

    `spared` are those of them that have not run for the policy's minimum, with the seconds they have left.
    `like` are the accounts of a cluster from which this one differs little.
    """

    def __init__(self, columns: Columns, like: "Accounts | None" = None) -> None:
        snapshot = columns.snapshot
        settings = rules_for(snapshot.policy, snapshot.resource_types)
        self.columns = columns
        self.book = Book(in_force(snapshot.quotas), settings.quota_mode)
        self.budgets = Budgets(snapshot)
        self.sizes = GpuSizes(snapshot)
        self._counted: dict[tuple[object, ...], tuple[Workload, Amounts]] = {}
        self.running: dict[str, Member] = {}
        self.leaving: dict[str, Member] = {}
        self.waiting: dict[str, Member] = {}
        self.evictable: list[Member] = []
        self.run_time = RunTime(settings.quota_run_min_seconds, snapshot.taken_seconds)
        self.spared: dict[str, int] = {}
        if like is None or not _counts_alike(like.columns.snapshot, snapshot):
            for workload in snapshot.workloads:
                self._enter(workload)
        else:
            self._enter_after(like)
        everyone = (*self.running.values(), *self.leaving.values())
        self.standing = Standing(self.book, everyone, settings.quota_order)
        self.capacity = shared_capacity(columns)
        self.rules = Rules(self.standing, self.standing.entitlements(self.waiting.values(), self.capacity))

    def _enter(self, workload: Workload) -> None:
        if holds_quota(workload):
            member = self.member_of(workload)
            if workload.terminating:
                self.leaving[workload.key] = member
            else:
                self.running[workload.key] = member
            if not workload.terminating and not is_daemon(workload):
                self.evictable.append(member)
                self._time(workload)
        elif asks_to_run(workload):
            self.waiting[workload.key] = self.member_of(workload)

    def _enter_after(self, like: "Accounts") -> None:
        """Enter who was entered in a cluster that differs little, but for the workloads that differ."""
        put, dropped = like.columns.snapshot.workloads.difference(self.columns.snapshot.workloads)
        gone = {*dropped, *(workload.key for workload in put)}
        for name in ("running", "leaving", "waiting", "spared"):
            known = dict(getattr(like, name))
            for key in gone:
                known.pop(key, None)
            setattr(self, name, known)
        self.evictable = [member for member in like.evictable if member.key not in gone]
        for workload in put:
            self._enter(workload)
        if put:
            for name in ("running", "leaving", "waiting", "spared"):
                setattr(self, name, dict(sorted(getattr(self, name).items(), key=itemgetter(0))))
            self.evictable.sort(key=attrgetter("key"))

    def _time(self, workload: Workload) -> None:
        left_seconds = self.run_time.left_seconds(workload)
        if left_seconds:
            self.spared[workload.key] = left_seconds

    @cached_property
    def room(self) -> Mapping[str, int]:
        """What the nodes that take workloads have left in all."""
        return node_room(self.columns)

    @cached_property
    def gangs(self) -> Mapping[str, Sequence[Member]]:
        """Those who run, by their gangs."""
        return by_gang(self.running.values())

    @cached_property
    def replicas(self) -> Mapping[tuple[str, str], int]:
        """How many workloads of each set run or wait, by namespace and set."""
        counts: dict[tuple[str, str], int] = {}
        for workload in self.columns.snapshot.workloads:
            if workload.owner and (workload.key in self.running or workload.key in self.waiting):
                for owner in sets_of(workload.owner):
                    key = (workload.namespace, owner)
                    counts[key] = counts.get(key, 0) + 1
        return counts

    def member_of(self, workload: Workload) -> Member:
        """Return a workload as its quota counts it."""
        return Member(
            workload.key,
            self.book.place_of(workload.namespace, workload.labels),
            self._amounts(workload),
            self.columns.taken(workload),
            workload.node,
            workload.priority,
            workload.created_seconds or 0,
            self.budgets.of(workload),
            gang_of(workload),
            workload.gang_min,
        )

    def _amounts(self, workload: Workload) -> Amounts:
        """Return what a workload counts; equal ones, of which there are many, are counted once."""
        gigabytes = self.sizes.of_name(workload.node) if WHOLE_GPU in workload.requests else 0
        key = (id(workload.requests), id(workload.containers), gigabytes)
        found = self._counted.get(key)
        if found is None:
            counted = self.book.amounts(counted_request(workload, gigabytes))
            found = self._counted[key] = (workload, counted)
        return found[1]


def _counts_alike(one: Snapshot, other: Snapshot) -> bool:
    """Whether workloads that two clusters share count the same in both."""
    same = ("nodes", "policy", "resource_types", "quotas", "disruption_budgets", "taken_seconds")
    return all(getattr(one, name) is getattr(other, name) for name in same)


def holds_quota(workload: Workload) -> bool:
    """Whether a workload counts as used: it runs, or its queue has admitted it and it has no node yet."""
    if not workload.admitted:
        return workload.holds_capacity
    waits = not workload.node and not workload.terminating and workload.state not in ENDED
    return waits or workload.holds_capacity


def asks_to_run(workload: Workload) -> bool:
    """Whether a workload waits for its place, held back by nothing but perhaps a queue for its quota."""
    if workload.node or workload.terminating or workload.state in ENDED:
        return False
    return all(gate == QUEUE_GATE for gate in workload.constraints.scheduling_gates)


def counted_request(workload: Workload, gigabytes_per_gpu: int) -> Resources:
    """Return a workload's request with the GPU memory of each container, summed up as requests are."""
    if all(gpu_gigabytes(name, gigabytes_per_gpu) is None for name in workload.requests):
        return workload.requests
    if not workload.containers:
        return with_gpu_memory(workload.requests, gigabytes_per_gpu)
    derived = [
        msgspec.structs.replace(each, requests=with_gpu_memory(each.requests, gigabytes_per_gpu))
        for each in workload.containers
    ]
    summed = effective_request(derived, workload.overhead)
    return Resources({**summed, **workload.requests})
