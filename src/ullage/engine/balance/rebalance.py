"""A cluster of any source made more even: moves with what each gains and costs, group by group.

The search is that of fleet and score. What a snapshot knows beyond that is asked before a move is taken: the
placement rules of Kubernetes, on a trial that goes along; disruption budgets; and whether the move would make
redundancy worse, of one host for another or of the group as a whole.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np

from ullage.engine.balance.bars import Bars
from ullage.engine.balance.candidates import Balancing, Step
from ullage.engine.balance.facts import NOWHERE, View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import evacuable
from ullage.engine.balance.moves import COMMANDS, Moved
from ullage.engine.balance.of_snapshot import MEMORY, cluster_of
from ullage.engine.balance.score import Term, values_of, weighted, with_weights
from ullage.engine.balance.search import balance
from ullage.engine.balance.state import HostState
from ullage.engine.columns import Columns, RulesByPlace
from ullage.engine.placement.rules import EVERY, Fixed
from ullage.engine.redundancy.budgets import Budgets
from ullage.engine.trial import Trial
from ullage.model.cluster import Snapshot, Workload
from ullage.model.settings import RATIO_MAX, rules_for

Cost = Literal["migration", "restart", "disk copy"]
MOVES_MAX: Final = 10_000
REFUSED_MAX: Final = 10_000
"""Moves that are found and then refused, after which a search ends."""


class Wishes(NamedTuple):
    """What a user wants of balancing: weights of terms by name, and how much may be moved."""

    weights: Mapping[str, float] = {}
    moves_max: int = MOVES_MAX
    disk_moves: bool = True
    groups: tuple[str, ...] = ()


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
    """What balancing makes of a group; `not_evacuable` counts nodes whose workloads have no other place."""

    group: str
    score_before: float
    score_after: float
    terms: tuple[TermChange, ...]
    moves: tuple[FoundMove, ...]
    failing_before: int
    failing_after: int
    not_evacuable_before: int
    not_evacuable_after: int
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
    rules = _Placement(snapshot, fleet) if _has_rules(snapshot) else None
    for number, group in sorted(enumerate(fleet.cluster.groups), key=lambda each: each[1].name):
        if wishes.groups and group.name not in wishes.groups:
            continue
        part = fleet.of_group(number)
        if part.scope:
            found.append(_Group(snapshot, part, terms, rules).balanced(group.name, wishes, left))
            left -= len(found[-1].moves)
    return found


def _has_rules(snapshot: Snapshot) -> bool:
    """Whether workloads are placed by more than what hosts hold: all but Ganeti's are."""
    return any(workload.instance is None for workload in snapshot.workloads)


class _Group:
    """The search in one group."""

    def __init__(
        self, snapshot: Snapshot, fleet: Fleet, terms: tuple[Term, ...], rules: "_Placement | None"
    ) -> None:
        self._snapshot = snapshot
        self._fleet = fleet
        self._terms = terms
        self._rules = rules
        if rules is not None:
            rules.begin()
        self._has_standbys = any(fleet.places[each].standby != NOWHERE for each in fleet.subjects)
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
        count = len(fleet.scope)
        start = weighted(before, self._terms)
        return GroupBalance(
            name,
            start,
            weighted(after, self._terms),
            tuple(
                TermChange(term.name, term.weight, *values)
                for term, *values in zip(self._terms, before, after, strict=True)
            ),
            tuple(self._told(steps.taken, start)),
            failing,
            len(steps.fleet.bad_hosts()),
            count - evacuable_before,
            count - self._evacuable(steps.fleet),
            self.refused,
        )

    def _values(self, fleet: Fleet) -> list[float]:
        hosts = [fleet.hosts[number] for number in fleet.scope]
        return values_of(hosts, [fleet.states[number] for number in fleet.scope], self._terms)

    def _evacuable(self, fleet: Fleet) -> int:
        """Return how many hosts can be evacuated; where there are no standbys all count as such."""
        return len(evacuable(fleet)) if self._has_standbys or self._rules is None else len(fleet.scope)

    def _search(self, wishes: Wishes, moves_max: int, *, guarded: bool) -> "_Steps":
        fleet = self._fleet.copy()
        bars = self._rules.bars() if self._rules else Bars()
        guard = _Guard(fleet, self._rules, self._evacuable if guarded else None)
        options = Balancing(disk_moves=wishes.disk_moves, moves_max=max(0, moves_max))
        taken = list(balance(fleet, options, self._terms, bars=bars, accepts=guard.accepts))
        self.refused = guard.refused
        return _Steps(fleet, taken)

    def _told(self, steps: Sequence[Step], score: float) -> Iterator[FoundMove]:
        fleet = self._fleet
        names = [*(host.name for host in fleet.hosts), ""]
        for set_number, steps_of_set in enumerate(self._sets(steps), 1):
            for step in steps_of_set:
                machine = fleet.machines[step.machine]
                copies = step.move.kind in {"r", "rf", "frf", "fr"}
                yield FoundMove(
                    machine.name,
                    COMMANDS[step.move.kind].format(names[step.move.target]),
                    names[step.before.primary],
                    names[step.before.standby],
                    names[step.place.primary],
                    names[step.place.standby],
                    "disk copy" if copies else "restart" if self._is_pod(machine.name) else "migration",
                    machine.disk if copies else 0,
                    score - step.score,
                    step.score,
                    set_number,
                )
                score = step.score

    def _is_pod(self, key: str) -> bool:
        workload = self._snapshot.workloads.get(key)
        return workload is not None and workload.instance is None

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


