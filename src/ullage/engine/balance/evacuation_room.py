"""Evacuation decided by counting room: yes, no, or not to be told without trying.

However a greedy evacuation chooses its hosts, it fails only when every host is too full for the next machine.
If what was placed before cannot fill all of them that far, the answer is yes; if machines of a size and up
outnumber the slots of that size, it is no. Machines that start on their standby need no choice at all.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.evacuation_trial import Leaving, leaving
from ullage.engine.balance.facts import NOWHERE, Host, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.state import check_migration


class Needs(NamedTuple):
    """The memory that machines need, in the order in which they look for a place.

    `sizes` are the different ones, each with how many need as much or more, and with what has been placed
    before the last of that size looks.
    """

    machines: int
    total: int
    largest: int
    sizes: tuple[tuple[int, int, int], ...]


def needs_of(amounts: Sequence[int]) -> Needs:
    """Return what machines need, from what each needs."""
    placed = 0
    before: dict[int, int] = {}
    for amount in amounts:
        before[amount] = placed
        placed += amount
    ordered = sorted(amounts)
    at_least = {amount: len(ordered) - at for at, amount in reversed(list(enumerate(ordered)))}
    sizes = tuple((amount, at_least[amount], before[amount]) for amount in sorted(before, reverse=True))
    return Needs(len(amounts), placed, ordered[-1] if ordered else 0, sizes)


class Bins:
    """Hosts as room for memory; sums over all of them are worked out once for each size."""

    def __init__(self, rooms: Iterable[int]) -> None:
        self.rooms = [room for room in rooms if room >= 0]
        self.total = sum(self.rooms)
        self._slots: dict[int, int] = {}
        self._spare: dict[int, int] = {}

    def slots(self, size: int) -> int:
        """Return how many machines of a size fit."""
        if size not in self._slots:
            self._slots[size] = sum([room // size for room in self.rooms])
        return self._slots[size]

    def spare(self, size: int) -> int:
        """Return the least that must be placed until no host takes a machine of a size."""
        if size not in self._spare:
            self._spare[size] = sum([room - size + 1 for room in self.rooms if room >= size])
        return self._spare[size]

    def slack(self, needs: Needs, own: int) -> int:
        """Return how much room is left beyond what machines need, without a host that has `own` of it."""
        return self.total - max(0, own) - needs.total

    def places_left(self, needs: Needs, own: int, size: int) -> int:
        """Return how many machines of a size can be added at most if the others are to find room after it."""
        as_large = max((count for known, count, _ in needs.sizes if known >= size), default=0)
        counts = [(size, as_large), *((known, count) for known, count, _ in needs.sizes if 0 < known <= size)]
        slots = [self.slots(known) - max(0, own) // known - count for known, count in counts]
        return min(self.slack(needs, own) // size, *slots)

    def takes(self, needs: Needs, own: int = NOWHERE) -> bool | None:
        """Return whether machines find room on any greedy way; None where it depends on the way.

        `own` is the room of the host that they leave, NOWHERE if it is not among these.
        """
        has_own = own >= 0
        if not needs.machines:
            return True
        if len(self.rooms) == has_own:
            return False
        largest = needs.largest
        if not largest or self.slots(largest) - (own // largest if has_own else 0) >= needs.machines:
            return True
        if self.slack(needs, own) < 0:
            return False
        for size, count, _ in needs.sizes:
            if size and self.slots(size) - (own // size if has_own else 0) < count:
                return False
        for size, _, placed in needs.sizes:
            if self.spare(size) - (max(0, own - size + 1) if has_own else 0) <= placed:
                return None
        return True


class Departure(NamedTuple):
    """What leaves a host with these machines, and the memory that it needs.

    `allowed` is whether policies allow all that is made anew on every other host, None for on some of them.
    """

    primaries: tuple[int, ...]
    leaves: Leaving
    needs: Needs
    allowed: bool | None


Known = dict[tuple[int, int], Departure]
"""What leaves hosts, by number and by what they hold, as far as it is known."""
KNOWN_MAX: Final = 4000
"""How much of that is remembered."""


class Rooms:
    """How much memory every host of a fleet could still take of a machine, hard rules only."""

    def __init__(self, fleet: Fleet, known: Known | None = None) -> None:
        self.fleet = fleet
        self.memory = [
            state.now.memory_free - host.memory_floor - (not host.exact)
            for host, state in zip(fleet.hosts, fleet.states, strict=True)
        ]
        self._known = {} if known is None else known
        self._bins: dict[int, Bins] = {}

    def less(self, number: int, memory: int) -> "Rooms":
        """Return the same with less memory on one host, for what is asked about others."""
        other = object.__new__(Rooms)
        other.fleet, other._known, other._bins = self.fleet, self._known, {}
        other.memory = list(self.memory)
        other.memory[number] -= memory
        return other

    def verdict(self, number: int) -> bool | None:
        """Return whether a host can be evacuated, None where only trying tells."""
        leaves, needs = self.leaves(number)
        source = self.fleet.hosts[number]
        if not leaves.mirrored and not leaves.anew and not source.sends:
            return self.bins(source.group).takes(needs, NOWHERE if source.offline else self.memory[number])
        rooms = self._after_failover(number, leaves.mirrored)
        if rooms is None:
            return False
        if leaves.anew:
            return self._anew(source, leaves, needs, rooms)
        hosts = [self.fleet.hosts[each] for each in leaves.escapes]
        open_to = [host for host in hosts if check_migration(source, host) is None]
        return Bins(rooms[host.number] for host in open_to).takes(needs)

    def places_left(self, number: int, size: int) -> int:
        """Return how many machines of a size can be added to a group at most if a host is to stay evacuable.

        Every machine that is added takes its memory off what is left for those of this host, and a slot of
        its size and of every smaller one.
        """
        _, needs = self.leaves(number)
        source = self.fleet.hosts[number]
        own = NOWHERE if source.offline else self.memory[number]
        return self.bins(source.group).places_left(needs, own, max(1, size))

    def places_by_memory(self, number: int, size: int) -> int:
        """Return the same by the sum of memory alone, which may be more."""
        _, needs = self.leaves(number)
        source = self.fleet.hosts[number]
        own = NOWHERE if source.offline else self.memory[number]
        return self.bins(source.group).slack(needs, own) // max(1, size)

    def leaves(self, number: int) -> tuple[Leaving, Needs]:
        """Return what must leave a host, and the memory that it needs."""
        known = self._departure(number)
        return known.leaves, known.needs

    def _departure(self, number: int) -> Departure:
        fleet = self.fleet
        primaries = fleet.states[number].primaries
        known = self._known.get((number, id(primaries)))
        if known is None:
            leaves = leaving(fleet, number)
            machines = [fleet.machines[each] for each in (*leaves.relocated, *leaves.anew)]
            needs = needs_of([_memory(machine) for machine in machines])
            known = Departure(primaries, leaves, needs, self._allowed(leaves))
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[number, id(primaries)] = known
        return known

    def _allowed(self, leaves: Leaving) -> bool | None:
        """Return whether policies allow what is made anew: alike on hosts of a group with like storage."""
        hosts = {host.exclusive: host for host in (self.fleet.hosts[each] for each in leaves.escapes)}
        found: bool | None = True
        for each in leaves.anew:
            allowed = [size_failure(self.fleet.machines[each], host) is None for host in hosts.values()]
            if not any(allowed):
                return False
            found = found if all(allowed) else None
        return found

    def bins(self, group: int) -> Bins:
        """Return the hosts of a group that are online as room for memory."""
        if group not in self._bins:
            hosts = [self.fleet.hosts[number] for number in self.fleet.scope]
            self._bins[group] = Bins(
                self.memory[host.number] for host in hosts if host.group == group and not host.offline
            )
        return self._bins[group]

    def _after_failover(self, number: int, mirrored: Sequence[int]) -> list[int] | None:
        """Return the rooms after machines have started on their standbys; None where one does not."""
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

    def _anew(self, source: Host, leaves: Leaving, needs: Needs, rooms: Sequence[int]) -> bool | None:
        """Return whether machines that are made anew fit: each needs memory, and disk where it is local."""
        fleet = self.fleet
        hosts = [fleet.hosts[each] for each in leaves.escapes]
        memory = [rooms[host.number] for host in hosts]
        if Bins(memory).takes(needs) is False:
            return False
        allowed = self._departure(source.number).allowed
        if allowed is False:
            return False
        if allowed is None or source.sends or any(host.exclusive for host in hosts):
            return None
        machines = [fleet.machines[each] for each in (*leaves.relocated, *leaves.anew)]
        both = [(_memory(machine), machine.disk if machine.local else 0) for machine in machines]
        disk = [fleet.states[host.number].now.disk_free - (not host.exact) for host in hosts]
        return True if _fits_both(both, memory, disk) else None


def _memory(machine: Machine) -> int:
    return machine.memory if machine.uses_memory else 0


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
