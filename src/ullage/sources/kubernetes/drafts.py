"""Drafts: batches of manifests before it is known what the objects are that their pods name.

A pod's classes and claims may stand behind it, in another file, or in the cluster it is asked about. The hard
thing is order: what manifests bring along counts before what the cluster has under the same name.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from ullage.model.cluster import Batch, Node, Workload
from ullage.model.delta import Delta
from ullage.model.storage import Claim
from ullage.sources.kubernetes.classes import (
    NO_QUEUE_PRIORITY,
    Classes,
    ClassNames,
    QueuePriority,
    class_names,
    with_priority,
)
from ullage.sources.kubernetes.daemons import daemon_pods
from ullage.sources.kubernetes.object_kinds import Known
from ullage.sources.kubernetes.objects import with_claims, with_class
from ullage.sources.kubernetes.pods import classless_volumes
from ullage.sources.kubernetes.wire import PodSpec
from ullage.sources.places import one_line

DAEMON_SET: Final = "DaemonSet"


class Draft(NamedTuple):
    """A batch whose classes and claims may not have been read yet, or whose priority is the default.

    `priority` is what it has in a queue of Kueue, which counts before the others.
    """

    workload: Workload
    replicas: int
    classes: ClassNames | None
    by_default: bool
    states_preemption: bool
    classless: frozenset[str]
    priority: QueuePriority = NO_QUEUE_PRIORITY


class Lookup(NamedTuple):
    """What pods may name."""

    classes: Classes
    default_class: str
    find_claim: Callable[[str], Claim | None]


def draft_of(workload: Workload, spec: PodSpec, classless: frozenset[str]) -> Draft:
    """A draft of one pod; `classless` are volumes of its set that name no storage class."""
    return Draft(
        workload,
        1,
        class_names(spec),
        by_default=spec.priority is None and not spec.priority_class_name,
        states_preemption=spec.preemption_policy is not None,
        classless=classless | classless_volumes(spec),
    )


def lookup_of(objects: Delta, known: Known, default_class: str) -> Lookup:
    """What pods may name: objects of their manifests before those of the cluster."""
    claims = {claim.key: claim for claim in objects.claims}
    return Lookup(
        Classes(
            (*known.runtime_classes, *objects.runtime_classes),
            (*known.priority_classes, *objects.priority_classes),
        ),
        default_class or known.default_class,
        lambda key: claims.get(key) or known.find_claim(key),
    )


def completed(draft: Draft, lookup: Lookup, nodes: Iterable[Node] | None) -> tuple[Batch, list[str]]:
    """Return a draft with what the other objects say about it, and what is odd about that."""
    workload, replicas = draft.workload, draft.replicas
    odd: list[str] = []
    if draft.classes is not None:
        odd += lookup.classes.conflicts(workload, draft.classes)
        unknown = lookup.classes.unknown(draft.classes)
        odd += [f"{one_line(each)} is not known; it adds nothing" for each in unknown]
        workload = lookup.classes.applied(workload, draft.classes)
    default = lookup.classes.default
    if draft.by_default and default is not None:
        workload = with_priority(workload, default, needs_preemption=not draft.states_preemption)
    priority = draft.priority.among(lookup.classes)
    if priority is not None:
        workload = msgspec.structs.replace(workload, priority=priority)
    unknown = draft.priority.unknown(lookup.classes)
    odd += [f"{one_line(each)} is not known; it adds nothing" for each in unknown]
    if workload.volumes:
        volumes = with_class(workload.volumes, draft.classless, lookup.default_class)
        volumes = with_claims(volumes, lookup.find_claim, workload.namespace)
        workload = msgspec.structs.replace(workload, volumes=volumes)
    if workload.kind == DAEMON_SET:
        replicas = daemon_pods(workload, nodes or ())
        if nodes is None:
            odd.append("a DaemonSet has a pod on each node it matches; no node is known")
    return Batch(workload, replicas), [f"{one_line(workload.key)}: {line}" for line in odd]
