"""A cluster of any source made more even: moves with what each gains and costs, group by group.

The search is that of fleet and score. What a snapshot knows beyond that is asked before a move is taken: the
placement rules of Kubernetes, on a trial that goes along; disruption budgets; and whether the move would make
redundancy worse, of one host for another or of the group as a whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Final, Literal, NamedTuple

from ullage.engine.balance.acceptance import EnoughError, Guard, follow_all
from ullage.engine.balance.alike import Alike
from ullage.engine.balance.bars import Bars
from ullage.engine.balance.by_load import Loads, loads_of, terms_by_load
from ullage.engine.balance.candidates import Balancing, Step
from ullage.engine.balance.facts import NOWHERE, Machine, View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import evacuable
from ullage.engine.balance.loss_watch import Look, LossWatch, watch_of
from ullage.engine.balance.moves import COMMANDS, Move
from ullage.engine.balance.of_snapshot import MEMORY, cluster_of
from ullage.engine.balance.placement import Placement
from ullage.engine.balance.redundancy_watch import Standing
from ullage.engine.balance.score import Term, values_of, weighted, with_weights
from ullage.engine.balance.search import balance, follow
from ullage.engine.columns import RulesByPlace
from ullage.engine.steps import Steps, tell
from ullage.model.cluster import Snapshot, Workload
from ullage.model.settings import RATIO_MAX, rules_for

Cost = Literal["reservation", "migration", "restart", "disk copy"]
"""What is moved: of a machine that is not created yet only its reservation."""
COPYING: Final = frozenset(("r", "rf", "frf", "fr"))
"""Moves that copy all disks of a machine."""
MOVES_MAX: Final = 10_000
GAIN_PARTS: Final = 10
FOUND: Final = "moves at most"
"""What is counted while moves are looked for."""
ROUNDS_MAX: Final = 4
"""Searches for moves after which the loss of no node is worse; the last of them watches all nodes."""


class Wishes(NamedTuple):
    """What a user wants of balancing: weights of terms by name, how much may be moved, and what is worth it.

    Without `gain_min` a move is worth it that gains a tenth of a node's share of all that is uneven. With
    `loads` memory in use counts too, by a weight that grows with the memory ratio of the group.
    """

    weights: Mapping[str, float] = {}
    moves_max: int = MOVES_MAX
    disk_moves: bool = True
    groups: tuple[str, ...] = ()
    gain_min: float | None = None
    loads: Loads | None = None


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
    have no other place. Where placement rules decide that, the moves of all groups count, and it is None in a
    cluster too large to tell. `ended_early` says that there may be more moves.
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
    ended_early: bool


def fleet_of(snapshot: Snapshot, offline: Sequence[str] = (), loads: Loads | None = None) -> Fleet:
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
            ignores_load=loads is None,
            loads=loads_of(snapshot, loads),
            memory_beyond={} if loads is None else loads.beyond,
            excluded=frozenset(stays),
            offline=frozenset((*offline, *(each.name for each in snapshot.nodes if each.state == "offline"))),
        ),
    )


def _stays(workload: Workload) -> bool:
    """Whether nobody would start a workload again: a pod without an owner."""
    return workload.instance is None and workload.kind == "Pod" and not workload.owner


def rebalance(
    snapshot: Snapshot, wishes: Wishes, look: Look | None = None, told: Steps | None = None
) -> list[GroupBalance]:
    """Return for each group, by name, the moves that make it more even, and what they change.

    `look` is how losses that leave somebody without a place are looked at exactly; `told` hears of each step.
    """
    fleet = fleet_of(snapshot, loads=wishes.loads)
    terms = with_weights(wishes.weights)
    found = []
    left = wishes.moves_max
    rules = Placement(snapshot, fleet) if has_rules(snapshot) else None
    watch = watch_of(snapshot, look, told) if rules is not None else None
    for number, group in sorted(enumerate(fleet.cluster.groups), key=lambda each: each[1].name):
        if wishes.groups and group.name not in wishes.groups:
            continue
        part = fleet.of_group(number)
        if part.scope:
            if wishes.loads is not None:
                terms = terms_by_load(snapshot, group.name, wishes.weights)
            searching = _Group(snapshot, part, terms, rules, watch, told=told)
            found.append(searching.balanced(group.name, wishes, left))
            left -= len(found[-1].moves)
    return found if watch is None else _with_losses(found, watch)


def _with_losses(groups: Sequence[GroupBalance], watch: LossWatch) -> list[GroupBalance]:
    """Return groups with how many of their nodes have workloads without another place, before and after."""
    before, after = (watch.failing_by_group(each) for each in (watch.limits or (), watch.verdicts()))
    return [
        each._replace(not_evacuable_before=before[each.group], not_evacuable_after=after[each.group])
        for each in groups
    ]


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
    if machine.forthcoming:
        return "reservation", 0
    if move.kind in COPYING or (move.kind == "fa" and machine.local and machine.disk):
        return "disk copy", machine.disk
    workload = snapshot.workloads.get(machine.name)
    return ("restart" if workload is None or workload.instance is None else "migration"), 0


class _Group:
    """The search in one group."""

    def __init__(
        self,
        snapshot: Snapshot,
        fleet: Fleet,
        terms: tuple[Term, ...],
        rules: Placement | None,
        watch: LossWatch | None,
        *,
        told: Steps | None,
    ) -> None:
        self._snapshot = snapshot
        self._fleet = fleet
        self._terms = terms
        self._rules = rules
        self._watch = watch
        self._told = told
        if rules is not None:
            rules.begin()
        if watch is not None:
            watch.begin()

    def balanced(self, name: str, wishes: Wishes, moves_max: int) -> GroupBalance:
        """Return what balancing makes of the group: every step is taken on its fleet."""
        before = self._values(self._fleet)
        if self._rules is None:
            steps = self._kept_by_hosts(wishes, moves_max)
        else:
            steps = self._kept_by_rules(self._rules, wishes, moves_max)
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
            tuple(found_moves(self._snapshot, self._fleet, self._sets(steps.taken), start)),
            len(self._fleet.bad_hosts()),
            len(steps.fleet.bad_hosts()),
            self._not_evacuable(self._fleet),
            self._not_evacuable(steps.fleet),
            steps.refused,
            steps.ended_early,
        )

    def _values(self, fleet: Fleet) -> list[float]:
        hosts = [fleet.hosts[number] for number in fleet.scope]
        return values_of(hosts, [fleet.states[number] for number in fleet.scope], self._terms)

    def _not_evacuable(self, fleet: Fleet) -> int | None:
        """Return how many hosts cannot be evacuated; where placement rules decide it, hosts do not tell."""
        return len(fleet.scope) - len(evacuable(fleet)) if self._rules is None else None

    def _kept_by_hosts(self, wishes: Wishes, moves_max: int) -> "_Steps":
        """Return moves after which as many hosts can be evacuated as before."""
        steps = self._search(wishes, moves_max)
        if len(evacuable(steps.fleet)) < len(evacuable(self._fleet)):
            steps = self._search(wishes, moves_max, Standing(self._fleet.copy()))
        return steps

    def _kept_by_rules(self, rules: Placement, wishes: Wishes, moves_max: int) -> "_Steps":
        """Return moves after which no loss leaves more without a place, where that can be told."""
        watch = self._watch
        if watch is None:
            return self._search(wishes, moves_max)
        suspects: set[int] = set()
        for number in range(1, ROUNDS_MAX + 1):
            watch.rewind(sorted(suspects))
            steps = self._search(wishes, moves_max)
            worse = watch.worse()
            if not worse:
                return steps
            if watch.is_spent:
                break
            suspects |= set(watch.every_row) if number + 1 == ROUNDS_MAX else set(worse)
        while worse:
            steps = self._first_half(steps, rules, watch)
            worse = watch.worse() if steps.taken else []
        return steps

    def _first_half(self, steps: "_Steps", rules: Placement, watch: LossWatch) -> "_Steps":
        """Return the first half of some moves, and nothing but them taken."""
        taken = steps.taken[: len(steps.taken) // 2]
        fleet = self._fleet.copy()
        for step in taken:
            follow(fleet, step)
        rules.bars()
        watch.rewind()
        follow_all(fleet, taken, rules, watch)
        return _Steps(fleet, taken, steps.refused, ended_early=True)

    def _search(self, wishes: Wishes, moves_max: int, standing: Standing | None = None) -> "_Steps":
        """Return the moves; of machines that are all the same only some are looked at, while these last."""
        fleet = self._fleet.copy()
        bars = self._rules.bars() if self._rules else Bars()
        guard = Guard(fleet, self._rules, standing, self._watch)
        kind_of = self._rules.kind_of if self._rules else [0] * len(fleet.machines)
        options = Balancing(
            disk_moves=wishes.disk_moves,
            min_score=-inf,
            min_gain=self._gain_min() if wishes.gain_min is None else wishes.gain_min,
            min_gain_limit=inf,
        )
        taken: list[Step] = []
        before = wishes.moves_max - moves_max
        tell(self._told, FOUND, before, wishes.moves_max)
        goes_on, ended_early = True, False
        while goes_on and len(taken) < moves_max:
            left = Alike(fleet, self._fleet.subjects, kind_of)
            fleet.subjects = left.first
            goes_on = False
            options = options._replace(moves_max=moves_max - len(taken))
            try:
                for step in balance(fleet, options, self._terms, bars=bars, accepts=guard.accepts):
                    taken.append(step)
                    tell(self._told, FOUND, before + len(taken), wishes.moves_max)
                    goes_on = left.are_used_up(step.machine)
                    if goes_on:
                        break
            except EnoughError:
                goes_on, ended_early = False, True
        return _Steps(fleet, taken, guard.refused, ended_early)

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
            workload = self._fleet.machines[step.machine].name
            of = budgets.of(self._snapshot.workloads[workload]) if budgets else ()
            full = budgets is not None and any(
                spent.get(number, 0) >= budgets.all[number].allowed for number in of
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
    """Moves that were taken, the fleet after them, and how the search went."""

    fleet: Fleet
    taken: list[Step]
    refused: int
    ended_early: bool
