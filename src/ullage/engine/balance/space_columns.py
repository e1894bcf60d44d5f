"""Hosts that are online as columns of numbers, for trying a new machine on all of them at once.

The rules are those of the primitives and the values those of the terms of the score, for machines that run,
reserve memory on their standby and have no tags; tests hold both to the plain code. Only the hosts that a
placement touched are read again.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.balance.facts import Host
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.score import TERMS, statistics
from ullage.engine.balance.state import HostState

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

Index = tuple[slice | Integers, slice | int | Integers]
Held = tuple[Integers, Integers, Integers, Integers, Floats]
"""Free memory, free disk, processors in use, free spindles, and how busy disks are."""

TWINS: Final = ((13, 0), (14, 1), (15, 6), (16, 12), (8, 7), (9, 7), (10, 7))
"""Terms that are often the same, by place: those of later and of now, and loads."""
SHARES: Final = ([0, 13], [1, 14], [6, 15], [12, 16], [3, 19])
"""Terms that are shares, by place: of memory, disk, processors, spindles, and of memory as it is reserved."""
SUMS: Final = [2, 4, 5, 11, 17, 18]
"""Terms that are neither shares nor loads, by place."""
EXACT_MAX: Final = 1 << 53
UNBOUNDED: Final = 1 << 62
HOSTS_MAX: Final = 4000
"""Beyond this a matrix of all pairs takes too much memory."""


def suits(fleet: Fleet) -> bool:
    """Return whether numbers are small enough for exact shares, and hosts few enough for all pairs."""
    hosts = [fleet.hosts[number] for number in fleet.scope]
    sizes = [max(host.memory, host.disk, host.cpu, -host.memory_floor) for host in hosts]
    return len(hosts) <= HOSTS_MAX and max(sizes, default=0) * 4 < EXACT_MAX


class Columns:
    """What hosts that are online have, and what is left of it now and later."""

    def __init__(self, fleet: Fleet, targets: Iterable[int]) -> None:
        self.numbers = [number for number in fleet.scope if not fleet.hosts[number].offline]
        self.position = {number: at for at, number in enumerate(self.numbers)}
        hosts = [fleet.hosts[number] for number in self.numbers]
        chosen = set(targets)
        self.is_target: Booleans = np.array([number in chosen for number in self.numbers], dtype=bool)
        self.group = _integers(host.group for host in hosts)
        self.floor = _integers(host.memory_floor + (0 if host.exact else 1) for host in hosts)
        self._floors: list[int] = self.floor.tolist()
        self.disk_hard = _integers(0 if host.exact else 1 for host in hosts)
        self.disk_floor = _integers(max(host.disk_low, 0 if host.exact else 1) for host in hosts)
        self.exclusive: Booleans = np.array([host.exclusive for host in hosts], dtype=bool)
        self.any_exclusive = bool(self.exclusive.any())
        self.spindles_high = _floats(host.spindles_high for host in hosts)
        self.cpu_most = _integers(host.cpu_most for host in hosts)
        self.cpu_speed = _floats(host.cpu_speed for host in hosts)
        self.memory = _whole(host.memory for host in hosts)
        self.memory_whole = _whole(host.memory_whole for host in hosts)
        self.disk_whole = _whole(host.spindles if host.exclusive else host.disk for host in hosts)
        self.cpu_whole = _whole(host.cpu for host in hosts)
        self.spindles_whole = _whole(host.spindles_high for host in hosts)
        count = len(hosts)
        self.values: Floats = np.zeros((len(TERMS), count))
        self.amounts: Floats = np.zeros((len(TERMS), count))
        """What values are shares of, by term; 0 for sums."""
        self._share_of(hosts)
        held: Integers = np.zeros((11, count), dtype=np.int64)
        busy: Floats = np.zeros((2, count))
        self._held, self._busy = held, busy
        self.now: Held = (held[0], held[1], held[2], held[3], busy[0])
        self.later: Held = (held[4], held[5], held[6], held[7], busy[1])
        self.reserved, self.machines = held[8], held[10]
        self.fails: Booleans = np.zeros(count, dtype=bool)
        self.room: Integers = np.zeros(count, dtype=np.int64)
        self.room_kept: Integers = np.zeros(count, dtype=np.int64)
        self.room_as_primary: Integers = np.zeros(count, dtype=np.int64)
        self.room_as_standby: Integers = np.zeros(count, dtype=np.int64)
        """The least of all room for memory that a new machine must leave, now and later."""
        self.room_for_pair: Integers = np.zeros((count, count), dtype=np.int64)
        self.peers: Integers = np.zeros((count, count), dtype=np.int64)
        same = self.group[:, None] == self.group[None, :]
        self.pairs: Booleans = same & self.is_target[:, None] & self.is_target[None, :]
        np.fill_diagonal(self.pairs, val=False)
        kinds = self.group * 2 + self.exclusive
        firsts = {int(kind): number for kind, number in zip(kinds[::-1], self.numbers[::-1], strict=True)}
        self.alike = [(kinds == kind, number) for kind, number in firsts.items()]
        """Hosts that one policy treats alike, each with the number of one of them."""
        self.shared = _shared(fleet, self.numbers)
        self.has_groups = len(set(self.group.tolist())) > 1
        self.primary_kind: Integers = np.zeros(count, dtype=np.int64)
        self.standby_kind: Integers = np.zeros(count, dtype=np.int64)
        """Hosts of one kind are in the same state, as far as a new primary or a new standby can tell."""
        self._kinds: dict[object, int] = {}
        self._noted: set[int] = set()
        self._facts = [_facts_of(host) for host in hosts]
        known = statistics([fleet.hosts[at] for at in fleet.scope], [fleet.states[at] for at in fleet.scope])
        self.fixed = [
            (at, known[at].total) for at, term in enumerate(TERMS) if term.kind in {"sum offline", "pairs"}
        ]
        """Terms that a new machine without tags on a host that is online does not change, and their sums."""
        self.twins = dict(TWINS)
        """Terms whose values are those of another one on every host; a new machine changes both alike."""
        self.is_same_later = True
        """Whether hosts hold later what they hold now, so that no test about later tells anything new."""
        self.read(fleet, self.numbers)

    def note(self, numbers: Iterable[int]) -> None:
        """Note that some hosts have changed."""
        self._noted.update(numbers)

    def renewed(self, fleet: Fleet) -> "Columns":
        """Return the columns with all hosts read again that were noted."""
        if self._noted:
            self.read(fleet, self._noted)
            self._noted.clear()
        return self

    def read(self, fleet: Fleet, numbers: Iterable[int]) -> None:
        """Read some hosts again."""
        for number in numbers:
            at = self.position[number]
            host, state = fleet.hosts[number], fleet.states[number]
            now, later = state.now, state.later
            self._read_values(at, host, state)
            self._held[:, at] = (
                now.memory_free, now.disk_free, now.cpu, now.spindles_free,
                later.memory_free, later.disk_free, later.cpu, later.spindles_free,
                state.reserved, state.fails, len(state.primaries) + len(state.standbys),
            )  # fmt: skip
            self._busy[:, at] = (now.spindles, later.spindles)
            self.is_same_later = self.is_same_later and now == later
            values = self.values[:, at].tolist()
            for twin in [twin for twin, other in self.twins.items() if values[twin] != values[other]]:
                del self.twins[twin]
            self.peers[:, at] = 0
            for primary, memory in state.peers.items():
                row = self.position.get(primary)
                if row is not None:
                    self.peers[row, at] = memory
            self._set_kinds(at, state)
            free, free_later = (held.memory_free - self._floors[at] for held in (now, later))
            kept = UNBOUNDED if state.fails else free - state.reserved
            self.fails[at], self.room[at], self.room_kept[at] = state.fails, free, kept
            self.room_as_primary[at] = min(free, kept, free_later)
            self.room_as_standby[at] = min(free, free_later)
            self.room_for_pair[:, at] = UNBOUNDED if state.fails else free - self.peers[:, at]

    def _share_of(self, hosts: Sequence[Host]) -> None:
        """Note what values are shares of, and what they are where there is nothing."""
        shape = len(TERMS), len(hosts)
        self._wholes, self._speeds, self._otherwise = np.ones(shape), np.ones(shape), np.zeros(shape)
        self._is_nothing = np.zeros(shape, dtype=bool)
        every = self.memory_whole, self.disk_whole, self.cpu_whole, self.spindles_whole, self.memory
        for terms, whole in zip(SHARES, every, strict=True):
            self._wholes[terms], self._is_nothing[terms] = whole.amounts, whole.is_nothing
        self._otherwise[SHARES[1]] = 1.0
        self._speeds[SHARES[2]] = self.cpu_speed
        self._any_speed = bool((self.cpu_speed != 1).any())
        self._any_nothing = bool(self._is_nothing.any())

    def shares(self, amounts: Floats, index: Index) -> Floats:
        """Return amounts as values; the index tells of which terms and at which places they are."""
        found: Floats = amounts / self._wholes[index]
        if self._any_speed:
            found /= self._speeds[index]
        if self._any_nothing:
            found = np.where(self._is_nothing[index], self._otherwise[index], found)
        return found

    def _read_values(self, at: int, host: Host, state: HostState) -> None:
        """Read the values of all terms of a host: shares of amounts, or sums."""
        now, later = state.now, state.later
        disk, disk_later = now.disk_free, later.disk_free
        if host.exclusive:
            disk, disk_later = now.spindles_free, later.spindles_free
        self.amounts[:, at] = (
            now.memory_free, disk, 0, state.reserved, 0, 0, now.cpu, *state.load, 0, now.spindles,
            later.memory_free, disk_later, later.cpu, later.spindles, 0, 0, state.reserved,
        )  # fmt: skip
        values = self.shares(self.amounts[:, at], (slice(None), at))
        values[SUMS] = [TERMS[term].value(host, state) for term in SUMS]
        self.values[:, at] = values

    def _set_kinds(self, at: int, state: HostState) -> None:
        """Number the state of a host, once as a primary and once as a standby."""
        facts, now, later = self._facts[at], state.now, state.later
        primary = facts, now, later, state.load, state.fails
        disks = now.disk_free, now.spindles, now.spindles_free
        disks_later = later.disk_free, later.spindles, later.spindles_free
        standby = facts, disks, disks_later, state.load.disk, state.reserved, state.fails
        self.primary_kind[at] = self._kinds.setdefault(primary, len(self._kinds))
        self.standby_kind[at] = self._kinds.setdefault(standby, len(self._kinds))


class Whole:
    """What shares are of; where there is nothing, a share is a fixed value."""

    def __init__(self, amounts: Floats) -> None:
        self.is_nothing: Booleans = amounts == 0
        self.any_nothing = bool(self.is_nothing.any())
        self.amounts: Floats = np.where(self.is_nothing, 1.0, amounts)

    def units(self) -> Floats:
        """Return the share of one unit, 0 where there is nothing."""
        units: Floats = np.where(self.is_nothing, 0.0, 1.0 / self.amounts)
        return units

    def share(self, part: Integers | Floats, otherwise: float = 0.0) -> Floats:
        """Return parts of it as shares."""
        shares: Floats = part / self.amounts
        if self.any_nothing:
            shares[..., self.is_nothing] = otherwise
        return shares


def _whole(amounts: Iterable[float]) -> Whole:
    return Whole(_floats(amounts))


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)


def _floats(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)


def _facts_of(host: Host) -> tuple[object, ...]:
    """Return what never changes of a host and counts for scores."""
    sizes = host.memory, host.memory_whole, host.disk, host.cpu, host.cpu_speed
    disks = host.exclusive, host.spindles, host.spindles_high
    return host.group, host.locations, sizes, disks


def _shared(fleet: Fleet, numbers: list[int]) -> Floats | None:
    """Return how many failure domains each pair of hosts has in common; None where there are no domains."""
    places = [fleet.hosts[number].locations for number in numbers]
    if not any(places):
        return None
    return np.array([[float(len(one & other)) for other in places] for one in places])
