"""Moves of one machine: failover, a new standby, and combinations of these, as steps over the primitives."""

from typing import Final, Literal, NamedTuple

from ullage.engine.balance.facts import NOWHERE, Host, Machine
from ullage.engine.balance.state import (
    Failure,
    HostState,
    add_primary,
    add_standby,
    check_migration,
    remove_primary,
    remove_standby,
)

MoveKind = Literal["f", "fa", "r", "rf", "frf", "fr"]
COMMANDS: Final[dict[MoveKind, str]] = {
    "f": "f", "fa": "fa:{}", "r": "r:{}", "rf": "r:{} f", "frf": "f r:{} f", "fr": "f r:{}",
}  # fmt: skip
"""How moves are written: f is a failover (a live migration where it runs), r a copy of all disks."""


class Place(NamedTuple):
    """Where a machine is: its primary host and its standby."""

    primary: int
    standby: int = NOWHERE


class Move(NamedTuple):
    """What is done to a machine; `target` is the new host, unless only its two hosts change roles."""

    kind: MoveKind
    target: int = NOWHERE


class Moved(NamedTuple):
    """What follows from a move: the new place, and the hosts that changed, by number."""

    place: Place
    changed: dict[int, HostState]


class Hosts(NamedTuple):
    """All hosts and what they hold; `shared` is how many failure domains two of them have in common."""

    hosts: list[Host]
    states: list[HostState]

    def shared(self, place: Place) -> int:
        """Return how many failure domains the two hosts of a place have in common."""
        if place.standby == NOWHERE:
            return 0
        return len(self.hosts[place.primary].locations & self.hosts[place.standby].locations)


def place_after(place: Place, move: Move) -> Place:
    """Return where a machine is after a move."""
    primary, standby = place
    kind, target = move
    if kind == "f":
        return Place(standby, primary)
    if kind == "fa":
        return Place(target, standby)
    if kind == "r":
        return Place(primary, target)
    if kind == "rf":
        return Place(target, primary)
    return Place(target, standby) if kind == "frf" else Place(standby, target)


def apply_move(
    cluster: Hosts, machine: Machine, place: Place, move: Move, *, force: bool = False
) -> Moved | Failure:
    """Return what follows from a move, or why it is not possible; `force` ignores soft rules.

    Where a host that is left is offline, soft rules are ignored for what must leave it.
    """
    hosts, states = cluster.hosts, cluster.states
    failure = _check_migrations(hosts, place, move)
    if failure is not None:
        return failure
    primary, standby = place
    after = place_after(place, move)
    before = cluster.shared(place)
    shared = cluster.shared(after)
    changed = {primary: remove_primary(hosts[primary], states[primary], machine, before)}
    if standby != NOWHERE:
        changed[standby] = remove_standby(hosts[standby], states[standby], machine, primary)
    leaves_primary = hosts[primary].offline or force
    leaves_standby = force or (standby != NOWHERE and hosts[standby].offline)
    kind = move.kind
    if kind == "frf":
        held = add_primary(hosts[standby], changed[standby], machine, shared, force=leaves_primary)
        if isinstance(held, Failure):
            return held
        changed[standby] = remove_primary(hosts[standby], held, machine, shared)
    adding = _Adding(
        leaves_primary if kind in {"f", "fa", "frf", "fr"} else kind == "r" or force,
        leaves_standby if kind in {"r", "rf"} else leaves_primary,
        ignores_disk=kind == "f" and hosts[primary].offline,
        standby_first=kind == "r",
    )
    return _added(cluster, machine, after, changed, adding)


class _Adding(NamedTuple):
    """Whether soft rules are ignored for the new primary and the new standby, and which comes first."""

    force_primary: bool
    force_standby: bool
    ignores_disk: bool
    standby_first: bool


def _check_migrations(hosts: list[Host], place: Place, move: Move) -> Failure | None:
    """Return why a machine may not move live along its way; replacing a standby moves nothing."""
    primary, standby = place
    if move.kind == "r":
        return None
    if move.kind in {"fa", "rf"}:
        return check_migration(hosts[primary], hosts[move.target])
    failure = check_migration(hosts[primary], hosts[standby])
    if failure is None and move.kind == "frf":
        return check_migration(hosts[standby], hosts[move.target])
    return failure


def _added(
    cluster: Hosts, machine: Machine, after: Place, changed: dict[int, HostState], adding: _Adding
) -> Moved | Failure:
    hosts, states = cluster.hosts, cluster.states
    shared = cluster.shared(after)

    def add_to_primary() -> Failure | None:
        at = after.primary
        held = add_primary(
            hosts[at], changed.get(at, states[at]), machine, shared, force=adding.force_primary
        )
        if isinstance(held, Failure):
            return held
        changed[at] = held
        return None

    def add_to_standby() -> Failure | None:
        at = after.standby
        if at == NOWHERE:
            return None
        held = add_standby(
            hosts[at],
            changed.get(at, states[at]),
            machine,
            after.primary,
            force=adding.force_standby,
            ignores_disk=adding.ignores_disk,
        )
        if isinstance(held, Failure):
            return held
        changed[at] = held
        return None

    steps = (add_to_standby, add_to_primary) if adding.standby_first else (add_to_primary, add_to_standby)
    for step in steps:
        failure = step()
        if failure is not None:
            return failure
    return Moved(after, changed)
