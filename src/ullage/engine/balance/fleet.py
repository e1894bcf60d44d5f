"""A fleet: hosts, machines and where these are, as one state that moves and allocations change."""

from ullage.engine.balance.facts import NOWHERE, Host, Machine, View, hosts_of, machines_of
from ullage.engine.balance.loaded import empty_state, loaded_primary, loaded_standby, with_memory
from ullage.engine.balance.moves import Hosts, Move, Moved, Place, apply_move
from ullage.engine.balance.score import score_of
from ullage.engine.balance.state import Failure, HostState
from ullage.model.ganeti import GanetiCluster


class Fleet:
    """A cluster of virtual machines that is looked at in one way; copies share what never changes.

    `scope` are the hosts that count, by number, and `subjects` the machines: all, or those of one group.
    """

    def __init__(self, cluster: GanetiCluster, view: View | None = None) -> None:
        self.cluster = cluster
        self.view = view or View()
        self.hosts: list[Host] = hosts_of(cluster, self.view)
        self.machines: list[Machine] = machines_of(cluster, self.view)
        numbers = {host.name: host.number for host in self.hosts}
        self.places: list[Place] = [
            Place(numbers[each.primary], numbers[each.secondary] if each.secondary else NOWHERE)
            for each in cluster.instances
        ]
        self.states: list[HostState] = [empty_state(host) for host in self.hosts]
        self.scope: tuple[int, ...] = tuple(range(len(self.hosts)))
        self.subjects: tuple[int, ...] = tuple(range(len(self.machines)))
        self._load()

    def _load(self) -> None:
        """Put every machine where it is."""
        cluster = Hosts(self.hosts, self.states)
        used = [0] * len(self.hosts)
        peers: list[dict[int, int]] = [{} for _ in self.hosts]
        for machine, place in zip(self.machines, self.places, strict=True):
            at, standby = place
            host = self.hosts[at]
            self.states[at] = loaded_primary(host, self.states[at], machine, cluster.shared(place))
            used[at] += machine.memory if machine.uses_memory else 0
            if standby != NOWHERE:
                self.states[standby] = loaded_standby(self.hosts[standby], self.states[standby], machine)
                needed = machine.memory if machine.reserves_memory and not machine.forthcoming else 0
                if not machine.forthcoming:
                    peers[standby][at] = peers[standby].get(at, 0) + needed
        for host in self.hosts:
            at = host.number
            self.states[at] = with_memory(host, self.states[at], used[at], peers[at])

    def copy(self) -> "Fleet":
        """Return a fleet of its own in the same state."""
        other = object.__new__(Fleet)
        other.cluster, other.view, other.hosts = self.cluster, self.view, self.hosts
        other.scope, other.subjects = self.scope, self.subjects
        other.machines, other.places, other.states = list(self.machines), list(self.places), list(self.states)
        return other

    def of_group(self, group: int) -> "Fleet":
        """Return a copy in which the hosts of one group count, and the machines whose primary is there.

        Standbys of machines of other groups stay where they are.
        """
        other = self.copy()
        other.scope = tuple(number for number in self.scope if self.hosts[number].group == group)
        inside = set(other.scope)
        other.subjects = tuple(each for each in self.subjects if self.places[each].primary in inside)
        return other

    @property
    def here(self) -> Hosts:
        """All hosts and what they hold."""
        return Hosts(self.hosts, self.states)

    def score(self) -> float:
        """Return the score of the hosts that count."""
        return score_of(
            [self.hosts[number] for number in self.scope], [self.states[number] for number in self.scope]
        )

    def add(self, machine: Machine, placed: Moved) -> Machine:
        """Take in a machine that was allocated; return it with its number.

        `placed.changed` holds it as a machine without a number, which it then gets.
        """
        numbered = machine._replace(number=len(self.machines))
        self.machines.append(numbered)
        self.places.append(placed.place)
        self.subjects = (*self.subjects, numbered.number)
        for at, state in placed.changed.items():
            self.states[at] = state._replace(
                primaries=_numbered(state.primaries, numbered.number),
                standbys=_numbered(state.standbys, numbered.number),
            )
        return numbered

    def try_move(self, number: int, move: Move, *, force: bool = False) -> Moved | Failure:
        """Return what would follow from a move of a machine."""
        return apply_move(self.here, self.machines[number], self.places[number], move, force=force)

    def accept(self, number: int, moved: Moved) -> None:
        """Make a move come true."""
        self.places[number] = moved.place
        for at, state in moved.changed.items():
            self.states[at] = state

    def bad_hosts(self) -> list[Host]:
        """Return the hosts, of those that are online, that could not take over from every other."""
        chosen = [self.hosts[number] for number in self.scope]
        return [host for host in chosen if not host.offline and self.states[host.number].fails]

    def bad_machines(self) -> list[int]:
        """Return the machines on these hosts, standbys too, by number."""
        held = [self.states[host.number] for host in self.bad_hosts()]
        return sorted({number for state in held for number in (*state.primaries, *state.standbys)})


def _numbered(numbers: tuple[int, ...], number: int) -> tuple[int, ...]:
    return tuple(number if each == NOWHERE else each for each in numbers)
