"""Pods to workloads.

The hard thing is size: 150 000 pods must stay small, so everything that replicas share (containers, amounts,
constraints, labels, names of nodes and owners) is one object for all of them.
"""

import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from ullage.model.cluster import Volume, Workload, WorkloadState
from ullage.model.constraints import Constraints
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.classes import NEVER
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.interned import Interned, reader
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE, claimed, template_group
from ullage.sources.kubernetes.outages import outages_of
from ullage.sources.kubernetes.pod_constraints import constraint_texts, read_constraints, selects_namespaces
from ullage.sources.kubernetes.pod_shapes import Shape, ShapeReader, shape_texts
from ullage.sources.kubernetes.wire import (
    ClaimTemplate,
    Metadata,
    Owner,
    PodSpec,
    PodStatus,
    PodWire,
    SchedulingGroup,
    VolumeWire,
)

OVER: Final = frozenset(("Succeeded", "Failed"))
"""Phases in which a pod gives back all that it had."""

COSCHEDULING_LABEL: Final = "scheduling.x-k8s.io/pod-group"
KUEUE_LABEL: Final = "kueue.x-k8s.io/pod-group-name"
KUEUE_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"
"""An annotation: how many pods a group of Kueue's has, all of which start together."""
GANG_LABELS: Final = (COSCHEDULING_LABEL, "pod-group.scheduling.sigs.k8s.io", KUEUE_LABEL)
"""Labels that name the gang of a pod where its spec names none; the first counts."""

_ANNOTATIONS: Final = msgspec.json.Decoder(dict[str, str] | None)
_LABELS: Final = msgspec.json.Decoder(dict[str, str] | None)
_SEPARATOR: Final = b"\0"
"""Stands between texts of JSON, none of which can hold it."""
_COUNT_DIGITS_MAX: Final = 6
_SIZE: Final = "size"
_STORAGE_TYPE: Final = "storageType"
_NO_LABELS: Final[Mapping[str, str]] = {}


class PodReader:
    """The reader of pods; whatever two of them share is made once."""

    def __init__(self, types: ResourceTypes, amounts: Amounts) -> None:
        self._amounts = amounts
        self._shape_reader = ShapeReader(types, amounts)
        self._templates: dict[bytes, tuple[Shape, Constraints]] = {}
        self._shapes: dict[bytes, Shape] = {}
        self._constraints: dict[bytes, Constraints] = {}
        self._labels: Interned[tuple[Mapping[str, str], str]] = Interned(_read_labels)

    @property
    def templates(self) -> int:
        """How many texts of pods it keeps the values of."""
        return len(self._templates) + len(self._labels)

    def read(self, pod: PodWire, *, namespace: str = DEFAULT_NAMESPACE) -> Workload:
        """The workload that a pod is; raises a Fault. `namespace` is that of a pod which names none."""
        metadata, spec, status = pod.metadata or Metadata(), pod.spec or PodSpec(), pod.status
        if not spec.containers:
            raise Fault(InputError("a pod without containers", remedy="add spec.containers"), ("spec",))
        name = object_name(metadata)
        shape, constraints = self._template(spec, status)
        created = metadata.creation_timestamp
        started = status.start_time if status else None
        try:
            labels, gang = self._labels(metadata.labels)
        except Fault as fault:
            raise fault.under("metadata", "labels") from None
        gang = _group(spec.scheduling_group) or gang
        return Workload(
            name=name,
            namespace=sys.intern(metadata.namespace or namespace),
            node=sys.intern(spec.node_name or ""),
            state=_state(spec, status.phase if status else None),
            requests=shape.requests,
            limits=shape.limits,
            containers=shape.containers,
            overhead=shape.overhead,
            priority=spec.priority or 0,
            owner=_owner(metadata.owner_references),
            created_seconds=None if created is None else int(created.timestamp()),
            terminating=metadata.deletion_timestamp is not None,
            labels=labels,
            constraints=constraints,
            volumes=self.volumes(spec, name) if spec.volumes else (),
            scheduler=sys.intern(spec.scheduler_name or ""),
            preempts=spec.preemption_policy != NEVER,
            gang=gang,
            gang_min=_count(metadata.annotations) if gang and labels.get(KUEUE_LABEL) == gang else 0,
            priority_class=sys.intern(spec.priority_class_name or ""),
            runtime_class=sys.intern(spec.runtime_class_name or ""),
            host_path=any(volume.host_path is not None for volume in spec.volumes or ()),
            started_seconds=None if started is None else int(started.timestamp()),
            outages=outages_of(status),
        )

    def _template(self, spec: PodSpec, status: PodStatus | None) -> tuple[Shape, Constraints]:
        """The shape and constraints of a pod: looked up together, and where they are new, one by one."""
        of_shape = shape_texts(spec, status)
        of_constraints = constraint_texts(spec)
        key = _SEPARATOR.join(of_shape + of_constraints)
        found = self._templates.get(key)
        if found is None:
            shape_key, constraints_key = _SEPARATOR.join(of_shape), _SEPARATOR.join(of_constraints)
            shape = self._shapes.get(shape_key)
            if shape is None:
                shape = self._shapes[shape_key] = self._shape_reader.read(spec, status)
            constraints = self._constraints.get(constraints_key)
            if constraints is None:
                constraints = self._constraints[constraints_key] = read_constraints(spec)
            found = self._templates[key] = shape, constraints
        return found

    def selects_namespaces(self) -> bool:
        """Whether a pod that was read chooses other pods by the labels of their namespaces."""
        return any(map(selects_namespaces, self._constraints.values()))

    def volumes(self, spec: PodSpec, pod_name: str) -> tuple[Volume, ...]:
        """The volumes of a pod that take disk space; configuration and secrets take none."""
        found = []
        for index, wire in enumerate(spec.volumes or ()):
            try:
                volume = self._volume(wire, pod_name)
            except Fault as fault:
                raise fault.under("spec", "volumes", index) from None
            if volume is not None:
                found.append(volume)
        return tuple(found)

    def _volume(self, wire: VolumeWire, pod_name: str) -> Volume | None:
        if wire.persistent_volume_claim is not None:
            return Volume(wire.name, claim=wire.persistent_volume_claim.claim_name)
        if wire.ephemeral is not None:
            template = wire.ephemeral.volume_claim_template
            try:
                storage_class, size_bytes = claimed(template.spec if template else None, self._amounts)
            except Fault as fault:
                raise fault.under("ephemeral", "volumeClaimTemplate", "spec") from None
            try:
                group = template_group(template)
            except Fault as fault:
                raise fault.under("ephemeral", "volumeClaimTemplate") from None
            claim = f"{pod_name}-{wire.name}"
            return Volume(wire.name, claim, storage_class, size_bytes, inline=True, storage_group=group)
        driver, attributes = (
            (wire.csi.driver, wire.csi.volume_attributes) if wire.csi is not None else ("", None)
        )
        if attributes and _SIZE in attributes:
            size = msgspec.Raw(msgspec.json.encode({"storage": attributes[_SIZE]}))
            try:
                size_bytes = self._amounts.storage_bytes(size)
            except Fault as fault:
                raise Fault(fault.error, ("csi", "volumeAttributes", _SIZE)) from None
            storage_class = attributes.get(_STORAGE_TYPE, "")
            return Volume(wire.name, "", storage_class, size_bytes, inline=True, driver=driver)
        return None


