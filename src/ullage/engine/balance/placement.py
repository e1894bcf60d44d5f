"""What a snapshot knows of where workloads may go, beyond what hosts hold: asked before a move is taken.

Nodes that are closed to a workload for good are one mask for each kind of workload; the other rules depend on
what runs where, so a trial goes along with the moves. What nodes hold for failover is the fleet's to know.
"""

from functools import cached_property

import numpy as np

from ullage.engine.balance.bars import Bars, Flags
from ullage.engine.balance.candidates import Step
from ullage.engine.balance.fleet import Fleet
from ullage.engine.columns import Columns
from ullage.engine.placement.rules import EVERY, Fixed
from ullage.engine.redundancy.budgets import Budgets
from ullage.engine.trial import Trial
from ullage.model.cluster import Snapshot, Workload


class Placement:
    """The placement rules of a snapshot, on a trial that goes along with the moves that are taken."""

    def __init__(self, snapshot: Snapshot, fleet: Fleet) -> None:
        self._snapshot = snapshot
        self._fleet = fleet
        self.budgets = Budgets(snapshot)
        self._trial = Trial(Columns(snapshot).without_standby())
        self._start = self._last = self._trial.mark()

    def begin(self) -> None:
        """Keep the moves of the groups before."""
        self._start = self._trial.mark()

    def bars(self) -> Bars:
        """Return the nodes that are closed to workloads for good; the trial begins anew."""
        self._trial.undo(self._start)
        return Bars(*self._masks)

    @property
    def kind_of(self) -> list[int]:
        """The kind of each machine: those of one are placed by the same rules."""
        return self._masks[0]

    @cached_property
    def _masks(self) -> tuple[list[int], Flags]:
        trial = self._trial
        rows = np.array([trial.row_of[host.name] for host in self._fleet.hosts], np.intp)
        kinds: dict[object, int] = {}
        masks = []
        kind_of = []
        for machine in self._fleet.machines:
            workload = self._snapshot.workloads[machine.name]
            protected = not self._may_go(workload)
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

    def _may_go(self, workload: Workload) -> bool:
        """Whether a workload may be evicted: those that two budgets protect never are."""
        budgets = self.budgets.of(workload)
        return len(budgets) < 2 and all(self.budgets.all[number].allowed > 0 for number in budgets)

    def move(self, key: str, step: Step) -> bool:
        """Move a workload on the trial where every rule allows it; whether that was so."""
        trial = self._trial
        workload = self._snapshot.workloads[key]
        mark = self._last = trial.mark()
        shape = trial.shape_of(workload)
        source = trial.row_of[self._fleet.hosts[step.before.primary].name]
        target = trial.row_of[self._fleet.hosts[step.place.primary].name]
        trial.place(shape, source, -1)
        if source != target and not trial.feasible(shape)[target]:
            trial.undo(mark)
            return False
        trial.place(shape, target)
        return True

    def take_back(self) -> None:
        """Take back the last move."""
        self._trial.undo(self._last)