class _Guard:
    """What is asked before a move is taken."""

    def __init__(
        self, fleet: Fleet, rules: "_Placement | None", evacuable_of: Callable[[Fleet], int] | None
    ) -> None:
        self._fleet = fleet
        self._rules = rules
        self._evacuable_of = evacuable_of
        self._evacuable = evacuable_of(fleet) if evacuable_of else 0
        self.refused = 0

    def accepts(self, step: Step, moved: Moved) -> bool:
        """Whether a move may be taken; the trial goes along with it then."""
        accepted = self.refused < REFUSED_MAX and self._is_as_redundant(moved) and self._is_placed(step)
        self.refused += not accepted
        return accepted

    def _is_as_redundant(self, moved: Moved) -> bool:
        fleet = self._fleet
        for number, state in moved.changed.items():
            if _shortage(fleet, number, state) > _shortage(fleet, number, fleet.states[number]):
                return False
        if self._evacuable_of is None:
            return True
        after = fleet.copy()
        for number, state in moved.changed.items():
            after.states[number] = state
        return self._evacuable_of(after) >= self._evacuable

    def _is_placed(self, step: Step) -> bool:
        return self._rules is None or self._rules.move(self._fleet.machines[step.machine].name, step)


def _shortage(fleet: Fleet, number: int, state: HostState) -> int:
    """Return how much memory a host lacks to take over from every other."""
    host = fleet.hosts[number]
    return max(0, host.memory_floor - (state.now.memory_free - state.reserved)) if state.fails else 0


class _Placement:
    """The placement rules of a snapshot, on a trial that goes along with the moves that are taken."""

    def __init__(self, snapshot: Snapshot, fleet: Fleet) -> None:
        self._snapshot = snapshot
        self._fleet = fleet
        self.budgets = Budgets(snapshot)
        self._trial = Trial(Columns(snapshot))
        self._start = self._trial.mark()

    def begin(self) -> None:
        """Keep the moves of the groups before."""
        self._start = self._trial.mark()

    def bars(self) -> Bars:
        """Return the nodes that are closed to workloads for good; the trial begins anew."""
        self._trial.undo(self._start)
        return Bars(*self._masks)

    @cached_property
    def _masks(self) -> "tuple[list[int], np.ndarray[tuple[int, int], np.dtype[np.bool_]]]":
        trial = self._trial
        rows = np.array([trial.row_of[host.name] for host in self._fleet.hosts], np.intp)
        kinds: dict[object, int] = {}
        masks = []
        kind_of = []
        for machine in self._fleet.machines:
            workload = self._snapshot.workloads[machine.name]
            protected = any(self.budgets.all[number].allowed < 1 for number in self.budgets.of(workload))
            shape = trial.shape_of(workload)
            key = (shape, protected)
            if key not in kinds:
                kinds[key] = len(kinds)
                fits = shape.open & (not protected)
                for rule in shape.local_rules:
                    if isinstance(rule, Fixed):
                        fits = fits & rule.allows(EVERY)
                masks.append(fits[rows])
            kind_of.append(kinds[key])
        hosts = len(self._fleet.hosts)
        return kind_of, np.array(masks, np.bool_).reshape(len(masks), hosts)

    def move(self, key: str, step: Step) -> bool:
        """Move a workload on the trial where every rule allows it; whether that was so."""
        trial = self._trial
        workload = self._snapshot.workloads[key]
        mark = trial.mark()
        shape = trial.shape_of(workload)
        source = trial.row_of[self._fleet.hosts[step.before.primary].name]
        target = trial.row_of[self._fleet.hosts[step.place.primary].name]
        trial.place(shape, source, -1)
        if source != target and not trial.feasible(shape)[target]:
            trial.undo(mark)
            return False
        trial.place(shape, target)
        return True
