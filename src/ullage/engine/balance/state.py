"""The five primitives: a machine put on a host or taken off, as primary or standby, and whether it may move.

Everything else in this folder is a loop over these, so a rule about what a host takes is here and nowhere
else. The tests of each primitive are one ordered list; the first that fails is the reason. Hard ones hold
always, soft ones unless `force` is given. Machines that are still to come are told apart by scenario: what
a host holds now, and what it holds later with them.
"""

from typing import Final, Literal, NamedTuple

from ullage.engine.balance.facts import Host, Load, Machine
from ullage.engine.balance.held import (
    Held,
    counted,
    disk_given_back,
    disk_taken,
    given_back,
    location_pairs,
    sum_of_loads,
    taken,
    unmet_locations,
    without,
)

FailureKind = Literal[
    "FailMem", "FailDisk", "FailCPU", "FailN1", "FailTags", "FailMig", "FailDiskCount", "FailSpindles",
    "FailInternal",
]  # fmt: skip
FAILURES: Final[tuple[FailureKind, ...]] = (
    "FailMem", "FailDisk", "FailCPU", "FailN1", "FailTags", "FailMig", "FailDiskCount", "FailSpindles",
    "FailInternal",
)  # fmt: skip
"""In the order in which they are counted and told."""


class Failure(NamedTuple):
    """Why a host does not take a machine: the kind, and by how much of what it falls short."""

    kind: FailureKind
    resource: str = ""
    missing: int = 0


class HostState(NamedTuple):
    """What a host holds: machines by number, the newest first.

    `peers` is the memory that would be needed if one other host failed, by that host; `reserved` the largest
    of these. `fails` says that the host could not take over from every other.
    """

    primaries: tuple[int, ...]
    standbys: tuple[int, ...]
    now: Held
    later: Held
    peers: dict[int, int]
    reserved: int
    fails: bool
    load: Load
    tags: dict[str, int]
    location_score: int
    location_tags: dict[tuple[str, str], int]


# The primitives


def check_migration(source: Host, target: Host) -> Failure | None:
    """Return why a running machine may not move from one host to another; None where it may."""
    return None if source.sends <= target.receives else Failure("FailMig")


def remove_primary(host: Host, state: HostState, machine: Machine, shared: int) -> HostState:
    """Return a host without one of its machines."""
    later = given_back(host, state.later, machine, uses_memory=True)
    tags = counted(state.tags, machine.exclusion_tags, -1)
    if machine.forthcoming:
        return state._replace(later=later, tags=tags)
    now = given_back(host, state.now, machine, uses_memory=machine.uses_memory)
    return state._replace(
        primaries=without(state.primaries, machine.number),
        now=now,
        later=later,
        fails=host.refuses_memory(now.memory_free - state.reserved),
        load=sum_of_loads(state.load, machine.load, -1),
        tags=tags,
        location_score=state.location_score - shared - unmet_locations(host, machine),
        location_tags=counted(state.location_tags, location_pairs(host, machine), -1),
    )


def remove_standby(host: Host, state: HostState, machine: Machine, primary: int) -> HostState:
    """Return a host that is no longer the standby of a machine which runs on another."""
    later = disk_given_back(host, state.later, machine)
    if machine.forthcoming:
        return state._replace(later=later)
    before = state.peers.get(primary, 0)
    left = before - machine.memory if machine.reserves_memory else before
    peers = dict(state.peers)
    if left > 0:
        peers[primary] = left
    else:
        peers.pop(primary, None)
    reserved = state.reserved if before < state.reserved else max(peers.values(), default=0)
    return state._replace(
        standbys=without(state.standbys, machine.number),
        now=disk_given_back(host, state.now, machine),
        later=later,
        peers=peers,
        reserved=reserved,
        fails=host.refuses_memory(state.now.memory_free - reserved),
        load=state.load._replace(disk=state.load.disk - machine.load.disk),
    )


