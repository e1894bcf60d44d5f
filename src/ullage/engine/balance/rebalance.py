"""A cluster of any source made more even: moves with what each gains and costs, group by group.

The search is that of fleet and score. What a snapshot knows beyond that is asked before a move is taken: the
placement rules of Kubernetes, on a trial that goes along; disruption budgets; and whether the move would make
redundancy worse, of one host for another or of the group as a whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Final, Literal, NamedTuple

from ullage.engine.balance.bars import Bars
from ullage.engine.balance.candidates import Balancing, Step
from ullage.engine.balance.facts import NOWHERE, Machine, View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import evacuable
from ullage.engine.balance.moves import COMMANDS, Move, Moved
from ullage.engine.balance.of_snapshot import MEMORY, cluster_of
from ullage.engine.balance.placement import Placement
from ullage.engine.balance.score import Term, values_of, weighted, with_weights
from ullage.engine.balance.search import balance
from ullage.engine.balance.state import HostState
from ullage.engine.columns import RulesByPlace
from ullage.model.cluster import Snapshot, Workload
from ullage.model.settings import RATIO_MAX, rules_for

Cost = Literal["migration", "restart", "disk copy"]
COPYING: Final = frozenset(("r", "rf", "frf", "fr"))
"""Moves that copy all disks of a machine."""
MOVES_MAX: Final = 10_000
GAIN_PARTS: Final = 10
ALIKE_MAX: Final = 2
"""Of machines that are all the same, so many are looked at."""
REFUSED_MAX: Final = 10_000
"""Moves that are found and then refused, after which a search ends."""


class Wishes(NamedTuple):
    """What a user wants of balancing: weights of terms by name, how much may be moved, and what is worth it.

    Without `gain_min` a move is worth it that gains a tenth of a node's share of all that is uneven.
    """

    weights: Mapping[str, float] = {}
    moves_max: int = MOVES_MAX
    disk_moves: bool = True
    groups: tuple[str, ...] = ()
    gain_min: float | None = None


class TermChange(NamedTuple):
    """A term of the score: its weight, and its value before and after."""

    name: str
    weight: float
    before: float
    after: float


class FoundMove(NamedTuple):
    """One move: what is done to which workload, where it is before and after, what that costs and gains.

    Moves of one set may be made at the same time; standbys are empty where there are none. `disk_bytes` is
    what has to be copied.
    """

    workload: str
    action: str
    from_node: str
    from_standby: str
    to_node: str
    to_standby: str
    cost: Cost
    disk_bytes: int
    gain: float
    score: float
    set_number: int


class GroupBalance(NamedTuple):
    """What balancing makes of a group.

    `failing` counts nodes that could not take over from every other, `not_evacuable` nodes whose workloads
    have no other place: None where placement rules decide that, which only a loss of each node can tell.
    """

    group: str
    score_before: float
    score_after: float
    terms: tuple[TermChange, ...]
    moves: tuple[FoundMove, ...]
    failing_before: int
    failing_after: int
    not_evacuable_before: int | None
    not_evacuable_after: int | None
    refused: int


def fleet_of(snapshot: Snapshot, offline: Sequence[str] = ()) -> Fleet:
    """Return a snapshot as a fleet, under the rule for filling that its policy states."""
    rules = rules_for(snapshot.policy, snapshot.resource_types)
    stays = [workload.key for workload in snapshot.workloads if _stays(workload)]
    by_place = RulesByPlace(snapshot)
    own = {name for layer in snapshot.policy.layers for name in layer.nodes}
    ratios = {node.name: by_place.of(node).ratio(MEMORY) for node in snapshot.nodes if node.name in own}
    return Fleet(
        cluster_of(snapshot),
        View(
            exact=rules.fill == "exact",
            memory_ratios={
                name: Fraction(RATIO_MAX) if each is None else each for name, each in ratios.items()
            },
            ignores_load=True,
            excluded=frozenset(stays),
            offline=frozenset((*offline, *(each.name for each in snapshot.nodes if each.state == "offline"))),
        ),
    )


def _stays(workload: Workload) -> bool:
    """Whether nobody would start a workload again: a pod without an owner."""
    return workload.instance is None and workload.kind == "Pod" and not workload.owner


def rebalance(snapshot: Snapshot, wishes: Wishes) -> list[GroupBalance]:
    """Return for each group, by name, the moves that make it more even, and what they change."""
    fleet = fleet_of(snapshot)
    terms = with_weights(wishes.weights)
    found = []
    left = wishes.moves_max
    rules = Placement(snapshot, fleet) if has_rules(snapshot) else None
    for number, group in sorted(enumerate(fleet.cluster.groups), key=lambda each: each[1].name):
        if wishes.groups and group.name not in wishes.groups:
            continue
        part = fleet.of_group(number)
        if part.scope:
            found.append(_Group(snapshot, part, terms, rules).balanced(group.name, wishes, left))
            left -= len(found[-1].moves)
    return found


def has_rules(snapshot: Snapshot) -> bool:
    """Whether workloads are placed by more than what hosts hold: all but Ganeti's are."""
    return any(workload.instance is None for workload in snapshot.workloads)


