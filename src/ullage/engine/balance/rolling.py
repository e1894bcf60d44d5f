"""Rolling maintenance: which hosts may be down together, in which order, and where machines are meanwhile.

Hosts are told apart by colour: those of one colour share no mirrored machine. Then each set is cut further,
until the machines that have no standby find room elsewhere; where hosts are to be emptied, the standbys too.
The hard thing is that hosts of a set are cleared one after the other, so one that is cleared later may take
machines at first and passes them on in its turn. After each set everything returns to where it was.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from ullage.engine.balance.colouring import COLOURINGS, graph_of
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.state import Failure, add_primary, add_standby, remove_primary, remove_standby

Refusal = Literal["hosts", "machines", "migration", "standbys"]
"""What is missing: hosts to maintain, room for machines without standby, on standbys, for standbys."""
Relocate = Callable[[Fleet, int, Sequence[int]], Moved | Failure]


class RollingOptions(NamedTuple):
    """Which hosts to maintain, and what must be true while some are down.

    `tags` are of nodes, of which one is enough. `halts_machines` says that machines are shut down, so that
    two hosts may fail over to the same one. Machines without standby are moved, unless they are ignored or
    their hosts skipped; a standby that is offline is none. `evacuates` empties hosts also of standbys.
    `as_htools` clears hosts too that are not wanted but stand between others in order, and takes a standby
    that is offline for one.
    """

    group: int | None = None
    tags: frozenset[str] | None = None
    halts_machines: bool = False
    ignores_unmirrored: bool = False
    skips_unmirrored: bool = False
    evacuates: bool = False
    as_htools: bool = False


class Batch(NamedTuple):
    """Hosts that may be down together, and where machines are meanwhile that leave both hosts or one.

    A machine whose two hosts only change roles is not listed.
    """

    hosts: tuple[int, ...]
    moved: tuple[tuple[int, Place], ...]


class Rolling(NamedTuple):
    """A plan: batches in order, the graph of hosts that must not be down together, and its colourings."""

    batches: list[Batch]
    graph: dict[int, list[int]]
    colourings: list[tuple[str, list[list[int]]]]


class Unrollable(NamedTuple):
    """Why there is no plan; the graph is empty where there is no host to maintain."""

    reason: Refusal
    graph: dict[int, list[int]]


def rolling_groups(fleet: Fleet, options: RollingOptions) -> Rolling | Unrollable:
    """Return hosts in batches that may be down together: large ones first, the master last of all."""
    wanted = _wanted(fleet, options)
    if not wanted:
        return Unrollable("hosts", {})
    vertices = list(range(wanted[0], wanted[-1] + 1)) if options.as_htools else wanted
    inside = set(wanted)
    edges = _edges(fleet, halts_machines=options.halts_machines)
    graph = graph_of(vertices, (edge for edge in edges if edge[0] in inside and edge[1] in inside))
    colourings = [(name, colouring(graph)) for name, colouring in COLOURINGS]
    smallest = min((classes for _, classes in colourings), key=len)
    cleared = _cleared(fleet, smallest, options)
    if not isinstance(cleared, list):
        return Unrollable(cleared, graph)
    batches = [
        Batch(tuple(host for host in hosts if host in inside), _moved(fleet, after))
        for hosts, after in cleared
    ]
    if not options.as_htools:
        batches = [batch for batch in batches if batch.hosts]
    return Rolling(_ordered(fleet, batches), graph, colourings)


def _wanted(fleet: Fleet, options: RollingOptions) -> list[int]:
    """Return the hosts to maintain by number: online ones of those that count."""
    found = []
    for number in fleet.scope:
        host = fleet.hosts[number]
        if host.offline or (options.group is not None and host.group != options.group):
            continue
        if options.tags is not None and options.tags.isdisjoint(host.node.tags):
            continue
        if options.skips_unmirrored and _unmirrored(fleet, number, as_htools=options.as_htools):
            continue
        found.append(number)
    return found


def _edges(fleet: Fleet, *, halts_machines: bool) -> Iterator[tuple[int, int]]:
    """Yield the pairs of hosts that must not be down together, both ways.

    First the two hosts of each mirrored machine, as often as there are machines; then, once each, the hosts
    of machines that would fail over to the same host, which must have room for one of them only.
    """
    known: dict[tuple[int, int], None] = {}
    for machine, place in zip(fleet.machines, fleet.places, strict=True):
        if machine.has_standby:
            for edge in ((place.primary, place.standby), (place.standby, place.primary)):
                known[edge] = None
                yield edge
    if halts_machines:
        return
    for state in fleet.states:
        primaries = dict.fromkeys(fleet.places[number].primary for number in state.standbys)
        for edge in ((first, second) for first in primaries for second in primaries):
            if edge not in known:
                known[edge] = None
                yield edge


Cleared = list[tuple[list[int], Fleet]]


def _cleared(fleet: Fleet, classes: list[list[int]], options: RollingOptions) -> Cleared | Refusal:
    """Return sets of hosts that can be cleared together, each with the fleet as it is then."""
    unmirrored = partial(_unmirrored, as_htools=options.as_htools)
    found: Cleared = []
    if options.ignores_unmirrored:
        found = [(hosts, fleet) for hosts in classes]
    else:
        for hosts in classes:
            parts = _parted(fleet, hosts, unmirrored, _relocated)
            if parts is None:
                return "machines"
            found += parts
    if not options.evacuates:
        return found
    failed_over: Cleared = []
    for hosts, after in found:
        migrated = _failed_over(after, hosts, as_htools=options.as_htools)
        if migrated is None:
            return "migration"
        failed_over.append((hosts, migrated))
    emptied: Cleared = []
    for hosts, after in failed_over:
        parts = _parted(after, hosts, _standbys, _mirrored_elsewhere)
        if parts is None:
            return "standbys"
        emptied += parts
    return emptied


def _parted(
    fleet: Fleet, hosts: list[int], holds: Callable[[Fleet, int], list[int]], relocate: Relocate
) -> Cleared | None:
    """Cut hosts into sets that can be cleared together of what they hold; None where one never can."""
    parts: Cleared = []
    left = hosts
    while left:
        after: Fleet = fleet
        cleared: dict[int, None] = {}
        for number in left:
            machines = holds(after, number)
            tried: Fleet | None = after
            if machines:
                targets = _others(fleet, number, cleared.keys())
                tried = _all_relocated(after, machines, targets, relocate)
            if tried is not None:
                after = tried
                cleared[number] = None
        if not cleared:
            return None
        parts.append((list(cleared), after))
        left = [number for number in left if number not in cleared]
    return parts


def _others(fleet: Fleet, number: int, cleared: Container[int]) -> list[int]:
    """Return the online hosts of a host's group that are not cleared."""
    group = fleet.hosts[number].group
    return [
        host.number
        for host in fleet.hosts
        if not host.offline and host.group == group and host.number != number and host.number not in cleared
    ]


