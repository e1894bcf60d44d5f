"""Evacuation of a host, tried step by step: the rule that quicker tests must agree with.

Machines with a standby start there; those whose disks every host of the group can reach move, each to the
host that leaves the group most even; the others are made anew, the largest first. Only hosts that are online
take machines, and soft rules are ignored.
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, Moved, Place
from ullage.engine.balance.score import score_of
from ullage.engine.balance.state import Failure, HostState, add_primary
from ullage.model.ganeti import DRBD

RELOCATED_TEMPLATES: Final = frozenset(("diskless", "sharedfile", "rbd", "ext", "gluster"))
"""Templates of machines that are moved off a host; what is neither these nor mirrored is made anew."""


class Leaving(NamedTuple):
    """The machines of a host in the order in which they leave it, by how they do, and where they may go."""

    mirrored: list[int]
    relocated: list[int]
    anew: list[int]
    escapes: list[int]


class Trial(NamedTuple):
    """What came of a trial: whether all machines found a place, and the hosts that they went to, in order.

    Machines with a standby go there, and are not counted among these. It is not told of a trial that ended
    early since another had failed.
    """

    is_evacuated: bool | None
    hosts: list[int]


def leaving(fleet: Fleet, number: int) -> Leaving:
    """Return what must leave a host."""
    mirrored: list[int] = []
    relocated: list[int] = []
    anew: list[int] = []
    for each in fleet.states[number].primaries:
        template = fleet.machines[each].template
        kind = mirrored if template == DRBD else relocated if template in RELOCATED_TEMPLATES else anew
        kind.append(each)
    anew.sort(key=lambda each: -fleet.machines[each].memory)
    group = fleet.hosts[number].group
    escapes = [
        each
        for each in fleet.scope
        if each != number and fleet.hosts[each].group == group and not fleet.hosts[each].offline
    ]
    return Leaving(mirrored, relocated, anew, escapes)


def try_evacuation(fleet: Fleet, number: int) -> bool:
    """Return whether all machines of a host find a place elsewhere."""
    return trial_of(fleet, number).is_evacuated is True


def trial_of(fleet: Fleet, number: int) -> Trial:
    """Return what comes of evacuating a host: it ends with the first machine that finds no place."""
    trial = fleet.copy()
    mirrored, relocated, anew, escapes = leaving(fleet, number)
    hosts: list[int] = []
    if not all(_fail_over(trial, each) for each in mirrored):
        return Trial(is_evacuated=False, hosts=hosts)
    for each in (*relocated, *anew):
        find_place = _relocate if len(hosts) < len(relocated) else _make_anew
        if not find_place(trial, each, escapes):
            return Trial(is_evacuated=False, hosts=hosts)
        hosts.append(trial.places[each].primary)
    return Trial(is_evacuated=True, hosts=hosts)


def _fail_over(trial: Fleet, number: int) -> bool:
    standby = trial.places[number].standby
    if standby == NOWHERE or trial.hosts[standby].offline:
        return False
    moved = trial.try_move(number, Move("f"), force=True)
    if isinstance(moved, Failure):
        return False
    trial.accept(number, moved)
    return True


def _relocate(trial: Fleet, number: int, escapes: list[int]) -> bool:
    """Move a machine to the host that leaves its group most even."""
    group = trial.hosts[trial.places[number].primary].group
    counted = [each for each in trial.scope if trial.hosts[each].group == group]
    found = [trial.try_move(number, Move("fa", target), force=True) for target in escapes]
    return _accept_best(trial, number, found, counted)


def _make_anew(trial: Fleet, number: int, escapes: list[int]) -> bool:
    """Make a machine anew on the host that leaves all hosts most even; what failed keeps it meanwhile."""
    found = [_made_on(trial, number, target) for target in escapes]
    return _accept_best(trial, number, found, trial.scope)


def _made_on(trial: Fleet, number: int, target: int) -> Moved | Failure:
    machine, host = trial.machines[number], trial.hosts[target]
    failure = size_failure(machine, host)
    if failure is not None:
        return failure
    held = add_primary(host, trial.states[target], machine, 0, force=True)
    return held if isinstance(held, Failure) else Moved(Place(target), {target: held})


def _accept_best(
    trial: Fleet, number: int, found: Iterable[Moved | Failure], counted: Collection[int]
) -> bool:
    """Make the most even outcome true, the last of equals; False where there is none."""
    best: Moved | None = None
    lowest = 0.0
    for moved in found:
        if isinstance(moved, Failure):
            continue
        score = _score_after(trial, moved.changed, counted)
        if best is None or not lowest < score:
            best, lowest = moved, score
    if best is None:
        return False
    trial.accept(number, best)
    return True


def _score_after(trial: Fleet, changed: dict[int, HostState], counted: Collection[int]) -> float:
    states = [changed.get(each) or trial.states[each] for each in counted]
    return score_of([trial.hosts[each] for each in counted], states)
