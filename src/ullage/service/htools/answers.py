"""Answers to Ganeti: what an allocator finds for a request, in the words and the order that Ganeti expects.

A request that cannot be met is an answer too, whose text says why; one that makes no sense is an error.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ullage.engine.balance.allocation import allocate_pair
from ullage.engine.balance.dedicated import dedicated_solution, is_dedicated
from ullage.engine.balance.evacuation import Evacuated, Stayed, change_group, evacuate
from ullage.engine.balance.facts import NOWHERE, Machine, View, machines_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.group_choice import (
    Best,
    Conditions,
    Solver,
    Tried,
    choose_group,
    has_networks,
    solution_of,
    usual_solution,
)
from ullage.engine.balance.requests import (
    Allocate,
    AllocateMany,
    AllocateStandby,
    ChangeGroup,
    Evacuate,
    Relocate,
    Request,
    Wanted,
)
from ullage.engine.balance.state import remove_primary
from ullage.model.errors import InputError
from ullage.model.ganeti import DRBD, GanetiCluster
from ullage.service.htools.descriptions import (
    described,
    described_choice,
    described_group,
    hosts_of,
    not_connected,
)
from ullage.service.htools.jobs import job_of
from ullage.service.htools.names import Names

Json = Any
"""What an answer is made of: texts, lists and operations."""


class Answer(NamedTuple):
    """What is answered, and the state that follows from it; `result` is empty where a request fails."""

    success: bool
    info: str
    result: Json
    fleet: Fleet


class Asked(NamedTuple):
    """A request, what its names mean, what holds for all places, and the tags that concern new instances."""

    request: Request
    names: Names
    conditions: Conditions
    tags: tuple[str, ...]


class _RefusedError(Exception):
    """A request that cannot be met, and why."""


def answer(fleet: Fleet, asked: Asked) -> Answer:
    """Return what is answered to a request."""
    try:
        return _answered(fleet, asked)
    except _RefusedError as refusal:
        return Answer(success=False, info=f"Request failed: {refusal}", result=[], fleet=fleet)


def _answered(fleet: Fleet, asked: Asked) -> Answer:
    names, conditions = asked.names, asked.conditions
    match asked.request:
        case Allocate(wanted, restricted):
            if conditions.restricted is None and restricted is not None:
                conditions = conditions._replace(restricted=frozenset(restricted))
            return _one(fleet, wanted, asked._replace(conditions=conditions))
        case AllocateMany(many):
            return _many(fleet, many, asked)
        case AllocateStandby(name):
            return _standby(fleet, names.instance(name), conditions)
        case Relocate(name, hosts, leaves):
            return _relocated(fleet, names.instance(name), hosts, names.nodes(leaves), force=conditions.force)
        case Evacuate(instances, mode):
            return _moved(evacuate(fleet, names.instances(instances), mode, force=conditions.force))
        case ChangeGroup(instances, groups):
            numbers = names.instances(instances)
            return _moved(change_group(fleet, numbers, names.groups(groups), conditions))


def _granted(info: str, result: Json, fleet: Fleet) -> Answer:
    return Answer(success=True, info=f"Request successful: {info}", result=result, fleet=fleet)


# New instances


class _Placed(NamedTuple):
    """A place for an instance, and what is said about it."""

    best: Best | None
    said: str


def solver_of(fleet: Fleet, request: Request) -> Solver:
    """Return how places are judged: hosts that keep disks for one machine have a measure of their own."""
    match request:
        case Allocate(wanted, _):
            groups = {wanted.group}
        case AllocateMany(many):
            groups = {each.group for each in many}
        case _:
            return usual_solution
    groups.discard(None)
    only = groups.pop() if len(groups) == 1 else None
    return dedicated_solution if is_dedicated(fleet, only) else usual_solution


def _one(fleet: Fleet, wanted: Wanted, asked: Asked) -> Answer:
    placed = _placed(fleet, wanted, asked, solver_of(fleet, asked.request))
    if placed.best is None:
        raise _RefusedError(placed.said)
    state = fleet.copy()
    added = state.add(placed.best.machine, placed.best.placed)
    state.subjects = (added.number, *fleet.subjects)
    return _granted(placed.said, hosts_of(fleet, placed.best), state)


def _many(fleet: Fleet, many: Sequence[Wanted], asked: Asked) -> Answer:
    solve = solver_of(fleet, asked.request)
    state = fleet.copy()
    allocated: Json = []
    failed: Json = []
    for wanted in many:
        placed = _placed(state, wanted, asked, solve)
        if placed.best is None:
            failed.append([wanted.instance.name, placed.said])
            continue
        allocated.append([wanted.instance.name, hosts_of(fleet, placed.best)])
        state.add(placed.best.machine, placed.best.placed)
    info = f"{len(failed)} instances failed to allocate and {len(allocated)} were allocated successfully"
    return _granted(info, [allocated, failed], state)


def _placed(fleet: Fleet, wanted: Wanted, asked: Asked, solve: Solver) -> _Placed:
    """Return a place for an instance in the group it must go to, or in the best of all."""
    cluster = GanetiCluster(instances=(wanted.instance,), tags=asked.tags)
    machine = machines_of(cluster, View())[0]._replace(number=NOWHERE)
    if wanted.group is not None:
        return _placed_in(fleet, machine, wanted, asked, solve)
    choice = choose_group(fleet, machine, wanted.hosts, asked.conditions, solve=solve)
    said = described_choice(fleet, choice, machine.name, is_dedicated=solve is dedicated_solution)
    if choice.chosen is None:
        raise _RefusedError(said)
    return _Placed(choice.best, f"Selected group: {fleet.cluster.groups[choice.chosen.group].name}, {said}")


def _placed_in(fleet: Fleet, machine: Machine, wanted: Wanted, asked: Asked, solve: Solver) -> _Placed:
    """Return a place in the one group that is asked for, whatever its policy; only its hosts count."""
    try:
        (number,) = asked.names.groups([wanted.group or ""])
    except InputError as error:
        raise _RefusedError(str(error)) from None
    group = fleet.cluster.groups[number]
    if not has_networks(group, machine):
        raise _RefusedError(f"The group {not_connected(group.name, machine.name)}")
    found = solve(fleet.of_group(number), machine, wanted.hosts, number, asked.conditions)
    if isinstance(found, str):
        raise _RefusedError(found)
    if solve is dedicated_solution and isinstance(asked.request, AllocateMany):
        return _Placed(found.best, described(fleet, found))
    return _Placed(found.best, described_group(fleet, Tried(number, found)))


def _standby(fleet: Fleet, number: int, conditions: Conditions) -> Answer:
    """Return a second host for an instance that has one, which becomes mirrored."""
    machine, place = fleet.machines[number], fleet.places[number]
    if place.standby != NOWHERE:
        raise _RefusedError("Instance already has a secondary")
    at = place.primary
    host = fleet.hosts[at]
    trial = fleet.copy()
    trial.states[at] = remove_primary(host, fleet.states[at], machine, 0)
    instance = replace(machine.instance, template=DRBD)
    mirrored = machine._replace(template=DRBD, mirror="internal", local=True, instance=instance)
    others = [each.number for each in fleet.hosts if each.group == host.group and each.number != at]
    found = solution_of(
        allocate_pair(
            trial, mirrored, [(at, others)], redundancy=conditions.redundancy, force=conditions.force
        )
    )
    said = described(fleet, found)
    if found.best is None:
        raise _RefusedError(said)
    trial.machines[number] = mirrored
    trial.accept(number, found.best.placed)
    return _granted(said, fleet.hosts[found.best.placed.place.standby].name, trial)


# Instances that move


def _moved(evacuated: Evacuated) -> Answer:
    """Return where instances went, which did not go and why, and the jobs."""
    fleet = evacuated.fleet
    left, stayed = evacuated.left, evacuated.stayed
    moved = [
        [
            fleet.machines[each.machine].name,
            fleet.cluster.groups[each.group].name,
            [fleet.hosts[host].name for host in each.hosts],
        ]
        for each in left
    ]
    failed = [[fleet.machines[each.machine].name, _reason(fleet, each)] for each in stayed]
    jobs = [job_of(fleet, each.machine, each.moves) for each in left]
    info = f"{len(stayed)} instances failed to move and {len(left)} were moved successfully"
    return _granted(info, [moved, failed, jobs], fleet)


def _reason(fleet: Fleet, stayed: Stayed) -> str:
    why = stayed.why
    if isinstance(why, str):
        return why
    return described_choice(fleet, why, fleet.machines[stayed.machine].name)


def _relocated(fleet: Fleet, number: int, hosts: int, leaves: list[int], *, force: bool) -> Answer:
    """Return a new standby for a mirrored instance, or a new host for one that every host can run."""
    if hosts != 1:
        raise _RefusedError(f"Exchange {hosts} nodes mode is not implemented")
    machine, place = fleet.machines[number], fleet.places[number]
    if machine.mirror == "none":
        raise _RefusedError("Can't relocate non-mirrored instances")
    mirrored = machine.mirror == "internal"
    expected, role = (place.standby, "secondary") if mirrored else (place.primary, "primary")
    if leaves != [expected]:
        compared = f"({expected} versus [{','.join(str(each) for each in leaves)}])"
        raise _RefusedError(f"Unsupported request: excluded nodes not equal to instance's {role}{compared}")
    evacuated = evacuate(fleet, [number], "secondary-only" if mirrored else "primary-only", force=force)
    for stayed in evacuated.stayed:
        raise _RefusedError(_reason(fleet, stayed))
    return _granted("success", [fleet.hosts[evacuated.left[0].hosts[-1]].name], evacuated.fleet)