def found_moves(
    snapshot: Snapshot, fleet: Fleet, sets: Iterable[Sequence[Step]], score: float
) -> Iterator[FoundMove]:
    """Yield moves in sets as they are told; `score` is that of the fleet before the first."""
    names = [*(host.name for host in fleet.hosts), ""]
    for set_number, steps in enumerate(sets, 1):
        for step in steps:
            machine = fleet.machines[step.machine]
            cost, disk_bytes = cost_of(snapshot, machine, step.move)
            yield FoundMove(
                machine.name,
                COMMANDS[step.move.kind].format(names[step.move.target]),
                names[step.before.primary],
                names[step.before.standby],
                names[step.place.primary],
                names[step.place.standby],
                cost,
                disk_bytes,
                score - step.score,
                step.score,
                set_number,
            )
            score = step.score


def cost_of(snapshot: Snapshot, machine: Machine, move: Move) -> tuple[Cost, int]:
    """Return what a move costs, and what it copies: disks that only its hosts reach go with a machine."""
    if move.kind in COPYING or (move.kind == "fa" and machine.local and machine.disk):
        return "disk copy", machine.disk
    workload = snapshot.workloads.get(machine.name)
    return ("restart" if workload is None or workload.instance is None else "migration"), 0


class _Group:
    """The search in one group."""

    def __init__(
        self, snapshot: Snapshot, fleet: Fleet, terms: tuple[Term, ...], rules: Placement | None
    ) -> None:
        self._snapshot = snapshot
        self._fleet = fleet
        self._terms = terms
        self._rules = rules
        if rules is not None:
            rules.begin()
        self.refused = 0

    def balanced(self, name: str, wishes: Wishes, moves_max: int) -> GroupBalance:
        """Return what balancing makes of the group: every step is taken on its fleet."""
        fleet = self._fleet
        before = self._values(fleet)
        failing = len(fleet.bad_hosts())
        evacuable_before = self._evacuable(fleet)
        steps = self._search(wishes, moves_max, guarded=False)
        if self._evacuable(steps.fleet) < evacuable_before:
            steps = self._search(wishes, moves_max, guarded=True)
        after = self._values(steps.fleet)
        start = weighted(before, self._terms)
        return GroupBalance(
            name,
            start,
            weighted(after, self._terms),
            tuple(
                TermChange(term.name, term.weight, *values)
                for term, *values in zip(self._terms, before, after, strict=True)
            ),
            tuple(found_moves(self._snapshot, fleet, self._sets(steps.taken), start)),
            failing,
            len(steps.fleet.bad_hosts()),
            self._not_evacuable(evacuable_before),
            self._not_evacuable(self._evacuable(steps.fleet)),
            self.refused,
        )

    def _values(self, fleet: Fleet) -> list[float]:
        hosts = [fleet.hosts[number] for number in fleet.scope]
        return values_of(hosts, [fleet.states[number] for number in fleet.scope], self._terms)

    def _evacuable(self, fleet: Fleet) -> int:
        """Return how many hosts can be evacuated; where placement rules decide it, all count as such."""
        return len(evacuable(fleet)) if self._rules is None else len(fleet.scope)

    def _not_evacuable(self, count: int) -> int | None:
        return len(self._fleet.scope) - count if self._rules is None else None

    def _search(self, wishes: Wishes, moves_max: int, *, guarded: bool) -> "_Steps":
        """Return the moves; of machines that are all the same only some are looked at, while these last."""
        fleet = self._fleet.copy()
        bars = self._rules.bars() if self._rules else Bars()
        guard = _Guard(fleet, self._rules, self._evacuable if guarded else None)
        kind_of = self._rules.kind_of if self._rules else [0] * len(fleet.machines)
        options = Balancing(
            disk_moves=wishes.disk_moves,
            min_score=-inf,
            min_gain=self._gain_min() if wishes.gain_min is None else wishes.gain_min,
            min_gain_limit=inf,
        )
        taken: list[Step] = []
        goes_on = True
        while goes_on and len(taken) < moves_max:
            left = _Alike(fleet, self._fleet.subjects, kind_of)
            fleet.subjects = left.first
            goes_on = False
            options = options._replace(moves_max=moves_max - len(taken))
            try:
                for step in balance(fleet, options, self._terms, bars=bars, accepts=guard.accepts):
                    taken.append(step)
                    goes_on = left.are_used_up(step.machine)
                    if goes_on:
                        break
            except _EnoughError:
                goes_on = False
        self.refused = guard.refused
        return _Steps(fleet, taken)

    def _gain_min(self) -> float:
        """Return what a move must gain to be worth it: a tenth of a host's share of all that is uneven."""
        uneven = [
            term.weight * value
            for term, value in zip(self._terms, self._values(self._fleet), strict=True)
            if term.kind == "deviation"
        ]
        return sum(uneven) / (GAIN_PARTS * len(self._fleet.scope))

    def _sets(self, steps: Sequence[Step]) -> Iterator[list[Step]]:
        """Yield moves that may run at once: no host twice, and no more of a budget than it allows."""
        budgets = self._rules.budgets if self._rules else None
        chosen: list[Step] = []
        touched: set[int] = set()
        spent: dict[int, int] = {}
        for step in steps:
            hosts = {*step.before, *step.place} - {NOWHERE}
            of = (
                budgets.of(self._snapshot.workloads[self._fleet.machines[step.machine].name])
                if budgets
                else ()
            )
            full = (
                any(spent.get(number, 0) >= budgets.all[number].allowed for number in of)
                if budgets
                else False
            )
            if chosen and (full or not touched.isdisjoint(hosts)):
                yield chosen
                chosen, touched, spent = [], set(), {}
            chosen.append(step)
            touched |= hosts
            for number in of:
                spent[number] = spent.get(number, 0) + 1
        if chosen:
            yield chosen


