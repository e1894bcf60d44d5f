"""Kueue's Workloads: which queue the pods of a job count in, and the pods that a job has not got yet.

Only the job names its queue, so its pods learn it here. The hard thing is that a Workload and its pods are
the same: pods are found by who owns them, by the group they are in, or by name, and it is expanded only where
they are not there. What Kueue has taken in uses its quota whether it has pods and nodes or not.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from ullage.engine.quota.book import QUEUE_LABEL
from ullage.model.cluster import Workload
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.sources.kubernetes.classes import Classes, QueuePriority
from ullage.sources.kubernetes.drafts import Draft, completed, lookup_of
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
POD_SET_LABEL: Final = "kueue.x-k8s.io/podset"
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
        """Return the pods that count in a queue, with its label and the priority that their job has in it.

        Those of a job that its queue has taken in are admitted before they have a node.
        """
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
            admitted = job is not None and job.taken_in and pod.state == "init"
            if not named or admitted or priority not in (None, pod.priority):
                priority = pod.priority if priority is None else priority
                found[key] = msgspec.structs.replace(pod, labels=labels, priority=priority, admitted=admitted)
        return found

    def missing(
        self, pods: Mapping[str, Workload], kueue: Kueue, known: Known
    ) -> tuple[list[Workload], list[str]]:
        """Return a workload for each pod that jobs lack, and what is odd; raises an InputError.

        A job that waits lacks all of its pods or none; one that was taken in, those that are not there.
        """
        wanted = [
            (job, sets)
            for job, sets in self._lacking(pods)
            if job.taken_in or (job.active and kueue.admits(_queue_key(job)))
        ]
        sizes = [sum(draft.replicas for draft in sets) for _, sets in wanted]
        if sum(sizes) > WORKLOADS_MAX:
            raise InputError(
                f"more than {WORKLOADS_MAX} pods in all",
                where=f"Workload {one_line(wanted[sizes.index(max(sizes))][0].key)}",
                remedy="lower the counts",
            )
        lookup = lookup_of(Delta(), known, known.default_class)
        found: dict[str, Workload] = {}
        warnings: list[str] = []
        for job, sets in wanted:
            for draft in sets:
                batch, odd = completed(draft, lookup, None)
                warnings += odd
                one = msgspec.structs.replace(batch.workload, admitted=job.taken_in)
                for number in range(batch.replicas):
                    each = msgspec.structs.replace(one, name=f"{one.name}-{number}")
                    while each.key in pods or each.key in found:
                        each = msgspec.structs.replace(each, name=f"{each.name}-workload")
                    found[each.key] = each
        return list(found.values()), warnings

    def _lacking(self, pods: Mapping[str, Workload]) -> list[tuple[QueuedJob, list[Draft]]]:
        """Return the jobs that lack pods, with drafts of those; for who waits again, ended ones are none."""
        jobs = _Finder(self._jobs)
        there: dict[str, list[Workload]] = {}
        for pod in pods.values():
            job = jobs.of(pod)
            leaves = pod.terminating and not pod.node
            if job is not None and not leaves and (job.taken_in or pod.state != "deleted"):
                there.setdefault(job.key, []).append(pod)
        found = []
        for job in self._jobs.values():
            if job.key not in there:
                found.append((job, list(job.sets)))
            elif job.taken_in:
                lacking = _left_of_sets(job, there[job.key])
                found += [(job, lacking)] if lacking else []
        return found

    def say(
        self, examples: Callable[[str, list[str]], None], pods: Mapping[str, Workload], kueue: Kueue
    ) -> None:
        """Say which Workloads do not count, or count otherwise than in Kueue."""
        lacking = [job for job, _ in self._lacking(pods)]
        examples(
            "where pods will run that Kueue has taken in and that are not there yet",
            [job.key for job in lacking if job.taken_in],
        )
        shut_out = [job for job in lacking if not job.taken_in and not kueue.admits(_queue_key(job))]
        inactive = [job for job in lacking if not job.taken_in and not job.active and job not in shut_out]
        examples("not counted: Workloads that no queue takes in", [job.key for job in shut_out])
        examples("not counted: Workloads that are not active", [job.key for job in inactive])
        if kueue.has_queues and not self._read:
            examples("not found, so that pods count only in queues that they name", ["Workloads of Kueue"])


def _left_of_sets(job: QueuedJob, pods: Sequence[Workload]) -> list[Draft]:
    """Return the sets of a job with how many pods each lacks beside those there are.

    A pod stands for one of the set that it names, else of one that asks for the same, else of any. Those that
    are over and whose quota is back already stand for none.
    """
    left = [draft.replicas for draft in job.sets]
    names = [draft.workload.name for draft in job.sets]
    done = job.done
    for pod in sorted(pods, key=lambda each: (each.state != "deleted", each.key)):
        if pod.state == "deleted" and done:
            done -= 1
            continue
        named = f"{job.key.partition('/')[2]}-{pod.labels.get(POD_SET_LABEL, '')}"
        alike = [draft.workload.requests == pod.requests for draft in job.sets]
        order = sorted(range(len(left)), key=lambda place: (names[place] != named, not alike[place], place))
        free = [place for place in order if left[place]]
        if free:
            left[free[0]] -= 1
    return [draft._replace(replicas=count) for draft, count in zip(job.sets, left, strict=True) if count]


def _queue_key(job: QueuedJob) -> str:
    return f"{job.namespace}/{job.queue}"


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
