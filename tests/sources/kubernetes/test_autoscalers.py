"""Whom autoscalers change, and by the use of what."""

import pytest

from sources.kubernetes.kube import dumped, node, refused, thing
from ullage.model.admission import Autoscaler

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def horizontal(version="autoscaling/v2", **spec):
    spec = {"scaleTargetRef": WEB, "maxReplicas": 3, **spec}
    return thing(version, "HorizontalPodAutoscaler", "web", namespace="team", spec=spec)


def vertical(**spec):
    spec = {"targetRef": WEB, **spec}
    return thing("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "web", namespace="team", spec=spec)


def by(resource, kind="Utilization", of="resource"):
    return {"type": "Resource", of: {"name": resource, "target": {"type": kind}}}


def across(*resources):
    return Autoscaler("web", "team", "HorizontalPodAutoscaler", "Deployment/web", resources)


def upright(mode):
    return Autoscaler("web", "team", "VerticalPodAutoscaler", "Deployment/web", mode=mode)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (horizontal(), across()),
        (horizontal(metrics=[by("memory"), by("cpu")]), across("cpu", "memory")),
        (horizontal(metrics=[by("cpu", of="containerResource")]), across("cpu")),
        (horizontal(metrics=[by("cpu", "AverageValue")]), across()),
        (horizontal("autoscaling/v1", targetCPUUtilizationPercentage=80), across("cpu")),
        (vertical(), upright("Auto")),
        (vertical(updatePolicy={"updateMode": "Off"}), upright("Off")),
    ],
)
def test_an_autoscaler_is_read(given, wanted):
    assert list(dumped(node(), given).autoscalers) == [wanted]


def test_one_of_each_kind_may_have_one_name():
    assert len(dumped(node(), horizontal(), vertical()).autoscalers) == 2


def test_a_second_one_of_a_name_is_refused_unless_it_is_the_same():
    assert len(dumped(node(), horizontal(), horizontal()).autoscalers) == 1
    assert "a second HorizontalPodAutoscaler" in refused(
        node(), horizontal(), horizontal(metrics=[by("cpu")])
    )
