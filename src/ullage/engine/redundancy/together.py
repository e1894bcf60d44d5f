"""Which nodes can be empty at the same time: for maintenance in turn, or to be switched off.

Nodes are emptied one after the other on one trial, and a node is taken back where something finds no other
place. That is quick, but not how a drain goes about it: what comes out is held to a real drain, and nodes are
dropped until that succeeds. A pod that nobody would start again keeps its node from being emptied.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.redundancy.budgets import Budgets
from ullage.engine.redundancy.daemons import is_daemon
from ullage.engine.redundancy.drain import (
    OF_THE_NODE,
    Drain,
    drain,
    how_to_unblock,
    why_blocked,
    why_promised,
)
from ullage.engine.redundancy.losses import is_unowned
from ullage.engine.steps import Steps, counted, tell
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.plan import Refusal

FAILURES_MAX: Final = 64
"""Nodes of a group in a row that cannot be empty beside others, after which no more of it are tried."""
EXPLAINED_MAX: Final = 20
"""Nodes that are drained by themselves to see what keeps them from being empty."""
UNEXPLAINED: Final = "something on it finds no other place"
UNOWNED_REMEDY: Final = "let a Deployment or StatefulSet own it, or delete it"


class Stuck(NamedTuple):
    """A node that cannot be emptied, and what keeps it from that."""

    node: str
    refusals: tuple[Refusal, ...]


class Turns(NamedTuple):
    """Nodes in sets that can be empty at the same time, each as a drain, and those that never can."""

    drains: tuple[Drain, ...]
    stuck: tuple[Stuck, ...]


def in_turns(
    columns: Columns, names: Collection[str], placement: str = "spread", steps: Steps | None = None
) -> Turns:
    """Return nodes in sets that can be emptied together, one set after the other; all return in between."""
    emptying = _Emptying(columns)
    drains: list[Drain] = []
    left = [name for name in names if name not in emptying.fixed]
    stuck = [Stuck(name, tuple(emptying.fixed[name])) for name in names if name in emptying.fixed]
    single: list[str] = []
    while left:
        tell(steps, "nodes given a turn", len(names) - len(left), len(names))
        chosen = emptying.largest(left)
        if not chosen:
            single += left
            break
        found = drained(columns, chosen, placement)
        if found.nodes:
            drains.append(found)
        else:
            single.append(chosen[0])
        gone = {*found.nodes, *single}
        left = [name for name in left if name not in gone]
    for number, name in enumerate(counted(single, len(single), "nodes emptied alone", steps)):
        if number >= EXPLAINED_MAX:
            stuck.append(
                Stuck(name, (Refusal(name, 1, UNEXPLAINED, remedy=f"ullage balance --drain {name}"),))
            )
            continue
        found = drain(columns, [name], placement)
        if found.refusals:
            stuck.append(Stuck(name, found.refusals))
        else:
            drains.append(found)
    return Turns(tuple(sorted(drains, key=lambda each: -len(each.nodes))), tuple(stuck))


def not_needed(
    columns: Columns, names: Iterable[str], placement: str = "spread", steps: Steps | None = None
) -> Drain:
    """Return a drain of nodes that can all be empty for good: those with the least to move are tried first.

    Nodes with parts of the cluster itself (mirror pods) are left alone.
    """
    emptying = _Emptying(columns)
    wanted = [name for name in names if not emptying.runs_the_cluster(name)]
    wanted.sort(key=lambda name: (emptying.load(name), name))
    free = [name for name in wanted if name not in emptying.fixed]
    chosen = emptying.largest(counted(free, len(free), "nodes tried", steps))
    return drained(columns, chosen, placement, steps)


def drained(columns: Columns, names: Sequence[str], placement: str, steps: Steps | None = None) -> Drain:
    """Return a drain that succeeds, of as many of these nodes as it takes; perhaps of none."""
    snapshot = columns.snapshot
    chosen = list(names)
    while True:
        found = drain(columns, chosen, placement, steps)
        refused = {snapshot.workloads[each.subject].node for each in found.refusals}
        refused |= {snapshot.workloads[key].node for key in found.unowned}
        if not refused:
            return found
        chosen = [name for name in chosen if name not in refused]


class _Emptying:
    """Nodes emptied one after the other on a trial."""

    def __init__(self, columns: Columns) -> None:
        self._trial = Trial(columns.without_standby())
        self._budgets = Budgets(columns.snapshot)
        self._group_of = {node.name: node.group for node in columns.snapshot.nodes}
        self._held: dict[str, list[Workload]] = {}
        self.fixed: dict[str, list[Refusal]] = {}
        self._of_the_cluster: set[str] = set()
        for each in columns.snapshot.workloads:
            if not each.holds_capacity or each.terminating:
                continue
            if each.promised:
                self.fixed.setdefault(each.node, []).append(why_promised(each))
                continue
            if is_daemon(each):
                if each.owner.startswith(OF_THE_NODE):
                    self._of_the_cluster.add(each.node)
                continue
            refusal = self._why_fixed(each)
            if refusal is None:
                self._held.setdefault(each.node, []).append(each)
            else:
                self.fixed.setdefault(each.node, []).append(refusal)

    def _why_fixed(self, workload: Workload) -> Refusal | None:
        """Return why a workload may not be evicted at all, wherever there is room."""
        if is_unowned(workload):
            reason = "it has no owner: nobody starts it again once evicted"
            return Refusal(workload.key, 1, reason, remedy=UNOWNED_REMEDY)
        found = [self._budgets.all[number] for number in self._budgets.of(workload)]
        if len(found) > 1:
            reason = f"it is protected by {len(found)} budgets, and the eviction of such is refused"
            return Refusal(workload.key, 1, reason, remedy="let one budget alone select it")
        if found and not found[0].allowed:
            return Refusal(workload.key, 1, why_blocked(found[0]), remedy=how_to_unblock(found[0]))
        return None

    def runs_the_cluster(self, name: str) -> bool:
        """Whether a node runs parts of the cluster itself."""
        return name in self._of_the_cluster

    def load(self, name: str) -> int:
        """Return how many workloads would have to leave a node."""
        return len(self._held.get(name, ()))

    def largest(self, names: Iterable[str]) -> list[str]:
        """Return nodes that can be empty together, taken in their order."""
        start = self._trial.mark()
        held = {name: list(workloads) for name, workloads in self._held.items()}
        chosen: list[str] = []
        in_a_row: dict[str, int] = {}
        for name in names:
            group = self._group_of[name]
            if chosen and in_a_row.get(group, 0) >= FAILURES_MAX:
                continue
            if self._empty(name, held):
                chosen.append(name)
                in_a_row[group] = 0
            else:
                in_a_row[group] = in_a_row.get(group, 0) + 1
        self._trial.undo(start)
        return chosen

    def _empty(self, name: str, held: dict[str, list[Workload]]) -> bool:
        """Move everything off a node, if all of it finds a place."""
        trial = self._trial
        mark = trial.mark()
        row = trial.row_of[name]
        leaving = held.get(name, [])
        trial.lose(row)
        for each in leaving:
            trial.place(trial.shape_of(each), row, -1)
        placed: list[int] = []
        for each in leaving:
            shape = trial.shape_of(each)
            target = trial.pick(shape)
            if target < 0:
                trial.undo(mark)
                return False
            trial.place(shape, target)
            placed.append(target)
        for each, target in zip(leaving, placed, strict=True):
            held.setdefault(trial.nodes[target].name, []).append(each)
        held[name] = []
        return True


def names_of(columns: Columns, groups: Collection[str]) -> list[str]:
    """Return the nodes of some groups that run, by name; of all groups where none is named."""
    return [
        node.name
        for node in columns.snapshot.nodes
        if node.state != "offline" and (not groups or node.group in groups)
    ]
