"""Which of many new machines leaves a cluster redundant: candidates are judged together.

What counting tells comes first. Hosts that stood in the way of earlier candidates are then tried for all
candidates that are still open at once; what is left is tried candidate by candidate. Where sizes that shrink
are refused one after the other, those that come next are tried along with them.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import is_
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.engine.balance.allocation import Allocation, after
from ullage.engine.balance.evacuation_batch import trials_of
from ullage.engine.balance.evacuation_room import Known, Rooms
from ullage.engine.balance.evacuation_terms import KnownAmounts, Scenario
from ullage.engine.balance.evacuation_trial import try_evacuation
from ullage.engine.balance.facts import NOWHERE, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, watched
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.state import Failure, HostState, add_primary

SUSPECTS_MAX: Final = 3
"""How many hosts that could not be evacuated are looked at first the next time."""
AT_FIRST, AT_ONCE = 2, 32
"""How many candidates are judged together: few at first, unless none was found the last time."""
AHEAD_MAX: Final = 8
"""How many sizes that come next are tried along, at most."""


class Candidate(NamedTuple):
    """A place for a new machine; what follows from it is worked out where it is needed."""

    machine: Machine
    place: Place
    made: Callable[[], Allocation]


class _Open(NamedTuple):
    """A candidate that counting does not refuse, and the hosts about which it does not tell."""

    place: int
    candidate: Allocation | None
    rooms: Rooms
    hosts: list[int]


Asked = tuple[tuple[object, ...], int, int]
"""A trial: the size of the new machine, where it is, and the host that fails."""


class _Counted(NamedTuple):
    """That counting did not say no about a host, and the memory that a new machine had then."""

    memory: int
    is_sure: bool


class _Past(NamedTuple):
    """What was found out about a state: verdicts, and the sizes of machines that were refused, by memory.

    `counted` is what counting said about hosts with a new machine, by its storage and place: where it did not
    say no, it does not do so with less memory either. `refusing` is the host about which it said no last.
    """

    states: Sequence[HostState]
    verdicts: dict[Asked, bool]
    refused: list[int]
    counted: dict[tuple[object, ...], dict[int, _Counted]]
    refusing: dict[tuple[object, ...], int]

    def is_of(self, fleet: Fleet) -> bool:
        """Whether a fleet is in that state."""
        return len(self.states) == len(fleet.states) and all(map(is_, self.states, fleet.states))


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
        self.amounts = KnownAmounts()
        self.past = _Past((), {}, [], {}, {})

    def rooms(self, fleet: Fleet) -> Rooms:
        """Return what room a fleet has."""
        return Rooms(fleet, self.known)

    def holds(self, fleet: Fleet) -> bool:
        """Return whether a fleet, that of the columns, is redundant."""
        rooms = self.rooms(fleet)
        hosts = self._open_hosts(rooms)
        return hosts is not None and self._keeps(fleet, _Open(0, None, rooms, hosts))

    def is_past_help(self, fleet: Fleet) -> bool:
        """Return whether counting tells that a host cannot be evacuated: a new machine adds no room."""
        return self._open_hosts(self.rooms(fleet)) is None

    def first(self, fleet: Fleet, candidates: Iterable[Candidate]) -> tuple[int, Allocation] | None:
        """Return the first candidate that leaves a fleet redundant, and how many come before it.

        All candidates are of one size.
        """
        if not self.past.is_of(fleet):
            self.past = _Past(list(fleet.states), {}, [], {}, {})
        numbered = enumerate(candidates)
        refused = 0
        while chunk := list(islice(numbered, self.at_first)):
            self.at_first = AT_ONCE
            refused = chunk[0][1].machine.memory
            for each in self._without_stuck(fleet, self._opened(fleet, chunk)):
                if each.candidate is not None and self._keeps(fleet, each):
                    self.at_first = AT_FIRST
                    return each.place, each.candidate
        self.past.refused.append(refused)
        return None

    def _opened(self, fleet: Fleet, chunk: Sequence[tuple[int, Candidate]]) -> list[_Open]:
        """Return the candidates that counting does not refuse, up to the first that is sure."""
        base = self.rooms(fleet)
        found = []
        for number, candidate in chunk:
            machine, place = candidate.machine, candidate.place
            key = machine.local, machine.disk if machine.local else 0, place
            last = self.past.refusing.get(key, place.primary)
            if last != place.primary and base.less(place.primary, machine.memory).verdict(last) is False:
                continue
            made = candidate.made()
            rooms = self.rooms(after(fleet, made))
            hosts = self._open_hosts(rooms, machine.memory, self.past.counted.setdefault(key, {}))
            if hosts is not None:
                found.append(_Open(number, made, rooms, hosts))
            elif place.standby == NOWHERE:
                self.past.refusing[key] = self.suspects[0]
            if hosts == []:
                break
        return found

    def _open_hosts(
        self, rooms: Rooms, memory: int = 0, counted: dict[int, _Counted] | None = None
    ) -> list[int] | None:
        """Return the hosts about which counting does not tell; None where it says no about one.

        `memory` is what a new machine has, and `counted` what is known of larger ones in its place.
        """
        counted = {} if counted is None else counted
        found = []
        for number in (*self.suspects, *(each for each in self.hosts if each not in self.suspects)):
            if number not in counted or memory > counted[number].memory:
                verdict = rooms.verdict(number)
                if verdict is False:
                    self._suspect(number)
                    return None
                counted[number] = _Counted(memory, is_sure=verdict is True)
            if not counted[number].is_sure:
                found.append(number)
        return found

    def _suspect(self, number: int) -> None:
        self.suspects = [number, *(each for each in self.suspects if each != number)][:SUSPECTS_MAX]

    def _without_stuck(self, fleet: Fleet, opened: Sequence[_Open]) -> Iterable[_Open]:
        """Yield candidates but those with which a host that stood in the way of others is stuck.

        Unless none was found the last time, the first candidate is judged in full.
        """
        asked = [
            (each, number)
            for each in opened
            for number in each.hosts
            if number in self.suspects or (not self.past.refused and each is opened[0])
        ]
        keys = {(each.place, number): _key(_scenario(each, number)) for each, number in asked}
        verdicts = self.past.verdicts
        stuck = {place for (place, _), key in keys.items() if verdicts.get(key) is False}
        left = [(each, number) for each, number in asked if each.place not in stuck]
        if any(keys[each.place, number] not in verdicts for each, number in left):
            now, next_ones = [_scenario(*pair) for pair in left], self._ahead(fleet, left)
            self._try_suspects(fleet, now + next_ones if self._suit(now + next_ones) else now)
            stuck = {place for (place, _), key in keys.items() if verdicts.get(key) is False}
        for each in opened:
            if each.place not in stuck:
                yield each._replace(hosts=[host for host in each.hosts if (each.place, host) not in keys])

    def _try_suspects(self, fleet: Fleet, scenarios: Iterable[Scenario]) -> None:
        """Remember whether hosts can be evacuated; for one candidate, one that cannot is enough."""
        verdicts = self.past.verdicts
        asked = {_key(each): each for each in scenarios}
        asked = {key: each for key, each in asked.items() if key not in verdicts}
        candidates: dict[object, int] = {}
        together = [candidates.setdefault(key[:2], len(candidates)) for key in asked]
        for key, can in zip(asked, self._tried(fleet, list(asked.values()), together), strict=True):
            if can is not None:
                verdicts[key] = can
            if can is False and key[2] not in self.suspects:
                self._suspect(key[2])

    def _ahead(self, fleet: Fleet, asked: Sequence[tuple[_Open, int]]) -> list[Scenario]:
        """Return the same for sizes that come next, where some were refused and shrink by equal steps."""
        refused = self.past.refused
        found: list[Scenario] = []
        for each, number in asked if refused else ():
            if each.candidate is None or each.candidate.placed.place.standby != NOWHERE:
                continue
            memory = each.candidate.machine.memory
            step = refused[-1] - memory
            for ahead in range(1, min(2 * len(refused), AHEAD_MAX) + 1):
                if 0 < memory - ahead * step < memory:
                    found += self._smaller(fleet, each, memory - ahead * step, number)
        return found

    def _smaller(self, fleet: Fleet, each: _Open, memory: int, number: int) -> list[Scenario]:
        """Return the trial of a host with less memory for a new machine, none where it does not fit."""
        if each.candidate is None:
            return []
        machine, place = each.candidate.machine, each.candidate.placed.place
        instance = replace(machine.instance, memory_bytes=memory)
        machine, at = machine._replace(memory=memory, instance=instance), place.primary
        if number != at:
            return [Scenario(each.rooms, number, machine, at)]
        held = add_primary(fleet.hosts[at], fleet.states[at], machine, 0)
        if isinstance(held, Failure):
            return []
        rooms = self.rooms(after(fleet, Allocation(machine, Moved(place, {at: held}), 0.0)))
        return [Scenario(rooms, number, machine, at)]

    def _keeps(self, fleet: Fleet, each: _Open) -> bool:
        verdicts = self._tried(
            fleet, [_scenario(each, number) for number in each.hosts], [0] * len(each.hosts)
        )
        for number, can in zip(each.hosts, verdicts, strict=True):
            if can is False:
                self._suspect(number)
                return False
        return True

    def _suit(self, scenarios: Sequence[Scenario]) -> bool:
        """Whether scenarios can be tried together, which looks at new machines by themselves."""
        return self.has_one_group and all(self.amounts.suits(each) for each in scenarios)

    def _tried(
        self, fleet: Fleet, scenarios: Sequence[Scenario], together: Sequence[int]
    ) -> Sequence[bool | None]:
        """Return for each scenario whether its host can be evacuated: at once where that is possible.

        Of those that belong together one that fails is enough; it is then not told of others.
        """
        if not scenarios:
            return []
        if self._suit(scenarios):
            trials = trials_of(self.columns.renewed(fleet), scenarios, self.amounts, together=together)
            return [trial.is_evacuated for trial in trials]
        return [try_evacuation(each.rooms.fleet, each.number) for each in scenarios]


def _scenario(each: _Open, number: int) -> Scenario:
    if each.candidate is None:
        return Scenario(each.rooms, number)
    machine, placed = each.candidate.machine, each.candidate.placed
    return Scenario(each.rooms, number, machine, placed.place.primary)


def _key(scenario: Scenario) -> Asked:
    """Return what tells a trial from others of the same state."""
    machine = scenario.extra
    size = () if machine is None else _size(machine)
    return size, scenario.host, scenario.number


def _size(machine: Machine) -> tuple[object, ...]:
    sizes = machine.memory, machine.disk, machine.cpu, machine.spindle_use, machine.spindles
    return machine.template, sizes
