"""What LimitRanges do to a pod before any scheduler sees it: defaults filled in, then bounds checked.

The hard thing is what a container does not state. Its requests have their defaults already (request, else
limit, else the default of the type), and a LimitRange comes before the last of these: so a request without
a limit that is just the type's default counts as not stated. What a pod states as a whole is kept: it is
what its own sums differ in from those of its containers. Ranges are taken in order of names (the API server
takes them in no certain order); the first that has a default for something wins.
"""

from collections.abc import Container as Holding
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec

from ullage.engine.requests import effective_limits, effective_request, with_defaults
from ullage.model.admission import LimitRange, LimitRangeItem
from ullage.model.cluster import Container, Workload
from ullage.model.resources import HUGEPAGES_PREFIX, NOTHING, Resources, ResourceType, ResourceTypes
from ullage.model.settings import print_fraction

STORAGE: Final = "storage-space"
"""The resource that bounds on claims are about."""
BREACHES_MAX: Final = 5
"""Breaches that a refusal names."""

_PODS: Final = frozenset(("pods",))
_OF_POD: Final = frozenset(("cpu", "memory"))


class Sums(NamedTuple):
    """What a pod asks for in all as the API server adds it up: without overhead, and without itself.

    Unlike what a node reckons with, a limit counts here that only some of the containers have.
    """

    requests: Resources
    limits: Resources


def apply_limit_ranges(workload: Workload, ranges: Iterable[LimitRange], types: ResourceTypes) -> Workload:
    """Return a workload with the defaults of its namespace in its containers and in what it asks for."""
    before = after = containers_of(workload)
    for each in _of_namespace(workload, ranges):
        defaults = _defaults_of(each)
        after = tuple(_filled(container, defaults, types) for container in after)
    if after == before:
        return workload
    overhead = workload.overhead
    requests = _summed_anew(
        workload.requests, effective_request(before, overhead), effective_request(after, overhead)
    )
    if stated_by_pod(workload).limits:
        # With limits of its own, the sums so far became the pod's own requests before any range is looked at.
        requests = Resources({**requests, **workload.requests.only(filter(_is_of_pod, workload.requests))})
    return msgspec.structs.replace(
        workload,
        requests=requests,
        limits=_summed_anew(
            workload.limits, effective_limits(before, overhead), effective_limits(after, overhead)
        ),
        containers=after if workload.containers else (),
    )


def limit_range_refusal(
    workload: Workload,
    ranges: Iterable[LimitRange],
    types: ResourceTypes,
    *,
    existing_claims: Holding[str] = frozenset(),
) -> str:
    """Return why the API server would not take a workload whose defaults are filled in; empty where it would.

    Claims that exist already, by `namespace/name`, are not judged again.
    """
    found: list[str] = []
    for each in _of_namespace(workload, ranges):
        breaches = [*_limits_below_requests(workload, each, types)]
        for item in each.items:
            for subject in _subjects(workload, item.kind, existing_claims):
                breaches += _breaches(subject, item, types)
        found += (f"limit range {each.key}: {breach}" for breach in breaches)
    if len(found) > BREACHES_MAX:
        found[BREACHES_MAX:] = [f"and {len(found) - BREACHES_MAX} more of this kind"]
    return "; ".join(found)


def containers_of(workload: Workload) -> tuple[Container, ...]:
    """Return the containers of a workload; one that lists none is its own only container."""
    if workload.containers:
        return workload.containers
    requests = workload.requests.only(set(workload.requests) - _PODS)
    limits = workload.limits.only(set(workload.limits) - _PODS)
    overhead = workload.overhead
    return (
        Container(
            workload.name,
            requests=requests - overhead.only(requests),
            limits=limits - overhead.only(limits),
        ),
    )


def with_requests(workload: Workload, requests: Resources) -> Workload | None:
    """Return a workload that asks for less, its largest containers first; None where they cannot.

    What a pod states as a whole is lowered there, and not below what its containers ask for.
    """
    if not workload.containers:
        return msgspec.structs.replace(workload, requests=requests)
    stated = stated_by_pod(workload).requests
    containers = list(workload.containers)
    for name, amount in requests.items():
        less = 0 if name in stated else workload.requests.of(name) - amount
        by_size = sorted(range(len(containers)), key=lambda each: -containers[each].requests.of(name))
        for place in by_size:
            each = containers[place]
            taken = min(less, each.requests.of(name)) if each.role != "init" else 0
            if taken > 0:
                lowered = Resources({**each.requests, name: each.requests[name] - taken})
                containers[place] = msgspec.structs.replace(each, requests=lowered)
                less -= taken
    summed = effective_request(containers, workload.overhead)
    if any(summed.of(name) > amount for name, amount in requests.items()):
        return None
    if any(summed.of(name) != amount for name, amount in requests.items() if name not in {*stated, *_PODS}):
        return None
    return msgspec.structs.replace(workload, requests=requests, containers=tuple(containers))