def add_primary(
    host: Host, state: HostState, machine: Machine, shared: int, *, force: bool = False
) -> HostState | Failure:
    """Return a host with one more machine, or why it does not take it.

    `shared` is how many failure domains the machine's two hosts have in common.
    """
    later = taken(host, state.later, machine, uses_memory=True)
    tags = state.tags
    if machine.forthcoming:
        failure = None if force else _later_primary(host, later, machine)
        if failure is not None:
            return failure
        return state._replace(later=later, tags=counted(tags, machine.exclusion_tags, 1))
    now = taken(host, state.now, machine, uses_memory=machine.uses_memory)
    fails = host.refuses_memory(now.memory_free - state.reserved)
    if host.refuses_memory(now.memory_free):
        return Failure("FailMem", "memory", host.memory_floor - now.memory_free)
    if machine.local:
        if host.refuses_disk(now.disk_free):
            return Failure("FailDisk", "disk", -now.disk_free)
        if not force and now.disk_free < host.disk_low:
            return Failure("FailDisk", "disk", host.disk_low - now.disk_free)
        if host.exclusive and now.spindles_free < 0:
            return Failure("FailSpindles", "spindles", -now.spindles_free)
        if not force and now.spindles > host.spindles_most:
            return Failure("FailDisk", "spindles", now.spindles - host.spindles_most)
    if not force:
        if fails and not state.fails:
            return Failure("FailMem", "standby", host.memory_floor - now.memory_free + state.reserved)
        if now.cpu > host.cpu_most:
            return Failure("FailCPU", "cpu", now.cpu - host.cpu_most)
        if any(tag in tags for tag in machine.exclusion_tags):
            return Failure("FailTags", "tags")
        failure = _later_primary(host, later, machine)
        if failure is not None:
            return failure
    return state._replace(
        primaries=(machine.number, *state.primaries),
        now=now,
        later=later,
        fails=fails,
        load=sum_of_loads(state.load, machine.load, 1),
        tags=counted(tags, machine.exclusion_tags, 1),
        location_score=state.location_score + shared + unmet_locations(host, machine),
        location_tags=counted(state.location_tags, location_pairs(host, machine), 1),
    )


def add_standby(
    host: Host,
    state: HostState,
    machine: Machine,
    primary: int,
    *,
    force: bool = False,
    ignores_disk: bool = False,
) -> HostState | Failure:
    """Return a host as the standby of one more machine that runs on another, or why it is not."""
    needed = machine.memory if machine.reserves_memory else 0
    later = disk_taken(host, state.later, machine)
    if machine.forthcoming:
        failure = None if force else _later_standby(host, later, machine, needed)
        return failure if failure is not None else state._replace(later=later)
    now = disk_taken(host, state.now, machine)
    peers = {**state.peers, primary: state.peers.get(primary, 0) + needed}
    reserved = max(state.reserved, peers[primary])
    fails = host.refuses_memory(now.memory_free - reserved)
    if not machine.has_standby:
        return Failure("FailDisk", "template")
    if not ignores_disk and host.refuses_disk(now.disk_free):
        return Failure("FailDisk", "disk", -now.disk_free)
    if not force and now.disk_free < host.disk_low:
        return Failure("FailDisk", "disk", host.disk_low - now.disk_free)
    if host.exclusive and now.spindles_free < 0:
        return Failure("FailSpindles", "spindles", -now.spindles_free)
    if not force:
        if now.spindles > host.spindles_most:
            return Failure("FailDisk", "spindles", now.spindles - host.spindles_most)
        if host.refuses_memory(now.memory_free - needed):
            return Failure("FailMem", "memory", needed - now.memory_free + host.memory_floor)
        if fails and not state.fails:
            return Failure("FailMem", "standby", reserved - now.memory_free + host.memory_floor)
        failure = _later_standby(host, later, machine, needed)
        if failure is not None:
            return failure
    return state._replace(
        standbys=(machine.number, *state.standbys),
        now=now,
        later=later,
        peers=peers,
        reserved=reserved,
        fails=fails,
        load=state.load._replace(disk=state.load.disk + machine.load.disk),
    )


def _later_primary(host: Host, later: Held, machine: Machine) -> Failure | None:
    """Return what would fail once all machines that are still to come are there."""
    if host.refuses_memory(later.memory_free):
        return Failure("FailMem", "memory", host.memory_floor - later.memory_free)
    if machine.local:
        failure = _later_disk(host, later)
        if failure is not None:
            return failure
    if later.cpu > host.cpu_most:
        return Failure("FailCPU", "cpu", later.cpu - host.cpu_most)
    return None


def _later_standby(host: Host, later: Held, machine: Machine, needed: int) -> Failure | None:
    if not machine.has_standby:
        return Failure("FailDisk", "template")
    failure = _later_disk(host, later)
    if failure is not None:
        return failure
    if host.refuses_memory(later.memory_free - needed):
        return Failure("FailMem", "memory", needed - later.memory_free + host.memory_floor)
    return None


def _later_disk(host: Host, later: Held) -> Failure | None:
    if host.refuses_disk(later.disk_free) or later.disk_free < host.disk_low:
        return Failure("FailDisk", "disk", max(host.disk_low, 0) - later.disk_free)
    if host.exclusive and later.spindles_free < 0:
        return Failure("FailSpindles", "spindles", -later.spindles_free)
    if later.spindles > host.spindles_most:
        return Failure("FailDisk", "spindles", later.spindles - host.spindles_most)
    return None
