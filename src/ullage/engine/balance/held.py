"""What a host has left, in one scenario, and what one machine more or less changes of it."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from ullage.engine.balance.facts import Host, Load, Machine

Key = TypeVar("Key")


class Held(NamedTuple):
    """What a host has left and what its machines use, in one scenario."""

    memory_free: int
    disk_free: int
    cpu: int
    spindles: int
    spindles_free: int


def taken(host: Host, held: Held, machine: Machine, *, uses_memory: bool) -> Held:
    """Return what is left with one more machine."""
    memory_free = held.memory_free - machine.memory if uses_memory else held.memory_free
    cpu = held.cpu + machine.cpu if machine.counts_cpu else held.cpu
    disk_free = held.disk_free - machine.disk if machine.local else held.disk_free
    return Held(
        memory_free,
        disk_free,
        cpu,
        spindles_used(host, held.spindles, machine, 1),
        spindles_left(host, held, machine, taken=True),
    )


def given_back(host: Host, held: Held, machine: Machine, *, uses_memory: bool) -> Held:
    """Return what is left without a machine."""
    memory_free = held.memory_free + machine.memory if uses_memory else held.memory_free
    cpu = held.cpu - machine.cpu if machine.counts_cpu else held.cpu
    disk_free = held.disk_free + machine.disk if machine.local else held.disk_free
    return Held(
        memory_free,
        disk_free,
        cpu,
        spindles_used(host, held.spindles, machine, -1),
        spindles_left(host, held, machine, taken=False),
    )


def disk_taken(host: Host, held: Held, machine: Machine) -> Held:
    """Return what is left with the disks of one more machine."""
    return held._replace(
        disk_free=held.disk_free - machine.disk if machine.local else held.disk_free,
        spindles=spindles_used(host, held.spindles, machine, 1),
        spindles_free=spindles_left(host, held, machine, taken=True),
    )


def disk_given_back(host: Host, held: Held, machine: Machine) -> Held:
    """Return what is left without the disks of a machine."""
    return held._replace(
        disk_free=held.disk_free + machine.disk if machine.local else held.disk_free,
        spindles=spindles_used(host, held.spindles, machine, -1),
        spindles_free=spindles_left(host, held, machine, taken=False),
    )


def spindles_used(host: Host, used: int, machine: Machine, sign: int) -> int:
    """Return how busy disks are: not counted where each machine has spindles of its own."""
    if host.exclusive:
        return 0
    return used + sign * machine.spindle_use if machine.local else used


def spindles_left(host: Host, held: Held, machine: Machine, *, taken: bool) -> int:
    """Return the free spindles; a machine whose spindles are not known fits nowhere."""
    if not host.exclusive:
        return 0
    if machine.spindles is None:
        return -1 if taken else held.spindles_free
    return held.spindles_free - machine.spindles if taken else held.spindles_free + machine.spindles


def sum_of_loads(load: Load, other: Load, sign: int) -> Load:
    """Return a load with another one added, or taken away where the sign is -1."""
    return Load(
        load.cpu + sign * other.cpu,
        load.memory + sign * other.memory,
        load.disk + sign * other.disk,
        load.net + sign * other.net,
    )


def unmet_locations(host: Host, machine: Machine) -> int:
    """Return how many of the places that a machine would like a host is not in."""
    return len(machine.desired_locations - host.locations)


def location_pairs(host: Host, machine: Machine) -> list[tuple[str, str]]:
    """Return a machine's exclusion tags with each failure domain of a host."""
    return [(place, tag) for place in host.locations for tag in machine.exclusion_tags]


def counted(counts: dict[Key, int], keys: Sequence[Key], sign: int) -> dict[Key, int]:
    """Return counts with some keys counted once more, or once less; what is counted no more is gone."""
    if not keys:
        return counts
    changed = dict(counts)
    for key in keys:
        left = changed.get(key, 0) + sign
        if left > 0:
            changed[key] = left
        else:
            changed.pop(key, None)
    return changed


def without(numbers: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Return numbers without one of them."""
    place = numbers.index(number)
    return numbers[:place] + numbers[place + 1 :]
