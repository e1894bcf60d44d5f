"""PodGroups: how many pods of a gang must have a place before any of them gets one.

The hard thing is that two APIs have the kind: that of the coscheduling plugin says `minMember`, that of
Kubernetes itself says `gang.minCount`, or `basic` for pods that are not placed together at all.
"""

from typing import Final

import msgspec

from ullage.model.checks import REPLICAS_MAX
from ullage.model.cluster import Workload
from ullage.model.errors import InputError
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
from ullage.sources.kubernetes.wire import Named, Wire
from ullage.sources.places import Path

POD_GROUPS: Final = (Kind("scheduling.x-k8s.io", "PodGroup"), Kind("scheduling.k8s.io", "PodGroup"))


class _Gang(Wire):
    min_count: int


class _Policy(Wire):
    gang: _Gang | None = None


class _Spec(Wire):
    min_member: int | None = None
    scheduling_policy: _Policy | None = None


class _GroupWire(Wire):
    metadata: Named
    spec: _Spec | None = None


_GROUP: Final = msgspec.json.Decoder(_GroupWire)


class PodGroups:
    """The PodGroups that have been read."""

    def __init__(self, namespace: str = DEFAULT_NAMESPACE) -> None:
        self._namespace = namespace
        self._least: dict[tuple[str, str], int] = {}

    def take(self, item: Item) -> str:
        """Read a PodGroup and return its key; raises a Fault. Of two of one name the later counts."""
        wire = item.decode(_GROUP)
        namespace = wire.metadata.namespace or self._namespace
        self._least[namespace, wire.metadata.name] = _least(wire.spec or _Spec())
        return f"{namespace}/{wire.metadata.name}"

    def applied(self, workload: Workload) -> Workload:
        """Return a workload with what its group says of its gang; a gang of one at a time is none."""
        least = self._least.get((workload.namespace, workload.gang)) if workload.gang else None
        if least is None:
            return workload
        if least <= 1:
            return msgspec.structs.replace(workload, gang="")
        return msgspec.structs.replace(workload, gang_min=least)


def _least(spec: _Spec) -> int:
    """Return how many pods are placed together at least."""
    policy = spec.scheduling_policy
    least = spec.min_member or 0
    path: Path = ("spec", "minMember")
    if policy is not None and policy.gang is not None:
        least, path = policy.gang.min_count, ("spec", "schedulingPolicy", "gang", "minCount")
    if not 0 <= least <= REPLICAS_MAX:
        raise Fault(InputError(f"{path[-1]} is {least}", remedy=f"use 0 to {REPLICAS_MAX}"), path)
    return least
