"""What is wrong with quotas, as findings, and what of them holds all the same.

A cluster may hold quotas that contradict themselves or each other. It is read and answered for nevertheless:
`in_force` is what every answer goes by, `findings` says what differs from what is written. Documents that
somebody hands in are refused instead. The hard thing is that both must agree: each error has one rule there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec

from ullage.model.checks import FACTOR_MAX
from ullage.model.cluster import Quota
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.model.verdict import Finding

BUILT_IN_TYPES: Final = ResourceTypes()
BOUNDS: Final = {
    "min": "min",
    "max": "max",
    "lending_limit": "lendingLimit",
    "borrowing_limit": "borrowingLimit",
}
COVERED: Final = {"namespaces": "namespace", "queues": "queue"}
SHOWN_NAMES: Final = 5
_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_ORDER: Final = {"error": 0, "warning": 1, "info": 2}


def findings(
    quotas: Iterable[Quota], capacity: Mapping[str, int] | None, types: ResourceTypes = BUILT_IN_TYPES
) -> tuple[Finding, ...]:
    """Return what is wrong with quotas, errors first, then by code and name.

    `capacity` is what the cluster can promise in all; None where no cluster is known.
    """
    return tuple(each.finding for each in _found(quotas, capacity, types))


def findings_by_quota(
    quotas: Iterable[Quota], capacity: Mapping[str, int], types: ResourceTypes
) -> dict[str, list[Finding]]:
    """Return the same by the names of the quotas that have a part in it: in a warning, many may."""
    found: dict[str, list[Finding]] = {}
    for finding, names in _found(quotas, capacity, types):
        for name in names or (finding.subject.removeprefix("quota/"),):
            found.setdefault(name, []).append(finding)
    return found


class _Found(NamedTuple):
    """A finding, and the names of the quotas that it is about where that is not its subject alone."""

    finding: Finding
    names: tuple[str, ...] = ()


def _found(quotas: Iterable[Quota], capacity: Mapping[str, int] | None, types: ResourceTypes) -> list[_Found]:
    given = _by_name(quotas)
    held = in_force(given)
    of_one = [
        *(each for quota in given for each in _of_one(quota, types)),
        *_overlaps(given),
        *_parents(given),
        *_children(held, types),
    ]
    of_many = [*_weights(held), *(_cluster(held, capacity, types) if capacity is not None else ())]
    found = [*map(_Found, of_one), *of_many]
    return sorted(
        found, key=lambda each: (_ORDER[each.finding.severity], each.finding.code, each.finding.subject)
    )


def refuse_errors(
    quotas: Iterable[Quota],
    types: ResourceTypes = BUILT_IN_TYPES,
    beside: Iterable[Quota] = (),
    *,
    in_kubernetes: bool = False,
) -> None:
    """Raise about the first error in quotas, or between them and those they stand beside.

    Of two of one name, the one that is handed in takes the place of the other. In Kubernetes not every text
    can be the name of a namespace.
    """

    def found(together: Mapping[str, Quota]) -> list[Finding]:
        names = _impossible_names(together.values()) if in_kubernetes else ()
        return [*findings(together.values(), None, types), *names]

    there = {quota.name: quota for quota in beside}
    before = set(found(there))
    for each in found(there | {quota.name: quota for quota in quotas}):
        if each.severity == "error" and each not in before:
            raise InputError(each.message, remedy=each.remedy)


def refuse_going(name: str, types: ResourceTypes, there: Sequence[Quota]) -> None:
    """Raise about the first error that quotas would have without one of them."""
    before = set(findings(there, None, types))
    left = [quota for quota in there if quota.name != name]
    for each in findings(left, None, types):
        if each.severity == "error" and each not in before:
            raise InputError(each.message, where=f"without quota {name}", remedy=each.remedy)


def refuse_wrong(quota: Quota, types: ResourceTypes = BUILT_IN_TYPES) -> None:
    """Raise about the first thing wrong with a quota that does not depend on others."""
    for each in _of_one(quota, types):
        raise InputError(each.message, remedy=each.remedy)


def in_force(quotas: Iterable[Quota]) -> tuple[Quota, ...]:
    """Return quotas by name as answers go by them; one without an error is returned as it is.

    Of two that cover a namespace or queue the first by name has it. A parent that is not there, and one in a
    circle, counts as none. A negative amount counts as 0; where min is above max, max holds.
    """
    given = _by_name(quotas)
    names = {quota.name for quota in given}
    circles = {name for circle in _circles(given) for name in circle}
    taken: dict[str, set[str]] = {field: set() for field in COVERED}
    return tuple(
        _held(quota, taken, has_parent=quota.parent in names and quota.name not in circles) for quota in given
    )


def _held(quota: Quota, taken: dict[str, set[str]], *, has_parent: bool) -> Quota:
    changed: dict[str, object] = {}
    for field, before in taken.items():
        covered: tuple[str, ...] = getattr(quota, field)
        kept = tuple(each for each in covered if each not in before)
        before.update(covered)
        if kept != covered:
            changed[field] = kept
    if quota.parent and not has_parent:
        changed["parent"] = ""
    for field in BOUNDS:
        bound: Resources | None = getattr(quota, field)
        if bound is not None and any(amount < 0 for amount in bound.values()):
            changed[field] = bound.at_least_zero()
    least, most = changed.get("min", quota.min), changed.get("max", quota.max)
    if isinstance(least, Resources) and isinstance(most, Resources):
        lowered = {name: min(amount, most.get(name, amount)) for name, amount in least.items()}
        if lowered != dict(least):
            changed["min"] = Resources(lowered)
    if quota.weight is not None and not 0 <= quota.weight <= FACTOR_MAX:
        changed["weight"] = None if quota.weight < 0 else Fraction(FACTOR_MAX)
    return msgspec.structs.replace(quota, **changed) if changed else quota


def _by_name(quotas: Iterable[Quota]) -> tuple[Quota, ...]:
    return tuple(sorted(quotas, key=lambda quota: quota.name))


def _error(code: str, quota: Quota, what: str, remedy: str) -> Finding:
    return Finding(code, "error", f"quota/{quota.name}", f"quota {quota.name}: {what}", remedy)


def _of_one(quota: Quota, types: ResourceTypes) -> Iterator[Finding]:
    """Yield what is wrong with a quota whatever stands beside it."""
    for field, written in BOUNDS.items():
        for name, amount in (getattr(quota, field) or NOTHING).items():
            if amount < 0:
                what = f"{written}: {name} is {types[name].print(amount)}"
                yield _error("quota-negative", quota, what, "use 0 or more")
    for name, least in quota.min.items():
        most = quota.max.get(name)
        if most is not None and 0 <= most < least:
            shown = types[name].print
            what = f"{name} has min {shown(least)} above max {shown(most)}"
            yield _error("quota-min-above-max", quota, what, "lower min or raise max")
    if quota.weight is not None and not 0 <= quota.weight <= FACTOR_MAX:
        remedy = f"use 0 or more, at most {FACTOR_MAX}"
        yield _error("quota-weight", quota, f"weight is {quota.weight}", remedy)
    if quota.kind == "CompositeElasticQuota" and not quota.namespaces:
        what = "a CompositeElasticQuota without namespaces covers nothing"
        yield _error("quota-without-namespaces", quota, what, "name its namespaces, or remove it")
    for queue in quota.queues:
        namespace, _, name = queue.partition("/")
        if not namespace or not name or "/" in name:
            yield _error("quota-queue", quota, f"queue {queue!r} is no NAMESPACE/NAME", "write team/queue")


def _impossible_names(quotas: Iterable[Quota]) -> Iterator[Finding]:
    """Yield what quotas cover that no namespace of Kubernetes can be called."""
    for quota in quotas:
        for name in quota.namespaces:
            if not _NAMESPACE.fullmatch(name):
                remedy = "use a-z, 0-9 and, not at the ends, '-': at most 63 characters"
                yield _error("quota-namespace", quota, f"no namespace can be called {name!r}", remedy)


def _overlaps(quotas: Sequence[Quota]) -> Iterator[Finding]:
    """Yield namespaces and queues that two quotas cover, once for each pair of quotas."""
    for field, singular in COVERED.items():
        holders: dict[str, Quota] = {}
        both: dict[tuple[str, str], list[str]] = {}
        for quota in quotas:
            for covered in dict.fromkeys(getattr(quota, field)):
                first = holders.setdefault(covered, quota)
                if first is not quota:
                    both.setdefault((first.name, quota.name), []).append(covered)
        by_name = {quota.name: quota for quota in quotas}
        for (first_name, name), covered_by_both in both.items():
            quota, first = by_name[name], by_name[first_name]
            noun = singular if len(covered_by_both) == 1 else f"{singular}s"
            what = (
                f"this {quota.kind} and {first.kind} {first.name} both cover "
                f"{noun} {_listed(covered_by_both)}; what {first.name} says holds"
            )
            yield _error(f"quota-{singular}-twice", quota, what, f"leave the {noun} to one of them")


def _parents(quotas: Sequence[Quota]) -> Iterator[Finding]:
    names = {quota.name for quota in quotas}
    by_name = {quota.name: quota for quota in quotas}
    for quota in quotas:
        if quota.parent and quota.parent not in names:
            remedy = "add it, correct the name, or leave parent out"
            yield _error("quota-unknown-parent", quota, f"parent {quota.parent!r} is no quota", remedy)
    for circle in _circles(quotas):
        what = f"its parents form a circle: {_listed([*circle, circle[0]], ' -> ')}"
        yield _error("quota-circle", by_name[circle[0]], what, "remove the parent of one of them")


def _circles(quotas: Sequence[Quota]) -> list[list[str]]:
    """Return the circles among parents, each from its first name on."""
    parents = {quota.name: quota.parent for quota in quotas}
    found: list[list[str]] = []
    rooted: set[str] = set()
    for name in sorted(parents):
        chain: dict[str, None] = {}
        above = name
        while above in parents and above not in rooted and above not in chain:
            chain[above] = None
            above = parents[above]
        if above in chain:
            path = list(chain)
            circle = path[path.index(above) :]
            first = circle.index(min(circle))
            found.append([*circle[first:], *circle[:first]])
        rooted.update(chain)
    return found


def _children(quotas: Sequence[Quota], types: ResourceTypes) -> Iterator[Finding]:
    """Yield quotas whose children are guaranteed more than they are themselves, where their min names it."""
    sums: dict[str, dict[str, int]] = {}
    for quota in quotas:
        if quota.parent:
            _add(sums.setdefault(quota.parent, {}), quota.min)
    for quota in quotas:
        below = sums.get(quota.name, {})
        for name, least in quota.min.items():
            if below.get(name, 0) > least:
                shown = types[name].print
                what = (
                    f"its children are guaranteed {shown(below[name])} {name}, it has {shown(least)} itself"
                )
                remedy = f"raise its min by {shown(below[name] - least)}, or lower theirs"
                yield _error("quota-children-above-parent", quota, what, remedy)


def _weights(quotas: Sequence[Quota]) -> Iterator[_Found]:
    """Yield families in which some state a weight and others go by their min: the two are no measure."""
    families: dict[str, list[Quota]] = {}
    for quota in quotas:
        if quota.kind == "Quota":
            families.setdefault(quota.parent, []).append(quota)
    for parent, family in families.items():
        without = [quota.name for quota in family if quota.weight is None]
        if without and len(without) < len(family):
            where = f"below quota {parent}" if parent else "without a parent"
            verb = "states" if len(without) == 1 else "state"
            noun = "quota" if len(without) == 1 else "quotas"
            finding = Finding(
                "quota-weights-mixed",
                "warning",
                f"quota/{parent}" if parent else "cluster",
                f"{noun} {_listed(without)} {where} {verb} no weight, others there do: "
                "min and weight are compared as numbers",
                "give all of them a weight, or none",
            )
            yield _Found(finding, tuple(quota.name for quota in family))


def _cluster(quotas: Sequence[Quota], capacity: Mapping[str, int], types: ResourceTypes) -> Iterator[_Found]:
    """Yield resources of which more is guaranteed than there is; children share what their parent has."""
    total: dict[str, int] = {}
    for quota in quotas:
        if not quota.parent:
            _add(total, quota.min)
    for name, amount in sorted(total.items()):
        room = capacity.get(name, 0)
        if amount > room:
            shown = types[name].readable
            finding = Finding(
                "quota-above-cluster",
                "warning",
                "cluster",
                f"quotas guarantee {shown(amount)} {name} in all, the cluster can promise {shown(room)}",
                f"lower their min by {shown(amount - room)}, or add nodes",
            )
            yield _Found(
                finding, tuple(quota.name for quota in quotas if not quota.parent and quota.min.of(name))
            )


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _listed(names: Sequence[str], between: str = ", ") -> str:
    """Return names, the first few of many."""
    shown = between.join(names[:SHOWN_NAMES])
    return f"{shown}{between}{len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else shown
