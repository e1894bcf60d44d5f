"""What admission fills in from a pod's classes: overhead, nodes of the runtime, priority, preemption.

A pod that comes from an API server has all of it already; one that is hand-written, or about to be submitted,
has only the names. Classes may stand behind the pods that name them, so both are put together last.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from ullage.model.admission import PriorityClass, RuntimeClass
from ullage.model.cluster import Workload
from ullage.model.constraints import Constraints
from ullage.model.resources import NOTHING
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.wire import (
    NULL,
    PodSpec,
    PriorityClassWire,
    RuntimeClassWire,
    RuntimeScheduling,
)
from ullage.sources.places import one_line

SYSTEM_CLASSES: Final = (
    PriorityClass("system-cluster-critical", 2_000_000_000),
    PriorityClass("system-node-critical", 2_000_001_000),
)
"""The priority classes that every cluster has."""

NEVER: Final = "Never"
WORKLOAD_CLASS_PREFIX: Final = "workloadpriorityclass/"
"""How priority classes of Kueue are called here: one may have the name of a class of Kubernetes."""


class ClassNames(NamedTuple):
    """The classes whose values a pod does not state itself; empty where it does, or names none."""

    runtime: str
    priority: str
    needs_overhead: bool
    needs_preemption: bool


def class_names(spec: PodSpec) -> ClassNames | None:
    """The classes that admission has yet to look up for a pod."""
    if spec.runtime_class_name is None and (spec.priority is not None or spec.priority_class_name is None):
        return None
    needs_overhead = spec.overhead == NULL
    runtime = (spec.runtime_class_name or "") if needs_overhead or spec.priority is None else ""
    priority = (spec.priority_class_name or "") if spec.priority is None else ""
    if not runtime and not priority:
        return None
    return ClassNames(runtime, priority, needs_overhead, spec.preemption_policy is None)


def read_runtime_class(wire: RuntimeClassWire, amounts: Amounts) -> RuntimeClass:
    """A RuntimeClass; raises a Fault."""
    try:
        overhead = amounts.resources(wire.overhead.pod_fixed) if wire.overhead else NOTHING
    except Fault as fault:
        raise fault.under("overhead", "podFixed") from None
    scheduling = wire.scheduling or RuntimeScheduling()
    return RuntimeClass(
        wire.metadata.name, overhead, scheduling.node_selector or {}, scheduling.tolerations or ()
    )


def read_priority_class(wire: PriorityClassWire) -> PriorityClass:
    """A PriorityClass."""
    preempts = wire.preemption_policy != NEVER
    return PriorityClass(wire.metadata.name, wire.value, bool(wire.global_default), preempts)


def read_workload_class(wire: PriorityClassWire) -> PriorityClass:
    """A WorkloadPriorityClass of Kueue."""
    return PriorityClass(f"{WORKLOAD_CLASS_PREFIX}{wire.metadata.name}", wire.value)


class Classes:
    """The RuntimeClasses and PriorityClasses that are known; of two with one name the later counts."""

    def __init__(
        self, runtimes: Iterable[RuntimeClass] = (), priorities: Iterable[PriorityClass] = ()
    ) -> None:
        self._runtimes = {each.name: each for each in runtimes}
        self._priorities = {each.name: each for each in (*SYSTEM_CLASSES, *priorities)}
        self._merged: dict[tuple[int, str], tuple[Constraints, Constraints]] = {}

    @property
    def default(self) -> PriorityClass | None:
        """The class of pods that name none: of several global defaults the lowest, as in Kubernetes."""
        defaults = (each for each in self._priorities.values() if each.global_default)
        return min(defaults, key=lambda each: (each.value, each.name), default=None)

    def priority(self, name: str) -> int | None:
        """The value of a priority class; None for one that is not known."""
        found = self._priorities.get(name)
        return None if found is None else found.value

    def workload_priority(self, name: str) -> int | None:
        """The value of a WorkloadPriorityClass of Kueue; None for one that is not known."""
        return self.priority(f"{WORKLOAD_CLASS_PREFIX}{name}")

    def unknown(self, names: ClassNames) -> list[str]:
        """The classes that nobody has described."""
        found = []
        if names.runtime and names.runtime not in self._runtimes:
            found.append(f"RuntimeClass {names.runtime}")
        if names.priority and names.priority not in self._priorities:
            found.append(f"PriorityClass {names.priority}")
        return found

    def applied(self, workload: Workload, names: ClassNames) -> Workload:
        """Return a pod with what its classes add; unknown ones add nothing."""
        runtime = self._runtimes.get(names.runtime)
        if runtime is not None:
            workload = self._on_runtime(workload, runtime, needs_overhead=names.needs_overhead)
        priority = self._priorities.get(names.priority)
        if priority is not None:
            workload = with_priority(workload, priority, needs_preemption=names.needs_preemption)
        return workload

    def _on_runtime(self, workload: Workload, runtime: RuntimeClass, *, needs_overhead: bool) -> Workload:
        overhead = runtime.overhead if needs_overhead else NOTHING
        return msgspec.structs.replace(
            workload,
            requests=workload.requests + overhead,
            limits=workload.limits + overhead.only(workload.limits),
            overhead=workload.overhead + overhead,
            constraints=self._constraints(workload.constraints, runtime),
        )

    def _constraints(self, constraints: Constraints, runtime: RuntimeClass) -> Constraints:
        """Return constraints with those of a runtime: one object for all pods that share both."""
        if not runtime.node_selector and not runtime.tolerations:
            return constraints
        key = (id(constraints), runtime.name)
        found = self._merged.get(key)
        if found is None:
            added = tuple(each for each in runtime.tolerations if each not in constraints.tolerations)
            merged = msgspec.structs.replace(
                constraints,
                node_selector={**constraints.node_selector, **runtime.node_selector},
                tolerations=(*constraints.tolerations, *added),
            )
            # The original is kept beside its copy: while it lives, its identity is nobody else's.
            found = self._merged[key] = (constraints, merged)
        return found[1]

    def conflicts(self, workload: Workload, names: ClassNames) -> list[str]:
        """Say where a pod asks for another node than its runtime, for which admission refuses it."""
        runtime = self._runtimes.get(names.runtime)
        stated = workload.constraints.node_selector
        return [
            f"RuntimeClass {one_line(names.runtime)} wants nodes with {one_line(key)}={one_line(value)}, "
            f"the pod those with {one_line(stated[key])}; the API server refuses it"
            for key, value in (runtime.node_selector.items() if runtime is not None else ())
            if stated.get(key, value) != value
        ]


class QueuePriority(NamedTuple):
    """What somebody says of a priority in a queue of Kueue: a number, or a class of one or the other kind."""

    value: int | None = None
    workload_class: str = ""
    priority_class: str = ""

    def among(self, classes: Classes) -> int | None:
        """Return the number; None where nothing is said, or the class is not known."""
        if self.value is not None:
            return self.value
        if self.workload_class:
            return classes.workload_priority(self.workload_class)
        return classes.priority(self.priority_class)

    def unknown(self, classes: Classes) -> list[str]:
        """Return the class that nobody has described."""
        if self.among(classes) is not None or not (self.workload_class or self.priority_class):
            return []
        if self.workload_class:
            return [f"WorkloadPriorityClass {self.workload_class}"]
        return [f"PriorityClass {self.priority_class}"]


NO_QUEUE_PRIORITY: Final = QueuePriority()


def with_priority(workload: Workload, priority: PriorityClass, *, needs_preemption: bool) -> Workload:
    """Return a pod of a priority class."""
    return msgspec.structs.replace(
        workload,
        priority=priority.value,
        priority_class=priority.name,
        preempts=priority.preempts if needs_preemption else workload.preempts,
    )
