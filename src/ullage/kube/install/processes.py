"""The Deployments of an installation, with the Services and budgets that belong to them.

All run one image, each with its own command, account and size. They start where nothing may be written but
/tmp, without any privilege, as a user that is not root; so a cluster that enforces the restricted standard of
pod security takes them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ullage.kube.install.choices import (
    EXTENDER,
    EXTENDER_PORT,
    HTTP_PORT,
    OPERATOR,
    SCHEDULER,
    WEBHOOK,
    WEBHOOK_PORT,
    Choices,
    Document,
    component_name,
    labels,
    metadata,
    selector,
)

USER: Final = 65532
"""Whom the image runs as."""
PRIORITY_CLASS: Final = "system-cluster-critical"
"""Without these processes other pods do not start: they are the last to be evicted."""
_HTTP: Final = "http"
_WEBHOOK_PORT_NAME: Final = "webhook"
_EXTENDER_PORT_NAME: Final = "extender"


class Size(NamedTuple):
    """What a process asks for, and how much memory it may have at most."""

    cpu: str
    memory: str
    memory_max: str


SIZES: Final[Mapping[str, Size]] = {
    OPERATOR: Size("100m", "256Mi", "2Gi"),
    SCHEDULER: Size("500m", "512Mi", "4Gi"),
    EXTENDER: Size("250m", "512Mi", "4Gi"),
}
"""For a cluster of 5000 nodes and 50 000 pods; a small one stays far below."""
PORTS: Final[Mapping[str, Mapping[str, int]]] = {
    OPERATOR: {_HTTP: HTTP_PORT, _WEBHOOK_PORT_NAME: WEBHOOK_PORT},
    SCHEDULER: {_HTTP: HTTP_PORT},
    EXTENDER: {_HTTP: HTTP_PORT, _EXTENDER_PORT_NAME: EXTENDER_PORT},
}


def arguments(component: str, choices: Choices) -> list[str]:
    """Return the command line of a process, without the name of the program."""
    sequential = "--sequential-lvg" if choices.sequential_volume_groups else "--no-sequential-lvg"
    named = [f"--scheduler-name={name}" for name in choices.scheduler_names]
    # two that claim for the same pods would evict twice
    serving = SCHEDULER if SCHEDULER in choices.components else EXTENDER
    return [
        "kube",
        component,
        f"--gpu-memory-gb={choices.gpu_memory_gigabytes}",
        sequential,
        *([_node_capacity(choices)] if component == OPERATOR else []),
        *(named if component == serving else []),
    ]


def _node_capacity(choices: Choices) -> str:
    return "--node-capacity" if choices.node_capacity else "--no-node-capacity"


def processes(component: str, choices: Choices) -> list[Document]:
    """Return the Deployment of a process, its Services and its budget."""
    return [_deployment(component, choices), *_services(component, choices), _budget(component, choices)]


def _deployment(component: str, choices: Choices) -> Document:
    pod = {
        "metadata": {
            "labels": dict(labels(component)),
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": str(HTTP_PORT)},
        },
        "spec": _pod(component, choices),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(component_name(component), component, choices.namespace),
        "spec": {
            "replicas": choices.replicas,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": dict(selector(component))},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": pod,
        },
    }


def _pod(component: str, choices: Choices) -> Document:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(selector(component))},
    }
    return {
        "serviceAccountName": component_name(component),
        "automountServiceAccountToken": True,
        "priorityClassName": PRIORITY_CLASS,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        "containers": [_container(component, choices)],
        "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}],
    }


def _container(component: str, choices: Choices) -> Document:
    size = SIZES[component]
    return {
        "name": component,
        "image": choices.image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments(component, choices),
        "ports": [
            {"name": name, "containerPort": port, "protocol": "TCP"}
            for name, port in PORTS[component].items()
        ],
        "resources": {
            "requests": {"cpu": size.cpu, "memory": size.memory},
            "limits": {"memory": size.memory_max},
        },
        "startupProbe": _probe("/healthz", period_seconds=2, failures=150),
        "livenessProbe": _probe("/healthz", period_seconds=10, failures=3),
        "readinessProbe": _probe("/readyz", period_seconds=5, failures=2),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - of the container
    }


def _probe(path: str, *, period_seconds: int, failures: int) -> Document:
    return {
        "httpGet": {"path": path, "port": _HTTP},
        "periodSeconds": period_seconds,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _services(component: str, choices: Choices) -> list[Document]:
    """Return a Service for what other programs ask a process: metrics, and the extender's answers."""
    asked = {name: port for name, port in PORTS[component].items() if name != _WEBHOOK_PORT_NAME}
    ports = [
        {"name": name, "port": port, "targetPort": name, "protocol": "TCP"} for name, port in asked.items()
    ]
    made = [_service(component_name(component), component, choices, ports)]
    if component == OPERATOR:
        named = _WEBHOOK_PORT_NAME
        port = {"name": named, "port": 443, "targetPort": named, "protocol": "TCP"}
        made.append(_service(WEBHOOK, component, choices, [port]))
    return made


def _service(name: str, component: str, choices: Choices, ports: Sequence[Mapping[str, Any]]) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, component, choices.namespace),
        "spec": {
            "type": "ClusterIP",
            "selector": dict(selector(component)),
            "ports": [dict(port) for port in ports],
        },
    }


def _budget(component: str, choices: Choices) -> Document:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(component_name(component), component, choices.namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(selector(component))}},
    }
