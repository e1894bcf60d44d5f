"""What `check` says of machines that have a standby or could run elsewhere: N+1, tags, offline nodes.

Only clusters whose nodes say what Ganeti says of them, or whose workloads have a standby, are looked at: what
pods do when a node is lost is found by placing them anew (--nodes-lost), with all their rules.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.health import (
    GroupHealth,
    Health,
    HostHealth,
    LocationConflict,
    Peer,
    after_moves,
    health_of,
)
from ullage.engine.balance.rebalance import Wishes, fleet_of, rebalance
from ullage.engine.balance.state import HostState
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.resources import ResourceType
from ullage.model.verdict import Finding, Severity
from ullage.service.progress import listener
from ullage.service.words import plural, several

MEMORY: Final = "memory"
MOVES_MAX: Final = 1000
"""Moves after which a proposed balance is looked at as it is then."""
FAILOVER: Final = "failover to standbys"
EVACUATION: Final = "evacuation"
TAGS: Final = "tags and locations"
OFFLINE: Final = "offline nodes"
TRIED: Final = {
    FAILOVER: "each node lost alone, memory of all its instances kept by their standbys",
    EVACUATION: "each node emptied alone onto the others of its group",
}
"""What is tried by a check, where it is not the cluster as it is."""
BALANCE: Final = "ullage balance proposes moves"


class NodeRedundancy(Record, frozen=True):
    """A node that keeps memory for others, or that something is wrong with.

    `violation` is hard where its instances alone exceed its limit, soft where they do only with what is kept.
    """

    node: str
    group: str
    violation: Literal["", "soft", "hard"]
    free_bytes: int
    standby_bytes: int
    missing_bytes: int
    cannot_take_over_from: tuple[str, ...]
    can_be_emptied: bool
    conflicts: tuple[str, ...]
    primaries_offline: tuple[str, ...]
    standbys_offline: tuple[str, ...]


class GroupRedundancy(Record, frozen=True):
    """How many nodes or instances of a group something is wrong with; `moves` is 0 as it is now."""

    group: str
    moves: int
    nodes: int
    cannot_take_over: int
    cannot_be_emptied: int
    tag_conflicts: int
    location_conflicts: int
    primaries_offline: int
    standbys_offline: int
    score: float


class ClusterRedundancy(Record, frozen=True):
    """The same of all groups together; scores of groups cannot be added."""

    moves: int
    nodes: int
    cannot_take_over: int
    cannot_be_emptied: int
    tag_conflicts: int
    location_conflicts: int
    primaries_offline: int
    standbys_offline: int


class Redundancy(Record, frozen=True):
    """All groups as they are, those that would be balanced once more after it, and every node.

    `cluster` is all groups together: now, and where some would be balanced once more after that.
    """

    cluster: tuple[ClusterRedundancy, ...]
    now: tuple[GroupRedundancy, ...]
    after_balance: tuple[GroupRedundancy, ...]
    nodes: tuple[NodeRedundancy, ...]


class Machines(NamedTuple):
    """What was found: the report, findings by check, and what nodes keep for failover, by name."""

    redundancy: Redundancy | None
    findings: dict[str, list[Finding]]
    standby: dict[str, int]


NO_MACHINES: Final = Machines(None, {}, {})


def machines_of(snapshot: Snapshot, *, balances: bool) -> Machines:
    """Return what is to be said of machines; nothing of clusters that have none."""
    if not _has_machines(snapshot):
        return NO_MACHINES
    fleet = fleet_of(snapshot)
    health = health_of(fleet)
    names = [group.name for group in fleet.cluster.groups]
    unsound = tuple(names[group.group] for group in health.groups if not group.is_sound)
    now = tuple(_group(group, names[group.group]) for group in health.groups)
    after = tuple(_after_balance(snapshot, fleet, unsound)) if balances and unsound else ()
    redundancy = Redundancy(
        tuple(_clusters(now, after)), now, after, tuple(_node(fleet, host) for host in health.hosts)
    )
    told = _Told(fleet, health, snapshot.resource_types[MEMORY])
    standby = {host.name: fleet.states[host.number].reserved for host in fleet.hosts if not host.offline}
    return Machines(redundancy, told.by_check(), standby)


def _after_balance(snapshot: Snapshot, fleet: Fleet, names: tuple[str, ...]) -> Iterator[GroupRedundancy]:
    """Yield groups as they are after the balance that would be proposed for them."""
    wishes = Wishes(moves_max=MOVES_MAX, groups=names)
    found = {each.group: each.moves for each in rebalance(snapshot, wishes, told=listener())}
    after = after_moves(fleet, (move for moves in found.values() for move in moves))
    for group in health_of(after).groups:
        name = fleet.cluster.groups[group.group].name
        if name in found:
            yield _group(group, name, len(found[name]))


def _has_machines(snapshot: Snapshot) -> bool:
    return any(node.host is not None for node in snapshot.nodes) or any(
        workload.standby for workload in snapshot.workloads
    )


def _group(group: GroupHealth, name: str, moves: int = 0) -> GroupRedundancy:
    return GroupRedundancy(
        name,
        moves,
        len(group.hosts),
        group.failing,
        group.stuck,
        group.conflicting,
        len(group.locations),
        group.primaries_offline,
        group.standbys_offline,
        group.score,
    )


def _clusters(
    now: Sequence[GroupRedundancy], after: Sequence[GroupRedundancy]
) -> Iterator[ClusterRedundancy]:
    """Yield all groups together as they are, and after the balance of some."""
    balanced = {each.group: each for each in after}
    for groups in (now, [balanced.get(each.group, each) for each in now])[: 2 if after else 1]:
        yield ClusterRedundancy(
            *(sum(getattr(each, name) for each in groups) for name in ClusterRedundancy.__struct_fields__)
        )


def _node(fleet: Fleet, found: HostHealth) -> NodeRedundancy:
    host = fleet.hosts[found.number]
    return NodeRedundancy(
        host.name,
        fleet.cluster.groups[host.group].name,
        found.violation,
        max(0, found.room),
        found.reserved,
        found.missing,
        tuple(fleet.hosts[peer.number].name for peer in found.unmet),
        found.can_be_emptied,
        tuple(conflict.tag for conflict in found.conflicts),
        tuple(_names(fleet, found.primaries_offline)),
        tuple(_names(fleet, found.standbys_offline)),
    )


def _names(fleet: Fleet, machines: Sequence[int]) -> list[str]:
    return [fleet.machines[number].name for number in machines]


class _Told:
    """The findings about one fleet."""

    def __init__(self, fleet: Fleet, health: Health, memory: ResourceType) -> None:
        self._fleet = fleet
        self._health = health
        self._show = memory.readable
        self._unmet = [peer for host in health.hosts for peer in host.unmet]

    def by_check(self) -> dict[str, list[Finding]]:
        """Return findings by the name of their check; a check that found nothing has none."""
        hosts = list(self._health.hosts)
        stuck = [host for host in hosts if not host.can_be_emptied]
        told = [host for host in stuck if self._is_told(host)]
        return {
            FAILOVER: [each for host in hosts for each in self._takeover(host)],
            EVACUATION: [
                *(self._stuck(host) for host in stuck if host not in told),
                *([self._stuck_by_others(told)] if told else []),
            ],
            TAGS: [
                *(each for host in hosts for each in self._conflicts(host)),
                *(self._location(each) for group in self._health.groups for each in group.locations),
            ],
            OFFLINE: [each for host in hosts for each in self._offline(host)],
        }

    def _state(self, host: HostHealth) -> HostState:
        return self._fleet.states[host.number]

    def _name(self, number: int) -> str:
        return self._fleet.hosts[number].name

    def _takeover(self, host: HostHealth) -> Iterator[Finding]:
        """Yield from whom a node cannot take over, and where memory is in use that no record explains."""
        if host.violation and host.unmet:
            yield self._short(host, host.unmet[0], host.unmet[1:])
        elif host.violation == "soft" or host.hollow:
            name = self._name(host.number)
            over = self._show(host.hollow)
            unknown = self._show(host.unaccounted)
            message = (
                f"node {name}: memory short by {over}, because {unknown} are in use that no record explains"
            )
            remedy = "look for what uses it, or raise what the node keeps for itself (memory-reserve)"
            level: Severity = "error" if host.violation else "warning"
            yield Finding("memory-unexplained", level, f"node/{name}", message, remedy)

    def _short(self, host: HostHealth, worst: Peer, others: Sequence[Peer]) -> Finding:
        name, missing = self._name(host.number), self._show(host.missing)
        over = f", {self._show(-host.room)} over its limit" if host.room < 0 else ""
        also = f"; nor from {several([self._name(peer.number) for peer in others])}" if others else ""
        return Finding(
            "takeover-short",
            "error",
            f"node/{name}",
            f"node {name} cannot take over from {self._name(worst.number)}: memory short by {missing} "
            f"(needs {self._show(worst.needed)}, free {self._show(max(0, host.room))}{over}), "
            f"a {host.violation} violation{also}",
            f"move instances or standbys of {missing} off it ({BALANCE}), or raise memory-ratio",
        )

    def _is_told(self, host: HostHealth) -> bool:
        """Whether another finding says why a node cannot be emptied: standbys too full, or offline."""
        fleet = self._fleet
        if host.primaries_offline or any(host.number == peer.number for peer in self._unmet):
            return True
        places = (fleet.places[number] for number in self._state(host).primaries)
        return any(place.standby != NOWHERE and fleet.hosts[place.standby].offline for place in places)

    def _stuck_by_others(self, hosts: Sequence[HostHealth]) -> Finding:
        names = several([self._name(host.number) for host in hosts])
        what = f"{plural(len(hosts), 'node')} ({names}) cannot be emptied"
        message = f"{what}: standbys of what runs there are too full or offline"
        remedy = f"see what is said of failover and offline nodes ({BALANCE})"
        return Finding("evacuation-blocked", "error", "cluster", message, remedy)

    def _stuck(self, host: HostHealth) -> Finding:
        """Return why a node cannot be emptied onto the others of its group."""
        fleet, name = self._fleet, self._name(host.number)
        machines = [fleet.machines[number] for number in self._state(host).primaries]
        group = fleet.hosts[host.number].group
        rooms = [
            max(0, each.room)
            for each in self._health.hosts
            if each.number != host.number
            and fleet.hosts[each.number].group == group
            and not fleet.hosts[each.number].offline
        ]
        needed = sum(each.memory for each in machines if each.uses_memory)
        others = plural(len(rooms), "other node")
        return Finding(
            "evacuation-short",
            "error",
            f"node/{name}",
            f"node {name} cannot be emptied: {plural(len(machines), 'instance')} with {self._show(needed)} "
            f"of memory, {self._show(sum(rooms))} free on {others} of its group, at most "
            f"{self._show(max(rooms, default=0))} on one",
            "free room on other nodes of its group, add a node, or raise memory-ratio",
        )

    def _conflicts(self, host: HostHealth) -> Iterator[Finding]:
        name = self._name(host.number)
        for conflict in host.conflicts:
            machines = several(_names(self._fleet, conflict.machines))
            message = f"node {name} has {machines}, which tag {conflict.tag} keeps apart"
            remedy = f"move one of them away ({BALANCE})"
            yield Finding("tag-conflict", "warning", f"node/{name}", message, remedy)

    def _location(self, found: LocationConflict) -> Finding:
        names = _names(self._fleet, found.machines)
        subject = f"workload/{names[0]}" if len(names) == 1 else "cluster"
        if found.kind == "shared":
            primary, standby = map(self._name, self._fleet.places[found.machines[0]])
            message = f"{names[0]} has primary {primary} and standby {standby}, both in {found.location}"
            remedy = f"give it a standby elsewhere ({BALANCE})"
            return Finding("location-shared", "warning", subject, message, remedy)
        if found.kind == "together":
            message = f"{several(names)}, which tag {found.tag} keeps apart, are all in {found.location}"
            remedy = f"move one of them elsewhere ({BALANCE})"
            return Finding("location-together", "warning", subject, message, remedy)
        message = f"{names[0]} would like to be in {found.location} and is not"
        return Finding("location-unmet", "info", subject, message, f"move it there ({BALANCE})")

    def _offline(self, host: HostHealth) -> Iterator[Finding]:
        name = self._name(host.number)
        for machines, role, what in (
            (host.primaries_offline, "primary", "start them on their standbys or other nodes"),
            (host.standbys_offline, "standby", "give them another standby"),
        ):
            if machines:
                named = several(_names(self._fleet, machines))
                have = "has its" if len(machines) == 1 else "have their"
                message = (
                    f"{plural(len(machines), 'instance')} ({named}) {have} {role} on node {name}, offline"
                )
                remedy = f"{what} ({BALANCE}), or bring {name} back"
                yield Finding(f"{role}-offline", "error", f"node/{name}", message, remedy)
