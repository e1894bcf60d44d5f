"""Which group a machine goes to: each is tried, and among those that have room the preferred, most even wins.

A machine goes only where its networks are. Groups that nothing may be put into are tried too, since whoever
asks wants to know what they would have to offer. The last of equals wins.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.engine.balance.allocation import Found, allocable, allocate_pair, allocate_single, pairs_of
from ullage.engine.balance.facts import Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Moved
from ullage.engine.balance.state import FailureKind
from ullage.model.ganeti import GanetiGroup

if TYPE_CHECKING:
    from ullage.engine.balance.global_n1 import Redundancy

ORDER: Final = ("preferred", "last_resort")
"""The policies of groups that take machines, the best first."""
PAIR: Final = 2

Rank = tuple[tuple[float, ...], ...]
"""How good a place is, compared part by part; less is better."""


class Conditions(NamedTuple):
    """What holds for all places: whether soft rules do, what stays redundant, and which hosts are meant."""

    force: bool = False
    redundancy: "Redundancy | None" = None
    restricted: frozenset[str] | None = None


class Best(NamedTuple):
    """The best place for a machine."""

    machine: Machine
    placed: Moved
    rank: Rank


class Solution(NamedTuple):
    """What all places of a group come to: the best, how many are possible, and why the others are not."""

    best: Best | None
    successes: int
    failures: dict[FailureKind, int]


class Tried(NamedTuple):
    """A group by number, and what it has to offer or why it was not tried."""

    group: int
    outcome: Solution | str


class Choice(NamedTuple):
    """All groups that were tried, those that lack a network, the best one, and which were allowed."""

    tried: tuple[Tried, ...]
    unconnected: tuple[int, ...] = ()
    chosen: Tried | None = None
    allowed: tuple[int, ...] | None = None

    @property
    def best(self) -> Best | None:
        """The best place of all."""
        outcome = self.chosen.outcome if self.chosen else None
        return outcome.best if isinstance(outcome, Solution) else None


Solver = Callable[[Fleet, Machine, int, int, Conditions], Solution | str]
"""Returns what a group offers a machine: the fleet, the machine, how many hosts it needs, the group."""


def usual_solution(
    fleet: Fleet, machine: Machine, hosts: int, group: int, conditions: Conditions
) -> Solution | str:
    """Return the place in a group that leaves all hosts that count most even."""
    targets = targets_of(fleet, hosts, group, conditions)
    if isinstance(targets, str):
        return targets
    redundancy, force = conditions.redundancy, conditions.force
    if hosts == PAIR:
        pairs = pairs_of(fleet, targets)
        return solution_of(allocate_pair(fleet, machine, pairs, redundancy=redundancy, force=force))
    return solution_of(allocate_single(fleet, machine, targets, redundancy=redundancy, force=force))


def solution_of(found: Found) -> Solution:
    """Return the outcome of an allocation as that of a group."""
    allocation = found.best
    best = allocation and Best(allocation.machine, allocation.placed, ((allocation.score,),))
    return Solution(best, found.successes, found.failures)


def targets_of(fleet: Fleet, hosts: int, group: int, conditions: Conditions) -> list[int] | str:
    """Return the hosts of a group that a machine may go to, or why there are none."""
    if hosts not in {1, PAIR}:
        return "Unsupported number of nodes, only one or two  supported"
    targets = allocable(fleet, {group}, conditions.restricted)
    if hosts == PAIR:
        return targets if pairs_of(fleet, targets) else "Not enough online nodes"
    return targets or "No online nodes"


def has_networks(group: GanetiGroup, machine: Machine) -> bool:
    """Whether a group has every network that a machine is connected to."""
    return all(network in group.networks for network in machine.instance.networks)


def choose_group(
    fleet: Fleet,
    machine: Machine,
    hosts: int,
    conditions: Conditions,
    *,
    allowed: Collection[int] | None = None,
    solve: Solver = usual_solution,
) -> Choice:
    """Return the best place for a machine in any group that has hosts, or in any of those allowed."""
    present = sorted({host.group for host in fleet.hosts})
    groups = [group for group in present if allowed is None or group in allowed]
    known = fleet.cluster.groups
    connected = [group for group in groups if has_networks(known[group], machine)]
    tried = tuple(Tried(group, solve(fleet, machine, hosts, group, conditions)) for group in connected)
    unconnected = tuple(group for group in groups if group not in connected)
    return Choice(tried, unconnected, _best(known, tried), None if allowed is None else tuple(allowed))


def _best(groups: tuple[GanetiGroup, ...], tried: tuple[Tried, ...]) -> Tried | None:
    def rank(each: Tried) -> tuple[int, Rank]:
        best = each.outcome.best if isinstance(each.outcome, Solution) else None
        return ORDER.index(groups[each.group].allocation), best.rank if best else ()

    possible = [
        each
        for each in reversed(tried)
        if isinstance(each.outcome, Solution)
        and each.outcome.best is not None
        and groups[each.group].allocation in ORDER
    ]
    return min(possible, key=rank, default=None)
