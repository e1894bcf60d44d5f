"""Whether moves leave a cluster as safe as it was: the loss of each node, judged as `check` judges it.

A loss is judged by what it leaves without a place: nobody where one after the other finds one or an exact
look does, else as many as were left over. No node may end with more than it began with. The hard thing is
that any move may change what any loss means: so a search goes along with a few suspects only, the end is
judged for all nodes, and those that are worse then are the suspects of another search.
"""

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.redundancy.alike import classes_of
from ullage.engine.redundancy.loss_proofs import look_exactly
from ullage.engine.redundancy.losses import REPORTED_MAX, Loser, Losses, LossReport, Run
from ullage.engine.redundancy.side_by_side import can_do
from ullage.engine.steps import Steps
from ullage.model.cluster import Snapshot
from ullage.model.settings import rules_for

RUNNING_MAX: Final = 50_000
"""Workloads of a cluster whose losses are judged."""
RUNNING_SIDE_BY_SIDE_MAX: Final = 200_000
"""The same where losses are judged side by side, which is quicker."""
PLACED_MAX: Final = 60_000
"""Workloads placed anew to judge single moves, after which a search ends."""
PLACED_SIDE_BY_SIDE_MAX: Final = 600_000
FEW: Final = 8
"""So few losses are judged one by one, until one is worse."""
EXACT_SECONDS: Final = 2
EXACT_LOOKS_MAX: Final = 200
"""Exact looks of one question."""

Look = Callable[[Losses, LossReport], LossReport]


def look_for_seconds(losses: Losses, report: LossReport) -> LossReport:
    """Return a loss after an exact look, as long as one may take."""
    return look_exactly(losses, report, EXACT_SECONDS)


class Took(NamedTuple):
    """A workload that went from one row to another."""

    run: Run
    source: int
    target: int


