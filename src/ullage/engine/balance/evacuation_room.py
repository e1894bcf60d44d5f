"""Evacuation decided by counting room: yes, no, or not to be told without trying.

However a greedy evacuation chooses its hosts, it fails only when every host is too full for the next machine.
If what was placed before cannot fill all of them that far, the answer is yes; if machines of a size and up
outnumber the slots of that size, it is no. Machines that start on their standby need no choice at all.
"""

from collections.abc import Sequence

from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.evacuation_trial import Leaving, leaving
from ullage.engine.balance.facts import NOWHERE, Host, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.state import check_migration


class Rooms:
    """How much memory every host of a fleet could still take of a machine, hard rules only."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.memory = [
            state.now.memory_free - host.memory_floor - (0 if host.exact else 1)
            for host, state in zip(fleet.hosts, fleet.states, strict=True)
        ]

    def verdict(self, number: int) -> bool | None:
        """Return whether a host can be evacuated, None where only trying tells."""
        source = self.fleet.hosts[number]
        leaves = leaving(self.fleet, number)
        rooms = self._after_failover(number, leaves.mirrored)
        if rooms is None:
            return False
        if not leaves.relocated and not leaves.anew:
            return True
        if leaves.anew:
            return self._anew(source, leaves, rooms)
        hosts = [self.fleet.hosts[each] for each in leaves.escapes]
        open_to = [host for host in hosts if check_migration(source, host) is None]
        needs = [_memory(self.fleet.machines[each]) for each in leaves.relocated]
        return packs(needs, [rooms[host.number] for host in open_to])

    def _after_failover(self, number: int, mirrored: Sequence[int]) -> list[int] | None:
        """Return the rooms after machines have started on their standbys; None where one does not."""
        if not mirrored:
            return self.memory
        fleet = self.fleet
        source = fleet.hosts[number]
        rooms = list(self.memory)
        for each in mirrored:
            standby = fleet.places[each].standby
            if standby == NOWHERE or fleet.hosts[standby].offline:
                return None
            target, machine = fleet.hosts[standby], fleet.machines[each]
            rooms[standby] -= _memory(machine)
            if rooms[standby] < 0 or check_migration(source, target) is not None:
                return None
            if self._lacks_disk(target, machine) or self._lacks_disk(source, machine):
                return None
        return rooms

    def _lacks_disk(self, host: Host, machine: Machine) -> bool:
        """Whether a host is refused a machine that it has already, in its other role.

        Of the two hosts of a machine only the one that it leaves may be offline, where disks do not matter.
        """
        now = self.fleet.states[host.number].now
        if not host.offline and host.refuses_disk(now.disk_free):
            return True
        return host.exclusive and (machine.spindles is None or now.spindles_free < 0)

    def _anew(self, source: Host, leaves: Leaving, rooms: Sequence[int]) -> bool | None:
        """Return whether machines that are made anew fit: each needs memory, and disk where it is local."""
        fleet = self.fleet
        hosts = [fleet.hosts[each] for each in leaves.escapes]
        machines = [fleet.machines[each] for each in (*leaves.relocated, *leaves.anew)]
        needs = [_memory(machine) for machine in machines]
        memory = [rooms[host.number] for host in hosts]
        if packs(needs, memory) is False:
            return False
        for each in leaves.anew:
            allowed = [host for host in hosts if size_failure(fleet.machines[each], host) is None]
            if not allowed:
                return False
            if len(allowed) < len(hosts):
                return None
        if source.sends or any(host.exclusive for host in hosts):
            return None
        disks = [machine.disk if machine.local else 0 for machine in machines]
        disk = [fleet.states[host.number].now.disk_free - (0 if host.exact else 1) for host in hosts]
        return True if _fits_both(list(zip(needs, disks, strict=True)), memory, disk) else None


def _memory(machine: Machine) -> int:
    return machine.memory if machine.uses_memory else 0


def packs(needs: Sequence[int], rooms: Sequence[int]) -> bool | None:
    """Return whether machines find room in this order on any greedy way; None where it depends on the way."""
    usable = [room for room in rooms if room >= 0]
    if not needs:
        return True
    if not usable:
        return False
    largest = max(needs)
    if largest == 0 or sum(room // largest for room in usable) >= len(needs):
        return True
    if min(needs) == largest or _lacks_slots(needs, usable):
        return False
    placed = 0
    for need in needs:
        if sum(room - need + 1 for room in usable if room >= need) <= placed:
            return None
        placed += need
    return True


def _lacks_slots(needs: Sequence[int], rooms: Sequence[int]) -> bool:
    """Whether machines of some size and up outnumber the slots of that size, or all outweigh all room."""
    if sum(needs) > sum(rooms):
        return True
    ordered = sorted((need for need in needs if need), reverse=True)
    return any(sum(room // need for room in rooms) < count for count, need in enumerate(ordered, start=1))


def _fits_both(needs: Sequence[tuple[int, int]], memory: Sequence[int], disk: Sequence[int]) -> bool:
    """Whether machines surely find a host with memory and disk for them, however earlier ones chose.

    A host is closed to a machine by memory or by disk; either takes a share of all that was placed before,
    and the shares of both together are at most two.
    """
    placed_memory = placed_disk = 0
    for memory_need, disk_need in needs:
        open_hosts = [
            (room - memory_need + 1, space - disk_need + 1)
            for room, space in zip(memory, disk, strict=True)
            if room >= memory_need and (not disk_need or space >= disk_need)
        ]
        if not open_hosts:
            return False
        all_memory, all_disk = max(1, placed_memory), max(1, placed_disk)
        shares = sum(
            min(room * all_disk, space * all_memory) if disk_need else room * all_disk
            for room, space in open_hosts
        )
        if shares <= (2 if disk_need else 1) * all_memory * all_disk and (placed_memory or placed_disk):
            return False
        placed_memory += memory_need
        placed_disk += disk_need
    return True