def claim_key(workload: Workload, claim: str) -> str:
    """Return the key of a claim that a workload names."""
    return f"{workload.namespace}/{claim}" if workload.namespace else claim


def stated_by_pod(workload: Workload) -> Sums:
    """Return what a pod states as a whole, where that differs from the sums of its containers."""
    containers, overhead = containers_of(workload), workload.overhead
    return Sums(
        _own(workload.requests, effective_request(containers, overhead), overhead),
        _own(workload.limits, effective_limits(containers, overhead), overhead),
    )


def sums_of(workload: Workload) -> Sums:
    """Return what a pod asks for in all: the sums of its containers, unless it states its own."""
    containers = containers_of(workload)
    capped = [msgspec.structs.replace(each, requests=each.limits) for each in containers]
    own = stated_by_pod(workload)
    return Sums(
        Resources({**effective_request(containers), **own.requests}),
        Resources({**effective_request(capped), **own.limits}),
    )


def _own(stated: Resources, summed: Resources, overhead: Resources) -> Resources:
    return Resources(
        {
            name: amount - overhead.of(name)
            for name, amount in stated.items()
            if _is_of_pod(name) and summed.get(name) != amount
        }
    )


def _is_of_pod(name: str) -> bool:
    """Whether a pod can state a resource as a whole."""
    return name in _OF_POD or name.startswith(HUGEPAGES_PREFIX)


def _summed_anew(stated: Resources, before: Resources, after: Resources) -> Resources:
    """Return sums after a change of containers; what did not come from containers stays as it is."""
    kept = {name: amount for name, amount in stated.items() if before.get(name) != amount}
    return Resources({**after, **kept})


def _of_namespace(workload: Workload, ranges: Iterable[LimitRange]) -> list[LimitRange]:
    mine = (each for each in ranges if each.namespace == workload.namespace)
    return sorted(mine, key=lambda each: each.name)


def _defaults_of(limits: LimitRange) -> Sums:
    """Return the default requests and limits of a range, completed as the API server completes them.

    A default limit that is not stated is the maximum; a default request the default limit, else the minimum.
    """
    requests: dict[str, int] = {}
    default_limits: dict[str, int] = {}
    for item in limits.items:
        if item.kind == "Container":
            of_item = {**item.max, **item.default_limits}
            default_limits.update(of_item)
            requests.update({**item.min, **of_item, **item.default_requests})
    return Sums(Resources(requests), Resources(default_limits))


def _filled(container: Container, defaults: Sums, types: ResourceTypes) -> Container:
    stated = {
        name: amount
        for name, amount in container.requests.items()
        if name in container.limits or name not in defaults.requests or not _is_default(types[name], amount)
    }
    requests = with_defaults(Resources({**defaults.requests, **stated}), NOTHING, types)
    limits = Resources({**defaults.limits, **container.limits})
    if requests == container.requests and limits == container.limits:
        return container
    return msgspec.structs.replace(container, requests=requests, limits=limits)


def _is_default(kind: ResourceType, amount: int) -> bool:
    """Whether a request is what its type fills in where nothing is stated."""
    return kind.default_request is not None and amount == kind.quantized(kind.default_amount())


class _Subject(NamedTuple):
    """What a bound is held against, with its name; `limits` is None where there are no such things."""

    name: str
    requests: Resources
    limits: Resources | None


def _subjects(workload: Workload, kind: str, existing_claims: Holding[str]) -> Iterator[_Subject]:
    if kind == "Container":
        for container in containers_of(workload):
            yield _Subject(f"container {container.name}", container.requests, container.limits)
    elif kind == "Pod":
        yield _Subject("the pod", *sums_of(workload))
    elif kind == "PersistentVolumeClaim":
        for volume in workload.volumes:
            if (
                volume.claim
                and volume.size_bytes
                and claim_key(workload, volume.claim) not in existing_claims
            ):
                yield _Subject(f"claim {volume.claim}", Resources({STORAGE: volume.size_bytes}), None)