class LossWatch(Losses):
    """A cluster that goes along with moves, and the losses that must not become worse.

    `limits` has for each node, by row, how many its loss left without a place at the start.
    """

    def __init__(self, columns: Columns, placement: str, look: Look, told: Steps | None = None) -> None:
        super().__init__(columns, placement)
        self._look = look
        self._told = told
        self._looks_left = EXACT_LOOKS_MAX
        self._run_of = {run.key: run for listed in self._runs for run in listed}
        self._side_by_side = can_do(self.trial, self.shapes)
        self._placed_left = PLACED_SIDE_BY_SIDE_MAX if self._side_by_side else PLACED_MAX
        self.is_affordable = len(self._run_of) <= (
            RUNNING_SIDE_BY_SIDE_MAX if self._side_by_side else RUNNING_MAX
        )
        self._taken: list[Took] = []
        self._states = [0]
        self._states_seen = 0
        self._ways_out: dict[tuple[int, int], bool] = {}
        self._suspects: list[int] = []
        self.limits: Sequence[int] | None = None
        if self.is_affordable:
            self.limits = self.verdicts()
        self.begin()

    @property
    def is_spent(self) -> bool:
        """Whether there are suspects, but no more moves can be judged one by one."""
        return bool(self._suspects) and self._placed_left <= 0

    def begin(self) -> None:
        """Keep the moves so far."""
        self._taken.clear()

    def rewind(self, suspects: Iterable[int] = ()) -> None:
        """Take back the moves that are not kept; from now on moves must not make these rows worse."""
        while self._taken:
            self._take_back()
        self._suspects = list(suspects)

    def follow(self, key: str, source: str, target: str) -> bool:
        """Go along with a move unless it makes the loss of a suspect worse; whether it does not."""
        run = self._run_of.get(key)
        if run is None or source == target:
            return True
        took = Took(run, self.trial.row_of[source], self.trial.row_of[target])
        self._move(took)
        self._taken.append(took)
        self._states_seen += 1
        self._states.append(self._states_seen)
        worse = self._first_worse()
        if worse is None:
            return True
        self._suspects.remove(worse)
        self._suspects.insert(0, worse)
        self._take_back()
        return False

    def _take_back(self) -> None:
        run, source, target = self._taken.pop()
        self._move(Took(run, target, source))
        self._states.pop()

    def _move(self, took: Took) -> None:
        """Move a workload for good: what is kept to undo losses must not reach back beyond it."""
        run, source, target = took
        self.trial.place(self.shapes[run.shape], source, -1)
        self.trial.place(self.shapes[run.shape], target)
        self.trial.remember_looks()
        self._runs[source].remove(run)
        insort(self._runs[target], run)

    def _first_worse(self) -> int | None:
        """Return a suspect whose loss leaves more without a place than at the start; mostly there is none."""
        limits = self.limits
        if limits is None:
            return None
        losses = [(row,) for row in self._suspects]
        first, others = losses[:FEW], losses[FEW:]
        counts = self._played(first)
        for (row,), count in zip(first, counts, strict=True):
            self._placed_left -= len(self._runs[row])
            if count > limits[row] and not self._has_a_way_out(row):
                return row
        self._placed_left -= sum(len(self._runs[row]) for (row,) in others)
        for (row,), left in zip(others, self._losers(others, 1) if others else (), strict=True):
            if (left or 0) > limits[row] and not self._has_a_way_out(row):
                return row
        return None

    def _has_a_way_out(self, row: int) -> bool:
        """Whether an exact look finds a place for all that one after the other left some without."""
        key = (self._states[-1], row)
        if key not in self._ways_out:
            if not self._looks_left:
                return False
            self._looks_left -= 1
            name = self.trial.nodes[row].name
            left_out = Loser(self._runs[row][0].key, name, "", "")
            looked = self._look(self, LossReport((name,), 1, (), (left_out,), (), 0))
            for shape in self.shapes:
                shape.forget_scores()  # an exact look may undo within what is undone after it
            self._ways_out[key] = not looked.losers
        return self._ways_out[key]

    def verdicts(self) -> list[int]:
        """Return for each node, by row, how many its loss leaves without a place now.

        The worst kinds are looked at exactly, as many as `check` looks at; those that are worse come first.
        """
        limits, state = self.limits, self._states[-1]
        kinds = classes_of(self.trial, self.shapes, self._seen_on)
        counts = self._losers([(rows[0],) for rows in kinds], 1, self._told)
        failing = [(count, rows) for count, rows in zip(counts, kinds, strict=True) if count]

        def order(each: tuple[int, list[int]]) -> tuple[bool, int, int]:
            count, rows = each
            return limits is not None and count <= min(limits[row] for row in rows), -count, rows[0]

        found = [0] * len(self.trial.nodes)
        for place, (count, rows) in enumerate(sorted(failing, key=order)):
            is_known = any(self._ways_out.get((state, row)) for row in rows)
            if not is_known and (place >= REPORTED_MAX or not self._has_a_way_out(rows[0])):
                for row in rows:
                    found[row] = count
        return found

    def worse(self) -> list[int]:
        """Return the rows whose loss leaves more without a place now than at the start."""
        if self.limits is None:
            return []
        return [row for row, count in enumerate(self.verdicts()) if count > self.limits[row]]

    def failing_by_group(self, verdicts: Sequence[int]) -> dict[str, int]:
        """Return how many nodes of each group leave somebody without a place when they are lost."""
        found: dict[str, int] = {}
        for node, count in zip(self.trial.nodes, verdicts, strict=True):
            found[node.group] = found.get(node.group, 0) + (count > 0)
        return found

    @property
    def every_row(self) -> Collection[int]:
        """All nodes, by row."""
        return range(len(self.trial.nodes))


def watch_of(snapshot: Snapshot, look: Look | None = None, told: Steps | None = None) -> LossWatch | None:
    """Return what goes along with moves of a cluster; None where it is too large to judge its losses.

    Nodes are chosen as `check` chooses them: what a scheduler prefers is not weighed.
    """
    if sum(workload.holds_capacity for workload in snapshot.workloads) > RUNNING_SIDE_BY_SIDE_MAX:
        return None
    placement = rules_for(snapshot.policy, snapshot.resource_types).placement
    placement = "spread" if placement == "preferences" else placement
    found = LossWatch(Columns(snapshot), placement, look or look_for_seconds, told)
    return found if found.is_affordable else None
