"""Whether something can still be promised: sums of what is held against what is offered, and why not.

The hard thing is that a volume group and its drives are the same bytes: what is held under any of their names
is part of the sum, also under the name of a group that has gone.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ullage.engine.ledger.view import LedgerView
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE, Capacity, Decision
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Amount, ResourceType, ResourceTypes
from ullage.model.verdict import Shortfall

SHORTFALLS_MAX: Final = 100
"""A refusal lists so many shortfalls at most; its reason says how many there are."""
TYPES: Final = ResourceTypes((ResourceType(VOLUME_SPACE, "byte"), ResourceType(WHOLE_DRIVE, "drive")))
DRIVE: Final = "drive/"

Wanted = dict[str, dict[str, int]]
"""Amounts by capacity and resource: all that one command asks for, added up."""


class Lack(NamedTuple):
    """Why something cannot be had."""

    reason: str
    shortfalls: tuple[Shortfall, ...] = ()


def want(wanted: Wanted, capacity: str, resources: Mapping[str, int]) -> None:
    """Add resources to what is wanted of a capacity."""
    amounts = wanted.setdefault(capacity, {})
    for resource in resources:
        amounts[resource] = amounts.get(resource, 0) + resources[resource]


def names_of_bytes(view: LedgerView, capacity: Capacity) -> tuple[str, ...]:
    """Return the names under which bytes of a capacity may be promised, its own first."""
    name = capacity.name
    drives = capacity.drives or ((name,) if name.startswith(DRIVE) else ())
    if not drives:
        return (name,)
    others = {*drives}.union(*(view.promised_on_drive(drive) for drive in drives))
    return (name, *sorted(others.difference(capacity.beside, (name,))))


def lacking(view: LedgerView, wanted: Wanted) -> Lack | None:
    """Return why not all of this can be promised now, None if it can."""
    short: list[Shortfall] = []
    for name in sorted(wanted):
        capacity = view.capacity(name)
        if capacity is None:
            return Lack(f"{name} is not known; supply it, or ask for another")
        amounts = wanted[name]
        names = names_of_bytes(view, capacity)
        for resource in amounts:
            asked = amounts[resource]
            held = view.held_amount(name, resource)
            for other in names[1:]:
                held += view.held_amount(other, resource)
                held += wanted[other].get(resource, 0) if other in wanted else 0
            if asked and asked + held > capacity.offers.of(resource) and resource not in capacity.unbounded:
                short.append(_shortfall(capacity, resource, asked, held))
    if not short:
        return None
    short.sort(key=lambda each: (each.node, each.resource))
    more = f", and {len(short) - 1} more such" if len(short) > 1 else ""
    return Lack(f"{_told(short[0])}{more}; {_remedy(short[0])}", tuple(short[:SHORTFALLS_MAX]))


def refused(lack: Lack, changed: tuple[LedgerEntry, ...] = ()) -> Decision:
    """Return the decision that says no, and why."""
    return Decision(accepted=False, changed=changed, reason=lack.reason, shortfalls=lack.shortfalls)


def _shortfall(capacity: Capacity, resource: str, asked: int, held: int) -> Shortfall:
    limit = capacity.offers.of(resource)
    return Shortfall(
        capacity.name,
        resource,
        requested=Amount(resource, asked),
        committed=Amount(resource, held),
        limit=Amount(resource, limit),
        free=Amount(resource, max(0, limit - held)),
        missing=Amount(resource, asked + held - limit),
        eviction_could_help=asked <= limit,
    )


def _told(short: Shortfall) -> str:
    show = TYPES[short.resource].readable
    if not short.limit.value:
        return f"{short.node} offers no {short.resource} (asked {show(short.requested.value)})"
    return (
        f"{short.node}: {short.resource} short by {show(short.missing.value)} "
        f"(asked {show(short.requested.value)}, free {show(short.free.value)} of {show(short.limit.value)})"
    )


def _remedy(short: Shortfall) -> str:
    show = TYPES[short.resource].readable
    least = f"ask for at most {show(short.free.value)}" if short.free.value else "ask for another"
    if not short.eviction_could_help:
        return least
    return f"{least}, or release {show(short.missing.value)} of what is promised there"
