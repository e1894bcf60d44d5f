"""The nodes that a workload could be put on if they had the room: who waits for room waits for these."""

from functools import cached_property

import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.placement.local_disks import DiskRule
from ullage.engine.placement.rules import EVERY, Slotted
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload


class Candidates:
    """Finds the candidates of many workloads in one cluster."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @cached_property
    def _trial(self) -> Trial:
        return Trial(self._columns)

    def of(self, workload: Workload) -> tuple[str, ...]:
        """Return the nodes that rules let a workload go to and that are large enough for it, by name.

        What is free of nodes, of their disks and of their devices is left aside; other workloads are where
        they are now.
        """
        shape = self._trial.shape_of(workload)
        allowed = shape.open.copy()
        for rule in (*shape.local_rules, *shape.wide_rules):
            if not isinstance(rule, DiskRule | Slotted):
                allowed &= rule.allows(EVERY)
        return tuple(sorted(self._trial.nodes[row].name for row in np.flatnonzero(allowed).tolist()))
