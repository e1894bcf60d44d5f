"""What can be chosen about an installation, and what everything in it is called.

A cluster has one installation: objects outside namespaces have fixed names. The labels are how an
installation finds its own objects again, so `app.kubernetes.io/name` and `managed-by` never change.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ullage import __version__
from ullage.model.errors import InputError

NAME: Final = "ullage"
NAMESPACE: Final = "ullage-system"
FIELD_MANAGER: Final = "ullage"
OPERATOR: Final = "operator"
SCHEDULER: Final = "scheduler"
EXTENDER: Final = "extender"
COMPONENTS: Final = (OPERATOR, SCHEDULER, EXTENDER)
DEFINITIONS: Final = "definitions"
"""What the label of CustomResourceDefinitions says they are part of."""

NAME_LABEL: Final = "app.kubernetes.io/name"
COMPONENT_LABEL: Final = "app.kubernetes.io/component"
VERSION_LABEL: Final = "app.kubernetes.io/version"
MANAGED_LABEL: Final = "app.kubernetes.io/managed-by"

HTTP_PORT: Final = 8080
"""Metrics, /healthz and /readyz of every process."""
WEBHOOK_PORT: Final = 9443
EXTENDER_PORT: Final = 8888
WEBHOOK: Final = "ullage-webhook"
CERTIFICATE_SECRET: Final = "ullage-webhook-certificate"  # noqa: S105 - the name of a Secret
WEBHOOK_CONFIGURATION: Final = "ullage"
REPLICAS_MAX: Final = 9
GPU_MEMORY_GIGABYTES: Final = 32
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_DNS_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}")

Document = dict[str, Any]
"""An object of Kubernetes as JSON data."""


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed, where, and how it behaves."""

    namespace: str = NAMESPACE
    image: str = f"{NAME}:{__version__}"
    replicas: int = 2
    components: tuple[str, ...] = (OPERATOR, SCHEDULER)
    scheduler_names: tuple[str, ...] = ()
    """Whose pods are served: by the scheduler, or by the extender where there is none of ours.

    None are named: the scheduler serves `ullage`, the extender `default-scheduler`.
    """
    gpu_memory_gigabytes: int = GPU_MEMORY_GIGABYTES
    sequential_volume_groups: bool = True
    node_capacity: bool = True
    """Whether the operator keeps a NodeCapacity for each node."""
    definitions: bool = True
    """CustomResourceDefinitions: of ours and, where nobody has them yet, of nos and csi-baremetal."""


def checked(choices: Choices) -> Choices:
    """Return choices with which objects can be made, or say which one is wrong."""
    _check(_DNS_LABEL, choices.namespace, "namespace", "use lower-case letters, digits and '-'")
    _check(_IMAGE, choices.image, "image", "write REGISTRY/NAME:TAG")
    for name in choices.scheduler_names:
        _check(_DNS_SUBDOMAIN, name, "scheduler name", "use lower-case letters, digits, '-' and '.'")
    if not 1 <= choices.replicas <= REPLICAS_MAX:
        raise InputError(f"{choices.replicas} replicas", remedy=f"use 1 to {REPLICAS_MAX}")
    unknown = sorted(set(choices.components) - set(COMPONENTS))
    if unknown:
        raise InputError(f"there is no component {unknown[0]!r}", remedy=f"use {', '.join(COMPONENTS)}")
    if choices.gpu_memory_gigabytes < 1:
        raise InputError(f"{choices.gpu_memory_gigabytes} GB per GPU", remedy="use 1 or more")
    return choices


def _check(pattern: re.Pattern[str], text: str, what: str, remedy: str) -> None:
    if not pattern.fullmatch(text):
        raise InputError(f"{text[:80]!r} is no {what}", remedy=remedy)


def component_name(component: str) -> str:
    """Return what all objects of a process are called."""
    return f"{NAME}-{component}"


def labels(component: str) -> Mapping[str, str]:
    """Return the labels of every object of an installation."""
    return {
        NAME_LABEL: NAME,
        COMPONENT_LABEL: component,
        VERSION_LABEL: __version__,
        MANAGED_LABEL: NAME,
    }


def selector(component: str) -> Mapping[str, str]:
    """Return the labels by which pods of a process are found; they never change between versions."""
    return {NAME_LABEL: NAME, COMPONENT_LABEL: component}


def metadata(name: str, component: str, namespace: str = "", **more: Any) -> Document:
    """Return the metadata of an object."""
    placed = {"namespace": namespace} if namespace else {}
    return {"name": name, **placed, "labels": dict(labels(component)), **more}
