"""Kueue's Workloads: which queue the pods of a job count in, and the pods that a job has not got yet.

Only the job names its queue, so its pods learn it here. The hard thing is that a Workload and its pods are
the same: it is expanded only where none of its pods is there, and pods are found by who owns them, by the
group they are in, or by name. One that was taken in and has no pods yet waits for nodes like the others.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.engine.quota.book import QUEUE_LABEL
from ullage.model.checks import REPLICAS_MAX
from ullage.model.cluster import Workload
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.sources.kubernetes.drafts import Draft, completed, draft_of, lookup_of
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.kueue import GROUP, Kueue, with_queue
from ullage.sources.kubernetes.object_kinds import Known
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
from ullage.sources.kubernetes.pods import PodReader
from ullage.sources.kubernetes.waiting import WORKLOADS_MAX
from ullage.sources.kubernetes.wire import NULL, Condition, Metadata, Owner, PodSpec, PodWire, Time, Wire
from ullage.sources.places import one_line

WORKLOAD: Final = Kind(GROUP, "Workload")
LOCAL_QUEUE_LABEL: Final = "kueue.x-k8s.io/local-queue-name"
GROUP_LABELS: Final = ("kueue.x-k8s.io/prebuilt-workload-name", "kueue.x-k8s.io/pod-group-name")
"""Labels of a pod that have the name of its Workload."""
MADE_FOR: Final = {
    "Job": ("JobSet", "MPIJob"),
    "RayCluster": ("RayJob", "RayService"),
    "StatefulSet": ("LeaderWorkerSet",),
}
"""Kinds whose objects, called NAME-SUFFIX, are made for a job of another kind."""


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


class _Spec(Wire):
    pod_sets: list[_PodSet] | None = None
    queue_name: str | None = None
    priority: int | None = None
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


class _Job(NamedTuple):
    """A Workload that is not over: its queue, whose it is, and a draft of each set of equal pods it needs."""

    key: str
    queue: str
    active: bool
    taken_in: bool
    pods: frozenset[str]
    owners: tuple[str, ...]
    priority: int | None
    sets: tuple[Draft, ...]


class KueueWorkloads:
    """The Workloads that have been read; of two of one name the later counts."""

    def __init__(self, pods: PodReader) -> None:
        self._pods = pods
        self._jobs: dict[str, _Job] = {}
        self._read = False

    def take(self, item: Item) -> None:
        """Read a Workload; one that is over counts no more. Raises a Fault."""
        wire = item.decode(_WORKLOAD)
        self._read = True
        status = wire.status or _Status()
        holds = {each.type for each in status.conditions or () if each.status == "True"}
        namespace = wire.metadata.namespace or DEFAULT_NAMESPACE
        key = f"{namespace}/{wire.metadata.name}"
        self._jobs.pop(key, None)
        if "Finished" not in holds:
            taken_in = status.admission is not None or "QuotaReserved" in holds
            self._jobs[key] = self._job(wire, namespace, taken_in=taken_in)

    def _job(self, wire: _WorkloadWire, namespace: str, *, taken_in: bool) -> _Job:
        metadata, spec = wire.metadata, wire.spec or _Spec()
        owners = metadata.owner_references or ()
        return _Job(
            f"{namespace}/{metadata.name}",
            spec.queue_name or "",
            spec.active is not False,
            taken_in,
            frozenset(f"{namespace}/{each.name}" for each in owners if each.kind == "Pod"),
            tuple(f"{each.kind}/{each.name}" for each in owners if each.kind != "Pod"),
            spec.priority,
            tuple(self._drafts(wire, namespace)),
        )

    def _drafts(self, wire: _WorkloadWire, namespace: str) -> Iterator[Draft]:
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
        owner = next((each for each in metadata.owner_references or () if each.kind != "Pod"), None)
        for index, (pod_set, size) in enumerate(zip(sets, sizes, strict=True)):
            path = ("spec", "podSets", index)
            if size > REPLICAS_MAX:
                raise Fault(
                    InputError(f"count is {size}", remedy=f"use at most {REPLICAS_MAX}"), (*path, "count")
                )
            template = pod_set.template or PodWire()
            labels = template.metadata.labels if template.metadata is not None else NULL
            name = f"{metadata.name}-{pod_set.name}"
            pod = PodWire(Metadata(name=name, namespace=namespace, labels=labels), template.spec)
            try:
                workload = self._pods.read(pod, namespace=namespace)
            except Fault as fault:
                raise fault.under(*path, "template") from None
            created = metadata.creation_timestamp
            workload = msgspec.structs.replace(
                workload,
                kind=WORKLOAD.name,
                node="",
                state="init",
                owner=f"{owner.kind}/{owner.name}" if owner is not None else "",
                created_seconds=None if created is None else int(created.timestamp()),
                gang=metadata.name if sum(sizes) > 1 else "",
                gang_min=sum(least) if sum(least) < sum(sizes) else 0,
            )
            yield draft_of(workload, template.spec or PodSpec(), frozenset())._replace(replicas=size)

    def with_queues(self, pods: Mapping[str, Workload], kueue: Kueue) -> dict[str, Workload]:
        """Return the pods that count in a queue and do not say so themselves, with its label."""
        if not self._jobs and not kueue.has_queues:
            return {}
        found = {}
        shared: dict[tuple[int, str], Mapping[str, str]] = {}
        jobs = _Finder(self._jobs)
        for key, pod in pods.items():
            if pod.labels.get(QUEUE_LABEL):
                continue
            job = jobs.of(pod)
            queue = job.queue if job is not None else pod.labels.get(LOCAL_QUEUE_LABEL, "")
            if queue:
                labels = shared.setdefault((id(pod.labels), queue), {**pod.labels, QUEUE_LABEL: queue})
                found[key] = msgspec.structs.replace(pod, labels=labels)
        return found

    def missing(
        self, pods: Mapping[str, Workload], kueue: Kueue, known: Known
    ) -> tuple[list[Workload], list[str]]:
        """Return a workload for each pod of jobs that have none, and what is odd; raises an InputError."""
        wanted = self._without_pods(pods)
        wanted = [job for job in wanted if job.taken_in or (job.active and kueue.admits(_queue_key(job)))]
        if sum(draft.replicas for job in wanted for draft in job.sets) > WORKLOADS_MAX:
            raise InputError(
                f"more than {WORKLOADS_MAX} pods in all",
                where=f"Workload {one_line(max(wanted, key=_size).key)}",
                remedy="lower the counts",
            )
        lookup = lookup_of(Delta(), known, known.default_class)
        found: dict[str, Workload] = {}
        warnings: list[str] = []
        for job in wanted:
            for draft in job.sets:
                batch, odd = completed(draft, lookup, None)
                warnings += odd
                workload = with_queue(batch.workload, job.queue)
                if job.priority is not None:
                    workload = msgspec.structs.replace(workload, priority=job.priority)
                for number in range(draft.replicas):
                    each = msgspec.structs.replace(workload, name=f"{workload.name}-{number}")
                    while each.key in pods or each.key in found:
                        each = msgspec.structs.replace(each, name=f"{each.name}-workload")
                    found[each.key] = each
        return list(found.values()), warnings

    def _without_pods(self, pods: Mapping[str, Workload]) -> list[_Job]:
        """Return the jobs without pods; for one that waits again, pods that are over do not count."""
        jobs = _Finder(self._jobs)
        with_pods = set()
        for pod in pods.values():
            job = jobs.of(pod)
            if job is not None and (job.taken_in or pod.state != "deleted"):
                with_pods.add(job.key)
        return [job for job in self._jobs.values() if job.key not in with_pods]

    def say(
        self, examples: Callable[[str, list[str]], None], pods: Mapping[str, Workload], kueue: Kueue
    ) -> None:
        """Say which Workloads do not count, or count otherwise than in Kueue."""
        without = self._without_pods(pods)
        examples(
            "taken in by Kueue and without pods yet, counted among those that wait",
            [job.key for job in without if job.taken_in],
        )
        shut_out = [job for job in without if not job.taken_in and not kueue.admits(_queue_key(job))]
        inactive = [job for job in without if not job.taken_in and not job.active and job not in shut_out]
        examples("not counted: Workloads that no queue takes in", [job.key for job in shut_out])
        examples("not counted: Workloads that are not active", [job.key for job in inactive])
        if kueue.has_queues and not self._read:
            examples("not found: Workloads of Kueue; pods count in a queue that they name", ["none"])


def _queue_key(job: _Job) -> str:
    return f"{job.key.partition('/')[0]}/{job.queue}"


def _size(job: _Job) -> int:
    return sum(draft.replicas for draft in job.sets)


class _Finder:
    """The job that a pod belongs to."""

    def __init__(self, jobs: Mapping[str, _Job]) -> None:
        self._jobs = jobs
        self._by_pod = {pod: job for job in jobs.values() for pod in job.pods}
        self._by_owner = {
            (job.key.partition("/")[0], owner): job for job in jobs.values() for owner in job.owners
        }
        self._found: dict[tuple[str, str], _Job | None] = {}

    def of(self, pod: Workload) -> _Job | None:
        """Return the job of a pod; None for one that Kueue does not know."""
        for label in GROUP_LABELS:
            if label in pod.labels:
                return self._jobs.get(f"{pod.namespace}/{pod.labels[label]}")
        if pod.key in self._by_pod:
            return self._by_pod[pod.key]
        if not pod.owner:
            return None
        place = (pod.namespace, pod.owner)
        if place not in self._found:
            self._found[place] = self._of_owner(*place)
        return self._found[place]

    def _of_owner(self, namespace: str, owner: str) -> _Job | None:
        """Return the job that an owner is, or that it was made for."""
        direct = self._by_owner.get((namespace, owner))
        if direct is not None:
            return direct
        kind, _, name = owner.partition("/")
        while name := name.rpartition("-")[0]:
            for above in MADE_FOR.get(kind, ()):
                found = self._by_owner.get((namespace, f"{above}/{name}"))
                if found is not None:
                    return found
        return None
