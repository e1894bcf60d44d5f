"""PodGroups: how many pods of a gang must have a place before any of them gets one.

The hard thing is that two APIs have the kind: that of the coscheduling plugin says `minMember`, that of
Kubernetes itself says `gang.minCount`, or `basic` for pods that are not placed together at all.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from ullage.model.admission import PodGroup
from ullage.model.checks import REPLICAS_MAX
from ullage.model.cluster import Workload
from ullage.model.errors import InputError
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
from ullage.sources.kubernetes.wire import Named, Wire
from ullage.sources.places import Path

COSCHEDULING_GROUP: Final = Kind("scheduling.x-k8s.io", "PodGroup")
NATIVE_GROUP: Final = Kind("scheduling.k8s.io", "PodGroup")
POD_GROUPS: Final = (COSCHEDULING_GROUP, NATIVE_GROUP)


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
        self._groups: dict[str, PodGroup] = {}

    def take(self, item: Item) -> str:
        """Read a PodGroup and return its key; raises a Fault. Of two of one name the later counts."""
        wire = item.decode(_GROUP)
        namespace = wire.metadata.namespace or self._namespace
        group = PodGroup(wire.metadata.name, namespace, _least(wire.spec or _Spec()))
        self._groups[group.key] = group
        return group.key

    def know(self, groups: Iterable[PodGroup]) -> None:
        """Take note of groups that a cluster has; one that was read and has the same name counts instead."""
        self._groups = {group.key: group for group in groups} | self._groups

    def rows(self) -> tuple[PodGroup, ...]:
        """Return all groups."""
        return tuple(self._groups.values())

    def applied(self, workload: Workload) -> Workload:
        """Return a workload with what its group says of its gang; a gang of one at a time is none."""
        group = self._groups.get(PodGroup(workload.gang, workload.namespace).key) if workload.gang else None
        if group is None:
            return workload
        if group.members_min <= 1:
            return msgspec.structs.replace(workload, gang="", gang_min=0)
        return msgspec.structs.replace(workload, gang_min=group.members_min)


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