def _breaches(subject: _Subject, item: LimitRangeItem, types: ResourceTypes) -> Iterator[str]:
    for name, least in item.min.items():
        yield from _below(subject, name, least, types[name])
    for name, most in item.max.items():
        yield from _above(subject, name, most, types[name])
    if subject.limits is not None:
        for name in sorted(item.limit_request_ratio_max):
            ratio = item.limit_request_ratio_max[name]
            yield from _out_of_ratio(subject, name, ratio, types[name])


def _below(subject: _Subject, name: str, least: int, kind: ResourceType) -> Iterator[str]:
    needed = kind.print(least)
    if name not in subject.requests:
        yield f"{subject.name} requests no {name}, at least {needed} is needed; request {needed}"
        return
    low = {what: amount for what, amount in _stated(subject, name) if amount < least}
    if low:
        fix = f"raise {'it' if len(low) == 1 else 'both'} to {needed}"
        yield f"{subject.name} has a {name} {_listed(low, kind)}, at least {needed} is needed; {fix}"


def _above(subject: _Subject, name: str, most: int, kind: ResourceType) -> Iterator[str]:
    allowed = kind.print(most)
    if subject.limits is not None and name not in subject.limits:
        yield f"{subject.name} has no {name} limit, at most {allowed} is allowed; state a limit of {allowed}"
        return
    high = {what: amount for what, amount in _stated(subject, name) if amount > most}
    if high:
        fix = f"lower {'it' if len(high) == 1 else 'both'} to {allowed}"
        yield f"{subject.name} has a {name} {_listed(high, kind)}, at most {allowed} is allowed; {fix}"


def _stated(subject: _Subject, name: str) -> Iterator[tuple[str, int]]:
    for what, amounts in (("request", subject.requests), ("limit", subject.limits)):
        if amounts is not None and name in amounts:
            yield what, amounts[name]


def _listed(amounts: Mapping[str, int], kind: ResourceType) -> str:
    return " and a ".join(f"{what} of {kind.print(amount)}" for what, amount in amounts.items())


def _out_of_ratio(subject: _Subject, name: str, most: Fraction, kind: ResourceType) -> Iterator[str]:
    """Judge how far the limit is above the request; both must be there."""
    request = subject.requests.of(name)
    limit = (subject.limits or NOTHING).of(name)
    allowed = f"a limit of at most {print_fraction(most)} times the request is allowed"
    fitting_limit = request * most.numerator // most.denominator
    fitting_request = kind.quantized(-(-limit * most.denominator // most.numerator))
    if not request:
        fix = f"request at least {kind.print(fitting_request)}" if limit else "state a request and a limit"
        yield f"{subject.name} requests no {name}, {allowed}; {fix}"
    elif not limit:
        fix = f"state one of at most {kind.print(fitting_limit)}"
        yield f"{subject.name} has no {name} limit, {allowed}; {fix}"
    elif limit > fitting_limit:
        fix = f"raise the request to {kind.print(fitting_request)}"
        if fitting_limit >= request:
            fix += f" or lower the limit to {kind.print(fitting_limit)}"
        yield (
            f"{subject.name} requests {kind.print(request)} of {name} with a limit of {kind.print(limit)}, "
            f"{allowed}; {fix}"
        )


def _limits_below_requests(workload: Workload, limits: LimitRange, types: ResourceTypes) -> Iterator[str]:
    """Yield what defaults make impossible: a limit below the request, a whole below the sum of its parts.

    A request above the maximum of its range is told as that: no limit that is stated would help it.
    """
    defaults = _defaults_of(limits)
    most: dict[str, int] = {}
    for item in limits.items:
        for name, amount in item.max.items() if item.kind == "Container" else ():
            most[name] = min(amount, most.get(name, amount))
    containers: Sequence[Container] = containers_of(workload)
    for container in containers:
        for name, limit in container.limits.items():
            request = container.requests.of(name)
            if request > limit == defaults.limits.get(name) and request <= most.get(name, request):
                shown = types[name].print
                yield (
                    f"container {container.name} requests {shown(request)} of {name}, above the default "
                    f"limit of {shown(limit)}; state a limit of at least {shown(request)}"
                )
    parts = effective_request(containers)
    for name, whole in stated_by_pod(workload).requests.items():
        if whole < parts.of(name) and name in defaults.requests:
            shown = types[name].print
            yield (
                f"the pod's own {name} request is {shown(whole)}, its containers have {shown(parts[name])} "
                f"with their defaults; raise it to {shown(parts[name])}"
            )
