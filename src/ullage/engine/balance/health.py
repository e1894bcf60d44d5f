"""Health of a fleet: who could take over from whom, who could be emptied, and what is where it should not be.

Every number is what the primitives decide by, so that a host which is said to be healthy also takes the
machines that it is said to have room for. The hard thing is the two kinds of too much memory: machines alone
exceed what a host may promise (hard), or only together with what it keeps for others that may fail (soft).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from ullage.engine.balance.facts import NOWHERE, Host
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import evacuable
from ullage.engine.balance.moves import COMMANDS, Move
from ullage.engine.balance.rebalance import FoundMove
from ullage.engine.balance.state import Failure, HostState

Violation = Literal["", "soft", "hard"]
LocationKind = Literal["shared", "together", "unmet"]


class Peer(NamedTuple):
    """A host, by number, and the memory that its machines would need elsewhere if it failed."""

    number: int
    needed: int


class Conflict(NamedTuple):
    """Machines on one host, by number, that a tag keeps apart."""

    tag: str
    machines: tuple[int, ...]


class LocationConflict(NamedTuple):
    """Machines that are where they should not be.

    A machine's two hosts share a failure domain, machines that `tag` keeps apart are together in one, or
    a machine is not where it would like to be.
    """

    kind: LocationKind
    location: str
    machines: tuple[int, ...]
    tag: str = ""


class HostHealth(NamedTuple):
    """One host: `room` is the memory up to its limit, below 0 where that is exceeded.

    `unmet` are the hosts that it cannot take over from, what they need most first; `missing` is what it
    lacks for the first of them. `unaccounted` is memory in use that no record explains, `hollow` by how much
    that exceeds what is free.
    """

    number: int
    room: int
    reserved: int
    unaccounted: int
    hollow: int
    violation: Violation
    unmet: tuple[Peer, ...]
    missing: int
    can_be_emptied: bool
    conflicts: tuple[Conflict, ...]
    primaries_offline: tuple[int, ...]
    standbys_offline: tuple[int, ...]


class GroupHealth(NamedTuple):
    """The hosts of one group, by number, and the score of the group."""

    group: int
    hosts: tuple[HostHealth, ...]
    locations: tuple[LocationConflict, ...]
    score: float
    failing: int
    """Hosts, of those online, that could not take over from every other."""

    @property
    def stuck(self) -> int:
        """How many hosts cannot be emptied onto the others."""
        return sum(not host.can_be_emptied for host in self.hosts)

    @property
    def conflicting(self) -> int:
        """How many hosts have machines that a tag keeps apart."""
        return sum(bool(host.conflicts) for host in self.hosts)

    @property
    def primaries_offline(self) -> int:
        """How many machines have their primary offline."""
        return sum(len(host.primaries_offline) for host in self.hosts)

    @property
    def standbys_offline(self) -> int:
        """How many machines have their standby offline."""
        return sum(len(host.standbys_offline) for host in self.hosts)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is to be said about it."""
        found = (self.failing, self.stuck, self.conflicting, self.primaries_offline, self.standbys_offline)
        return not any(found) and not self.locations


class Health(NamedTuple):
    """A whole cluster: all groups that have hosts."""

    groups: tuple[GroupHealth, ...]

    @property
    def hosts(self) -> Iterator[HostHealth]:
        """Every host."""
        return (host for group in self.groups for host in group.hosts)


def health_of(fleet: Fleet) -> Health:
    """Return the health of every group."""
    numbers = sorted({fleet.hosts[number].group for number in fleet.scope})
    return Health(tuple(group_health(fleet.of_group(number), number) for number in numbers))


def after_moves(fleet: Fleet, moves: Iterable[FoundMove]) -> Fleet:
    """Return a fleet as it is after moves that were proposed for it; the fleet itself stays as it is."""
    trial = fleet.copy()
    hosts = {host.name: host.number for host in fleet.hosts}
    machines = {machine.name: machine.number for machine in fleet.machines}
    for move in moves:
        number = machines[move.workload]
        moved = trial.try_move(number, _move(move, hosts))
        if isinstance(moved, Failure):
            raise ValueError(f"{move.workload} cannot move: {moved.kind}")  # noqa: TRY004 - a value
        trial.accept(number, moved)
    return trial


def _move(move: FoundMove, hosts: Mapping[str, int]) -> Move:
    """Return a move as it is made, from how it is written."""
    for kind, text in COMMANDS.items():
        for name in (move.to_node, move.to_standby):
            if text.format(name) == move.action:
                return Move(kind, NOWHERE if kind == "f" else hosts[name])
    raise ValueError(f"{move.action!r} is no move")


