"""A fleet as columns of numbers, for looking at all moves of a step at once; renewed where a step changed it.

Hosts are those that count, in their order, and one more that stands for no host at all: it has no share in
anything, so machines without a standby need no case of their own. The rules are those of the primitives,
written as room that a host has left against what a machine asks for; a test holds them to the primitives.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.balance.candidates import Balancing, kinds_of
from ullage.engine.balance.facts import NOWHERE, Host, Load, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import MoveKind
from ullage.engine.balance.pairs import Pairs
from ullage.engine.balance.score import DYNAMIC, TERMS, Term
from ullage.engine.balance.state import HostState

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

KINDS: Final[tuple[MoveKind, ...]] = ("r", "rf", "frf", "fr", "fa")
"""The moves to a new host, in the order in which they are looked at."""
FAILOVER: Final = len(KINDS)
"""The column of the one move without a new host."""
TO_PRIMARY: Final = (False, True, True, False, True)
"""Whether the new host becomes the primary, by kind."""
UNBOUNDED: Final = 1 << 61
EXACT_MAX: Final = 1 << 53
LINEAR: Final = (
    "free_mem_cv", "free_disk_cv", "vcpu_ratio_cv", "cpu_load_cv", "mem_load_cv", "disk_load_cv",
    "net_load_cv", "spindles_cv", "free_mem_cv_forth", "free_disk_cv_forth", "vcpu_ratio_cv_forth",
    "spindles_cv_forth",
)  # fmt: skip
"""The deviations of values that grow with what machines ask for."""


def suits(fleet: Fleet, terms: Sequence[Term] = TERMS) -> bool:
    """Return whether a fleet can be looked at as columns.

    Machines still to come, spindles as a resource, terms of the user's own and numbers too large for exact
    shares are left to the plain search.
    """
    hosts = [fleet.hosts[number] for number in fleet.scope]
    if all(host.offline for host in hosts) or not any(
        fleet.machines[number].movable for number in fleet.subjects
    ):
        return False
    if any(machine.forthcoming for machine in fleet.machines) or any(host.exclusive for host in hosts):
        return False
    known = [(term.name, term.value) for term in (*TERMS, DYNAMIC)]
    if [(term.name, term.value) for term in terms] not in (known, known[:-1]):
        return False
    if any(term.weight < 0 for term in terms):
        return False
    sizes = [max(host.memory, host.disk, host.cpu, -host.memory_floor) for host in hosts]
    sizes += [max(machine.memory, machine.disk, machine.cpu) for machine in fleet.machines]
    return len(hosts) >= 2 and max(sizes) * 4 < EXACT_MAX


class Asked(NamedTuple):
    """What machines ask for, one column each: now and later memory, disk, spindles, cpu; and as standby."""

    primary: Integers
    standby: Integers


class Linear(NamedTuple):
    """Deviations that were merged where they are the same: weights, values by host, amounts by machine.

    A machine changes the value of a host by its amount times the host's `inverse`. `merged` says by name
    which one stands for a deviation.
    """

    weights: Floats
    merged: dict[str, int]
    value_terms: tuple[Term, ...]
    inverse: Floats
    primary: Floats
    standby: Floats


class Columns:
    """A fleet as columns: what never changes is set once, the rest is renewed for the hosts of a step."""

    def __init__(self, fleet: Fleet, options: Balancing, terms: Sequence[Term] = TERMS) -> None:
        self.fleet, self.options, self.terms = fleet, options, tuple(terms)
        self.weight = {term.name: term.weight for term in terms}
        self.scope = list(fleet.scope)
        self.size = len(self.scope)
        self.local = {number: at for at, number in enumerate(self.scope)}
        self.hosts = [fleet.hosts[number] for number in self.scope]
        self.online = _flags([not host.offline for host in self.hosts] + [False])
        self.online_count = int(self.online.sum())
        self.movers = [number for number in fleet.subjects if fleet.machines[number].movable]
        self.machines = [fleet.machines[number] for number in self.movers]
        self.index = {number: at for at, number in enumerate(self.movers)}
        self.asked = _asked(self.machines)
        self.uses, self.need = self.asked.primary[:, 0], self.asked.standby[:, 0]
        self.pairs = Pairs(fleet)
        self.has_pairs = self.pairs.may_be
        self._set_hosts()
        self._set_tags()
        self.linear = self._linear()
        self.largest_change = _largest_change(self.linear)
        self.values = np.zeros((len(self.linear.weights), self.size + 1))
        self.centre = np.zeros((len(self.linear.weights), 1))
        self._set_machines()
        self.renew(range(self.size), range(len(self.movers)))
        if self.online_count:
            self.centre = self.values[:, self.online].mean(axis=1, keepdims=True)
            self.values[:, self.online] -= self.centre

    def _set_hosts(self) -> None:
        """Set what never changes of hosts, and make room for the rest."""
        hosts, width = self.hosts, self.size + 1
        exact = 1 if self.fleet.view.exact else 0
        self.floor = _integers([host.memory_floor - exact for host in hosts] + [0])
        self.disk_floor = -exact
        self.disk_low = _integers([host.disk_low for host in hosts] + [0])
        self.cpu_most = _integers([min(host.cpu_most, UNBOUNDED) for host in hosts] + [0])
        self.spindles_most = _integers([min(host.spindles_most, UNBOUNDED) for host in hosts] + [0])
        inverse = [1 / host.memory if host.memory else 0.0 for host in hosts]
        self.reserved_inverse: Floats = np.where(self.online, np.array([*inverse, 0.0]), 0.0)
        self.may = _may_move(hosts)
        self.shared, self.has_locations = _shared(hosts)
        self.memory = np.zeros(width, np.int64)
        self.later = np.zeros(width, np.int64)
        self.disk = np.zeros(width, np.int64)
        self.cpu = np.zeros(width, np.int64)
        self.spindles = np.zeros(width, np.int64)
        self.count = np.zeros(width, np.int64)
        self.fails = np.zeros(width, np.bool_)
        self.reserved = np.zeros(width, np.int64)
        self.reserved_next = np.zeros(width, np.int64)
        self.reserved_for = np.full(width, NOWHERE)
        self.peers = np.zeros((width, width), np.int64)

    def _set_tags(self) -> None:
        """Set which machines have exclusion tags, and how many of each tag hosts hold."""
        self.tagged = _flags([bool(each.exclusion_tags) for each in self.machines])
        tags = sorted({tag for each in self.machines for tag in each.exclusion_tags})
        self.tag_rows = {tag: np.zeros(self.size + 1, np.int64) for tag in tags}
        self.unmet_rows: dict[frozenset[str], Integers] = {frozenset(): np.zeros(self.size + 1, np.int64)}
        for each in self.machines:
            wanted = each.desired_locations
            if wanted not in self.unmet_rows:
                unmet = [len(wanted - host.locations) for host in self.hosts]
                self.unmet_rows[wanted] = _integers([*unmet, 0])

    def _linear(self) -> Linear:
        """Return the deviations, merged where hosts and machines have the same numbers in them."""
        by_name = {term.name: term for term in self.terms}
        found: dict[tuple[bytes, ...], tuple[float, Term, Floats, Floats, Floats]] = {}
        merged: dict[str, int] = {}
        loads = np.array([each.load for each in self.machines]).reshape(-1, len(Load._fields))
        for name in (*LINEAR, *([DYNAMIC.name] if DYNAMIC.name in by_name else [])):
            term = by_name[name]
            primary, standby, inverse = _amounts(name, self.hosts, self.asked.primary, loads)
            inverse = np.where(self.online, np.append(inverse, 0.0), 0.0)
            values = self._values_of(term, range(self.size))
            key = (primary.tobytes(), standby.tobytes(), inverse.tobytes(), values.tobytes())
            weight = term.weight + (found[key][0] if key in found else 0.0)
            found[key] = (weight, term, inverse, primary, standby)
            merged[name] = list(found).index(key)
        kept = list(found.values())
        return Linear(
            np.array([row[0] for row in kept]),
            merged,
            tuple(row[1] for row in kept),
            np.array([row[2] for row in kept]),
            np.ascontiguousarray(np.array([row[3] for row in kept]).T),
            np.ascontiguousarray(np.array([row[4] for row in kept]).T),
        )

    def _values_of(self, term: Term, at: Iterable[int]) -> Floats:
        return np.array([term.value(self.hosts[each], self._state(each)) for each in at])

    def _state(self, at: int) -> HostState:
        return self.fleet.states[self.scope[at]]

    def _set_machines(self) -> None:
        size = len(self.movers)
        self.primary = np.full(size, self.size)
        self.standby = np.full(size, self.size)
        self.force_primary = np.zeros(size, np.bool_)
        self.force_standby = np.zeros(size, np.bool_)
        self.allowed = np.zeros((len(KINDS) + 1, size), np.bool_)
        self._allowed_for: dict[tuple[object, ...], tuple[bool, ...]] = {}

    def renew(self, hosts: Sequence[int], machines: Sequence[int]) -> None:
        """Take over from the fleet what some hosts hold, and where some machines are."""
        for at in hosts:
            self._renew_host(at)
        self.pairs.renew([self.scope[at] for at in hosts])
        self._renew_machines(machines)
        self.rooms = self._rooms()

    def _renew_host(self, at: int) -> None:
        host, state = self.hosts[at], self._state(at)
        now = state.now
        self.memory[at], self.later[at] = now.memory_free, state.later.memory_free
        self.disk[at], self.cpu[at], self.spindles[at] = now.disk_free, now.cpu, int(now.spindles)
        self.count[at] = len(state.primaries) + len(state.standbys)
        self.fails[at] = state.fails
        row = self.peers[at]
        row[:] = 0
        first, first_for, second = 0, NOWHERE, 0
        for number, needed in state.peers.items():
            if number in self.local:
                row[self.local[number]] = needed
            if needed > first:
                first, first_for, second = needed, self.local.get(number, NOWHERE), first
            else:
                second = max(second, needed)
        self.reserved[at], self.reserved_for[at], self.reserved_next[at] = first, first_for, second
        for tag, counts in self.tag_rows.items():
            counts[at] = state.tags.get(tag, 0)
        if self.online[at]:
            for term, line in enumerate(self.linear.value_terms):
                self.values[term, at] = line.value(host, state) - self.centre[term, 0]

    def _renew_machines(self, machines: Sequence[int]) -> None:
        places = [self.fleet.places[self.movers[at]] for at in machines]
        column, m = {**self.local, NOWHERE: self.size}, np.array(machines, np.int64)
        self.primary[m] = [column[place.primary] for place in places]
        self.standby[m] = [column[place.standby] for place in places]
        left_offline, stands = ~self.online[self.primary[m]], self.standby[m] != self.size
        standby_offline = stands & ~self.online[self.standby[m]]
        self.force_primary[m] = self.options.force | left_offline
        self.force_standby[m] = self.options.force | standby_offline
        cases = zip(left_offline.tolist(), standby_offline.tolist(), stands.tolist(), strict=True)
        self.allowed[:, m] = np.array(
            [self._allowed(at, *case) for at, case in zip(machines, cases, strict=True)]
        ).T

    def _allowed(self, at: int, left_offline: bool, standby_offline: bool, stands: bool) -> tuple[bool, ...]:
        """Return which kinds of moves a machine has, the failover last: the same for all in its case."""
        mirror, options = self.machines[at].mirror, self.options
        case = mirror, left_offline, standby_offline, stands
        if case not in self._allowed_for:
            usable = options.instance_moves and stands and not standby_offline
            kinds = kinds_of(self.fleet, self.movers[at], options, standby_usable=usable)
            found = (*(kind in kinds for kind in KINDS), usable and mirror == "internal")
            stays = options.evac_mode and not (left_offline or standby_offline)
            self._allowed_for[case] = (False,) * len(found) if stays else found
        return self._allowed_for[case]

    def _rooms(self) -> dict[tuple[bool, bool], Integers]:
        """Return how much hosts have left of what is asked for: as primary or not, forced or not."""
        memory, later = self.memory - self.floor - 1, self.later - self.floor - 1
        disk_hard = self.disk - self.disk_floor - 1
        disk = np.minimum(disk_hard, self.disk - self.disk_low)
        spindles, cpu = self.spindles_most - self.spindles, self.cpu_most - self.cpu
        alone = np.where(self.fails, memory, np.minimum(memory, memory - self.reserved))
        endless = np.full(self.size + 1, UNBOUNDED)
        return {
            (True, False): np.stack([alone, later, disk, spindles, cpu]),
            (True, True): np.stack([memory, endless, disk_hard, endless, endless]),
            (False, False): np.stack([memory, later, disk, spindles, endless]),
            (False, True): np.stack([endless, endless, disk_hard, endless, endless]),
        }


def _largest_change(linear: Linear) -> Floats:
    """Return the most that one machine changes each value by, and more."""
    amounts = np.maximum(np.abs(linear.primary), np.abs(linear.standby)).max(axis=0, initial=0.0)
    found: Floats = 2 * amounts * linear.inverse.max(axis=1, initial=0.0)
    return found


def _integers(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)


def _flags(values: Sequence[bool]) -> Booleans:
    return np.array(values, dtype=np.bool_)


def _asked(machines: Sequence[Machine]) -> Asked:
    amounts = "memory", "disk", "spindle_use", "cpu"
    flags = "uses_memory", "reserves_memory", "counts_cpu", "local"
    table = np.array([*map(attrgetter(*amounts, *flags), machines)], np.int64).reshape(-1, 8).T
    memory, disk, spindles, cpu = table[:4]
    uses, reserves, counts, local = table[4:].astype(np.bool_)
    primary = [
        memory * uses,
        memory,
        np.where(local, disk, -UNBOUNDED),
        np.where(local, spindles, -UNBOUNDED),
    ]
    needed = memory * reserves
    standby = [needed, needed, disk, spindles, np.zeros_like(cpu)]
    return Asked(np.stack([*primary, cpu * counts], axis=1), np.stack(standby, axis=1))


def _may_move(hosts: Sequence[Host]) -> Booleans:
    """Return whether machines may move live from each host to each."""
    size = len(hosts) + 1
    may = np.ones((size, size), np.bool_)
    pairs = {(host.sends, host.receives) for host in hosts}
    if all(sends <= receives for sends, _ in pairs for _, receives in pairs):
        return may
    row_of = {sends: [sends <= target.receives for target in hosts] for sends, _ in pairs}
    for at, source in enumerate(hosts):
        may[at, :-1] = row_of[source.sends]
    return may


def _shared(hosts: Sequence[Host]) -> tuple[Integers, bool]:
    """Return how many failure domains each two hosts have in common, and whether any has one."""
    size = len(hosts) + 1
    if not any(host.locations for host in hosts):
        return np.zeros((1, 1), np.int64), False
    places = sorted({place for host in hosts for place in host.locations})
    inside = np.zeros((size, len(places)), np.int64)
    for at, host in enumerate(hosts):
        inside[at, [places.index(place) for place in host.locations]] = 1
    return inside @ inside.T, True


def _amounts(
    name: str, hosts: Sequence[Host], asked: Integers, loads: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return what machines add to a value as primaries and as standbys, and what hosts divide it by."""
    wholes: Sequence[float]
    primary: Integers | Floats
    if name.startswith("free_mem"):
        primary = -asked[:, 1 if name.endswith("forth") else 0]
        wholes, stands = [host.memory_whole for host in hosts], False
    elif name.startswith("free_disk"):
        primary = -np.maximum(asked[:, 2], 0)
        wholes, stands = [host.disk for host in hosts], True
    elif name.startswith("vcpu"):
        primary = asked[:, 4]
        wholes, stands = [host.cpu * host.cpu_speed for host in hosts], False
    elif name.startswith("spindles"):
        primary = np.maximum(asked[:, 3], 0)
        wholes, stands = [host.spindles_high for host in hosts], True
    elif name == DYNAMIC.name:
        primary = loads[:, Load._fields.index("memory")]
        wholes, stands = [max(0, host.memory_available) for host in hosts], False
    else:
        column = ("cpu", "mem", "dis", "net").index(name[:3])
        wholes, stands = [1] * len(hosts), name.startswith("disk")
        primary = loads[:, column]
    inverse = [1 / whole if whole else 0.0 for whole in wholes]
    amounts: Floats = primary.astype(np.float64)
    return amounts, amounts if stands else np.zeros_like(amounts), np.array(inverse)
