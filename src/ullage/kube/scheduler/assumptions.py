"""What the scheduler has done and the watch has not shown yet, taken for granted until it does.

A pod that is being bound counts as running on its node from that moment, one that is being evicted as on its
way out: otherwise the next cycle would give the same room away again, or evict others besides. What turns out
not to have happened is given back whole.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

import msgspec

from ullage.model.cluster import Workload
from ullage.model.delta import Delta

IdentifierOf = Callable[[str], str]
"""The identifier of the pod that has a name now, empty where there is none."""


class _Assumed(NamedTuple):
    """A pod by its identifier, and its node; none for one that is evicted where it runs, or lost its node."""

    identifier: str
    node: str


class Assumptions:
    """Pods that are being bound or evicted."""

    def __init__(self, identifier_of: IdentifierOf) -> None:
        self._identifier_of = identifier_of
        self._bound: dict[str, _Assumed] = {}
        self._leaving: dict[str, _Assumed] = {}
        self._seen: dict[str, Workload] = {}

    def __len__(self) -> int:
        return len(self._bound) + len(self._leaving)

    def is_bound(self, key: str) -> bool:
        """Whether a pod is being bound."""
        return key in self._bound

    def is_leaving(self, key: str) -> bool:
        """Whether a pod is being evicted."""
        return key in self._leaving

    def identifier(self, key: str) -> str:
        """Return which pod of a name is being bound or evicted; '' where none is."""
        known = self._bound.get(key) or self._leaving.get(key)
        return known.identifier if known is not None else ""

    def seen(self, key: str) -> Workload | None:
        """Return a pod that is being bound or evicted as it was last seen."""
        return self._seen.get(key)

    def bind(self, workload: Workload, node: str) -> Workload:
        """Take a pod that waits for one that runs on a node."""
        key = workload.key
        self._bound[key] = _Assumed(self._identifier_of(key), node)
        self._seen[key] = workload
        return msgspec.structs.replace(workload, node=node, state="ok")

    def evict(self, workload: Workload) -> Workload:
        """Take a pod that runs for one on its way out."""
        key = workload.key
        self._leaving[key] = _Assumed(self._identifier_of(key), "")
        self._seen[key] = workload
        return msgspec.structs.replace(workload, terminating=True)

    def forget(self, key: str) -> Workload | None:
        """Return a pod as it was last seen: what was assumed of it has not happened."""
        known = self._bound.pop(key, None) or self._leaving.pop(key, None)
        seen = self._seen.pop(key, None)
        return seen if known is not None else None

    def applied(self, delta: Delta) -> Delta:
        """Return what was seen with what is assumed; what is seen now is assumed no longer."""
        if not self._bound and not self._leaving:
            return delta
        for key in delta.dropped.get("workloads", ()):
            self.forget(key)
        stranded = self._stranded(delta.dropped.get("nodes", ()))
        rows = {row.key: row for row in (*stranded, *map(self._row, delta.workloads))}
        return msgspec.structs.replace(delta, workloads=tuple(rows.values()))

    def _stranded(self, nodes: Collection[str]) -> list[Workload]:
        """Return the pods that were to run on nodes which are gone: they run nowhere till that has failed."""
        found = [key for key, each in self._bound.items() if each.node in nodes] if nodes else []
        for key in found:
            self._bound[key] = self._bound[key]._replace(node="")
        return [self._seen[key] for key in found]

    def _row(self, row: Workload) -> Workload:
        key = row.key
        bound, leaving = self._bound.get(key), self._leaving.get(key)
        if bound is None and leaving is None:
            return row
        known = bound or leaving
        same = known is not None and known.identifier == self._identifier_of(key)
        if not same or row.state == "deleted" or (bound and row.node) or (leaving and row.terminating):
            self.forget(key)
            return row
        self._seen[key] = row
        if bound is not None:
            return msgspec.structs.replace(row, node=bound.node, state="ok") if bound.node else row
        return msgspec.structs.replace(row, terminating=True)
