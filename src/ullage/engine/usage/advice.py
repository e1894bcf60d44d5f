"""Advice for whole workloads: their containers together, in the bounds of their namespace, and the saving.

Who changes requests by itself (a vertical autoscaler) is left alone; who scales by them (a horizontal one) is
told. The hard thing is the whole pod: an init container may bind its request, so what containers save is not
what the node gets back. The saving is that of the pod's effective request, times the pods that hold it.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.limit_ranges import containers_of, limit_range_refusal, stated_by_pod
from ullage.engine.requests import effective_limits, effective_request
from ullage.engine.steps import Steps, counted
from ullage.engine.usage.book import Book
from ullage.engine.usage.evidence import Listed, Part, Seen, needed_streams, observed_pods, seen_of
from ullage.engine.usage.owners import Crew, crews, names_of
from ullage.engine.usage.requests import (
    SIZED,
    ContainerAdvice,
    Rules,
    Sized,
    Sizing,
    is_guaranteed,
    rise_of,
)
from ullage.model.admission import Autoscaler, LimitRange, LimitRangeItem
from ullage.model.cluster import Container, Snapshot, Workload
from ullage.model.resources import NOTHING, Resources, ResourceTypes

VERTICAL: Final = "VerticalPodAutoscaler"
ONLY_RECOMMENDS: Final = "Off"
_OF_CONTAINER: Final = "Container"
PODS_AT_ONCE: Final = 1000
"""Of so many pods it is looked up at once what they used."""


class WorkloadAdvice(NamedTuple):
    """What is advised for a workload; `before` and `after` are the effective request of one of its pods.

    `skipped` says why nothing is advised for it at all, `notes` what else to know before following.
    """

    crew: Crew
    containers: tuple[ContainerAdvice, ...]
    before: Resources
    after: Resources
    pods: int
    skipped: str = ""
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether anything is advised."""
        return any(sized.changes for each in self.containers for sized in each.sized)

    @property
    def freed(self) -> Resources:
        """What all its pods give back, negative where they need more."""
        return (self.before - self.after) * self.pods

    def verdicts(self) -> set[str]:
        """What is advised for its resources, in one word each."""
        return {sized.verdict for each in self.containers for sized in each.sized}


def advise(
    snapshot: Snapshot,
    book: Book,
    rules: Rules,
    namespace: str = "",
    wanted: Collection[str] = (),
    *,
    steps: Steps | None = None,
) -> list[WorkloadAdvice]:
    """Return advice for all workloads of a cluster or a namespace, or for those that are wanted by name."""
    every = _meant(snapshot, book, namespace, wanted)
    seen = _looked_at(snapshot, book, rules, every)
    return [
        _advice(snapshot, rules, crew, of_containers)
        for crew, of_containers in counted(seen, len(every), "workloads looked at", steps)
    ]


def needed(snapshot: Snapshot, listed: Listed, namespace: str = "", wanted: Collection[str] = ()) -> set[int]:
    """Return the streams that advice is made from: a book of these alone gives the same."""
    every = _meant(snapshot, listed, namespace, wanted)
    parts = [Part(crew, each) for crew in every for each in containers_of(crew.newest)]
    return needed_streams(listed, parts, SIZED)


def _meant(snapshot: Snapshot, listed: Listed, namespace: str, wanted: Collection[str]) -> list[Crew]:
    names = set(wanted)
    return [
        each
        for each in crews(snapshot, observed_pods(listed))
        if (not names or names_of(each.owner) & names)
        and (not namespace or each.owner.namespace == namespace)
    ]


def _looked_at(
    snapshot: Snapshot, book: Book, rules: Rules, every: Sequence[Crew]
) -> Iterator[tuple[Crew, Sequence[Seen]]]:
    """Yield workloads with what was observed of their containers; it is looked up of many at once."""
    share = rules.cpu_percentile / 100
    decays = {resource: snapshot.resource_types[resource].is_compressible for resource in SIZED}
    for several in _together(every):
        parts = [Part(crew, each) for crew in several for each in containers_of(crew.newest)]
        seen = iter(seen_of(book, parts, share, decays))
        for crew in several:
            yield crew, [next(seen) for _ in containers_of(crew.newest)]


