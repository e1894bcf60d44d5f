"""What a workload asks for in all: the only formula of this kind in the project.

    main    = sum of the main containers + sum of the sidecars
    step    = an init container + the sidecars started before it
    request = max(main, largest step) + overhead

per resource. A pod-level request replaces the maximum for the resources it names. The hard part is
defaulting, which happens before anything is summed: request, else limit, else the type's own default.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from ullage.model.cluster import Container
from ullage.model.errors import InputError
from ullage.model.resources import GPU_MEMORY, NOTHING, Resources, ResourceTypes

WHOLE_GPU: Final = "nvidia.com/gpu"
MIG_PREFIX: Final = "nvidia.com/mig-"
MPS_PREFIX: Final = "nvidia.com/gpu-"
_GIGABYTES_SUFFIX: Final = "gb"


def with_defaults(requests: Resources, limits: Resources, types: ResourceTypes) -> Resources:
    """Return requests with every omitted one filled in: its limit, else its type's default, else nothing."""
    amounts = {**limits, **requests}
    for each in types.known():
        if each.default_request is not None and each.name not in amounts:
            amounts[each.name] = each.default_amount()
    return Resources({name: types[name].quantized(amount) for name, amount in amounts.items()})


def effective_request(
    containers: Sequence[Container], overhead: Resources = NOTHING, pod_level: Resources = NOTHING
) -> Resources:
    """Return what a node gives up for these containers (with defaults filled in) and their overhead."""
    main, sidecars, largest_step = NOTHING, NOTHING, NOTHING
    for container in containers:
        if container.role == "main":
            main += container.requests
        elif container.role == "sidecar":
            sidecars += container.requests
            largest_step = largest_step.larger(sidecars)
        else:
            largest_step = largest_step.larger(sidecars + container.requests)
    summed = (main + sidecars).larger(largest_step)
    for name, amount in pod_level.items():
        if amount < summed.of(name):
            raise InputError(
                f"the workload's own {name} request is below the sum of its containers",
                remedy="raise it or leave it out",
            )
    return Resources({**summed, **pod_level}) + overhead


def effective_limits(
    containers: Sequence[Container], overhead: Resources = NOTHING, pod_level: Resources = NOTHING
) -> Resources:
    """Return the resources that a workload as a whole cannot exceed; what one container may is unbounded."""
    named = [set(container.limits) for container in containers]
    bounded = set.intersection(*named) if named else set()
    capped = [
        msgspec.structs.replace(container, requests=container.limits.only(bounded))
        for container in containers
    ]
    return Resources({**effective_request(capped), **pod_level}) + overhead.only({*bounded, *pod_level})


def with_gpu_memory(requests: Resources, gigabytes_per_gpu: int) -> Resources:
    """Return requests with the derived GPU memory: whole GPUs, MIG profiles and MPS slices, in gigabytes."""
    total = 0
    named = False
    for name, amount in requests.items():
        gigabytes = gpu_gigabytes(name, gigabytes_per_gpu)
        if gigabytes is not None:
            named = True
            total += amount * gigabytes
    if not named or GPU_MEMORY in requests:
        return requests
    return Resources({**requests, GPU_MEMORY: total})


def gpu_gigabytes(resource: str, gigabytes_per_gpu: int) -> int | None:
    """Return how many gigabytes of GPU memory one of a resource stands for; None where it is no GPU."""
    if resource == WHOLE_GPU:
        return gigabytes_per_gpu
    if resource.startswith(MIG_PREFIX):
        size = resource.rpartition(".")[2]
    elif resource.startswith(MPS_PREFIX):
        size = resource.removeprefix(MPS_PREFIX)
    else:
        return None
    digits = size.removesuffix(_GIGABYTES_SUFFIX)
    if digits == size or not digits.isascii() or not digits.isdigit() or len(digits) > 6:
        return None
    return int(digits)
