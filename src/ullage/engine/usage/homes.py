"""Where what a pod or a node uses counts too: its workload, namespace, quotas, node, group and the cluster.

Pods that are gone count as well: their namespace is in their name, and their workload is told by it.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain

from ullage.engine.quota.book import QUEUE_LABEL
from ullage.engine.quota.book import Book as QuotaBook
from ullage.engine.quota.validation import in_force
from ullage.engine.usage.owners import HASH_LABEL, ROLLOUT_LABEL, Owner, former_owner, owner_of
from ullage.model.cluster import Snapshot, Workload
from ullage.model.settings import rules_for

Runs = tuple[tuple[str, ...], ...]
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
        self._on: dict[str, tuple[str, ...]] = {}

    def of(self, subject: str) -> tuple[str, ...]:
        """Return the subjects in which one counts; none where it counts only for itself."""
        return tuple(chain.from_iterable(self.runs(subject)))

    def runs(self, subject: str) -> Runs:
        """Return the same in runs, which many subjects have in common."""
        known = self._of_pods.get(subject)
        if known is not None:
            return known
        kind, _, rest = subject.partition("/")
        if kind == "node":
            return ((*self._group_of(rest), CLUSTER),)
        if kind != "pod":
            return ()
        namespace, _, name = rest.partition("/")
        namespace = "" if namespace == NO_NAMESPACE else namespace
        owner = former_owner(self._owners, namespace, name)
        return (*self._above(owner, namespace, {}),), (CLUSTER,)

    @cached_property
    def _owners(self) -> dict[tuple[str, str, str], Owner]:
        """Who owns what there is: by this, pods that are gone are told from their names."""
        owners = (owner_of(each) for each in self._snapshot.workloads if not each.promised)
        return {(each.namespace, each.kind, each.name): each for each in owners}

    @cached_property
    def _of_pods(self) -> dict[str, Runs]:
        """Where each pod that is there counts, by its subject.

        All of them are looked at once, and those of one owner have most in common: a reading is of everybody.
        """
        found: dict[str, Runs] = {}
        common: dict[tuple[str | None, ...], tuple[str, ...]] = {}
        for run in self._snapshot.workloads.runs():
            for each in run:
                labels = each.labels
                key = (
                    each.namespace,
                    each.kind,
                    each.owner or f" {each.name}",
                    labels.get(HASH_LABEL),
                    labels.get(ROLLOUT_LABEL),
                    labels.get(QUEUE_LABEL),
                )
                above = common.get(key)
                if above is None:
                    above = common[key] = (*self._above(owner_of(each), each.namespace, labels),)
                on = self._on.get(each.node) or self._placed(each.node)
                found[f"pod/{each.namespace or NO_NAMESPACE}/{each.name}"] = above, on
        return found

    def _above(self, owner: Owner | None, namespace: str, labels: Mapping[str, str]) -> Iterator[str]:
        if owner is not None:
            yield workload_subject(owner)
        if namespace:
            yield f"namespace/{namespace}"
        place = self._quotas.place_of(namespace, labels)
        if place >= 0:
            for above in self._quotas.chains[place]:
                yield f"quota/{self._quotas.quotas[above].name}"

    def _placed(self, node: str) -> tuple[str, ...]:
        on = (f"node/{node}", *self._group_of(node), CLUSTER) if node else (CLUSTER,)
        self._on[node] = on
        return on

    def _group_of(self, node: str) -> Iterator[str]:
        group = self._groups.get(node, "")
        if group:
            yield f"group/{group}"
