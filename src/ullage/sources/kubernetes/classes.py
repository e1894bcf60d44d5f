"""What admission fills in: the overhead of a pod's RuntimeClass and the value of its PriorityClass.

A pod that comes from an API server has both already; one that is hand-written, or about to be submitted, has
only the names. Classes may stand behind the pods that name them, so both are put together last.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.model.cluster import Workload
from ullage.model.resources import NOTHING, Resources
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.wire import NULL, PodSpec, PriorityClassWire, RuntimeClassWire

SYSTEM_PRIORITIES: Final[Mapping[str, int]] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""The classes that every cluster has."""


class ClassNames(NamedTuple):
    """The classes whose values a pod does not state itself; empty where it does, or names none."""

    runtime: str
    priority: str


def class_names(spec: PodSpec) -> ClassNames | None:
    """The classes that admission has yet to look up for a pod."""
    runtime = (spec.runtime_class_name or "") if spec.overhead == NULL else ""
    priority = (spec.priority_class_name or "") if spec.priority is None else ""
    return ClassNames(runtime, priority) if runtime or priority else None


class Classes:
    """The RuntimeClasses and PriorityClasses that are known."""

    def __init__(self) -> None:
        self._overheads: dict[str, Resources] = {}
        self._priorities: dict[str, int] = dict(SYSTEM_PRIORITIES)
        self.default_priority = 0

    def add_runtime(self, wire: RuntimeClassWire, amounts: Amounts) -> None:
        """Take note of a RuntimeClass; raises a Fault."""
        try:
            overhead = amounts.resources(wire.overhead.pod_fixed) if wire.overhead else NOTHING
        except Fault as fault:
            raise fault.under("overhead", "podFixed") from None
        self._overheads[wire.metadata.name] = overhead

    def add_priority(self, wire: PriorityClassWire) -> None:
        """Take note of a PriorityClass; of several global defaults the lowest counts, as in Kubernetes."""
        if wire.global_default:
            known = self._priorities.get("", wire.value)
            self._priorities[""] = self.default_priority = min(known, wire.value)
        self._priorities[wire.metadata.name] = wire.value

    def unknown(self, names: ClassNames) -> list[str]:
        """The classes that nobody has described."""
        found = []
        if names.runtime and names.runtime not in self._overheads:
            found.append(f"RuntimeClass {names.runtime}")
        if names.priority and names.priority not in self._priorities:
            found.append(f"PriorityClass {names.priority}")
        return found

    def applied(self, workload: Workload, names: ClassNames) -> Workload:
        """Return a pod with its runtime's overhead and its class's priority; unknown classes add nothing."""
        overhead = self._overheads.get(names.runtime, NOTHING)
        priority = self._priorities.get(names.priority, 0) if names.priority else workload.priority
        return msgspec.structs.replace(
            workload,
            requests=workload.requests + overhead,
            limits=workload.limits + overhead.only(workload.limits),
            overhead=workload.overhead + overhead,
            priority=priority,
        )
