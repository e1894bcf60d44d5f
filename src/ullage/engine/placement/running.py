"""The replicas of a set that run already: what is asked for again must not be counted twice.

A pod names the object that made it. A Deployment's pods name a ReplicaSet of its name and a hash, so such an
owner stands for its Deployment as well.
"""

from functools import cached_property

from ullage.model.cluster import Snapshot, Workload


class Running:
    """The workloads of a snapshot that hold capacity, by the set they belong to.

    `like` are those of a cluster from which this one differs little.
    """

    def __init__(self, snapshot: Snapshot, like: "Running | None" = None) -> None:
        self._snapshot = snapshot
        self._like = like

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
        if self._like is not None:
            return self._by_set_after(self._like)
        found: dict[tuple[str, str], list[Workload]] = {}
        for workload in self._snapshot.workloads:
            for name in _sets_held(workload):
                found.setdefault(name, []).append(workload)
        return found

    def _by_set_after(self, like: "Running") -> dict[tuple[str, str], list[Workload]]:
        """Return the same from what it was in a cluster that differs little, by the workloads that differ."""
        before, known = like._snapshot.workloads, like._by_set  # noqa: SLF001 - another one's own parts
        put, dropped = before.difference(self._snapshot.workloads)
        keys = (*dropped, *(each.key for each in put))
        gone = [workload for workload in map(before.get, keys) if workload is not None]
        changed: dict[tuple[str, str], dict[str, Workload]] = {}
        for workload in (*gone, *put):
            for name in _sets_held(workload):
                changed.setdefault(name, {each.key: each for each in known.get(name, ())})
        for workload in gone:
            for name in _sets_held(workload):
                changed[name].pop(workload.key, None)
        for workload in put:
            for name in _sets_held(workload):
                changed[name][workload.key] = workload
        found = {name: [members[key] for key in sorted(members)] for name, members in changed.items()}
        return {**known, **found}


def _sets_held(workload: Workload) -> list[tuple[str, str]]:
    """Return the sets as whose replica a workload holds capacity."""
    if not workload.owner or not workload.holds_capacity:
        return []
    return [(workload.namespace, owner) for owner in sets_of(workload.owner)]


def sets_of(owner: str) -> tuple[str, ...]:
    """Return the sets that an owner stands for: itself, and of a ReplicaSet its Deployment."""
    kind, _, name = owner.partition("/")
    deployment, dash, _ = name.rpartition("-")
    if kind == "ReplicaSet" and dash and deployment:
        return owner, f"Deployment/{deployment}"
    return (owner,)
