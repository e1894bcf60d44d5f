"""Who changes workloads by their use: horizontal and vertical pod autoscalers.

Only what a person needs to know who changes requests by hand is read of them: whom they change, and by the
use of what. Utilisation is a share of the request, so lowering that looks like more use to a horizontal one.
"""

from typing import Final

import msgspec

from ullage.model.admission import Autoscaler
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
from ullage.sources.kubernetes.wire import Named, Wire

HORIZONTAL: Final = Kind("autoscaling", "HorizontalPodAutoscaler")
VERTICAL: Final = Kind("autoscaling.k8s.io", "VerticalPodAutoscaler")
AUTOSCALERS: Final = (HORIZONTAL, VERTICAL)
UTILIZATION: Final = "Utilization"
DEFAULT_MODE: Final = "Auto"


class _Target(Wire):
    kind: str = ""
    name: str = ""


class _MetricTarget(Wire):
    type: str | None = None


class _OfResource(Wire):
    name: str = ""
    target: _MetricTarget | None = None


class _Metric(Wire):
    resource: _OfResource | None = None
    container_resource: _OfResource | None = None


class _UpdatePolicy(Wire):
    update_mode: str | None = None


class _Spec(Wire):
    scale_target_ref: _Target | None = None
    target_ref: _Target | None = None
    metrics: list[_Metric] | None = None
    target_cpu_utilization_percentage: int | None = msgspec.field(
        default=None, name="targetCPUUtilizationPercentage"
    )
    update_policy: _UpdatePolicy | None = None


class AutoscalerObject(Wire):
    """An autoscaler of either kind."""

    metadata: Named
    spec: _Spec | None = None


_OBJECT: Final = msgspec.json.Decoder(AutoscalerObject)


def read_autoscaler(item: Item) -> Autoscaler:
    """Return an autoscaler; raises a Fault."""
    wire = item.decode(_OBJECT)
    spec = wire.spec or _Spec()
    target = spec.scale_target_ref or spec.target_ref or _Target()
    policy = spec.update_policy or _UpdatePolicy()
    is_vertical = item.kind == VERTICAL
    return Autoscaler(
        wire.metadata.name,
        wire.metadata.namespace or DEFAULT_NAMESPACE,
        "VerticalPodAutoscaler" if is_vertical else "HorizontalPodAutoscaler",
        f"{target.kind}/{target.name}" if target.name else "",
        () if is_vertical else _scaled_by(spec),
        policy.update_mode or DEFAULT_MODE if is_vertical else "",
    )


def _scaled_by(spec: _Spec) -> tuple[str, ...]:
    """Return the resources whose use is counted as a share of the request."""
    found = {"cpu"} if spec.target_cpu_utilization_percentage is not None else set()
    for metric in spec.metrics or ():
        for each in (metric.resource, metric.container_resource):
            if each is not None and (each.target or _MetricTarget()).type == UTILIZATION:
                found.add(each.name)
    return tuple(sorted(found))
