"""Hosts as they are when a cluster is read: what a node reports is so with all its machines there.

By the exact rule only the records count: what a node reports is then no part of it.
"""

from ullage.engine.balance.facts import NO_LOAD, Host, Machine
from ullage.engine.balance.held import (
    Held,
    counted,
    disk_taken,
    location_pairs,
    spindles_used,
    sum_of_loads,
    unmet_locations,
)
from ullage.engine.balance.state import HostState


def empty_state(host: Host) -> HostState:
    """Return a host without machines, with the disk and the memory free that it reports."""
    node = host.node
    now = Held(0, node.disk_free_bytes, host.cpu_node, 0, node.spindles_free)
    later = now._replace(memory_free=host.memory - host.memory_node if host.exact else host.memory_reported)
    return HostState(
        (), (), now, later, {}, 0, fails=False, load=NO_LOAD, tags={}, location_score=0, location_tags={}
    )


def loaded_primary(host: Host, state: HostState, machine: Machine, shared: int) -> HostState:
    """Return a host with a machine that it has already: what it reports free is so with it there."""
    is_reported = machine.uses_memory and not host.exact
    later = state.later
    later = later._replace(
        memory_free=later.memory_free - (0 if is_reported else machine.memory),
        cpu=later.cpu + machine.cpu if machine.counts_cpu else later.cpu,
    )
    tags = counted(state.tags, machine.exclusion_tags, 1)
    if machine.forthcoming:
        return state._replace(later=disk_taken(host, later, machine), tags=tags)
    later = later._replace(spindles=spindles_used(host, later.spindles, machine, 1))
    now = state.now
    now = now._replace(
        cpu=now.cpu + machine.cpu if machine.counts_cpu else now.cpu,
        spindles=spindles_used(host, now.spindles, machine, 1),
    )
    return state._replace(
        primaries=(machine.number, *state.primaries),
        now=now,
        later=later,
        load=sum_of_loads(state.load, machine.load, 1),
        tags=tags,
        location_score=state.location_score + shared + unmet_locations(host, machine),
        location_tags=counted(state.location_tags, location_pairs(host, machine), 1),
    )


def loaded_standby(host: Host, state: HostState, machine: Machine) -> HostState:
    """Return a host with a standby that it has already."""
    if machine.forthcoming:
        return state._replace(later=disk_taken(host, state.later, machine))
    later = state.later._replace(spindles=spindles_used(host, state.later.spindles, machine, 1))
    return state._replace(
        standbys=(machine.number, *state.standbys),
        now=state.now._replace(spindles=spindles_used(host, state.now.spindles, machine, 1)),
        later=later,
        load=state.load._replace(disk=state.load.disk + machine.load.disk),
    )


def with_memory(host: Host, state: HostState, used: int, peers: dict[int, int]) -> HostState:
    """Return a loaded host with the memory that its machines use, and what it keeps for other hosts."""
    free = host.memory - host.memory_node - used - (0 if host.exact else host.memory_missing)
    reserved = max(peers.values(), default=0)
    fails = host.refuses_memory(free - reserved)
    now = state.now._replace(memory_free=free)
    return state._replace(now=now, peers=peers, reserved=reserved, fails=fails)
