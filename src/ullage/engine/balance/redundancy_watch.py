"""Whether a fleet stays redundant: with one machine more, for many places of it; or from move to move.

A host whose machines all start on their standbys needs nothing but room there. Where a change leaves that or
does not touch it, what was found for the host before holds still; all others are looked at again.
"""

from collections.abc import Collection

from ullage.engine.balance.evacuation_room import Known, Rooms
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, evacuable, watched
from ullage.engine.balance.moves import Moved


class Watch:
    """A fleet, and what counting tells of the hosts that must be evacuable."""

    def __init__(self, fleet: Fleet, redundancy: Redundancy) -> None:
        self._known: Known = {}
        rooms = Rooms(fleet, self._known)
        self._hosts = watched(fleet, redundancy)
        self._before = {number: rooms.verdict(number) for number in self._hosts}
        self._arriving = {number: _arriving(rooms, number) for number in self._hosts}

    def keeps(self, after: Fleet, placed: Moved) -> bool:
        """Return whether the fleet is redundant after a machine was added to some of its hosts."""
        rooms = Rooms(after, self._known.copy())
        left = []
        for number in self._hosts:
            verdict = self._verdict(rooms, number, placed)
            if verdict is False:
                return False
            if verdict is None:
                left.append(number)
        return len(evacuable(after, left)) == len(left)

    def _verdict(self, rooms: Rooms, number: int, placed: Moved) -> bool | None:
        """Return what counting tells of a host then."""
        arriving, before = self._arriving[number], self._before[number]
        if arriving is None or number == placed.place.primary:
            return rooms.verdict(number)
        touched = [at for at in placed.changed if at == number or at in arriving]
        if not touched or (before and all(_has_room(rooms, at, arriving.get(at, 0)) for at in touched)):
            return before
        return rooms.verdict(number)


class Standing:
    """How many hosts of a fleet can be evacuated, at least as many as at first; it goes along with moves."""

    def __init__(self, fleet: Fleet) -> None:
        self._known: Known = {}
        self._can = set(evacuable(fleet))
        self._least = len(self._can)
        self._arriving = {number: _arriving(Rooms(fleet, self._known), number) for number in fleet.scope}

    def holds(self, after: Fleet, changed: Collection[int]) -> bool:
        """Return whether as many can be evacuated after a move that changed some hosts; if so, go along."""
        rooms = Rooms(after, self._known)
        again = [number for number in after.scope if self._may_differ(number, changed)]
        verdicts = {number: rooms.verdict(number) for number in again}
        unsure = [number for number, verdict in verdicts.items() if verdict is None]
        found = {number for number, verdict in verdicts.items() if verdict} | set(evacuable(after, unsure))
        can = (self._can - set(again)) | found
        if len(can) < self._least:
            return False
        self._can = can
        for number in after.scope:
            if number in changed:
                self._arriving[number] = _arriving(rooms, number)
        return True

    def _may_differ(self, number: int, changed: Collection[int]) -> bool:
        arriving = self._arriving[number]
        return arriving is None or number in changed or not arriving.keys().isdisjoint(changed)


def _arriving(rooms: Rooms, number: int) -> dict[int, int] | None:
    """Return the memory that a host's machines need on their standbys; None where they go elsewhere too."""
    fleet, (leaves, _) = rooms.fleet, rooms.leaves(number)
    if leaves.relocated or leaves.anew:
        return None
    found: dict[int, int] = {}
    for each in leaves.mirrored:
        machine, standby = fleet.machines[each], fleet.places[each].standby
        found[standby] = found.get(standby, 0) + (machine.memory if machine.uses_memory else 0)
    return found


def _has_room(rooms: Rooms, at: int, memory: int) -> bool:
    """Whether a host surely has the room for machines whose standby it is: it holds their disks already."""
    host, now = rooms.fleet.hosts[at], rooms.fleet.states[at].now
    return rooms.memory[at] >= memory and not host.exclusive and not host.refuses_disk(now.disk_free)
