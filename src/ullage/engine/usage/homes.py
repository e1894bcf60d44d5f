"""Where what a pod or a node uses counts too: its workload, namespace, quotas, node, group and the cluster.

Pods that are gone count as well: their namespace is in their name, and their workload is told by it.
"""

from collections.abc import Iterator

from ullage.engine.quota.book import Book as QuotaBook
from ullage.engine.quota.validation import in_force
from ullage.engine.usage.owners import Owner, former_owner, owner_of
from ullage.model.cluster import Snapshot, Workload
from ullage.model.settings import rules_for

CLUSTER = "cluster"
NO_NAMESPACE = "-"
"""What stands for the namespace of virtual machines, which have none."""


def pod_subject(workload: Workload) -> str:
    """Return the subject that a workload of a snapshot is observed as."""
    return f"pod/{workload.namespace or NO_NAMESPACE}/{workload.name}"


def pod_of(container: str) -> tuple[str, ...]:
    """Return the subject of the pod that a container is in; none for whatever is no container."""
    kind, _, rest = container.partition("/")
    return (f"pod/{rest.rpartition('/')[0]}",) if kind == "container" else ()


def workload_subject(owner: Owner) -> str:
    """Return the subject that all pods of an owner are together."""
    return f"workload/{owner.namespace or NO_NAMESPACE}/{owner.key}"


class Homes:
    """Who belongs where in one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        rules = rules_for(snapshot.policy, snapshot.resource_types)
        self._quotas = QuotaBook(in_force(snapshot.quotas), rules.quota_mode)
        self._groups = {node.name: node.group for node in snapshot.nodes}
        self._owners: dict[tuple[str, str, str], Owner] = {}
        for workload in snapshot.workloads:
            if not workload.promised:
                owner = owner_of(workload)
                self._owners.setdefault((owner.namespace, owner.kind, owner.name), owner)

    def of(self, subject: str) -> tuple[str, ...]:
        """Return the subjects in which one counts; none where it counts only for itself."""
        kind, _, rest = subject.partition("/")
        if kind == "node":
            return (*self._group_of(rest), CLUSTER)
        if kind != "pod":
            return ()
        namespace, _, name = rest.partition("/")
        namespace = "" if namespace == NO_NAMESPACE else namespace
        return tuple(self._of_pod(namespace, name))

    def _of_pod(self, namespace: str, name: str) -> Iterator[str]:
        workload = self._snapshot.workloads.get(f"{namespace}/{name}" if namespace else name)
        owner = former_owner(self._owners, namespace, name) if workload is None else owner_of(workload)
        if owner is not None:
            yield workload_subject(owner)
        if namespace:
            yield f"namespace/{namespace}"
        place = self._quotas.place_of(namespace, {} if workload is None else workload.labels)
        if place >= 0:
            for above in self._quotas.chains[place]:
                yield f"quota/{self._quotas.quotas[above].name}"
        if workload is not None and workload.node:
            yield f"node/{workload.node}"
            yield from self._group_of(workload.node)
        yield CLUSTER

    def _group_of(self, node: str) -> Iterator[str]:
        group = self._groups.get(node, "")
        if group:
            yield f"group/{group}"