def _together(every: Sequence[Crew]) -> Iterator[list[Crew]]:
    """Yield workloads in lists of about so many pods as are looked up at once."""
    found: list[Crew] = []
    pods = 0
    for crew in every:
        found.append(crew)
        pods += len(crew.pods) + len(crew.gone)
        if pods >= PODS_AT_ONCE:
            yield found
            found, pods = [], 0
    if found:
        yield found


def _advice(snapshot: Snapshot, rules: Rules, crew: Crew, seen: Sequence[Seen]) -> WorkloadAdvice:
    pod = crew.newest
    containers = containers_of(pod)
    scaling = [each for each in snapshot.autoscalers if _targets(each, crew)]
    vertical = [each for each in scaling if each.kind == VERTICAL and each.mode != ONLY_RECOMMENDS]
    before = _without_pods(effective_request(containers, pod.overhead))
    holding = sum(each.holds_capacity for each in crew.pods)
    if vertical:
        why = f"VerticalPodAutoscaler {vertical[0].name} sets its requests (mode {vertical[0].mode})"
        return WorkloadAdvice(crew, (), before, before, holding, why)
    guaranteed = is_guaranteed(containers)
    sized = tuple(
        Sizing(known, crew, each, snapshot.resource_types, rules, guaranteed).advice()
        for known, each in zip(seen, containers, strict=True)
    )
    sized = _of_whole_pods(sized, pod)
    sized = _in_ranges(sized, pod, snapshot)
    after = _without_pods(effective_request(changed_containers(containers, sized), pod.overhead))
    found = WorkloadAdvice(crew, sized, before, after, holding)
    return found._replace(notes=_notes(found, scaling, guaranteed=guaranteed)) if found.changes else found


def changed_containers(
    containers: Sequence[Container], advice: Sequence[ContainerAdvice]
) -> tuple[Container, ...]:
    """Return containers as they would be; those that are not advised about stay."""
    by_name = {(each.container.name, each.container.role): each.sized for each in advice}
    return tuple(_changed(each, by_name.get((each.name, each.role), ())) for each in containers)


def _changed(container: Container, sized: Sequence[Sized]) -> Container:
    requests, limits = dict(container.requests), dict(container.limits)
    for each in sized:
        if not each.changes:
            continue
        requests[each.resource] = each.advised_request
        if each.advised_limit is None:
            limits.pop(each.resource, None)
        else:
            limits[each.resource] = each.advised_limit
    return msgspec.structs.replace(container, requests=Resources(requests), limits=Resources(limits))


def changed_workload(workload: Workload, advice: Sequence[ContainerAdvice]) -> Workload:
    """Return a pod as it would be; what it states as a whole, or did not come from containers, stays."""
    before = containers_of(workload)
    if not workload.containers and len(advice) == 1:  # its only container is called as it is itself
        advice = (advice[0]._replace(container=before[0]),)
    after = changed_containers(before, advice)
    if after == before:
        return workload
    overhead = workload.overhead
    requests = (effective_request(before, overhead), effective_request(after, overhead))
    limits = (effective_limits(before, overhead), effective_limits(after, overhead))
    return msgspec.structs.replace(
        workload,
        requests=_summed_anew(workload.requests, *requests),
        limits=_summed_anew(workload.limits, *limits),
        containers=after if workload.containers else (),
    )


def changed_workloads(pods: Sequence[Workload], advice: Sequence[ContainerAdvice]) -> Iterator[Workload]:
    """Yield the pods of one workload as they would be; those that ask for the same are reckoned once."""
    known: dict[tuple[object, ...], Workload] = {}
    for pod in pods:
        shape = (pod.requests, pod.limits, pod.overhead, pod.containers)
        after = known.get(shape)
        if after is None:
            after = known[shape] = changed_workload(pod, advice)
        yield msgspec.structs.replace(
            pod, requests=after.requests, limits=after.limits, containers=after.containers
        )


def _summed_anew(stated: Resources, before: Resources, after: Resources) -> Resources:
    kept = {name: amount for name, amount in stated.items() if before.get(name) != amount}
    return Resources({**after, **kept})


def _without_pods(resources: Resources) -> Resources:
    return resources.only(set(resources) - {"pods"})


def _targets(autoscaler: Autoscaler, crew: Crew) -> bool:
    return autoscaler.namespace == crew.owner.namespace and autoscaler.target == crew.owner.key


