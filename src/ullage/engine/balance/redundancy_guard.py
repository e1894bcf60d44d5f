"""Which of many new machines leaves a cluster redundant: candidates are judged together.

What counting tells comes first. Hosts that stood in the way of earlier candidates are then tried for all
candidates that are still open at once; what is left is tried candidate by candidate.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from ullage.engine.balance.allocation import Allocation, after
from ullage.engine.balance.evacuation_batch import Scenario, suits_scenario, try_scenarios
from ullage.engine.balance.evacuation_room import Known, Rooms
from ullage.engine.balance.evacuation_trial import try_evacuation
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, watched
from ullage.engine.balance.space_columns import Columns

SUSPECTS_MAX: Final = 3
"""How many hosts that could not be evacuated are looked at first the next time."""
AT_FIRST, AT_ONCE = 2, 32
"""How many candidates are judged together: few at first, unless none was found the last time."""


class _Open(NamedTuple):
    """A candidate that counting does not refuse, and the hosts about which it does not tell."""

    place: int
    candidate: Allocation | None
    rooms: Rooms
    hosts: list[int]


class Guard:
    """What must hold for a fleet that is being filled, and which hosts stood in the way of late."""

    def __init__(self, redundancy: Redundancy, fleet: Fleet, columns: Columns) -> None:
        self.redundancy = redundancy
        self.hosts = watched(fleet, redundancy)
        self.columns = columns
        groups = {fleet.hosts[number].group for number in fleet.scope}
        self.has_one_group = len(groups) == 1 and not columns.any_exclusive
        self.suspects: list[int] = []
        self.at_first = AT_FIRST
        self.known: Known = {}

    def rooms(self, fleet: Fleet) -> Rooms:
        """Return what room a fleet has."""
        return Rooms(fleet, self.known)

    def holds(self, fleet: Fleet) -> bool:
        """Return whether a fleet, that of the columns, is redundant."""
        hosts = self._open_hosts(self.rooms(fleet))
        return hosts is not None and self._keeps(_Open(0, None, self.rooms(fleet), hosts))

    def is_past_help(self, fleet: Fleet) -> bool:
        """Return whether counting tells that a host cannot be evacuated: a new machine adds no room."""
        return self._open_hosts(self.rooms(fleet)) is None

    def first(self, fleet: Fleet, candidates: Iterable[Allocation]) -> tuple[int, Allocation] | None:
        """Return the first candidate that leaves a fleet redundant, and how many come before it."""
        numbered = enumerate(candidates)
        while chunk := list(islice(numbered, self.at_first)):
            self.at_first = AT_ONCE
            for each in self._without_stuck(self._opened(fleet, chunk)):
                if each.candidate is not None and self._keeps(each):
                    self.at_first = AT_FIRST
                    return each.place, each.candidate
        return None

    def _opened(self, fleet: Fleet, chunk: Sequence[tuple[int, Allocation]]) -> list[_Open]:
        """Return the candidates that counting does not refuse, up to the first that is sure."""
        found = []
        for place, candidate in chunk:
            rooms = self.rooms(after(fleet, candidate))
            hosts = self._open_hosts(rooms)
            if hosts is not None:
                found.append(_Open(place, candidate, rooms, hosts))
            if hosts == []:
                break
        return found

    def _open_hosts(self, rooms: Rooms) -> list[int] | None:
        """Return the hosts about which counting does not tell; None where it says no about one."""
        suspects = [number for number in self.suspects if number in self.hosts]
        found = []
        for number in (*suspects, *(each for each in self.hosts if each not in suspects)):
            verdict = rooms.verdict(number)
            if verdict is False:
                self._suspect(number)
                return None
            if verdict is None:
                found.append(number)
        return found

    def _suspect(self, number: int) -> None:
        self.suspects = [number, *(each for each in self.suspects if each != number)][:SUSPECTS_MAX]

    def _without_stuck(self, opened: Sequence[_Open]) -> Iterable[_Open]:
        """Yield candidates but those with which a host that stood in the way of others is stuck."""
        asked = [(each, number) for each in opened for number in each.hosts if number in self.suspects]
        verdicts = self._tried([self._scenario(each, number) for each, number in asked])
        stuck = {each.place for (each, _), can in zip(asked, verdicts, strict=True) if not can}
        sure = {(each.place, number) for each, number in asked}
        for each in opened:
            if each.place not in stuck:
                yield each._replace(hosts=[host for host in each.hosts if (each.place, host) not in sure])

    def _keeps(self, each: _Open) -> bool:
        verdicts = self._tried([self._scenario(each, number) for number in each.hosts])
        for number, can in zip(each.hosts, verdicts, strict=True):
            if not can:
                self._suspect(number)
                return False
        return True

    def _scenario(self, each: _Open, number: int) -> Scenario:
        if each.candidate is None:
            return Scenario(each.rooms, number)
        machine, placed = each.candidate.machine, each.candidate.placed
        return Scenario(each.rooms, number, machine, placed.place.primary)

    def _tried(self, scenarios: Sequence[Scenario]) -> Sequence[bool]:
        """Return for each scenario whether its host can be evacuated: together where that is possible."""
        if not scenarios:
            return []
        if self.has_one_group and all(suits_scenario(each) for each in scenarios):
            return try_scenarios(self.columns, scenarios)
        return [try_evacuation(each.rooms.fleet, each.number) for each in scenarios]