class _Steps(NamedTuple):
    """Moves that were taken, and the fleet after them."""

    fleet: Fleet
    taken: list[Step]


class _Alike:
    """Machines that are the same in all that balancing looks at, and where they are: some stand for all."""

    def __init__(self, fleet: Fleet, subjects: Sequence[int], kind_of: Sequence[int]) -> None:
        self._key_of: dict[int, object] = {}
        self._left: dict[object, int] = {}
        self._others: set[object] = set()
        first = []
        for number in subjects:
            _, _, *size, _ = fleet.machines[number]
            key = (fleet.places[number], kind_of[number], *size)
            count = self._left.get(key, 0)
            if count >= ALIKE_MAX:
                self._others.add(key)
                continue
            self._left[key] = count + 1
            self._key_of[number] = key
            first.append(number)
        self.first = tuple(first)

    def are_used_up(self, number: int) -> bool:
        """Whether the last of those that stand for others has moved with this one."""
        key = self._key_of.pop(number, None)
        if key is None:
            return False
        self._left[key] -= 1
        return self._left[key] == 0 and key in self._others


class _EnoughError(Exception):
    """So many moves were refused that the search ends."""


class _Guard:
    """What is asked before a move is taken."""

    def __init__(
        self, fleet: Fleet, rules: Placement | None, evacuable_of: Callable[[Fleet], int] | None
    ) -> None:
        self._fleet = fleet
        self._rules = rules
        self._evacuable_of = evacuable_of
        self._evacuable = evacuable_of(fleet) if evacuable_of else 0
        self.refused = 0

    def accepts(self, step: Step, moved: Moved) -> bool:
        """Whether a move may be taken; the trial goes along with it then."""
        if self.refused >= REFUSED_MAX:
            raise _EnoughError
        accepted = self._is_as_redundant(step, moved) and self._is_placed(step)
        self.refused += not accepted
        return accepted

    def _is_as_redundant(self, step: Step, moved: Moved) -> bool:
        fleet = self._fleet
        for number, state in moved.changed.items():
            if _shortage(fleet, number, state) > _shortage(fleet, number, fleet.states[number]):
                return False
        if self._evacuable_of is None:
            return True
        after = fleet.copy()
        after.accept(step.machine, moved)
        return self._evacuable_of(after) >= self._evacuable

    def _is_placed(self, step: Step) -> bool:
        return self._rules is None or self._rules.move(self._fleet.machines[step.machine].name, step)


def _shortage(fleet: Fleet, number: int, state: HostState) -> tuple[bool, int]:
    """Return whether a host could not take over from every other, and how much memory it lacks for that."""
    floor = fleet.hosts[number].memory_floor
    return state.fails, max(0, floor - (state.now.memory_free - state.reserved)) if state.fails else 0
