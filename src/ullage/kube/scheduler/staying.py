"""Pods that could not be evicted: for a while nobody tries again, each time for longer.

A server may refuse an eviction for reasons that no plan knows of: two disruption budgets for one pod, or a
policy of the cluster. Until its time is over such a pod counts as a part of its node, so that others are
chosen, and nobody is evicted in vain beside it.
"""

from typing import Final, NamedTuple

import msgspec

from ullage.engine.redundancy.drain import OF_THE_NODE
from ullage.model.cluster import Workload
from ullage.model.delta import Delta

FIRST_SECONDS: Final = 10.0
SECONDS_MAX: Final = 600.0


class _Stay(NamedTuple):
    """Which pod stays, until when, how long that is, and the pod as it was last seen."""

    identifier: str
    until: float
    seconds: float
    seen: Workload


class Staying:
    """Who stays, and for how long."""

    def __init__(self) -> None:
        self._stays: dict[str, _Stay] = {}

    def __len__(self) -> int:
        return len(self._stays)

    def refuse(self, seen: Workload, identifier: str, now: float) -> None:
        """Take note that a pod could not be evicted."""
        before = self._stays.get(seen.key)
        again = before is not None and before.identifier == identifier
        seconds = min(2 * before.seconds, SECONDS_MAX) if before and again else FIRST_SECONDS
        self._stays[seen.key] = _Stay(identifier, now + seconds, seconds, seen)

    def shown(self, row: Workload, now: float) -> Workload:
        """Return a pod as it counts now."""
        stay = self._stays.get(row.key)
        if stay is None:
            return row
        self._stays[row.key] = stay._replace(seen=row)
        return _of_the_node(row) if now < stay.until else row

    def applied(self, delta: Delta, now: float) -> Delta:
        """Return what was seen as it counts now, with those whose time is over since they were last shown."""
        if not self._stays:
            return delta
        for key in delta.dropped.get("workloads", ()):
            self._stays.pop(key, None)
        rows = {row.key: self.shown(row, now) for row in delta.workloads}
        for key, stay in self._stays.items():
            if stay.until <= now:
                rows.setdefault(key, stay.seen)
        for key in [key for key, stay in self._stays.items() if stay.until + stay.seconds <= now]:
            del self._stays[key]  # whoever is refused again after that begins anew
        return msgspec.structs.replace(delta, workloads=tuple(rows.values()))


def _of_the_node(row: Workload) -> Workload:
    if not row.node or row.terminating:
        return row
    return msgspec.structs.replace(row, owner=f"{OF_THE_NODE}{row.node}")
