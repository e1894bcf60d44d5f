"""How nodes are emptied: who moves where, in waves that disruption budgets allow, and who cannot move.

The nodes are cordoned first, as a drain does: they take nothing new, yet still count where replicas are
spread. A wave is evicted together and placed anew by priority, then the largest first; once it runs again,
the budgets allow the next wave. What finds no place goes back and is tried again after later waves: a
neighbour that it must be near may have moved by then.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.node_columns import CORDON
from ullage.engine.placement.shapes import size_of
from ullage.engine.redundancy.budgets import Budget, Budgets, amount_of
from ullage.engine.redundancy.daemons import is_daemon
from ullage.engine.redundancy.local_volumes import volume_only_on
from ullage.engine.redundancy.losses import is_unowned, why_nowhere
from ullage.engine.steps import Steps, tell
from ullage.engine.trial import Trial
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.plan import Plan, Refusal, Step

WAVES_MAX: Final = 100_000
REPLICAS_MORE_MAX: Final = 100
"""More replicas than there are by so many are not called a remedy."""
OF_THE_NODE: Final = "Node/"
"""Owner of mirror pods: parts of the node itself."""


class Drain(NamedTuple):
    """How nodes are emptied: waves of steps, who is refused, and what stays or goes by itself.

    `daemons` and `mirrors` belong to their node and stay; `ending` workloads go by themselves; `unowned` are
    pods that nobody starts again. `budgets` are those of the workloads that are to move.
    """

    nodes: tuple[str, ...]
    waves: tuple[tuple[Step, ...], ...]
    refusals: tuple[Refusal, ...]
    daemons: tuple[str, ...]
    mirrors: tuple[str, ...]
    ending: tuple[str, ...]
    unowned: tuple[str, ...]
    budgets: tuple[Budget, ...]

    def plan(self, snapshot: Snapshot) -> Plan:
        """Return the moves in order as a plan."""
        steps = tuple(step for wave in self.waves for step in wave)
        return Plan("drain", snapshot.revision, snapshot.policy.name, steps, self.refusals)


def drain(
    columns: Columns, names: Collection[str], placement: str = "spread", told: Steps | None = None
) -> Drain:
    """Return how these nodes are emptied together."""
    snapshot = columns.snapshot
    unknown = sorted(set(names) - set(columns.node_index))
    if unknown:
        raise InputError(f"node {unknown[0]} is unknown", remedy="name a node of the cluster")
    cordoned = tuple(_cordoned(snapshot.nodes[name]) for name in sorted(set(names)))
    emptied = columns.without_standby().copy().advance(Delta(nodes=cordoned))
    return _Draining(emptied, set(names), placement, told).run()


def _cordoned(node: Node) -> Node:
    taints = node.taints if CORDON in node.taints else (*node.taints, CORDON)
    return msgspec.structs.replace(node, state="cordoned", taints=taints) if node.state == "ready" else node


class _Draining:
    """One drain, on a trial of its own."""

    def __init__(self, columns: Columns, names: set[str], placement: str, told: Steps | None) -> None:
        self._trial = Trial(columns, placement)
        self._told = told
        self._placed = 0
        self._names = tuple(sorted(names))
        self._rows = {self._trial.row_of[name] for name in names}
        self._budgets = Budgets(columns.snapshot)
        wholes = self._trial.wholes()
        there = [each for each in columns.snapshot.workloads if each.holds_capacity and each.node in names]
        self._promised = [each for each in there if each.promised]
        self._daemons = [each for each in there if is_daemon(each) and not each.promised]
        self._ending = [each for each in there if not is_daemon(each) and each.terminating]
        moving = [each for each in there if not is_daemon(each) and not each.terminating]
        self._moving = sorted(
            moving,
            key=lambda each: (-each.priority, -size_of(self._trial.shape_of(each), wholes), each.key),
        )

    def run(self) -> Drain:
        """Return the waves, and who is refused."""
        waves, stuck = self._waves([each for each in self._moving if not self._blocked(each)])
        refusals = [
            self._blocked(each) or stuck[each.key] for each in self._moving if self._stays(each, stuck)
        ]
        refusals += [why_promised(each) for each in self._promised]
        concerned = sorted({number for each in self._moving for number in self._budgets.of(each)})
        mirrors = [each.key for each in self._daemons if each.owner.startswith(OF_THE_NODE)]
        return Drain(
            self._names,
            tuple(waves),
            tuple(each for each in refusals if each is not None),
            tuple(each.key for each in self._daemons if each.key not in mirrors),
            tuple(mirrors),
            tuple(each.key for each in self._ending),
            tuple(sorted(each.key for each in self._moving if is_unowned(each))),
            tuple(self._budgets.all[number] for number in concerned),
        )

    def _stays(self, workload: Workload, stuck: dict[str, Refusal]) -> bool:
        return workload.key in stuck or self._blocked(workload) is not None

    def _blocked(self, workload: Workload) -> Refusal | None:
        """Return why a workload may not even be evicted."""
        found = [self._budgets.all[number] for number in self._budgets.of(workload)]
        if len(found) > 1:
            listed = " and ".join(each.key for each in found)
            reason = (
                f"it is protected by {len(found)} budgets ({listed}), and the eviction of such is refused"
            )
            return Refusal(workload.key, 1, reason, remedy="let one budget alone select it")
        if found and not found[0].allowed:
            return Refusal(workload.key, 1, why_blocked(found[0]), remedy=how_to_unblock(found[0]))
        return None

    def _waves(self, moving: Sequence[Workload]) -> tuple[list[tuple[Step, ...]], dict[str, Refusal]]:
        """Return waves of moves, and why the others find no place."""
        waves: list[tuple[Step, ...]] = []
        waiting, stuck = list(moving), dict[str, Refusal]()
        returned: list[Workload] = []
        moved = False
        while waiting and len(waves) < WAVES_MAX:
            wave, waiting = self._next_wave(waiting)
            steps, left = self._move(wave, len(waves) + 1)
            moved = moved or bool(steps)
            if steps:
                waves.append(tuple(steps))
            returned += left
            if not waiting and moved:
                waiting, returned, moved = returned, [], False
        for each in (*returned, *waiting):
            stuck[each.key] = self._why_stuck(each)
        return waves, stuck

    def _next_wave(self, waiting: Sequence[Workload]) -> tuple[list[Workload], list[Workload]]:
        """Return those that may be evicted at once, and the rest."""
        left = [budget.allowed for budget in self._budgets.all]
        wave, rest = [], []
        for each in waiting:
            numbers = self._budgets.of(each)
            if all(left[number] for number in numbers):
                for number in numbers:
                    left[number] -= 1
                wave.append(each)
            else:
                rest.append(each)
        return wave, rest

    def _move(self, wave: Sequence[Workload], number: int) -> tuple[list[Step], list[Workload]]:
        """Evict a wave and place it anew; return the moves, and those that went back."""
        trial = self._trial
        for each in wave:
            trial.evict(each)
        steps: list[Step] = []
        waiting, placed = list(wave), True
        while waiting and placed:
            left = [each for each in waiting if not self._place(each, number, steps)]
            placed = len(left) < len(waiting)
            waiting = left
        for each in waiting:
            trial.place(trial.shape_of(each), trial.row_of[each.node])
        return steps, waiting

    def _place(self, workload: Workload, number: int, steps: list[Step]) -> bool:
        """Put an evicted workload on the best node, if there is one."""
        trial = self._trial
        shape = trial.shape_of(workload)
        row = trial.pick(shape)
        if row < 0 or row in self._rows:
            return False
        trial.place(shape, row)
        self._placed += 1
        tell(self._told, "workloads moved", self._placed, len(self._moving))
        node = trial.nodes[row].name
        evidence = f"wave {number}{self._budget_words(workload)}; {self._room_words(row, workload)}"
        steps.append(Step("move", workload.key, node, workload.node, shape.requests, 1, evidence))
        return True

    def _budget_words(self, workload: Workload) -> str:
        found = [self._budgets.all[number] for number in self._budgets.of(workload)]
        return f", budget {found[0].key} allows {found[0].allowed} at a time" if found else ""

    def _room_words(self, row: int, workload: Workload) -> str:
        """Return what the chosen node still has of what a workload takes, once it is there."""
        trial = self._trial
        types = trial.columns.snapshot.resource_types
        left = []
        for column, _ in trial.shape_of(workload).takings:
            name = trial.columns.resources[column]
            if trial.room.bounded[column, row]:
                left.append(f"{types[name].readable(int(trial.room.free[column, row]))} {name}")
        return f"{trial.nodes[row].name} has {', '.join(left) or 'no bound'} left then"

    def _why_stuck(self, workload: Workload) -> Refusal:
        """Return why a workload finds no place on the other nodes."""
        trial = self._trial
        local = volume_only_on(trial, workload, self._rows)
        if local:
            remedy = "move its data first, or delete the claim if it may start empty"
            return Refusal(workload.key, 1, local, remedy=remedy)
        mark = trial.mark()
        trial.evict(workload)
        back = trial.pick(trial.shape_of(workload))
        refusal = why_nowhere(trial, trial.shape_of(workload), workload)
        trial.undo(mark)
        if back in self._rows:
            reason = f"it tolerates the cordon, so it may be started on {trial.nodes[back].name} again"
            refusal = Refusal(workload.key, 1, reason, remedy="stop it, or taint the node with NoExecute")
        return refusal


def why_promised(workload: Workload) -> Refusal:
    """Return why what stands for a promise does not leave its node."""
    reason = f"it is promised on node {workload.node}, and does not run yet"
    remedy = f"release its reservation (ullage ledger show --capacity node/{workload.node}), or let it expire"
    return Refusal(workload.key, 1, reason, remedy=remedy)


def why_blocked(budget: Budget) -> str:
    """Return why a budget allows no eviction."""
    if budget.problem:
        return f"budget {budget.key} allows no eviction: {budget.problem}"
    if budget.stated is not None and budget.counted > 0:
        said = f"the cluster itself states 0, though {budget.healthy} of {budget.expected} run"
        return f"budget {budget.key} allows no eviction: {said} and {budget.desired} are needed"
    return f"budget {budget.key} allows no eviction: {budget.healthy} run and {budget.desired} are needed"


def how_to_unblock(budget: Budget) -> str:
    """Return what would make a budget allow an eviction."""
    if budget.problem:
        return "state minAvailable as a number"
    if budget.stated is not None and budget.counted > 0:
        return "wait until all of its pods are ready"
    missing = budget.desired - budget.healthy + 1
    ways = []
    if 0 < missing <= budget.expected - budget.healthy:
        ways.append(f"get {missing} more of its pods to run")
    more = _replicas_that_help(budget)
    if more:
        ways.append(f"run {more} more of its replicas")
    if budget.max_unavailable and budget.healthy:
        ways.append(f"set its maxUnavailable to {budget.expected - budget.healthy + 1}")
    elif budget.healthy:
        ways.append(f"set its minAvailable to {budget.healthy - 1}")
    return ", or ".join(ways) or "get some of its pods to run, and let it demand fewer"


def _replicas_that_help(budget: Budget) -> int:
    """Return how many more replicas let a budget allow one eviction; 0 where each raises what it demands."""
    if not budget.min_available:
        return 0
    for more in range(1, budget.expected + REPLICAS_MORE_MAX):
        if budget.healthy + more > amount_of(budget.min_available, budget.expected + more):
            return more
    return 0
