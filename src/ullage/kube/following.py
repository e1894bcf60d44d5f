"""The cluster as a process of ours follows it: every kind that matters listed and watched, one snapshot.

The hard thing is kinds that are not there yet: definitions may be installed after the process has started, so
the server is asked again from time to time, and a kind that has appeared is followed from then on. Amounts
are read by the types of resources; where these change, all is to be read anew, and `outdated` says so.
"""

import asyncio
from collections.abc import Collection, Coroutine
from contextlib import suppress
from typing import Any, Final

import msgspec

from ullage.engine.columns import Columns
from ullage.kube.held_room import HeldRoom
from ullage.kube.node_capacities import NODE_CAPACITY, NodeCapacities
from ullage.kube.plans import PLAN, Plans
from ullage.kube.resource_types import RESOURCE_TYPE, TypeObjects
from ullage.kube.stated import OBJECT, Stated
from ullage.model.cluster import Snapshot
from ullage.model.delta import Delta
from ullage.model.delta import apply as apply_delta
from ullage.model.errors import InputError
from ullage.model.policy import Layer, Policy
from ullage.model.resources import ResourceTypes
from ullage.service.clock import now_seconds
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.api.discovering import discovered
from ullage.sources.kubernetes.api.mirror import CSI_NODE, KINDS, Mirror
from ullage.sources.kubernetes.api.watching import Watch
from ullage.sources.kubernetes.baremetal_objects import CAPACITY, RESERVATION, VOLUME, VOLUME_GROUP
from ullage.sources.kubernetes.capacity_policies import CAPACITY_POLICY, DEFAULT_PROFILE, Policies
from ullage.sources.kubernetes.items import POD, Kind
from ullage.sources.kubernetes.kubeconfig import Access
from ullage.sources.kubernetes.object_kinds import QUOTA_KINDS
from ullage.sources.kubernetes.pod_groups import POD_GROUPS

DISCOVERY_SECONDS: Final = 30
_BEFORE_PODS: Final = frozenset(
    (
        Kind("", "LimitRange"),
        Kind("", "ResourceQuota"),
        Kind("scheduling.k8s.io", "PriorityClass"),
        Kind("kueue.x-k8s.io", "WorkloadPriorityClass"),
        Kind("node.k8s.io", "RuntimeClass"),
    )
)
"""What the API server has applied to every pod before it was created."""
GIVEN_AWAY: Final = (
    (PLAN, RESERVATION),
    (
        POD,
        Kind("", "PersistentVolumeClaim"),
        Kind("", "PersistentVolume"),
        Kind("storage.k8s.io", "CSIStorageCapacity"),
        CAPACITY,
        VOLUME,
        VOLUME_GROUP,
    ),
)
"""Kinds by which room is given away: first what is promised, then what becomes of promises.

A promise that is gone from the first list was kept, and what it has become is in the second.
"""
STATED: Final = (*QUOTA_KINDS, CAPACITY_POLICY)
"""Kinds whose status is ours to write: what it says now is kept, so that nothing is written twice."""
FOR_PLACING: Final = frozenset(
    (
        Kind("", "Namespace"),
        Kind("policy", "PodDisruptionBudget"),
        Kind("storage.k8s.io", "StorageClass"),
        Kind("storage.k8s.io", "CSIStorageCapacity"),
        Kind("storage.k8s.io", "CSIDriver"),
        CSI_NODE,
        *POD_GROUPS,
    )
)
"""Kinds that only those read who choose nodes for pods, or pods to be evicted; what is counted needs none."""
FOLLOWED: Final = (
    *(kind for kind in KINDS if kind not in _BEFORE_PODS), CAPACITY_POLICY, RESOURCE_TYPE, PLAN,
)  # fmt: skip