def _of_whole_pods(advice: tuple[ContainerAdvice, ...], pod: Workload) -> tuple[ContainerAdvice, ...]:
    """Keep resources that the pod states as a whole: what its containers ask for changes nothing then."""
    stated = {*stated_by_pod(pod).requests, *stated_by_pod(pod).limits} if pod.containers else set()

    def kept(sized: Sized) -> Sized:
        if sized.resource not in stated or not sized.changes:
            return sized
        return sized.kept(f"the pod states its {sized.resource} as a whole (spec.resources)")

    return tuple(each._replace(sized=tuple(map(kept, each.sized))) for each in advice)


def _in_ranges(
    advice: tuple[ContainerAdvice, ...], pod: Workload, snapshot: Snapshot
) -> tuple[ContainerAdvice, ...]:
    """Return advice that the limit ranges of the namespace allow; what they refuse on the whole is kept."""
    ranges = [each for each in snapshot.limit_ranges if each.namespace == pod.namespace]
    if not ranges:
        return advice
    types = snapshot.resource_types
    bounded = tuple(
        each._replace(sized=tuple(_bounded(sized, ranges, types) for sized in each.sized)) for each in advice
    )
    refused = limit_range_refusal(changed_workload(pod, bounded), ranges, types)
    if not refused or limit_range_refusal(pod, ranges, types):
        return bounded
    return tuple(
        each._replace(sized=tuple(sized.kept(refused) if sized.changes else sized for sized in each.sized))
        for each in bounded
    )


def _bounded(sized: Sized, ranges: Sequence[LimitRange], types: ResourceTypes) -> Sized:
    if not sized.changes:
        return sized
    for each in ranges:
        for item in each.items:
            if item.kind == _OF_CONTAINER:
                sized = _within(sized, item, each.key, types)
    return sized


def _within(sized: Sized, item: LimitRangeItem, key: str, types: ResourceTypes) -> Sized:
    name, show = sized.resource, types[sized.resource].readable
    least, most = item.min.of(name), item.max.get(name)
    request, limit = max(sized.advised_request, least), sized.advised_limit
    ratio = item.limit_request_ratio_max.get(name)
    if ratio and limit is not None:
        request = max(request, types[name].quantized(-(-limit * ratio.denominator // ratio.numerator)))
    if most is not None and max(request, limit or 0) > most:
        return sized.kept(f"needs {show(max(request, limit or 0))}, limit range {key} allows {show(most)}")
    if limit is not None and limit < request:
        limit = request
    if (request, limit) == (sized.advised_request, sized.advised_limit):
        return sized
    why = f"limit range {key} asks for at least {show(request)}"
    return sized._replace(advised_request=request, advised_limit=limit, reasons=(*sized.reasons, why))


def _notes(advice: WorkloadAdvice, scaling: Sequence[Autoscaler], *, guaranteed: bool) -> tuple[str, ...]:
    notes = []
    changed = {
        sized.resource: sized.verdict
        for each in advice.containers
        for sized in each.sized
        if sized.verdict in {"grow", "shrink"}
    }
    for each in scaling:
        by = [name for name in each.resources if name in changed]
        if by:
            word = "more" if changed[by[0]] == "shrink" else "fewer"
            notes.append(
                f"HorizontalPodAutoscaler {each.name} scales by {' and '.join(by)} as a share of the "
                f"request: with this it starts {word} replicas; change its target too"
            )
    notes += [
        f"container {each.container.name}: {rise_of(sized.evidence)}: what is advised is enough for a week, "
        "look again then"
        for each in advice.containers
        for sized in each.sized
        if sized.is_rising and sized.changes
    ]
    after = changed_containers(containers_of(advice.crew.newest), advice.containers)
    if guaranteed and not is_guaranteed(after):
        notes.append("its pods are Guaranteed now and would be Burstable")
    return tuple(notes)


def saving_of(advice: Sequence[WorkloadAdvice]) -> tuple[Resources, Resources]:
    """Return what workloads give back in all, and what others need more."""
    freed, grown = NOTHING, NOTHING
    for each in advice:
        freed += each.freed.at_least_zero()
        grown += (NOTHING - each.freed).at_least_zero()
    return freed.without_zeros(), grown.without_zeros()
