"""Squeezing: which hosts may be switched off with room to spare, or which must be switched on to have room.

Room is asked of every host alike, as that for one instance of a multiple of the usual size. Only hosts are
switched off that hold no disk, so that machines leave them by moving alone. The hard thing is its cost: for
each host that might go, the fleet is balanced to the end anew.
"""

from collections.abc import Sequence
from math import floor, inf
from typing import Final, NamedTuple

from ullage.engine.balance.candidates import Balancing, Step
from ullage.engine.balance.facts import Machine, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.search import balance
from ullage.engine.balance.state import Failure, add_primary
from ullage.engine.steps import Steps, counted
from ullage.model.ganeti import MIB, Instance, Size

STANDBY_TAG: Final = "htools:standby:"
"""What tags of nodes begin with that may be switched on."""
TRIED: Final = "nodes tried"
TO_THE_END: Final = Balancing(min_score=-inf, min_gain=0.0, min_gain_limit=0.0)


class SqueezeOptions(NamedTuple):
    """For how many instances of the usual size every host must have room: at least, and once squeezed.

    `as_htools` asks hosts that are offline too.
    """

    minimal: float = 2.0
    target: float = 2.0
    as_htools: bool = False


class Squeezed(NamedTuple):
    """What to do: hosts to switch off, or on where `lacks_room`; the moves; and the fleet after all that.

    Hosts are switched off after the moves, and on before them. `is_enough` says whether there is room then.
    """

    off: tuple[int, ...]
    on: tuple[int, ...]
    steps: tuple[Step, ...]
    after: Fleet
    lacks_room: bool
    is_enough: bool
    off_candidates: tuple[int, ...]
    on_candidates: tuple[int, ...]


def squeeze(fleet: Fleet, options: SqueezeOptions, steps_told: Steps | None = None) -> Squeezed:
    """Return which hosts to switch off, or which to switch on where there is too little room."""
    promised = frozenset() if options.as_htools else _promised(fleet)
    off_candidates = tuple(number for number in _off_candidates(fleet) if number not in promised)
    on_candidates = _on_candidates(fleet)
    off: tuple[int, ...] = ()
    on: tuple[int, ...] = ()
    steps: tuple[Step, ...] = ()
    after, is_enough = fleet, True
    lacks_room = not _has_room(fleet, _asked(fleet, options.minimal), options)
    if lacks_room:
        on, is_enough = _to_switch_on(fleet, on_candidates, options, steps_told)
        after, steps = _switched(fleet, on, offline=False)
    else:
        off = _to_switch_off(fleet, off_candidates, options, steps_told)
        if off:
            after, steps = _switched(fleet, off, offline=True)
    return Squeezed(off, on, steps, after, lacks_room, is_enough, off_candidates, on_candidates)


def _off_candidates(fleet: Fleet) -> tuple[int, ...]:
    """Return the hosts that machines can leave without copying disks, those with the most machines first."""
    found = []
    for number in fleet.scope:
        host, state = fleet.hosts[number], fleet.states[number]
        has_disks = state.standbys or any(fleet.machines[each].local for each in state.primaries)
        if not (host.offline or host.node.master or has_disks):
            found.append(number)
    return tuple(sorted(found, key=lambda number: -len(fleet.states[number].primaries)))


def _promised(fleet: Fleet) -> frozenset[int]:
    """Return the hosts on which disks of machines will be that are still to come."""
    return frozenset(
        number
        for machine, place in zip(fleet.machines, fleet.places, strict=True)
        if machine.forthcoming and machine.local
        for number in place
    )


def _on_candidates(fleet: Fleet) -> tuple[int, ...]:
    hosts = [fleet.hosts[number] for number in fleet.scope]
    return tuple(
        host.number
        for host in hosts
        if host.offline and any(tag.startswith(STANDBY_TAG) for tag in host.node.tags)
    )


def _to_switch_off(
    fleet: Fleet, candidates: Sequence[int], options: SqueezeOptions, told: Steps | None
) -> tuple[int, ...]:
    """Return the hosts that can be off together: from the one with the fewest machines on, each that can."""
    asked = _asked(fleet, options.target)
    off: tuple[int, ...] = ()
    for number in counted(reversed(candidates), len(candidates), TRIED, told):
        after, _ = _switched(fleet, (number, *off), offline=True)
        if _all_are_online(after) and _has_room(after, asked, options):
            off = (number, *off)
    return off


def _to_switch_on(
    fleet: Fleet, candidates: tuple[int, ...], options: SqueezeOptions, told: Steps | None
) -> tuple[tuple[int, ...], bool]:
    """Return the first hosts that are enough, and True; all and False where not even all are."""
    asked = _asked(fleet, options.minimal)
    for count in counted(range(len(candidates) + 1), len(candidates) + 1, TRIED, told):
        after, _ = _switched(fleet, candidates[:count], offline=False)
        if _all_are_online(after) and _has_room(after, asked, options):
            return candidates[:count], True
    return candidates, False


def _switched(fleet: Fleet, numbers: Sequence[int], *, offline: bool) -> tuple[Fleet, tuple[Step, ...]]:
    """Return the fleet balanced to the end after hosts were switched, and the moves that lead there."""
    after = fleet.copy()
    after.hosts = list(fleet.hosts)
    for number in numbers:
        after.hosts[number] = after.hosts[number]._replace(offline=offline)
    return after, tuple(balance(after, TO_THE_END))


def _all_are_online(fleet: Fleet) -> bool:
    return not any(fleet.hosts[fleet.places[number].primary].offline for number in fleet.subjects)


def _has_room(fleet: Fleet, asked: Machine, options: SqueezeOptions) -> bool:
    """Whether every host could take one such machine."""
    for number in fleet.scope:
        host = fleet.hosts[number]
        if host.offline and not options.as_htools:
            continue
        if isinstance(add_primary(host, fleet.states[number], asked, 0), Failure):
            return False
    return True


def _asked(fleet: Fleet, factor: float) -> Machine:
    """Return a machine of a multiple of the usual size, without disks."""
    size: Size = fleet.cluster.policy.standard
    return machine_of(
        Instance(
            name="room",
            memory_bytes=floor(factor * (size.memory_bytes / MIB)) * MIB,
            disks=(),
            cpu_milli=floor(factor * size.cpus) * 1000,
            auto_balance=False,
            template="ext",
            spindle_use=floor(factor * size.spindle_use),
        )
    )