def classless_volumes(spec: PodSpec) -> frozenset[str]:
    """The volumes of a pod whose claims will be made without naming a storage class."""
    return frozenset(
        volume.name
        for volume in spec.volumes or ()
        if volume.ephemeral is not None and template_names_no_class(volume.ephemeral.volume_claim_template)
    )


def template_names_no_class(template: ClaimTemplate | None) -> bool:
    """Whether claims of a template get the default class; an empty name is one too."""
    return template is None or template.spec is None or template.spec.storage_class_name is None


def object_name(metadata: Metadata) -> str:
    """An object's name, or what its name will begin with; raises a Fault where it has neither."""
    name = metadata.name or (metadata.generate_name or "").removesuffix("-")
    if not name:
        raise Fault(InputError("the object has no name", remedy="add metadata.name"), ("metadata",))
    return name


def _state(spec: PodSpec, phase: str | None) -> WorkloadState:
    if phase in OVER:
        return "deleted"
    return "ok" if spec.node_name else "init"


def _owner(references: list[Owner] | None) -> str:
    for reference in references or ():
        if reference.controller:
            return sys.intern(f"{reference.kind}/{reference.name}")
    return ""


def _group(group: SchedulingGroup | None) -> str:
    return "" if group is None else sys.intern(group.pod_group_name or "")


def _count(annotations: msgspec.Raw) -> int:
    """Return how many pods a group of Kueue's has; 0 where that is not said, or cannot be."""
    if KUEUE_COUNT.encode() not in bytes(annotations):
        return 0
    try:
        text = (_ANNOTATIONS.decode(annotations) or {}).get(KUEUE_COUNT, "")
    except msgspec.DecodeError:
        return 0
    told = text.isascii() and text.isdecimal() and len(text) <= _COUNT_DIGITS_MAX
    return int(text) if told else 0


def _read_labels(text: bytes) -> tuple[Mapping[str, str], str]:
    """The labels, and the gang that one of them names."""
    labels = reader(_LABELS)(text) or _NO_LABELS
    return labels, next((labels[name] for name in GANG_LABELS if labels.get(name)), "")
