"""Pods as they come and go, each as the workload that it is together with what others say of it.

A pod is looked at again when its node, a claim of its, or the group of its gang changes: indexes say whose
that is. The hard thing is time: every pod that is bound comes by three or four times, thousands a second.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.model.admission import PodGroup
from ullage.model.checks import row_check
from ullage.model.cluster import MEMBERS_UNSAID, Workload
from ullage.model.resources import ResourceTypes
from ullage.model.storage import Claim
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.objects import with_claims, with_class
from ullage.sources.kubernetes.pod_groups import COSCHEDULING_GROUP, NATIVE_GROUP
from ullage.sources.kubernetes.pods import COSCHEDULING_LABEL, PodReader, classless_volumes
from ullage.sources.kubernetes.wire import NULL, Metadata, PodSpec, PodStatus, PodWire

TEMPLATES_MAX: Final = 20_000
"""Texts that pods share, of which the values are kept; beyond it, all are made anew."""


class WatchedMetadata(Metadata):
    """What identifies an object among those of its name."""

    uid: str = ""
    resource_version: str = ""


class WatchedStatus(PodStatus):
    """How a pod is doing, and where it will go once there is room."""

    nominated_node_name: str | None = None


class WatchedPod(PodWire):
    """A pod of a live cluster."""

    metadata: WatchedMetadata | None = None
    status: WatchedStatus | None = None


POD: Final = msgspec.json.Decoder(WatchedPod)


class PodFacts(NamedTuple):
    """What a process needs of a pod beyond the workload; `conditions` only of those that wait."""

    uid: str
    nominated_node: str = ""
    conditions: bytes = b""


class Changed(NamedTuple):
    """Workloads by key, None for those that are gone; `moved` came, went, or have other volumes."""

    rows: Mapping[str, Workload | None]
    moved: Sequence[Workload]


class _Held(NamedTuple):
    workload: Workload
    facts: PodFacts
    classless: frozenset[str]
    group_kind: Kind | None


class MirroredPods:
    """All pods."""

    def __init__(self, types: ResourceTypes) -> None:
        self._types = types
        self._pods: dict[str, _Held] = {}
        self._shown: dict[str, Workload] = {}
        self._on_node: dict[str, set[str]] = {}
        self._claiming: dict[str, set[str]] = {}
        self._in_gang: dict[str, set[str]] = {}
        self.nominated: dict[str, str] = {}
        self._with_own_claims: set[str] = set()
        self._stale: set[str] = set()
        self._renewed: set[str] = set()
        self._read_anew()

    def _read_anew(self) -> None:
        """Forget the values of texts that pods shared; those that they still share are made again."""
        self._reader = PodReader(self._types, Amounts(self._types, of_cluster=True))
        self._check = row_check(self._types)

    def __len__(self) -> int:
        return len(self._pods)

    def put(self, key: str, pod: WatchedPod) -> None:
        """Take a pod; raises a Fault or an InputError."""
        if self._reader.templates > TEMPLATES_MAX:
            self._read_anew()
        workload = self._reader.read(pod)
        self._check("workloads", workload)
        spec, status = pod.spec or PodSpec(), pod.status
        waits = not workload.node
        facts = PodFacts(
            pod.metadata.uid if pod.metadata else "",
            (status.nominated_node_name or "") if status else "",
            bytes(status.conditions) if waits and status and status.conditions != NULL else b"",
        )
        before = self._pods.get(key)
        classless = classless_volumes(spec) if waits and workload.volumes else frozenset[str]()
        group_kind = _group_kind(workload, spec) if waits and workload.gang else None
        if before is not None and before.facts.uid != facts.uid:
            self._renewed.add(key)
            self._stale.add(key)
        self._pods[key] = _Held(workload, facts, classless, group_kind)
        if waits and facts.nominated_node:
            self.nominated[key] = facts.nominated_node
        else:
            self.nominated.pop(key, None)
        if before is None or before.workload != workload or before.classless != classless:
            if before is not None:
                self._unindex(key, before.workload)
            self._index(key, workload)
            self._stale.add(key)

    def drop(self, key: str) -> None:
        """Forget a pod."""
        held = self._pods.pop(key, None)
        self.nominated.pop(key, None)
        if held is not None:
            self._unindex(key, held.workload)
            self._stale.add(key)
            self._renewed.add(key)

    def is_renewed(self, key: str) -> bool:
        """Whether a pod is gone, or another one of its name, since changes were asked for last."""
        return key in self._renewed

    def has_changed(self, key: str) -> bool:
        """Whether there is anything new of a pod since changes were asked for last."""
        return key in self._stale

    def keys(self) -> list[str]:
        """Return the keys of all pods."""
        return list(self._pods)

    def facts(self, key: str) -> PodFacts | None:
        """Return what is known of a pod beyond its workload."""
        held = self._pods.get(key)
        return None if held is None else held.facts

    def consumers(self, reservations: Iterable[str], owners: Iterable[tuple[str, str]]) -> list[Workload]:
        """Return the pods, as they were shown, that volumes of csi-baremetal may be for.

        These are pods with claims of their own, those whose namespace and name a reservation may be called
        after, and owners, by namespace and name.
        """
        keys = set(self._with_own_claims)
        for name in reservations:
            keys |= {f"{name[:at]}/{name[at + 1 :]}" for at, sign in enumerate(name) if sign == "-"}
        named = {f"{namespace}/{name}": name for namespace, name in owners}
        elsewhere = {name for key, name in named.items() if key not in self._shown}
        keys |= named.keys()
        if elsewhere:
            keys |= {key for key in self._shown if key.partition("/")[2] in elsewhere}
        return [self._shown[key] for key in sorted(keys) if key in self._shown]

    # What others say

    def node_changed(self, name: str) -> None:
        """Look again at the pods of a node that appears or goes."""
        self._stale |= self._on_node.get(name, set())

    def claim_changed(self, key: str) -> None:
        """Look again at the pods that use a claim."""
        self._stale |= self._claiming.get(key, set())

    def group_changed(self, key: str) -> None:
        """Look again at the pods of a gang."""
        self._stale |= self._in_gang.get(key, set())

    def default_class_changed(self) -> None:
        """Look again at the pods whose claims will be made without naming a class."""
        self._stale |= {key for key, held in self._pods.items() if held.classless}

    def changes(
        self,
        *,
        has_node: Callable[[str], bool],
        claim: Callable[[str], Claim | None],
        group: Callable[[str], PodGroup | None],
        followed: Collection[Kind],
        default_class: str,
    ) -> Changed:
        """Return the workloads that have changed since the last call.

        `followed` are the kinds of PodGroups that the cluster has, all of which are known: a pod that waits
        and names another one waits for it.
        """
        rows: dict[str, Workload | None] = {}
        moved: list[Workload] = []
        for key in self._stale:
            held, before = self._pods.get(key), self._shown.get(key)
            row = None
            if held is not None:
                row = _resolved(held, has_node, claim, group, followed=followed, default_class=default_class)
            if row is None:
                if before is not None:
                    del self._shown[key]
                    rows[key] = None
                    moved.append(before)
            elif row != before or key in self._renewed:
                self._shown[key] = rows[key] = row
                if before is None or before.volumes != row.volumes:
                    moved.append(row)
        self._stale.clear()
        self._renewed.clear()
        return Changed(rows, moved)

    def _index(self, key: str, workload: Workload) -> None:
        for index, name in _names(workload):
            getattr(self, index).setdefault(name, set()).add(key)
        if any(volume.inline and volume.claim for volume in workload.volumes):
            self._with_own_claims.add(key)

    def _unindex(self, key: str, workload: Workload) -> None:
        for index, name in _names(workload):
            members = getattr(self, index).get(name)
            if members is not None:
                members.discard(key)
                if not members:
                    del getattr(self, index)[name]
        self._with_own_claims.discard(key)


def _names(workload: Workload) -> Iterable[tuple[str, str]]:
    """Yield the indexes that a pod belongs to, and under which name."""
    if workload.node:
        yield "_on_node", workload.node
    if workload.gang:
        yield "_in_gang", PodGroup(workload.gang, workload.namespace).key
    for volume in workload.volumes:
        if volume.claim:
            yield "_claiming", f"{workload.namespace}/{volume.claim}"


def _group_kind(workload: Workload, spec: PodSpec) -> Kind | None:
    """Return the kind of PodGroup that a pod names, which says how many of its gang are enough."""
    if spec.scheduling_group is not None and spec.scheduling_group.pod_group_name:
        return NATIVE_GROUP
    return COSCHEDULING_GROUP if workload.labels.get(COSCHEDULING_LABEL) else None


def _in_gang(workload: Workload, group: PodGroup | None) -> Workload:
    """Return a pod with what its group says of its gang; a gang of one at a time is none."""
    if group is None:
        return workload
    if group.members_min <= 1:
        return msgspec.structs.replace(workload, gang="", gang_min=0)
    return msgspec.structs.replace(workload, gang_min=group.members_min)


def _resolved(
    held: _Held,
    has_node: Callable[[str], bool],
    claim: Callable[[str], Claim | None],
    group: Callable[[str], PodGroup | None],
    *,
    followed: Collection[Kind],
    default_class: str,
) -> Workload | None:
    """Return a pod with what its node, its claims and its gang say of it; None for one on a lost node."""
    workload = held.workload
    if workload.node and not has_node(workload.node):
        if workload.state != "deleted":
            return None
        workload = msgspec.structs.replace(workload, node="")
    if workload.gang:
        workload = _in_gang(workload, group(PodGroup(workload.gang, workload.namespace).key))
        if workload.gang and not workload.gang_min and held.group_kind in followed:
            workload = msgspec.structs.replace(workload, gang_min=MEMBERS_UNSAID)
    if workload.volumes:
        volumes = workload.volumes
        if held.classless and default_class:
            volumes = with_class(volumes, held.classless, default_class)
        waits = not held.workload.node
        volumes = with_claims(volumes, claim, workload.namespace, held.facts.uid if waits else "")
        if volumes != workload.volumes:
            workload = msgspec.structs.replace(workload, volumes=volumes)
    return workload
