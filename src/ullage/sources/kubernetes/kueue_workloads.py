"""Kueue's Workloads: which queue the pods of a job count in, and the pods that a job has not got yet.

Only the job names its queue, so its pods learn it here. The hard thing is that a Workload and its pods are
the same: it is expanded only where none of its pods is there, and pods are found by who owns them, by the
group they are in, or by name. One that was taken in and has no pods yet waits for nodes like the others.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from ullage.engine.quota.book import QUEUE_LABEL
from ullage.model.cluster import Workload
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.sources.kubernetes.classes import Classes, QueuePriority
from ullage.sources.kubernetes.drafts import completed, lookup_of
from ullage.sources.kubernetes.items import Item
from ullage.sources.kubernetes.kueue import Kueue, workload_class_of
from ullage.sources.kubernetes.kueue_jobs import QueuedJob, read_job
from ullage.sources.kubernetes.object_kinds import Known
from ullage.sources.kubernetes.pods import PodReader
from ullage.sources.kubernetes.waiting import WORKLOADS_MAX
from ullage.sources.places import one_line

LOCAL_QUEUE_LABEL: Final = "kueue.x-k8s.io/local-queue-name"
GROUP_LABELS: Final = ("kueue.x-k8s.io/prebuilt-workload-name", "kueue.x-k8s.io/pod-group-name")
"""Labels of a pod that have the name of its Workload."""
MADE_FOR: Final = {
    "Job": ("JobSet", "MPIJob"),
    "RayCluster": ("RayJob", "RayService"),
    "StatefulSet": ("LeaderWorkerSet",),
}
"""Kinds whose objects, called NAME-SUFFIX, are made for a job of another kind."""


class KueueWorkloads:
    """The Workloads that have been read; of two of one name the later counts."""

    def __init__(self, pods: PodReader) -> None:
        self._pods = pods
        self._jobs: dict[str, QueuedJob] = {}
        self._read = False

    def take(self, item: Item) -> None:
        """Read a Workload; one that is over counts no more. Raises a Fault."""
        job, _ = read_job(item, self._pods)
        self._read = True
        self._jobs.pop(job.key, None)
        if not job.over:
            self._jobs[job.key] = job

    def with_queues(
        self, pods: Mapping[str, Workload], kueue: Kueue, classes: Classes
    ) -> dict[str, Workload]:
        """Return the pods that count in a queue, with its label and the priority that their job has in it."""
        if not self._jobs and not kueue.has_queues:
            return {}
        found = {}
        shared: dict[tuple[int, str], Mapping[str, str]] = {}
        jobs = _Finder(self._jobs)
        for key, pod in pods.items():
            job = jobs.of(pod)
            queue = job.queue if job is not None else pod.labels.get(LOCAL_QUEUE_LABEL, "")
            named = pod.labels.get(QUEUE_LABEL, "")
            if not named and not queue:
                continue
            stated = job.priority if job is not None else QueuePriority(workload_class=workload_class_of(pod))
            priority = stated.among(classes)
            labels = pod.labels
            if not named:
                labels = shared.setdefault((id(labels), queue), {**labels, QUEUE_LABEL: queue})
            if not named or priority not in (None, pod.priority):
                priority = pod.priority if priority is None else priority
                found[key] = msgspec.structs.replace(pod, labels=labels, priority=priority)
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
                for number in range(batch.replicas):
                    each = msgspec.structs.replace(batch.workload, name=f"{batch.workload.name}-{number}")
                    while each.key in pods or each.key in found:
                        each = msgspec.structs.replace(each, name=f"{each.name}-workload")
                    found[each.key] = each
        return list(found.values()), warnings

    def _without_pods(self, pods: Mapping[str, Workload]) -> list[QueuedJob]:
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
            examples("not found, so that pods count only in queues that they name", ["Workloads of Kueue"])


def _queue_key(job: QueuedJob) -> str:
    return f"{job.namespace}/{job.queue}"


def _size(job: QueuedJob) -> int:
    return sum(draft.replicas for draft in job.sets)


class _Finder:
    """The job that a pod belongs to."""

    def __init__(self, jobs: Mapping[str, QueuedJob]) -> None:
        self._jobs = jobs
        self._by_pod = {pod: job for job in jobs.values() for pod in job.pods}
        self._by_owner = {
            (job.key.partition("/")[0], owner): job for job in jobs.values() for owner in job.owners
        }
        self._found: dict[tuple[str, str], QueuedJob | None] = {}

    def of(self, pod: Workload) -> QueuedJob | None:
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

    def _of_owner(self, namespace: str, owner: str) -> QueuedJob | None:
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