def group_health(fleet: Fleet, group: int) -> GroupHealth:
    """Return the health of the hosts that count."""
    movable = frozenset(evacuable(fleet))
    tagged = _by_host_and_tag(fleet)
    return GroupHealth(
        group,
        tuple(_host_health(fleet, number, movable, tagged) for number in fleet.scope),
        tuple(_location_conflicts(fleet)),
        fleet.score(),
        len(fleet.bad_hosts()),
    )


def room_of(host: Host, state: HostState) -> int:
    """Return the memory that is left up to a host's limit; below 0 where that is exceeded."""
    return state.now.memory_free - host.memory_floor


def violation_of(host: Host, state: HostState) -> Violation:
    """Return whether a host's machines exceed its limit alone, or only with what it keeps for others."""
    if host.refuses_memory(state.now.memory_free + (0 if host.exact else host.memory_missing)):
        return "hard"
    return "soft" if state.fails else ""


def _hollow(host: Host, state: HostState, room: int) -> int:
    """Return by how much memory that no record explains exceeds what the records leave free."""
    if host.memory_missing <= 0:
        return 0
    return max(0, state.reserved + (host.memory_missing if host.exact else 0) - room)


def _host_health(
    fleet: Fleet, number: int, movable: Collection[int], tagged: Mapping[tuple[int, str], Sequence[int]]
) -> HostHealth:
    host, state = fleet.hosts[number], fleet.states[number]
    room = room_of(host, state)
    peers = sorted(
        (Peer(*each) for each in state.peers.items()), key=lambda each: (-each.needed, each.number)
    )
    unmet = tuple(
        each for each in peers if each.needed and host.refuses_memory(state.now.memory_free - each.needed)
    )
    takes_over = not host.offline
    return HostHealth(
        number,
        room,
        state.reserved,
        max(0, host.memory_missing),
        _hollow(host, state, room),
        violation_of(host, state) if takes_over else "",
        unmet if takes_over else (),
        unmet[0].needed - room + (not host.exact) if unmet and takes_over else 0,
        number in movable,
        _conflicts(number, state, tagged),
        tuple(sorted(state.primaries)) if host.offline else (),
        tuple(sorted(state.standbys)) if host.offline else (),
    )


def _conflicts(
    number: int, state: HostState, tagged: Mapping[tuple[int, str], Sequence[int]]
) -> tuple[Conflict, ...]:
    """Return machines on one host that a tag keeps apart, by tag; one may have the same tag twice."""
    several = {
        tag: tuple(dict.fromkeys(tagged[number, tag])) for tag, count in state.tags.items() if count > 1
    }
    return tuple(Conflict(tag, several[tag]) for tag in sorted(several) if len(several[tag]) > 1)


def _by_host_and_tag(fleet: Fleet) -> dict[tuple[int, str], list[int]]:
    """Return the machines of each host that have a tag which keeps them apart."""
    found: dict[tuple[int, str], list[int]] = {}
    for number in fleet.subjects:
        for tag in fleet.machines[number].exclusion_tags:
            found.setdefault((fleet.places[number].primary, tag), []).append(number)
    return found


def _location_conflicts(fleet: Fleet) -> Iterator[LocationConflict]:
    together: dict[tuple[str, str], list[int]] = {}
    for number in fleet.subjects:
        machine, (at, standby) = fleet.machines[number], fleet.places[number]
        host = fleet.hosts[at]
        if machine.forthcoming or host.offline:
            continue
        shared = host.locations & fleet.hosts[standby].locations if standby != NOWHERE else frozenset()
        for location in sorted(shared):
            yield LocationConflict("shared", location, (number,))
        for location in sorted(machine.desired_locations - host.locations):
            yield LocationConflict("unmet", location, (number,))
        for location in host.locations:
            for tag in machine.exclusion_tags:
                together.setdefault((location, tag), []).append(number)
    yield from _together(fleet, together)


def _together(fleet: Fleet, found: dict[tuple[str, str], list[int]]) -> Iterator[LocationConflict]:
    """Yield machines of one tag on several hosts of one failure domain; those on one host are told there."""
    for (location, tag), machines in sorted(found.items()):
        if len({fleet.places[number].primary for number in machines}) > 1:
            yield LocationConflict("together", location, tuple(machines), tag)
