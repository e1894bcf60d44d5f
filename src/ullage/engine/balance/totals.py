"""What a fleet has, uses and has left, summed over its hosts, and what an allocation changed of it."""

from math import floor, inf, nan
from typing import NamedTuple

from ullage.engine.balance.facts import Host
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.state import HostState


class Totals(NamedTuple):
    """Sums over the hosts that count, in bytes and thousandths of processors.

    `memory_missing` is what hosts report less, or more if negative, than records leave. `cpu_high` is what
    may be shared out, in whole processors, `cpu_shares` what is used of that in processors that are there.
    """

    score: float = 0.0
    machines: int = 0
    memory: int = 0
    memory_free: int = 0
    memory_available: int = 0
    memory_available_max: int = 0
    memory_used: int = 0
    memory_missing: int = 0
    memory_node: int = 0
    disk: int = 0
    disk_free: int = 0
    disk_available: int = 0
    disk_available_max: int = 0
    spindles: int = 0
    spindles_free: int = 0
    cpu: int = 0
    cpu_used: int = 0
    cpu_high: int = 0
    cpu_shares: float = 0.0

    @property
    def disk_used(self) -> int:
        """What is not free of disks."""
        return self.disk - self.disk_free

    @property
    def spindles_used(self) -> int:
        """How many spindles are not free."""
        return self.spindles - self.spindles_free


class Part(NamedTuple):
    """A part of what a cluster has; processors also as shares of those that are there."""

    cpu: int
    cpu_shares: float
    memory: int
    disk: int
    spindles: int


def totals(fleet: Fleet) -> Totals:
    """Return the sums over the hosts that count."""
    loaded: dict[str, int] = {}
    for instance in fleet.cluster.instances:
        if instance.uses_memory:
            loaded[instance.primary] = loaded.get(instance.primary, 0) + instance.memory_bytes
    found = Totals()
    for number in fleet.scope:
        host, state = fleet.hosts[number], fleet.states[number]
        running = [fleet.machines[each] for each in state.primaries]
        used = sum(each.memory for each in running if each.uses_memory)
        missing = host.memory - host.memory_node - loaded.get(host.name, 0) - host.memory_reported
        found = _added(found, host, state, used, missing)
    return found._replace(score=fleet.score())


def _added(known: Totals, host: Host, state: HostState, used: int, missing: int) -> Totals:
    now = state.now
    memory_available = max(0, now.memory_free - state.reserved)
    disk_available = 0 if now.disk_free < host.disk_low else now.disk_free - host.disk_low
    return Totals(
        0.0,
        known.machines + len(state.primaries),
        known.memory + host.memory,
        known.memory_free + now.memory_free,
        known.memory_available + memory_available,
        max(known.memory_available_max, memory_available),
        known.memory_used + used,
        known.memory_missing + missing,
        known.memory_node + host.memory_node,
        known.disk + host.disk,
        known.disk_free + now.disk_free,
        known.disk_available + disk_available,
        max(known.disk_available_max, disk_available),
        known.spindles + host.spindles,
        known.spindles_free + now.spindles_free,
        known.cpu + host.cpu,
        known.cpu_used + now.cpu,
        known.cpu_high + floor(host.cpu_ratio * (host.cpu / 1000)),
        known.cpu_shares + _share(now.cpu / 1000, host.cpu_ratio),
    )


def _share(used: float, ratio: float) -> float:
    """Return processors as a share of how often each may be given: endless where that is never."""
    return used / ratio if ratio else inf if used else nan


def allocated(before: Totals, after: Totals) -> tuple[Part, Part, Part]:
    """Return what was used before, what was added, and what is left."""
    return (
        Part(
            before.cpu_used,
            before.cpu_shares,
            before.memory_used,
            before.disk_used,
            before.spindles_used,
        ),
        Part(
            after.cpu_used - before.cpu_used,
            after.cpu_shares - before.cpu_shares,
            after.memory_used - before.memory_used,
            after.disk_used - before.disk_used,
            after.spindles_used - before.spindles_used,
        ),
        Part(
            after.cpu_high * 1000 - after.cpu_used,
            after.cpu / 1000 - after.cpu_shares,
            after.memory - after.memory_used,
            after.disk - after.disk_used,
            after.spindles - after.spindles_used,
        ),
    )
