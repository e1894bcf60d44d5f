"""Admission: may this workload have this node, judged resource by resource with every term shown.

A request of nothing always fits. Growing a workload counts only what it grows by; shrinking is always
allowed. One workload never gets more CPUs than its node has, however far CPU is over-committed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.capacity.bounds import CPU, Bounds, Figures
from ullage.model.cluster import Workload
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Amount, Resources, ResourceTypes
from ullage.model.settings import UNLIMITED, Rules, print_fraction
from ullage.model.verdict import Shortfall, Terms, Verdict

ABSENT: Final = Figures(Bounds(0, 0, "none", 0, None, 0), 0, None, 0, 0)
"""The terms of a resource that a node does not have."""


class Place(NamedTuple):
    """A node as admission sees it: its name, the terms of its resources, and the rules that apply."""

    node: str
    figures: Mapping[str, Figures]
    rules: Rules
    types: ResourceTypes


def admit(place: Place, workload: Workload) -> Verdict:
    """Return whether a node takes a workload that is not counted in its figures."""
    return judge(place, workload.key, workload.requests)


def admit_resize(place: Place, old: Workload, new: Workload) -> Verdict:
    """Return whether a workload that is counted in the figures at its old size may have its new one."""
    return judge(place, new.key, new.requests, held=old.requests)


def judge(place: Place, subject: str, requests: Resources, held: Resources = NOTHING) -> Verdict:
    """Return the verdict on a request of which `held` is already counted as committed."""
    terms: list[Terms] = []
    shortfalls: list[Shortfall] = []
    for resource, requested in requests.items():
        found = place.figures.get(resource)
        if found is not None:
            terms.append(terms_of(place.node, resource, found))
        short = shortfall_of(place, resource, requested, held.of(resource))
        if short is not None:
            shortfalls.append(short)
    reason = explain_shortfalls(shortfalls, place)
    return Verdict(subject, place.node, not shortfalls, tuple(terms), tuple(shortfalls), reason)


def shortfall_of(place: Place, resource: str, requested: int, held: int = 0) -> Shortfall | None:
    """Return what is missing of one resource, None where it suffices."""
    growth = requested - held
    if requested <= 0 or growth <= 0:
        return None
    found = place.figures.get(resource, ABSENT)
    capacity = found.bounds.capacity
    if found.free is None or found.bounds.limit is None:
        free, limit, largest = capacity, capacity, capacity
        missing = requested - capacity
    else:
        unfilled = int(place.rules.fill == "below")
        free, limit = found.free, found.bounds.limit
        largest = limit - found.standby - unfilled
        # What is held already may stay on an over-committed node; what is new waits until nothing is over.
        missing = growth - (free if held else limit - found.committed - found.standby) + unfilled
    if resource == CPU:
        largest = min(largest, capacity)
        missing = max(missing, requested - capacity)
    if missing <= 0:
        return None
    return Shortfall(
        place.node,
        resource,
        requested=Amount(resource, requested),
        committed=Amount(resource, found.committed),
        limit=Amount(resource, limit),
        free=Amount(resource, free),
        missing=Amount(resource, missing),
        eviction_could_help=requested <= largest and found.promised > held,
        standby=_some(resource, found.standby),
    )


def terms_of(node: str, resource: str, figures: Figures) -> Terms:
    """Return the figures as a record whose every number prints with its unit."""
    bounds = figures.bounds

    def amount(value: int | None) -> Amount | None:
        return None if value is None else Amount(resource, value)

    return Terms(
        node,
        resource,
        Amount(resource, bounds.capacity),
        Amount(resource, bounds.reserve),
        bounds.reserve_origin,
        Amount(resource, bounds.allocatable),
        UNLIMITED if bounds.ratio is None else print_fraction(bounds.ratio),
        Amount(resource, figures.promised),
        amount(figures.actual),
        Amount(resource, figures.committed),
        amount(bounds.limit),
        amount(figures.free),
        _some(resource, figures.standby),
    )


def _some(resource: str, value: int) -> Amount | None:
    """Return an amount; None where it is nothing."""
    return Amount(resource, value) if value else None


def explain_shortfalls(shortfalls: Sequence[Shortfall], place: Place, *, fitting: bool = True) -> str:
    """Return all that a node lacks in one line, with what would fit unless something else is against it."""
    lines = "; ".join(_explained(short, place) for short in shortfalls)
    sizes = [(short.resource, short.requested.value - short.missing.value) for short in shortfalls]
    absent = any(not place.figures.get(name, ABSENT).bounds.capacity for name, _ in sizes)
    if not fitting or absent or not sizes or min(amount for _, amount in sizes) <= 0:
        return lines
    if len(sizes) == 1:
        return f"{lines}; fits if the request is at most {show_down(*sizes[0], place.types)}"
    shown = " and ".join(f"{show_down(name, amount, place.types)} of {name}" for name, amount in sizes)
    return f"{lines}; fits if the requests are at most {shown}"


def _explained(short: Shortfall, place: Place) -> str:
    show = place.types[short.resource].readable
    found = place.figures.get(short.resource, ABSENT)
    if not found.bounds.capacity:
        return f"node {short.node} has no {short.resource} (asked {show(short.requested.value)})"
    return (
        f"node {short.node}: {short.resource} short by {show(short.missing.value)} "
        f"(asked {show(short.requested.value)}, {_room_of(short, found, show)})"
    )


def _room_of(short: Shortfall, found: Figures, show: Callable[[int], str]) -> str:
    """Return what stands against a request: what is free, or the size of the node itself."""
    bounds = found.bounds
    capped = short.resource == CPU and short.requested.value - short.missing.value == bounds.capacity
    if bounds.limit is None or (capped and short.free.value != bounds.capacity):
        return f"one workload gets at most the node's {show(bounds.capacity)}"
    over = short.committed.value - bounds.limit
    kept = [f"{show(bounds.reserve)} reserve"] if bounds.reserve else []
    kept += [f"{show(found.standby)} held for failover"] if found.standby else []
    after = f" after {' and '.join(kept)}" if kept else ""
    ratio = f" at ratio {print_fraction(bounds.ratio)}" if bounds.ratio not in {None, 1} else ""
    room = f"over-committed by {show(over)}, has" if over > 0 else f"free {show(short.free.value)} of"
    return f"{room} {show(bounds.capacity)}{after}{ratio}"


def show_down(resource: str, amount: int, types: ResourceTypes) -> str:
    """Return an amount for people that is not above the real one, so that a remedy really fits."""
    kind = types[resource]
    shown = kind.readable(amount)
    try:
        rounded_up = kind.parse(shown) > amount
    except InputError:  # rounded up beyond 64 bits
        rounded_up = True
    return kind.print(amount) if rounded_up else shown