class Following:
    """What a process knows of its cluster, kept up to date."""

    def __init__(
        self,
        access: Access,
        client: ApiClient,
        *,
        kinds: Collection[Kind] = FOLLOWED,
        profile: str = DEFAULT_PROFILE,
        types: ResourceTypes | None = None,
        layer: Layer | None = None,
    ) -> None:
        """`layer` holds settings that lie over the profile and under all CapacityPolicies."""
        self._access = access
        self._client = client
        self._kinds = frozenset(kinds)
        self.types = types or ResourceTypes()
        self.mirror = Mirror(self.types, name=access.name)
        self.policies = Policies(self.types, profile, layer)
        self.type_objects = TypeObjects()
        self.plans = Plans()
        self.node_capacities = NodeCapacities()
        self._apart: dict[Kind, Plans | NodeCapacities] = {
            PLAN: self.plans,
            NODE_CAPACITY: self.node_capacities,
        }
        self.room = HeldRoom(self.plans, self.now_seconds)
        self.changed = asyncio.Event()
        self.outdated = asyncio.Event()
        self._watches: dict[Kind, Watch] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._running: dict[Kind, asyncio.Task[None]] = {}
        self._death: BaseException | None = None
        self._dead = asyncio.Event()
        self._listing: dict[Kind, set[str]] = {}
        self.stated: dict[Kind, dict[str, Stated]] = {kind: {} for kind in STATED}
        self.stated_changes = 0
        self._policy: Policy | None = None
        self._columns: Columns | None = None

    # Life

    async def start(self) -> None:
        """Begin to follow, and return when everything that is there has been listed; raises an InputError."""
        await self._discover()
        self._begin_task(self._discover_again())
        await asyncio.gather(*(watch.synced.wait() for watch in self._watches.values()))

    async def stop(self) -> None:
        """Follow no longer."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def died(self) -> None:
        """Raise what has ended a watch that should never end: what is known would be out of date for ever."""
        await self._dead.wait()
        if self._death is not None:
            raise self._death

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._death = task.exception()
            self._dead.set()

    async def _discover(self) -> None:
        for kind, listed in (await discovered(self._client, self._kinds)).items():
            if kind not in self._watches:
                watch = Watch(self._client, listed, self, changed=self.changed.set)
                self._watches[kind] = watch
                self._run(kind, watch)

    def _run(self, kind: Kind, watch: Watch) -> None:
        self._running[kind] = self._begin_task(watch.run())

    async def look_again(self) -> None:
        """List anew how room was given away: what is known of that afterwards is no older than this call."""
        for kinds in GIVEN_AWAY:
            await asyncio.gather(*(self._list_again(kind) for kind in kinds if kind in self._watches))

    async def _list_again(self, kind: Kind) -> None:
        before = self._running[kind]
        before.cancel()
        await asyncio.wait((before,))
        self._tasks.remove(before)
        self._watches[kind].forget()
        self._run(kind, self._watches[kind])
        await self._watches[kind].synced.wait()

    async def _discover_again(self) -> None:
        while self._kinds - self._watches.keys():
            await asyncio.sleep(DISCOVERY_SECONDS)
            with suppress(InputError):  # the server is away: the watches wait for it too
                await self._discover()

    @property
    def failures(self) -> dict[str, str]:
        """What cannot be followed at the moment, and why."""
        return {kind.name: watch.failure for kind, watch in self._watches.items() if watch.failure}

    @property
    def lists(self) -> int:
        """How often a kind was listed."""
        return sum(watch.lists for watch in self._watches.values())

    def follows(self, kind: Kind) -> bool:
        """Whether the server has a kind, and it is followed."""
        return kind in self._watches

    def hears(self, kind: Kind) -> bool:
        """Whether what is known of a kind is up to date, as far as this process can tell."""
        return kind in self._watches and not self._watches[kind].failure

    # What is known

    def now_seconds(self) -> int:
        """Return the time as the API server has it: what is held until a time is held for everybody."""
        found = self._client.server_seconds()
        return now_seconds() if found is None else found

    def take(self) -> Delta:
        """Return what has changed since the last call; the first time, all there is."""
        return self.mirror.delta()

    def advance(self, delta: Delta) -> Columns:
        """Return the cluster after a change that was seen, or that is taken for granted."""
        if self._policy is None:
            self._policy = self.policies.policy()
            before = Snapshot(name=self._access.name, resource_types=self.types)
            if self._columns is not None:
                before = self._columns.snapshot
            after = apply_delta(msgspec.structs.replace(before, policy=self._policy), delta)
            self._columns = Columns(after)
        elif self._columns is None:
            raise RuntimeError("a policy without columns")
        else:
            news = _news(delta, self._columns.snapshot)
            self._columns = self._columns if news.is_empty else self._columns.advance(news)
        return self._columns

    def promised(self, delta: Delta) -> Delta:
        """Return a change with what the ledger holds beside it, for those who give room away."""
        if self._columns is None:
            self.advance(delta)
            return self.promised(Delta())
        return self.room.applied(delta, self._columns.snapshot)

    # What watches call

    def begin(self, kind: Kind) -> None:
        """A list of all objects of a kind begins."""
        if kind in self._apart:
            self._apart[kind].begin()
            return
        if kind in self.stated:
            self._listing[kind] = set(self.stated[kind])
        if kind == RESOURCE_TYPE:
            self._listing[kind] = self.type_objects.names()
        elif kind != CAPACITY_POLICY:
            self.mirror.begin(kind)

    def put(self, kind: Kind, content: Any) -> str:
        """An object is there; return its revision."""
        if kind in self._apart:
            self._apart[kind].put(content)
            return OBJECT.decode(content).metadata.resource_version
        if kind not in self.stated and kind != RESOURCE_TYPE:
            return self.mirror.put(kind, content)
        found = OBJECT.decode(content)
        metadata = found.metadata
        self._listing.get(kind, set()).discard(metadata.key)
        if kind == RESOURCE_TYPE:
            self.type_objects.put(content)
            self._compare_types(kind)
            return metadata.resource_version
        self.stated[kind][metadata.key] = found.stated
        self.stated_changes += 1
        if kind != CAPACITY_POLICY:
            return self.mirror.put(kind, content)
        if self.policies.put(content):
            self._policy = None
        return metadata.resource_version

    def drop(self, kind: Kind, content: Any) -> str:
        """An object is gone; return the revision of that."""
        if kind in self._apart:
            self._apart[kind].drop(content)
            return OBJECT.decode(content).metadata.resource_version
        if kind not in self.stated and kind != RESOURCE_TYPE:
            return self.mirror.drop(kind, content)
        metadata = OBJECT.decode(content).metadata
        self._forget(kind, metadata.key)
        if kind in {CAPACITY_POLICY, RESOURCE_TYPE}:
            self._compare_types(kind)
            return metadata.resource_version
        return self.mirror.drop(kind, content)

    def end(self, kind: Kind) -> None:
        """The list ends: what was not in it is gone."""
        if kind in self._apart:
            self._apart[kind].end()
            return
        for key in self._listing.pop(kind, ()):
            self._forget(kind, key)
        if kind not in {CAPACITY_POLICY, RESOURCE_TYPE}:
            self.mirror.end(kind)
        self._compare_types(kind)

    def _forget(self, kind: Kind, key: str) -> None:
        if kind == RESOURCE_TYPE:
            self.type_objects.drop(key)
            return
        self.stated[kind].pop(key, None)
        if kind == CAPACITY_POLICY:
            self.policies.drop(key)
            self._policy = None

    def _compare_types(self, kind: Kind) -> None:
        """Say that all is to be read anew where types are otherwise, unless a list of them goes on."""
        listing = kind in self._listing
        if kind == RESOURCE_TYPE and not listing and self.type_objects.types() != self.types:
            self.outdated.set()


def _news(delta: Delta, known: Snapshot) -> Delta:
    """Return a change without workloads that are known to be so: most that a scheduler sees it has done."""
    gone = delta.dropped.get("workloads", ())
    rows = tuple(row for row in delta.workloads if row.key in gone or known.workloads.get(row.key) != row)
    return delta if len(rows) == len(delta.workloads) else msgspec.structs.replace(delta, workloads=rows)
