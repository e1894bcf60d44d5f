"""Redundancy of a whole cluster: whether the machines of any one host could run elsewhere.

Evacuation is greedy, so the answer may be no where a packing exists. Most hosts are decided by counting room;
only the others are tried step by step.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ullage.engine.balance.evacuation_batch import try_evacuations
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
    chosen = watched(fleet, Redundancy(accepts_existing, frozenset(ignored_groups)))
    rooms = Rooms(fleet)
    left = []
    for number in chosen:
        verdict = rooms.verdict(number)
        if verdict is False:
            return False
        if verdict is None:
            left.append(number)
    return all(_tried(rooms, left))


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
    rooms = Rooms(fleet)
    verdicts = {number: rooms.verdict(number) for number in chosen}
    left = [number for number in chosen if verdicts[number] is None]
    verdicts.update(zip(left, _tried(rooms, left), strict=True))
    return [number for number in chosen if verdicts[number]]


def can_evacuate(fleet: Fleet, number: int) -> bool:
    """Return whether all machines of a host could run on others; soft rules are ignored."""
    return bool(evacuable(fleet, [number]))


def _tried(rooms: Rooms, numbers: Sequence[int]) -> list[bool]:
    """Return for each host whether it can be evacuated, by trying: those of a group together if possible."""
    found: dict[int, bool] = {}
    fleet = rooms.fleet
    for group in dict.fromkeys(fleet.hosts[number].group for number in numbers):
        inside = [number for number in numbers if fleet.hosts[number].group == group]
        together = try_evacuations(rooms, inside)
        if together is None:
            together = [try_evacuation(fleet, number) for number in inside]
        found.update(zip(inside, together, strict=True))
    return [found[number] for number in numbers]
