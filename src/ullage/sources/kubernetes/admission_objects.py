"""What a namespace demands of its pods: labels, limit ranges, resource quotas and disruption budgets.

The hard thing is a selector that is not there: the budget of a null selector protects nothing, that of an
empty one (`{}`) every pod of its namespace.
"""

from fractions import Fraction
from typing import Final

import msgspec
from msgspec import Raw

from ullage.model.admission import DisruptionBudget, LimitRange, LimitRangeItem, Namespace, ResourceQuota
from ullage.model.constraints import LabelSelector, Requirement
from ullage.model.resources import Resources
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.storage_objects import Described
from ullage.sources.kubernetes.wire import NULL, Named, Wire

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""A label that the API server gives each namespace."""


class NamespaceObject(Wire):
    """A Namespace."""

    metadata: Described


class _Bounds(Wire):
    type: str
    min: Raw = NULL
    max: Raw = NULL
    default: Raw = NULL
    default_request: Raw = NULL
    max_limit_request_ratio: Raw = NULL


class _RangeSpec(Wire):
    limits: list[_Bounds] | None = None


class RangeObject(Wire):
    """A LimitRange."""

    metadata: Named
    spec: _RangeSpec | None = None


class _Scope(Wire):
    scope_name: str
    operator: str
    values: tuple[str, ...] | None = None


class _ScopeSelector(Wire):
    match_expressions: list[_Scope] | None = None


class _QuotaSpec(Wire):
    hard: Raw = NULL
    scopes: tuple[str, ...] | None = None
    scope_selector: _ScopeSelector | None = None


class _QuotaStatus(Wire):
    used: Raw = NULL


class QuotaObject(Wire):
    """A ResourceQuota."""

    metadata: Named
    spec: _QuotaSpec | None = None
    status: _QuotaStatus | None = None


class _BudgetSpec(Wire):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class _BudgetStatus(Wire):
    disruptions_allowed: int | None = None


class BudgetObject(Wire):
    """A PodDisruptionBudget."""

    metadata: Named
    spec: _BudgetSpec | None = None
    status: _BudgetStatus | None = None


def read_namespace(wire: NamespaceObject) -> Namespace:
    """A Namespace with its labels."""
    name = wire.metadata.name
    return Namespace(name, {**(wire.metadata.labels or {}), NAME_LABEL: name})


def read_limit_range(wire: RangeObject, amounts: Amounts, namespace: str) -> LimitRange:
    """A LimitRange; raises a Fault."""
    items = []
    for index, each in enumerate((wire.spec.limits if wire.spec is not None else None) or ()):
        try:
            items.append(_range_item(each, amounts))
        except Fault as fault:
            raise fault.under("spec", "limits", index) from None
    return LimitRange(wire.metadata.name, wire.metadata.namespace or namespace, tuple(items))


def _range_item(wire: _Bounds, amounts: Amounts) -> LimitRangeItem:
    def bound(raw: Raw, name: str) -> Resources:
        try:
            return amounts.with_storage(raw)
        except Fault as fault:
            raise fault.under(name) from None

    try:
        ratios = amounts.ratios(wire.max_limit_request_ratio)
    except Fault as fault:
        raise fault.under("maxLimitRequestRatio") from None
    return LimitRangeItem(
        kind=wire.type,
        min=bound(wire.min, "min"),
        max=bound(wire.max, "max"),
        default_limits=bound(wire.default, "default"),
        default_requests=bound(wire.default_request, "defaultRequest"),
        limit_request_ratio_max={name: Fraction(nano, 10**9) for name, nano in ratios.items()},
    )


def read_resource_quota(wire: QuotaObject, amounts: Amounts, namespace: str) -> ResourceQuota:
    """A ResourceQuota; raises a Fault."""
    spec = wire.spec or _QuotaSpec()
    selector = spec.scope_selector or _ScopeSelector()
    used = wire.status.used if wire.status is not None else NULL
    return ResourceQuota(
        name=wire.metadata.name,
        namespace=wire.metadata.namespace or namespace,
        hard=amounts.quantities(spec.hard, "spec", "hard"),
        used=None if used == NULL else amounts.quantities(used, "status", "used"),
        scopes=spec.scopes or (),
        scope_selector=tuple(
            Requirement(each.scope_name, each.operator, each.values or ())
            for each in selector.match_expressions or ()
        ),
    )


def read_budget(wire: BudgetObject, namespace: str) -> DisruptionBudget:
    """A PodDisruptionBudget."""
    spec = wire.spec or _BudgetSpec()
    return DisruptionBudget(
        name=wire.metadata.name,
        namespace=wire.metadata.namespace or namespace,
        selector=spec.selector,
        min_available="" if spec.min_available is None else str(spec.min_available),
        max_unavailable="" if spec.max_unavailable is None else str(spec.max_unavailable),
        disruptions_allowed=wire.status.disruptions_allowed if wire.status is not None else None,
    )


NAMESPACE: Final = msgspec.json.Decoder(NamespaceObject)
LIMIT_RANGE: Final = msgspec.json.Decoder(RangeObject)
RESOURCE_QUOTA: Final = msgspec.json.Decoder(QuotaObject)
DISRUPTION_BUDGET: Final = msgspec.json.Decoder(BudgetObject)
