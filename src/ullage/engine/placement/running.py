"""The replicas of a set that run already: what is asked for again must not be counted twice.

A pod names the object that made it. A Deployment's pods name a ReplicaSet of its name and a hash, so such an
owner stands for its Deployment as well.
"""

from functools import cached_property

from ullage.model.cluster import Snapshot, Workload


class Running:
    """The workloads of a snapshot that hold capacity, by the set they belong to."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def replicas_of(self, workload: Workload) -> list[Workload]:
        """Return the running replicas of the set that a workload is the template of, by name."""
        return self._by_set.get((workload.namespace, f"{workload.kind}/{workload.name}"), [])

    def gang_of(self, workload: Workload) -> frozenset[str]:
        """Return the running members of a workload's gang."""
        return self._by_gang.get((workload.namespace, workload.gang), frozenset())

    @cached_property
    def _by_gang(self) -> dict[tuple[str, str], frozenset[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for workload in self._snapshot.workloads:
            if workload.gang and workload.holds_capacity:
                found.setdefault((workload.namespace, workload.gang), set()).add(workload.key)
        return {gang: frozenset(members) for gang, members in found.items()}

    @cached_property
    def _by_set(self) -> dict[tuple[str, str], list[Workload]]:
        found: dict[tuple[str, str], list[Workload]] = {}
        for workload in self._snapshot.workloads:
            if workload.owner and workload.holds_capacity:
                for owner in sets_of(workload.owner):
                    found.setdefault((workload.namespace, owner), []).append(workload)
        return found


def sets_of(owner: str) -> tuple[str, ...]:
    """Return the sets that an owner stands for: itself, and of a ReplicaSet its Deployment."""
    kind, _, name = owner.partition("/")
    deployment, dash, _ = name.rpartition("-")
    if kind == "ReplicaSet" and dash and deployment:
        return owner, f"Deployment/{deployment}"
    return (owner,)
