"""What the workloads of our own documents ask for in all, where they do not say it themselves.

The hard part is what an absent `requests` means. Written, it is the effective request, overhead included, and
only rounded up to what can be handed out; below the sum of its containers it is an error. Absent, it is made
from the containers, the limits and the types' defaults, so that people need not add up. A WorkloadSet is a
question that somebody asks, so there a request above its own limit is an error too; a snapshot is a record of
facts, and there are pods like that.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from ullage.engine.requests import effective_limits, effective_request, with_defaults
from ullage.model.checks import REPLICAS_MAX, check_workload
from ullage.model.cluster import Batch, Container, Workload
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.sources.own_records import WorkloadEntry

_REMEMBERED_MAX: Final = 100_000
"""Distinct requests that are remembered while one document is read."""


def filled_in(workloads: Iterable[Workload], types: ResourceTypes) -> list[Workload]:
    """Return, for those that name no requests, the workloads with what they ask for in all."""
    # The hook makes a new map of a written `{}`: the default itself means that nothing was written.
    return [_with_requests(workload, types) for workload in workloads if workload.requests is NOTHING]


def completed(workloads: Iterable[Workload], types: ResourceTypes) -> list[Workload]:
    """Return those workloads that ask for something else than is written.

    Where no requests are written they are made from the rest; written ones are rounded up to what can be
    handed out, and are refused below the sum of the containers.
    """
    changed = []
    rounded: dict[tuple[object, ...], Resources] = {}
    for workload in workloads:
        # The hook makes a new map of a written `{}`: the default itself means that nothing was written.
        if workload.requests is NOTHING:
            changed.append(_with_requests(workload, types))
            continue
        parts = tuple((each.role, each.requests) for each in workload.containers)
        key = (workload.requests, workload.overhead, parts)
        requests = rounded.get(key)
        if requests is None:
            requests = _rounded(workload, types)
            if len(rounded) < _REMEMBERED_MAX:
                rounded[key] = requests
        if requests != workload.requests:
            changed.append(msgspec.structs.replace(workload, requests=requests))
    return changed


def _rounded(workload: Workload, types: ResourceTypes) -> Resources:
    """Return the requests of a snapshot's workload as they count."""
    own = _quantized(workload.requests, types)
    if workload.containers:
        containers = tuple(
            msgspec.structs.replace(each, requests=_quantized(each.requests, types))
            for each in workload.containers
        )
        try:
            _check_own_requests(own, effective_request(containers, workload.overhead), types)
        except InputError as error:
            raise error.at(f"workload {workload.key}") from None
    return own


def _quantized(requests: Resources, types: ResourceTypes) -> Resources:
    return Resources({name: types[name].quantized(amount) for name, amount in requests.items()})


def _with_requests(workload: Workload, types: ResourceTypes) -> Workload:
    """Return a workload with requests and limits made from its containers, or from its limits."""
    if not workload.containers:
        requests = with_defaults(NOTHING, workload.limits, types).larger(workload.overhead)
        return msgspec.structs.replace(workload, requests=requests)
    containers = tuple(_with_default_requests(container, types) for container in workload.containers)
    return msgspec.structs.replace(
        workload,
        containers=containers,
        requests=effective_request(containers, workload.overhead),
        limits=workload.limits or effective_limits(containers, workload.overhead),
    )


def _with_default_requests(container: Container, types: ResourceTypes) -> Container:
    requests = with_defaults(container.requests, container.limits, types)
    return msgspec.structs.replace(container, requests=requests)


def batch_of(entry: WorkloadEntry, types: ResourceTypes) -> Batch:
    """Return an entry of a set as a batch; its own requests include its overhead."""
    if not 0 <= entry.replicas <= REPLICAS_MAX:
        raise InputError(
            f"replicas is {entry.replicas}" if abs(entry.replicas) < 10**12 else "replicas is too large",
            where="replicas",
            remedy=f"use 0 to {REPLICAS_MAX}",
        )
    if entry.promised:
        raise InputError("only a ledger says what is promised", where="promised", remedy="leave it out")
    workload = Workload(**{name: getattr(entry, name) for name in Workload.__struct_fields__})
    spec = entry.resource_requirement_spec
    if spec is not None:
        if workload.requests is not NOTHING or workload.limits is not NOTHING:
            raise InputError("requests are given twice", remedy="keep requests or resourceRequirementSpec")
        requests = NOTHING if spec.request is None else spec.request
        workload = msgspec.structs.replace(workload, requests=requests, limits=spec.limit)
    check_workload(workload, types)
    for container in workload.containers:
        _check_limits(container.limits, container.requests, types, f"containers: {container.name}")
    own = workload.requests
    if own is NOTHING:
        workload = _with_requests(workload, types)
    elif workload.containers:
        workload = _with_requests(workload, types)
        summed = workload.requests
        own = _quantized(own, types)
        _check_own_requests(own, summed, types)
        workload = msgspec.structs.replace(workload, requests=Resources({**summed, **own}))
    else:
        workload = msgspec.structs.replace(workload, requests=with_defaults(own, workload.limits, types))
    _check_limits(workload.limits, workload.requests, types, "limits")
    return Batch(workload, entry.replicas, entry.atomic)


def _check_own_requests(own: Resources, summed: Resources, types: ResourceTypes) -> None:
    for name, amount in own.items():
        if amount < summed.of(name):
            shown = types[name].print
            raise InputError(
                f"{name} {shown(amount)} is below the {shown(summed.of(name))} of its containers",
                where="requests",
                remedy="raise it or leave it out",
            )


def _check_limits(limits: Resources, requests: Mapping[str, int], types: ResourceTypes, where: str) -> None:
    for name, most in limits.items():
        asked = requests.get(name, 0)
        if most < asked:
            shown = types[name].print
            raise InputError(
                f"{name} has limit {shown(most)} below the {shown(asked)} requested",
                where=where,
                remedy="raise the limit or lower the request",
            )
