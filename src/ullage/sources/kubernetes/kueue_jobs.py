"""Kueue's Workloads as jobs: their queue, whose they are, their priority, and a draft of each set of pods.

Where a Workload states its priority, that counts; else that of its class, which is a WorkloadPriorityClass
or one of Kubernetes' own. The versions of Kueue differ in how they name it.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from ullage.model.checks import REPLICAS_MAX
from ullage.model.errors import InputError
from ullage.sources.kubernetes.classes import QueuePriority
from ullage.sources.kubernetes.constraint_rules import check_constraints
from ullage.sources.kubernetes.drafts import Draft, draft_of
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.kueue import with_queue
from ullage.sources.kubernetes.kueue_shares import GROUP
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
from ullage.sources.kubernetes.pods import PodReader
from ullage.sources.kubernetes.wire import NULL, Condition, Metadata, Owner, PodSpec, PodWire, Time, Wire
from ullage.sources.places import one_line

WORKLOAD: Final = Kind(GROUP, "Workload")
OF_KUBERNETES: Final = "scheduling.k8s.io"
"""How a Workload says that its class is one of Kubernetes' own, up to the slash of an older version."""


class _Metadata(Wire):
    name: str
    namespace: str | None = None
    creation_timestamp: Time | None = None
    owner_references: list[Owner] | None = None


class _PodSet(Wire):
    name: str = "main"
    count: int = 1
    min_count: int | None = None
    template: PodWire | None = None


class _Counted(Wire):
    name: str = "main"
    count: int | None = None


class _Admission(Wire):
    pod_set_assignments: list[_Counted] | None = None


class _ClassRef(Wire):
    group: str = ""
    name: str = ""


class _Spec(Wire):
    pod_sets: list[_PodSet] | None = None
    queue_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    priority_class_source: str | None = None
    priority_class_ref: _ClassRef | None = None
    active: bool | None = None


class _Status(Wire):
    conditions: list[Condition] | None = None
    admission: _Admission | None = None
    reclaimable_pods: list[_Counted] | None = None


class _WorkloadWire(Wire):
    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None


_WORKLOAD: Final = msgspec.json.Decoder(_WorkloadWire)


class QueuedJob(NamedTuple):
    """A Workload: its queue, whose it is, and a draft of each set of equal pods it needs.

    Of `done` pods it has given back the quota.
    """

    key: str
    queue: str
    active: bool
    taken_in: bool
    over: bool
    pods: frozenset[str]
    owners: tuple[str, ...]
    priority: QueuePriority
    sets: tuple[Draft, ...]
    done: int = 0

    @property
    def namespace(self) -> str:
        """The namespace that the job and its queue are in."""
        return self.key.partition("/")[0]


def read_job(
    item: Item, pods: PodReader, namespace: str = DEFAULT_NAMESPACE, *, of_cluster: bool = True
) -> tuple[QueuedJob, list[str]]:
    """Return a Workload and what is odd about it; raises a Fault.

    One `of_cluster` has passed an API server; what one would refuse about others is refused here.
    """
    wire = item.decode(_WORKLOAD)
    metadata, spec, status = wire.metadata, wire.spec or _Spec(), wire.status or _Status()
    holds = {each.type for each in status.conditions or () if each.status == "True"}
    inside = metadata.namespace or namespace
    odd: list[str] = []
    drafts = tuple(_drafts(wire, inside, pods, None if of_cluster else odd))
    owners = metadata.owner_references or ()
    job = QueuedJob(
        f"{inside}/{metadata.name}",
        spec.queue_name or "",
        spec.active is not False,
        status.admission is not None or "QuotaReserved" in holds,
        "Finished" in holds,
        frozenset(f"{inside}/{each.name}" for each in owners if each.kind == "Pod"),
        tuple(f"{each.kind}/{each.name}" for each in owners if each.kind != "Pod"),
        _priority(spec),
        drafts,
        sum(each.count or 0 for each in status.reclaimable_pods or ()),
    )
    return job, odd


def _priority(spec: _Spec) -> QueuePriority:
    ref = spec.priority_class_ref
    name = ref.name if ref is not None else spec.priority_class_name or ""
    source = ref.group if ref is not None else spec.priority_class_source or ""
    if source.partition("/")[0] == OF_KUBERNETES:
        return QueuePriority(spec.priority, priority_class=name)
    return QueuePriority(spec.priority, workload_class=name)


def _drafts(wire: _WorkloadWire, namespace: str, pods: PodReader, odd: list[str] | None) -> Iterator[Draft]:
    """Yield a draft of each set of pods, with how many of it are needed still."""
    metadata, spec, status = wire.metadata, wire.spec or _Spec(), wire.status or _Status()
    assigned = (status.admission.pod_set_assignments if status.admission is not None else None) or ()
    counts = {each.name: each.count for each in assigned if each.count is not None}
    done = {each.name: each.count or 0 for each in status.reclaimable_pods or ()}
    sets = spec.pod_sets or ()
    sizes = [max(0, counts.get(each.name, each.count) - done.get(each.name, 0)) for each in sets]
    least = [
        size if each.min_count is None or each.name in counts else min(size, each.min_count)
        for size, each in zip(sizes, sets, strict=True)
    ]
    for index, (pod_set, size) in enumerate(zip(sets, sizes, strict=True)):
        path = ("spec", "podSets", index)
        if size > REPLICAS_MAX:
            raise Fault(
                InputError(f"count is {size}", remedy=f"use at most {REPLICAS_MAX}"), (*path, "count")
            )
        try:
            draft = _draft(metadata, pod_set, namespace, pods, odd)
        except Fault as fault:
            raise fault.under(*path, "template") from None
        workload = msgspec.structs.replace(
            with_queue(draft.workload, spec.queue_name or ""),
            gang=metadata.name if sum(sizes) > 1 else "",
            gang_min=sum(least) if sum(least) < sum(sizes) else 0,
        )
        yield draft._replace(workload=workload, replicas=size, priority=_priority(spec))


def _draft(
    metadata: _Metadata, pod_set: _PodSet, namespace: str, pods: PodReader, odd: list[str] | None
) -> Draft:
    """Return a draft of one pod of a set; what is odd about its template is listed, if there is a list."""
    template = pod_set.template or PodWire()
    labels = template.metadata.labels if template.metadata is not None else NULL
    name = f"{metadata.name}-{pod_set.name}"
    pod = PodWire(Metadata(name=name, namespace=namespace, labels=labels), template.spec)
    workload = pods.read(pod, namespace=namespace)
    if odd is not None:
        odd += [f"{one_line(workload.key)}: {line}" for line in check_constraints(template.spec or PodSpec())]
    owner = next((each for each in metadata.owner_references or () if each.kind != "Pod"), None)
    created = metadata.creation_timestamp
    workload = msgspec.structs.replace(
        workload,
        kind=WORKLOAD.name,
        node="",
        state="init",
        owner=f"{owner.kind}/{owner.name}" if owner is not None else "",
        created_seconds=None if created is None else int(created.timestamp()),
    )
    return draft_of(workload, template.spec or PodSpec(), frozenset())
