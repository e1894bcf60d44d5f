"""Claims and quotas: small objects that are read one to one.

The hard thing is a quota's name: Kubernetes allows one name in every namespace, the model wants it unique, so
it is written as `namespace/name`.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec
from msgspec import Raw

from ullage.model.cluster import Claim, Quota, Volume
from ullage.model.resources import Resources
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.wire import ClaimSpec, ClaimWire, QuotaSpec, QuotaWire

DEFAULT_NAMESPACE: Final = "default"
QuotaKind = Literal["ElasticQuota", "CompositeElasticQuota", "Quota"]


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


def read_claim(wire: ClaimWire, amounts: Amounts, *, namespace: str = DEFAULT_NAMESPACE) -> Claim:
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
    return Claim(
        name=wire.metadata.name,
        namespace=wire.metadata.namespace or namespace,
        storage_class=storage_class,
        size_bytes=size_bytes,
        bound=status is not None and status.phase == "Bound",
    )


def with_claims(volumes: Iterable[Volume], claims: Mapping[str, Claim], namespace: str) -> tuple[Volume, ...]:
    """Return volumes with the class and size of their claims, where these are known."""
    return tuple(
        volume
        if (claim := claims.get(f"{namespace}/{volume.claim}")) is None
        else msgspec.structs.replace(volume, storage_class=claim.storage_class, size_bytes=claim.size_bytes)
        for volume in volumes
    )


def read_quota(wire: QuotaWire, kind: str, amounts: Amounts) -> Quota:
    """An ElasticQuota over its namespace, a CompositeElasticQuota over those it names; raises a Fault."""
    spec, metadata = wire.spec or QuotaSpec(), wire.metadata
    namespace = metadata.namespace or DEFAULT_NAMESPACE
    composite = kind == "CompositeElasticQuota"
    return Quota(
        name=f"{namespace}/{metadata.name}",
        kind=msgspec.convert(kind, QuotaKind),
        namespaces=tuple(sorted(set(spec.namespaces or ()))) if composite else (namespace,),
        min=_bound(spec.min, "min", amounts),
        max=_bound(spec.max, "max", amounts),
    )


def _bound(raw: Raw, name: str, amounts: Amounts) -> Resources:
    try:
        return amounts.resources(raw)
    except Fault as fault:
        raise fault.under("spec", name) from None
