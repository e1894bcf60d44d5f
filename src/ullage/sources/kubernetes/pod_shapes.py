"""What a pod's containers ask for, and what the node gives up for all of them.

The formula is engine.requests; this module finds its terms in a pod. The hard thing is resizing in place:
while spec and status differ, kube-scheduler counts the larger of what is asked for, what is allocated and
what is in force, container by container; a resize that the node has called infeasible does not count at
all.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Raw

from ullage.engine.requests import effective_limits, effective_request, with_defaults
from ullage.model.cluster import Container
from ullage.model.errors import InputError
from ullage.model.resources import HUGEPAGES_PREFIX, Resources, ResourceTypes
from ullage.sources.kubernetes.amounts import ASKED_MAX, Amounts, Requirements
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.interned import reader
from ullage.sources.kubernetes.wire import (
    NULL,
    Condition,
    ContainerStatus,
    ContainerWire,
    PodSpec,
    PodStatus,
    is_sidecar,
)

ONE_POD: Final = Resources({"pods": 1})
CONTAINERS_MAX: Final = 10_000
"""Containers of one pod: the API server's own limit on an object's size allows far fewer."""

_RESIZE_PENDING: Final = "PodResizePending"
_RESIZE_PENDING_TEXT: Final = _RESIZE_PENDING.encode()
_MARK: Final = b""
_INFEASIBLE: Final = "Infeasible"
_NAME: Final = reader(msgspec.json.Decoder(str))
_CONDITIONS: Final = reader(msgspec.json.Decoder(list[Condition] | None))
_POD_LEVEL: Final = frozenset(("cpu", "memory"))

Role = Literal["main", "init", "sidecar"]


class Shape(NamedTuple):
    """The terms of a pod's request and what they come to."""

    containers: tuple[Container, ...]
    requests: Resources
    limits: Resources
    overhead: Resources


def shape_texts(spec: PodSpec, status: PodStatus | None) -> list[Raw | bytes]:
    """Everything that a pod's shape is read from, as it is written; no text is empty as the marks are."""
    texts: list[Raw | bytes] = [spec.overhead, spec.resources]
    for container in spec.containers or ():
        texts += (container.name, container.resources)
    for container in spec.init_containers or ():
        texts += (_MARK, container.name, container.restart_policy, container.resources)
    if status is not None:
        texts.append(_MARK)
        if _RESIZE_PENDING_TEXT in bytes(status.conditions):
            texts += (status.conditions, _MARK)
        for given in status.container_statuses or ():
            texts += (given.name, given.allocated_resources, given.resources)
        for given in status.init_container_statuses or ():
            texts += (given.name, given.allocated_resources, given.resources)
    return texts


class ShapeReader:
    """The reader of shapes."""

    def __init__(self, types: ResourceTypes, amounts: Amounts) -> None:
        self._types = types
        self._amounts = amounts

    def read(self, spec: PodSpec, status: PodStatus | None) -> Shape:
        """The shape of a pod; raises a Fault."""
        if len(spec.containers or ()) + len(spec.init_containers or ()) > CONTAINERS_MAX:
            raise Fault(
                InputError(f"more than {CONTAINERS_MAX} containers", remedy="split the pod"), ("spec",)
            )
        pod_level = self._requirements(spec.resources, "spec", "resources")
        statuses = _statuses(status)
        infeasible = _resize_is_infeasible(status)
        containers: list[Container] = []
        for field, listed in (("initContainers", spec.init_containers), ("containers", spec.containers)):
            for index, wire in enumerate(listed or ()):
                try:
                    containers.append(
                        self._container(wire, field, statuses, pod_level, infeasible=infeasible)
                    )
                except Fault as fault:
                    raise fault.under("spec", field, index) from None
        try:
            overhead = self._amounts.asked(spec.overhead)
        except Fault as fault:
            raise fault.under("spec", "overhead") from None
        shape = _shape(tuple(containers), overhead, pod_level)
        cut = self._amounts.cut
        return shape._replace(requests=cut(shape.requests), limits=cut(shape.limits))

    def _container(
        self,
        wire: ContainerWire,
        field: str,
        statuses: Mapping[bytes, ContainerStatus],
        pod_level: Requirements,
        *,
        infeasible: bool,
    ) -> Container:
        requirements = self._requirements(wire.resources, "resources")
        requests = with_defaults(requirements.requests, requirements.limits, self._types)
        role: Role = "main" if field == "containers" else "sidecar" if is_sidecar(wire) else "init"
        given = statuses.get(bytes(wire.name))
        if given is not None and role != "init":
            requests = self._resized(requests, given, pod_level, infeasible=infeasible)
        try:
            name = _NAME(bytes(wire.name))
        except Fault as fault:
            raise fault.under("name") from None
        return Container(name, role, requests, requirements.limits)

    def _requirements(self, raw: Raw, *path: str) -> Requirements:
        try:
            return self._amounts.requirements(raw)
        except Fault as fault:
            raise fault.under(*path) from None

    def _resized(
        self, requests: Resources, status: ContainerStatus, pod_level: Requirements, *, infeasible: bool
    ) -> Resources:
        """Return what counts while a container is resized; what the pod as a whole states is left alone."""
        allocated = self._amounts.asked(status.allocated_resources)
        given = allocated.larger(self._amounts.requirements(status.resources).requests)
        counted = given if infeasible and given else requests.larger(given)
        of_pod = pod_level.requests
        if not of_pod:
            return requests if counted == requests else counted
        kept = {name: amount for name, amount in requests.items() if name in of_pod}
        return Resources({name: amount for name, amount in counted.items() if name not in of_pod} | kept)


def _statuses(status: PodStatus | None) -> dict[bytes, ContainerStatus]:
    """Statuses that say what a container was given, by the text of its name."""
    if status is None:
        return {}
    listed = (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    return {
        bytes(each.name): each
        for each in listed
        if each.allocated_resources != NULL or each.resources != NULL
    }


def _resize_is_infeasible(status: PodStatus | None) -> bool:
    if status is None:
        return False
    text = bytes(status.conditions)
    if _RESIZE_PENDING_TEXT not in text:
        return False
    try:
        conditions = _CONDITIONS(text) or ()
    except Fault as fault:
        raise fault.under("status", "conditions") from None
    return any(each.type == _RESIZE_PENDING and each.reason == _INFEASIBLE for each in conditions)


def _shape(containers: tuple[Container, ...], overhead: Resources, pod_level: Requirements) -> Shape:
    """Put the terms together; a resource that only the pod's limit names is requested up to that limit."""
    named = {name for container in containers for name in container.requests}
    from_limits = {name: amount for name, amount in pod_level.limits.items() if name not in named}
    requested = Resources({**from_limits, **pod_level.requests})
    try:
        # What was cut may be less than the sum of containers that were cut too.
        if ASKED_MAX in requested.values():
            requested = requested.larger(effective_request(containers).only(requested))
        requests = effective_request(containers, overhead, _of_pod(requested))
        limits = effective_limits(containers, overhead, _of_pod(pod_level.limits))
    except InputError as error:
        raise Fault(error, ("spec", "resources") if requested else ("spec",)) from None
    return Shape(containers, requests + ONE_POD, limits, overhead)


def _of_pod(resources: Resources) -> Resources:
    """The resources that Kubernetes lets a pod state as a whole."""
    return resources.only(
        name for name in resources if name in _POD_LEVEL or name.startswith(HUGEPAGES_PREFIX)
    )
