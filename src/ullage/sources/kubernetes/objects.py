"""Claims and quotas: small objects that are read one to one.

The hard thing is a quota's name: Kubernetes allows one name in every namespace and kind, the model wants it
unique, so it is written as `namespace/name`. What is wrong with a quota of a cluster is no matter of reading.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from fractions import Fraction
from typing import Final, Literal

import msgspec
from msgspec import Raw

from ullage.model.cluster import Quota, Volume
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.model.settings import parse_fraction
from ullage.model.storage import Claim
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.baremetal import STORAGE_GROUP
from ullage.sources.kubernetes.faults import Fault, decoded
from ullage.sources.kubernetes.storage_objects import CLASS_ANNOTATION
from ullage.sources.kubernetes.wire import NULL, ClaimSpec, ClaimTemplate, ClaimWire, QuotaSpec, QuotaWire

DEFAULT_NAMESPACE: Final = "default"
BOUND_ANNOTATION: Final = "pv.kubernetes.io/bind-completed"
SELECTED_NODE_ANNOTATION: Final = "volume.kubernetes.io/selected-node"
QuotaKind = Literal["ElasticQuota", "CompositeElasticQuota"]
_LABELS: Final[msgspec.json.Decoder[dict[str, str] | None]] = msgspec.json.Decoder(dict[str, str] | None)
_NUMBER: Final = msgspec.json.Decoder(str | int | float)


def claimed(spec: ClaimSpec | None, amounts: Amounts) -> tuple[str, int]:
    """The storage class and size that a claim asks for; raises a Fault with its path from the spec."""
    if spec is None:
        return "", 0
    if spec.resources is None:
        return spec.storage_class_name or "", 0
    try:
        size_bytes = amounts.storage_bytes(spec.resources.requests)
    except Fault as fault:
        raise fault.under("resources", "requests") from None
    return spec.storage_class_name or "", size_bytes


def read_claim(wire: ClaimWire, amounts: Amounts, namespace: str = DEFAULT_NAMESPACE) -> Claim:
    """A PersistentVolumeClaim: what it was given where it is bound, else what it asks for; raises a Fault."""
    try:
        storage_class, size_bytes = claimed(wire.spec, amounts)
    except Fault as fault:
        raise fault.under("spec") from None
    status = wire.status
    if status is not None:
        try:
            size_bytes = amounts.storage_bytes(status.capacity) or size_bytes
        except Fault as fault:
            raise fault.under("status", "capacity") from None
    spec, annotations = wire.spec or ClaimSpec(), wire.metadata.annotations or {}
    return Claim(
        name=wire.metadata.name,
        namespace=wire.metadata.namespace or namespace,
        storage_class=annotations.get(CLASS_ANNOTATION) or storage_class,
        size_bytes=size_bytes,
        bound=_is_bound(status.phase if status is not None else None, spec, annotations),
        volume=spec.volume_name or "",
        access_modes=spec.access_modes or (),
        volume_mode=spec.volume_mode or "Filesystem",
        selector=spec.selector,
        selected_node=annotations.get(SELECTED_NODE_ANNOTATION, ""),
        terminating=wire.metadata.deletion_timestamp is not None,
        storage_group=(wire.metadata.labels or {}).get(STORAGE_GROUP, ""),
        controller=next((each.uid for each in wire.metadata.owner_references or () if each.controller), ""),
    )


def template_group(template: ClaimTemplate | None) -> str:
    """The storage group of claims that a template makes; raises a Fault."""
    if template is None or template.metadata is None or template.metadata.labels == NULL:
        return ""
    try:
        labels = decoded(_LABELS, template.metadata.labels) or {}
    except Fault as fault:
        raise fault.under("metadata", "labels") from None
    return labels.get(STORAGE_GROUP, "")


def _is_bound(phase: str | None, spec: ClaimSpec, annotations: Mapping[str, str]) -> bool:
    """Whether a claim has its volume: kube-scheduler goes by the annotation, which comes before the phase."""
    completed = bool(spec.volume_name) and BOUND_ANNOTATION in annotations
    return phase == "Bound" or (completed and phase != "Lost")


def names_no_class(wire: ClaimWire) -> bool:
    """Whether a claim gets the default class: an empty name is one too, and asks for no class at all."""
    named = wire.spec is not None and wire.spec.storage_class_name is not None
    bound = wire.status is not None and wire.status.phase == "Bound"
    return not named and not bound and not (wire.metadata.annotations or {}).get(CLASS_ANNOTATION)


def with_claims(
    volumes: Iterable[Volume], find: Callable[[str], Claim | None], namespace: str, uid: str = ""
) -> tuple[Volume, ...]:
    """Return volumes with the class and size of their claims, where these are found.

    `uid` is that of a pod that waits: a claim of its own is its own only if it was made for this very pod.
    """
    return tuple(
        volume
        if not volume.claim or (claim := find(f"{namespace}/{volume.claim}")) is None
        else msgspec.structs.replace(
            volume,
            storage_class=claim.storage_class,
            size_bytes=claim.size_bytes,
            foreign_claim=bool(uid) and volume.inline and claim.controller != uid,
        )
        for volume in volumes
    )


def with_class(volumes: Iterable[Volume], names: Container[str], storage_class: str) -> tuple[Volume, ...]:
    """Return volumes of which those of some names get a storage class."""
    return tuple(
        msgspec.structs.replace(volume, storage_class=storage_class) if volume.name in names else volume
        for volume in volumes
    )


def read_elastic_quota(
    wire: QuotaWire, kind: QuotaKind, amounts: Amounts, namespace: str = DEFAULT_NAMESPACE
) -> Quota:
    """An ElasticQuota over its namespace, a CompositeElasticQuota over those it names; raises a Fault."""
    spec, metadata = wire.spec or QuotaSpec(), wire.metadata
    namespace = metadata.namespace or namespace
    composite = kind == "CompositeElasticQuota"
    return Quota(
        name=f"{namespace}/{metadata.name}",
        kind=kind,
        namespaces=_covered(spec.namespaces) if composite else (namespace,),
        min=_bound(spec.min, "min", amounts),
        max=_bound(spec.max, "max", amounts),
        stated_used=_stated_used(wire, amounts),
    )


def read_quota(wire: QuotaWire, amounts: Amounts) -> Quota:
    """A Quota of our own kind, which belongs to no namespace; raises a Fault."""
    spec = wire.spec or QuotaSpec()
    return Quota(
        name=wire.metadata.name,
        namespaces=_covered(spec.namespaces),
        min=_bound(spec.min, "min", amounts),
        max=_bound(spec.max, "max", amounts),
        parent=spec.parent or "",
        weight=_weight(spec.weight),
        lending_limit=_optional_bound(spec.lending_limit, "lendingLimit", amounts),
        borrowing_limit=_optional_bound(spec.borrowing_limit, "borrowingLimit", amounts),
        queues=_covered(spec.queues),
        evicts_own=spec.evicts_own or "LowerPriority",
        evicts_others=spec.evicts_others or "Any",
    )


def with_names_of_their_own(quotas: Iterable[Quota]) -> tuple[Quota, ...]:
    """Return quotas of different names: two kinds may have one name, which the composite then leaves."""
    listed = tuple(quotas)
    taken = {quota.name for quota in listed if quota.kind != "CompositeElasticQuota"}
    return tuple(
        msgspec.structs.replace(quota, name=f"{quota.name}-composite")
        if quota.kind == "CompositeElasticQuota" and quota.name in taken
        else quota
        for quota in listed
    )


def _covered(names: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(sorted(set(names or ())))


def _weight(raw: Raw) -> Fraction | None:
    """A weight, written as a number or as text; the digits of a number are read as they stand."""
    if raw == NULL:
        return None
    text = bytes(raw)
    try:
        written = decoded(_NUMBER, text)
        return parse_fraction(written if isinstance(written, str) else text.decode().strip())
    except Fault as fault:
        raise fault.under("spec", "weight") from None
    except InputError as error:
        raise Fault(error, ("spec", "weight")) from None


def _bound(raw: Raw, name: str, amounts: Amounts) -> Resources:
    try:
        return amounts.bound(raw)
    except Fault as fault:
        raise fault.under("spec", name) from None


def _stated_used(wire: QuotaWire, amounts: Amounts) -> Resources | None:
    """What the status of a quota says is used; None where nobody wrote one."""
    if wire.status is None or wire.status.used == NULL:
        return None
    try:
        return amounts.bound(wire.status.used)
    except Fault as fault:
        raise fault.under("status", "used") from None


def _optional_bound(raw: Raw, name: str, amounts: Amounts) -> Resources | None:
    return None if raw == NULL else _bound(raw, name, amounts)
