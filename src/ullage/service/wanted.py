"""The workloads that somebody asks about: manifests, our own sets, or one shape given on the command line."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.model.checks import REPLICAS_MAX
from ullage.model.cluster import Batch, Workload
from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceTypes

PODS: Final = "pods"
SHAPE_NAME: Final = "workload"
SHAPE_RESOURCES_MAX: Final = 100


class Wanted(NamedTuple):
    """What is asked for: batches, whether all or none is wanted, and what reading them did not settle."""

    batches: tuple[Batch, ...]
    atomic: bool
    types: ResourceTypes
    notes: tuple[str, ...] = ()


def parse_shape(text: str, types: ResourceTypes) -> Resources:
    """Return the resources of a shape such as `cpu=4,memory=8Gi`."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > SHAPE_RESOURCES_MAX:
        raise InputError(
            f"more than {SHAPE_RESOURCES_MAX} resources", where="--shape", remedy="name fewer of them"
        )
    pairs = []
    for part in parts:
        name, equal, amount = part.partition("=")
        if not equal or not name.strip():
            raise InputError(
                f"{part!r} is no resource with its amount",
                where="--shape",
                remedy="write RESOURCE=AMOUNT,..., for example cpu=4,memory=8Gi",
            )
        pairs.append((name.strip(), amount.strip()))
    try:
        shape = types.parse(pairs)
    except InputError as error:
        raise error.at("--shape") from None
    for name, value in shape.items():
        if value < 0:
            raise InputError(f"{name} is {types[name].print(value)}", where="--shape", remedy="use 0 or more")
    return shape


def wanted_shape(text: str, types: ResourceTypes, *, pods: bool = False) -> Wanted:
    """Return one workload of a shape; where nodes count pods it is one of them."""
    shape = parse_shape(text, types)
    if pods and PODS not in shape:
        shape += Resources({PODS: 1})
    workload = Workload(SHAPE_NAME, state="init", requests=shape)
    return Wanted((Batch(workload),), atomic=False, types=types)


def read_wanted(
    paths: Sequence[str], types: ResourceTypes, *, namespace: str = "", pod_template: str = ""
) -> Wanted:
    """Return the workloads of files and folders: our own sets and Kubernetes manifests."""
    from ullage.sources.workload_files import read_workloads

    batches: list[Batch] = []
    notes: list[str] = []
    atomic = False
    for path in paths:
        found = read_workloads(path, types, namespace=namespace, pod_template=pod_template)
        batches += found.batches
        notes += found.notes
        atomic = atomic or found.atomic
        types = found.resource_types
    return Wanted(tuple(batches), atomic, types, tuple(dict.fromkeys(notes)))


def with_replicas(wanted: Wanted, replicas: int | None) -> Wanted:
    """Return the same workloads with another number of replicas each."""
    if replicas is None:
        return wanted
    if not 0 <= replicas <= REPLICAS_MAX:
        raise InputError(f"{replicas} replicas", where="--replicas", remedy=f"use 0 to {REPLICAS_MAX}")
    batches = tuple(msgspec.structs.replace(batch, replicas=replicas) for batch in wanted.batches)
    return wanted._replace(batches=batches)
