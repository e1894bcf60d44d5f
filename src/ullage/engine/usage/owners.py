"""What workloads are made from: the object whose template a change goes to, and pods of it that are gone.

A pod knows the ReplicaSet or the Job that made it; the Deployment or the CronJob behind that is found by the
names that Kubernetes gives: a hash, a time, five letters. Letters that could make words are in none of them,
so that `web-api-x7k2p` is never taken for a pod of `web`.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ullage.model.cluster import Snapshot, Workload

HASH_LABEL: Final = "pod-template-hash"
ROLLOUT_LABEL: Final = "rollouts-pod-template-hash"
_SAFE: Final = "[bcdfghjklmnpqrstvwxz2456789]"
_RUN: Final = re.compile(r"(.+)-\d{6,}")
"""A Job that a CronJob made: its name ends in the time that it was due."""
_BEHIND: Final = {
    "Deployment": f"-{_SAFE}{{4,10}}-{_SAFE}{{5}}",
    "Rollout": f"-{_SAFE}{{4,10}}-{_SAFE}{{5}}",
    "ReplicaSet": f"-{_SAFE}{{5}}",
    "ReplicationController": f"-{_SAFE}{{5}}",
    "DaemonSet": f"-{_SAFE}{{5}}",
    "StatefulSet": r"-\d+",
    "Job": rf"(-\d+)?-{_SAFE}{{5}}",
    "CronJob": rf"-\d{{6,}}(-\d+)?-{_SAFE}{{5}}",
}
"""How the names of pods end, by what made them."""


class Owner(NamedTuple):
    """What pods are made from; a pod that nobody made is its own."""

    namespace: str
    kind: str
    name: str

    @property
    def key(self) -> str:
        """Its kind and name, as kubectl writes them."""
        return f"{self.kind}/{self.name}"

    @property
    def subject(self) -> str:
        """How answers call it."""
        return f"{self.namespace}/{self.key}" if self.namespace else self.key


def names_of(owner: Owner) -> set[str]:
    """Return what people may call an owner, in small letters: by its name, with its kind, its namespace."""
    return {owner.name.lower(), owner.key.lower(), owner.subject.lower()}


class Crew(NamedTuple):
    """The pods of one owner, the newest first: those that are there, and names of others that were."""

    owner: Owner
    pods: tuple[Workload, ...]
    gone: tuple[str, ...] = ()

    @property
    def newest(self) -> Workload:
        """The pod that shows what the template says now."""
        return self.pods[0]


def owner_of(workload: Workload) -> Owner:
    """Return what a workload is made from."""
    kind, slash, name = workload.owner.partition("/")
    if not slash:
        return Owner(workload.namespace, workload.kind, workload.owner or workload.name)
    if kind == "ReplicaSet":
        for label, made_by in ((ROLLOUT_LABEL, "Rollout"), (HASH_LABEL, "Deployment")):
            ending = f"-{workload.labels.get(label, '')}"
            if len(ending) > 1 and name.endswith(ending) and len(name) > len(ending):
                return Owner(workload.namespace, made_by, name.removesuffix(ending))
    run = _RUN.fullmatch(name) if kind == "Job" else None
    return Owner(workload.namespace, "CronJob", run[1]) if run else Owner(workload.namespace, kind, name)


def crews(snapshot: Snapshot, observed: Iterable[tuple[str, str]]) -> list[Crew]:
    """Return all that runs or waits by its owner, with what was observed of pods that are gone.

    `observed` are namespaces and names of pods. Promises and what is over is nobody's.
    """
    found: dict[Owner, list[Workload]] = {}
    for run in snapshot.workloads.runs():
        for workload in run:
            if _counts(workload):
                found.setdefault(owner_of(workload), []).append(workload)
    gone: dict[Owner, list[str]] = {}
    by_name = {(owner.namespace, owner.kind, owner.name): owner for owner in found}
    for namespace, name in observed:
        key = f"{namespace}/{name}" if namespace else name
        if key not in snapshot.workloads:
            owner = former_owner(by_name, namespace, name)
            if owner is not None:
                gone.setdefault(owner, []).append(name)
    return [
        Crew(owner, _newest_first(pods), tuple(sorted(gone.get(owner, ()))))
        for owner, pods in sorted(found.items())
    ]


def crew_of(snapshot: Snapshot, namespace: str, key: str) -> Crew | None:
    """Return what runs or waits of the owner of a kind and name in a namespace; None where nothing does."""
    pods = [
        workload
        for run in snapshot.workloads.runs()
        for workload in run
        if workload.namespace == namespace and _counts(workload) and owner_of(workload).key == key
    ]
    return Crew(owner_of(pods[0]), _newest_first(pods)) if pods else None


def _counts(workload: Workload) -> bool:
    return workload.state not in {"deleted", "error"} and not workload.promised


def _newest_first(pods: Iterable[Workload]) -> tuple[Workload, ...]:
    return tuple(sorted(pods, key=lambda pod: (-(pod.created_seconds or 0), pod.key)))


_PATTERNS: Final = {kind: re.compile(f"(.+?){ending}") for kind, ending in _BEHIND.items()}


def former_owner(owners: dict[tuple[str, str, str], Owner], namespace: str, name: str) -> Owner | None:
    """Return the owner that made a pod of this name, as far as its name tells."""
    for kind, pattern in _PATTERNS.items():
        match = pattern.fullmatch(name)
        owner = owners.get((namespace, kind, match[1])) if match else None
        if owner is not None:
            return owner
    return None
