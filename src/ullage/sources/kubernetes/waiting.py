"""Deployments and their like in a cluster that is read: pods that they ask for and that nobody has made yet.

In a folder of nodes and manifests they are workloads that wait. The hard thing is a real dump, which holds a
Deployment and also its pods: those must not count twice. So an object is expanded only if no pod belongs to
it, and not if another object that is expanded owns it (a ReplicaSet of a Deployment), nor if it is over.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from ullage.model.cluster import Batch, Node, Workload
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.manifests import ManifestReader
from ullage.sources.kubernetes.object_kinds import Known
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
from ullage.sources.kubernetes.pod_sets import POD_SETS, known_kind
from ullage.sources.kubernetes.wire import Owner, Wire
from ullage.sources.places import one_line

WORKLOADS_MAX: Final = 1_000_000
"""Workloads that all objects of a cluster may be expanded to."""

_OVER: Final = frozenset(("Complete", "Failed"))
_SETS: Final = frozenset(kind.name for kind in POD_SETS)
_MADE_BY_WAY_OF: Final = {
    "Deployment": "ReplicaSet",
    "Rollout": "ReplicaSet",
    "CronJob": "Job",
    "JobSet": "Job",
    "LeaderWorkerSet": "StatefulSet",
    "RayJob": "RayCluster",
    "RayService": "RayCluster",
}
"""Kinds whose pods belong to objects of another kind, which are called NAME-SUFFIX."""
_ONE_SUFFIX: Final = frozenset(("Deployment", "Rollout", "CronJob"))


class _Identity(Wire):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    owner_references: list[Owner] | None = None


class _Condition(Wire):
    type: str = ""
    status: str = ""


class _Status(Wire):
    conditions: list[_Condition] | None = None


class _Suspended(Wire):
    suspend: bool | None = None


class _SetWire(Wire):
    metadata: _Identity | None = None
    spec: _Suspended | None = None
    status: _Status | None = None


_SET: Final = msgspec.json.Decoder(_SetWire)


def asks_for_pods(kind: Kind) -> bool:
    """Whether objects of a kind are expanded."""
    return known_kind(kind) in POD_SETS


class WaitingSets:
    """The objects of a cluster that ask for pods."""

    def __init__(self, types: ResourceTypes) -> None:
        self._reader = ManifestReader(types, of_cluster=True)
        self._seen: dict[tuple[str, str, str], int] = {}

    def take(self, item: Item) -> bool:
        """Read an object unless it asks for nothing now; raises an InputError or a Fault.

        False means that the object says nothing at all.
        The same object again, from another file of a collection of dumps, is passed over.
        """
        wire = item.decode(_SET)
        if wire.spec is None:
            return False
        metadata = wire.metadata or _Identity()
        if _is_owned(metadata) or _is_idle(wire, live=metadata.uid is not None, kind=item.kind.name):
            return True
        identity = (item.kind.name, metadata.namespace or DEFAULT_NAMESPACE, metadata.name or "")
        text = b"" if isinstance(item.content, Wire) else bytes(item.content)
        if self._seen.get(identity) != hash(text):
            self._seen[identity] = hash(text)
            self._reader.take_item(item)
        return True

    def workloads(
        self, pods: Mapping[str, Workload], nodes: Iterable[Node], known: Known
    ) -> tuple[list[Workload], tuple[str, ...]]:
        """Return the workloads that wait, beside the pods there are, and what was odd about their objects."""
        found = self._reader.manifests(nodes, known)
        owners = _Owners(pods.values())
        running = [batch for batch in found.batches if owners.have_pods_of(batch.workload)]
        not_said = tuple(f"{one_line(batch.key)}: " for batch in running)
        warnings = tuple(line for line in found.warnings if not line.startswith(not_said))
        expanded = {batch.key for batch in found.batches} - {batch.key for batch in running}
        batches = [batch for batch in found.batches if batch.key in expanded]
        if sum(batch.replicas for batch in batches) > WORKLOADS_MAX:
            raise InputError(
                f"more than {WORKLOADS_MAX} workloads in all",
                where=one_line(max(batches, key=lambda each: each.replicas).key),
                remedy="lower the replicas",
            )
        return [each for batch in batches for each in _replicas(batch, pods)], warnings


class _Owners:
    """Whom the pods of a cluster belong to."""

    def __init__(self, pods: Iterable[Workload]) -> None:
        self._named = {(pod.namespace, pod.owner) for pod in pods if pod.owner}
        self._above: set[tuple[str, str]] = set()
        self._far_above: set[tuple[str, str]] = set()
        for namespace, owner in self._named:
            shorter = owner.rpartition("-")[0]
            self._above.add((namespace, shorter))
            while shorter:
                self._far_above.add((namespace, shorter))
                shorter = shorter.rpartition("-")[0]

    def have_pods_of(self, workload: Workload) -> bool:
        """Whether a pod belongs to the object that a workload was made from."""
        kind, _, name = workload.owner.partition("/")
        by_way_of = _MADE_BY_WAY_OF.get(kind, kind)
        owner = (workload.namespace, f"{by_way_of}/{name}")
        if (workload.namespace, workload.owner) in self._named:
            return True
        if kind in _ONE_SUFFIX:
            return owner in self._above
        return kind in _MADE_BY_WAY_OF and (owner in self._named or owner in self._far_above)


def _is_owned(metadata: _Identity) -> bool:
    """Whether another object that is expanded made this one."""
    return any(owner.controller and owner.kind in _SETS for owner in metadata.owner_references or ())


def _is_idle(wire: _SetWire, *, live: bool, kind: str) -> bool:
    """Whether an object asks for no pods now: it is over, suspended, or waits for its time.

    A CronJob that was written by hand is asked about; one of a running cluster runs when it is due.
    """
    conditions = (wire.status.conditions if wire.status else None) or ()
    over = any(each.type in _OVER and each.status == "True" for each in conditions)
    suspended = wire.spec is not None and bool(wire.spec.suspend)
    return suspended or (kind == "Job" and over) or (kind == "CronJob" and live)


def _replicas(batch: Batch, pods: Mapping[str, Workload]) -> Iterator[Workload]:
    """Yield the workloads of a batch, each with the claims that are its own."""
    workload = batch.workload
    prefix = f"{workload.namespace}/" if workload.namespace else ""
    for number in range(batch.replicas):
        name = f"{workload.name}-{number}"
        if f"{prefix}{name}" in pods:
            name = f"{workload.name}-{workload.kind.lower()}-{number}"
            if f"{prefix}{name}" in pods:
                raise InputError(
                    f"a second workload named {one_line(name)}",
                    where=one_line(workload.owner),
                    remedy="rename one of them",
                )
        volumes = workload.volumes
        if workload.kind == "StatefulSet" and volumes:
            volumes = tuple(
                msgspec.structs.replace(each, claim=f"{each.claim}-{number}")
                if each.claim == f"{each.name}-{workload.owner.partition('/')[2]}"
                else each
                for each in volumes
            )
        yield msgspec.structs.replace(workload, name=name, volumes=volumes)