def _all_relocated(
    fleet: Fleet, machines: list[int], targets: Sequence[int], relocate: Relocate
) -> Fleet | None:
    """Return the fleet after machines went to the first host that takes each; None where one finds none."""
    after = fleet.copy()
    for number in machines:
        moved = relocate(after, number, targets)
        if isinstance(moved, Failure):
            return None
        after.accept(number, moved)
    return after


def _relocated(fleet: Fleet, number: int, targets: Sequence[int]) -> Moved | Failure:
    """Return what follows where a machine moves to the first host that takes it; soft rules are ignored."""
    machine, place = fleet.machines[number], fleet.places[number]
    here, hosts, states = fleet.here, fleet.hosts, fleet.states
    for target in targets:
        after = Place(target, place.standby)
        held = add_primary(hosts[target], states[target], machine, here.shared(after), force=True)
        if not isinstance(held, Failure):
            left = remove_primary(hosts[place.primary], states[place.primary], machine, here.shared(place))
            return Moved(after, {place.primary: left, target: held})
    return Failure("FailMem")


def _mirrored_elsewhere(fleet: Fleet, number: int, targets: Sequence[int]) -> Moved | Failure:
    """Return what follows where a machine gets the first host as standby that takes it."""
    machine, place = fleet.machines[number], fleet.places[number]
    hosts, states = fleet.hosts, fleet.states
    for target in targets:
        if target == place.primary:
            continue
        held = add_standby(hosts[target], states[target], machine, place.primary, force=True)
        if not isinstance(held, Failure):
            left = remove_standby(hosts[place.standby], states[place.standby], machine, place.primary)
            return Moved(Place(place.primary, target), {place.standby: left, target: held})
    return Failure("FailDisk")


def _failed_over(fleet: Fleet, hosts: Sequence[int], *, as_htools: bool) -> Fleet | None:
    """Return the fleet after all mirrored machines of hosts failed over; None where one could not."""
    after = fleet.copy()
    states = after.states
    machines = [each for host in hosts for each in states[host].primaries]
    for number in machines:
        machine, (primary, standby) = after.machines[number], after.places[number]
        if not _is_mirrored(fleet, number, as_htools=as_htools):
            continue
        shared = after.here.shared(Place(primary, standby))
        left = remove_primary(after.hosts[primary], states[primary], machine, shared)
        taking = remove_standby(after.hosts[standby], states[standby], machine, primary)
        held = add_primary(after.hosts[standby], taking, machine, shared, force=True)
        kept = add_standby(after.hosts[primary], left, machine, standby, force=True)
        if isinstance(held, Failure) or isinstance(kept, Failure):
            return None
        after.accept(number, Moved(Place(standby, primary), {standby: held, primary: kept}))
    return after


def _is_mirrored(fleet: Fleet, number: int, *, as_htools: bool) -> bool:
    standby = fleet.places[number].standby
    if not fleet.machines[number].has_standby or standby == NOWHERE:
        return False
    return as_htools or not fleet.hosts[standby].offline


def _unmirrored(fleet: Fleet, number: int, *, as_htools: bool) -> list[int]:
    primaries = fleet.states[number].primaries
    return [each for each in primaries if not _is_mirrored(fleet, each, as_htools=as_htools)]


def _standbys(fleet: Fleet, number: int) -> list[int]:
    return list(fleet.states[number].standbys)


def _moved(before: Fleet, after: Fleet) -> tuple[tuple[int, Place], ...]:
    """Return the machines that are elsewhere, unless only their two hosts changed roles."""
    if after is before:
        return ()
    pairs = zip(before.machines, before.places, after.places, strict=True)
    return tuple(
        (machine.number, new)
        for machine, old, new in pairs
        if (new.primary != old.primary or (machine.has_standby and new.standby != old.standby))
        and new != Place(old.standby, old.primary)
    )


def _ordered(fleet: Fleet, batches: list[Batch]) -> list[Batch]:
    """Return large batches first, but the master's last, and the master last in it."""

    def is_master(number: int) -> bool:
        return fleet.hosts[number].node.master

    ordered = sorted(batches, key=lambda batch: -len(batch.hosts))
    return sorted(
        (batch._replace(hosts=tuple(sorted(batch.hosts, key=is_master))) for batch in ordered),
        key=lambda batch: any(is_master(number) for number in batch.hosts),
    )
