"""Redundancy of a whole cluster: whether the machines of any one host could run elsewhere.

Evacuation is greedy, so the answer may be no where a packing exists. Most hosts are decided by counting room;
only the others are tried step by step.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from ullage.engine.balance.evacuation_room import Rooms
from ullage.engine.balance.evacuation_trial import try_evacuation
from ullage.engine.balance.fleet import Fleet


class Redundancy(NamedTuple):
    """Which hosts must be evacuable: none of ignored groups, with `accepts_existing` only those online."""

    accepts_existing: bool = False
    ignored_groups: frozenset[int] = frozenset()


def is_redundant(
    fleet: Fleet, *, accepts_existing: bool = False, ignored_groups: Collection[int] = ()
) -> bool:
    """Return whether every host that counts can be evacuated."""
    return all(_verdicts(fleet, watched(fleet, Redundancy(accepts_existing, frozenset(ignored_groups)))))


def watched(fleet: Fleet, redundancy: Redundancy) -> list[int]:
    """Return the hosts that must be evacuable, by number."""
    return [
        number
        for number in fleet.scope
        if fleet.hosts[number].group not in redundancy.ignored_groups
        and not (redundancy.accepts_existing and fleet.hosts[number].offline)
    ]


def evacuable(fleet: Fleet, numbers: Iterable[int] | None = None) -> list[int]:
    """Return which of some hosts, or of all that count, can be evacuated, by number."""
    chosen = list(fleet.scope if numbers is None else numbers)
    return [number for number, can in zip(chosen, _verdicts(fleet, chosen), strict=True) if can]


def can_evacuate(fleet: Fleet, number: int) -> bool:
    """Return whether all machines of a host could run on others; soft rules are ignored."""
    return next(_verdicts(fleet, [number]))


def _verdicts(fleet: Fleet, numbers: Iterable[int]) -> Iterator[bool]:
    """Yield for each host whether it can be evacuated."""
    rooms = Rooms(fleet)
    for number in numbers:
        verdict = rooms.verdict(number)
        yield try_evacuation(fleet, number) if verdict is None else verdict
