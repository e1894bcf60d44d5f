"""What the API server decides before a workload is placed: defaults and bounds of limit ranges, and quotas.

A pod that the cluster has already was let in when it was made: only what is new, or grows, is judged here.
"""

from collections.abc import Sequence
from typing import Final

from ullage.engine.placement.limit_ranges import apply_limit_ranges, limit_range_refusal, with_requests
from ullage.engine.placement.resource_quotas import QuotaRoom
from ullage.engine.quota.admission import ElasticAdmission
from ullage.engine.quota.book import QUEUE_LABEL
from ullage.model.admission import LimitRange
from ullage.model.cluster import Snapshot, Workload
from ullage.model.resources import Resources

POD: Final = "Pod"
SYSTEM_CLASSES: Final = ("system-cluster-critical", "system-node-critical")


class LimitRanges:
    """The limit ranges of a cluster, and the classes and queues that pods may name."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._ranges: dict[str, list[LimitRange]] = {}
        for each in snapshot.limit_ranges:
            self._ranges.setdefault(each.namespace, []).append(each)
        self._queues = frozenset(queue for quota in snapshot.quotas for queue in quota.queues)
        self._stopped = frozenset(queue for quota in snapshot.quotas for queue in quota.stopped)

    def completed(self, workload: Workload) -> Workload:
        """Return a workload with the defaults of its namespace."""
        ranges = self._ranges.get(workload.namespace)
        if not ranges or self._is_made(workload):
            return workload
        return apply_limit_ranges(workload, ranges, self._snapshot.resource_types)

    def refusal(self, workload: Workload) -> str:
        """Return why a completed workload is not let in, facts and remedies in turn; nothing where it is."""
        if self._is_made(workload):
            return ""
        return self._closed_queue(workload) or self._unknown_class(workload) or self._breaches(workload)

    def let_in(self, workload: Workload, requests: Resources) -> bool:
        """Whether a workload that asked for less instead would be let in, and with just these requests."""
        ranges = self._ranges.get(workload.namespace)
        if not ranges:
            return True
        lowered = with_requests(workload, requests)
        if lowered is None:
            return False
        made = apply_limit_ranges(lowered, ranges, self._snapshot.resource_types)
        return made.requests == requests and not self._breaches(made)

    def _breaches(self, workload: Workload) -> str:
        ranges = self._ranges.get(workload.namespace)
        if not ranges:
            return ""
        types = self._snapshot.resource_types
        claims = frozenset(claim.key for claim in self._snapshot.claims)
        return limit_range_refusal(workload, ranges, types, existing_claims=claims)

    def _closed_queue(self, workload: Workload) -> str:
        """Return which queue it names that the cluster, whose queues are known, does not have or has stopped.

        What a queue took in before it was stopped goes on.
        """
        queue = f"{workload.namespace}/{workload.labels.get(QUEUE_LABEL, '')}"
        if queue in self._stopped and not workload.admitted:
            return f"queue {queue} is stopped, so that nothing of it starts; set its stopPolicy to None"
        if not self._queues or queue in self._queues or not workload.labels.get(QUEUE_LABEL):
            return ""
        return f"queue {queue} does not exist, so that nothing of it starts; create it or name another"

    def _unknown_class(self, workload: Workload) -> str:
        """Return which class it names that the cluster, whose classes are known, does not have."""
        named = (
            ("PriorityClass", workload.priority_class, self._snapshot.priority_classes, SYSTEM_CLASSES),
            ("RuntimeClass", workload.runtime_class, self._snapshot.runtime_classes, ()),
        )
        for kind, name, known, built_in in named:
            if name and len(known) and name not in known and name not in built_in:
                return f"{kind} {name} is unknown; create it or name another"
        return ""

    def _is_made(self, workload: Workload) -> bool:
        found = self._snapshot.workloads.get(workload.key)
        return found is not None and found.kind == POD and workload.kind == POD


class BeforePlacement:
    """The limit ranges and resource quotas of a cluster; where they are given, its elastic quotas as well."""

    def __init__(self, snapshot: Snapshot, elastic: ElasticAdmission | None = None) -> None:
        ranges = LimitRanges(snapshot)
        self.completed = ranges.completed
        self.refusal = ranges.refusal
        self._quotas = QuotaRoom(snapshot) if len(snapshot.resource_quotas) else None
        self._elastic = elastic

    def admits(self, workload: Workload, replicas: int, running: Sequence[Workload]) -> tuple[int, str]:
        """Return how many replicas the quotas let in, and why not all; `running` are those it replaces."""
        admitted, bound = replicas, ""
        if self._quotas is not None:
            for each in running:
                self._quotas.release(each)
            admitted, bound = self._quotas.refusal(workload, replicas)
        if self._elastic is not None and admitted:
            fewer, reason = self._elastic.admits(workload, admitted)
            return (fewer, reason) if fewer < admitted else (admitted, bound)
        return admitted, bound

    def take(self, workload: Workload, count: int) -> None:
        """Charge replicas that have a place."""
        if self._quotas is not None and count:
            self._quotas.take(workload, count)
        if self._elastic is not None:
            self._elastic.take(workload, count)

    def mark(self) -> tuple[int, int]:
        """Return a point in time to which `undo` can go back."""
        return (
            self._quotas.mark() if self._quotas is not None else 0,
            self._elastic.mark() if self._elastic is not None else 0,
        )

    def undo(self, mark: tuple[int, int]) -> None:
        """Take back every charge since a mark."""
        if self._quotas is not None:
            self._quotas.undo(mark[0])
        if self._elastic is not None:
            self._elastic.undo(mark[1])

    def notes(self, namespaces: Sequence[str]) -> tuple[str, ...]:
        """Return what of the quotas of some namespaces is not judged."""
        return self._quotas.notes(namespaces) if self._quotas is not None else ()
