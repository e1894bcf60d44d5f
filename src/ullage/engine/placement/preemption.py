"""Room by priority: who goes for a workload that no quota counts.

As kube-scheduler does it, with two differences: nobody is evicted whom a disruption budget protects or a
quota counts (what is in a quota is taken back by quotas alone), and of all sets the fewest go. Who is on the
way out already is waited for before anybody more is evicted.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from ullage.engine.placement.outcome import Evicted, Leaving, Outcome
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.victims import Victims
from ullage.engine.quota.book import NO_QUOTA, Book
from ullage.engine.quota.validation import in_force
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload

PREEMPTIONS_MAX: Final = 200
"""Replicas of one question for which others are evicted; the rest has its turn in the next one."""


class Preemption:
    """Evictions by priority in one question: nobody goes twice."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._gone: list[Workload] = []
        self._waited_for: list[int] = []
        self._left = PREEMPTIONS_MAX

    def mark(self) -> tuple[int, int]:
        """Return a point in time to which `undo` can go back."""
        return len(self._gone), len(self._waited_for)

    def undo(self, mark: tuple[int, int]) -> None:
        """Let those stay who went since a mark; the trial is for others to take back."""
        del self._gone[mark[0] :]
        del self._waited_for[mark[1] :]

    @cached_property
    def _victims(self) -> Victims:
        return Victims(self._trial)

    @cached_property
    def _counted(self) -> frozenset[str]:
        """Those that quotas count: they go by the rules of quotas alone."""
        snapshot = self._trial.columns.snapshot
        book = Book(in_force(snapshot.quotas))
        if not book.quotas:
            return frozenset()
        return frozenset(
            each.key
            for each in snapshot.workloads
            if each.node and book.place_of(each.namespace, each.labels) != NO_QUOTA
        )

    @cached_property
    def _leaving(self) -> dict[int, list[Workload]]:
        """Those on their way out, by row."""
        found: dict[int, list[Workload]] = {}
        for each in self._trial.columns.snapshot.workloads:
            if each.terminating and each.holds_capacity:
                found.setdefault(self._trial.row_of[each.node], []).append(each)
        return found

    def placed(self, asked: Workload, shape: Shape, outcome: Outcome) -> Outcome:
        """Return an outcome with as many more replicas as have room where others go; the trial shows it."""
        if not asked.preempts:
            return outcome
        while outcome.placed < outcome.replicas and self._left:
            self._left -= 1
            found = self._one_more(asked, shape, outcome)
            if found is outcome:
                break
            outcome = found
        return outcome

    def _one_more(self, asked: Workload, shape: Shape, outcome: Outcome) -> Outcome:
        waiting = self._once_they_left(asked, shape)
        if waiting:
            left = tuple(Leaving(each.key, each.node, "", each.requests) for each in waiting)
            return self._with(outcome, shape, waiting, waits_for=left)
        victims = self._victims.fewest(shape, asked.priority - 1, self._counted, self._gone)
        if not victims:
            return outcome
        self._gone += victims
        gone = tuple(Evicted(each.key, each.node, "", "", each.requests) for each in victims)
        return self._with(outcome, shape, victims, evicted=gone)

    def barred_by_budgets(self, asked: Workload, shape: Shape) -> str:
        """Say whose place one more replica could have if budgets let them go; empty for nobody's."""
        if not asked.preempts:
            return ""
        victims = self._victims.fewest(
            shape, asked.priority - 1, self._counted, self._gone, heeds_budgets=False
        )
        budgets = ", ".join(self._victims.barring(victims, self._gone))
        if not budgets:
            return ""
        names = ", ".join(each.key for each in victims)
        return f"it would fit on {victims[0].node} if disruption budget {budgets} let {names} go"

    def _once_they_left(self, asked: Workload, shape: Shape) -> list[Workload]:
        """Return those of one node whose place it can have once they are gone, less important ones alone."""
        trial = self._trial
        rows = {
            row: leaving
            for row, leaving in self._leaving.items()
            if row not in self._waited_for and all(each.priority < asked.priority for each in leaving)
        }
        if not rows:
            return []
        mark = trial.mark()
        _evict(trial, (each for leaving in rows.values() for each in leaving))
        feasible = trial.feasible(shape)
        open_rows = [row for row in rows if feasible[row]]
        trial.undo(mark)
        if not open_rows:
            return []
        self._waited_for.append(min(open_rows))
        return rows[min(open_rows)]

    def _with(
        self,
        outcome: Outcome,
        shape: Shape,
        victims: Sequence[Workload],
        evicted: tuple[Evicted, ...] = (),
        waits_for: tuple[Leaving, ...] = (),
    ) -> Outcome:
        """Take victims off their node and put a replica there."""
        node = victims[0].node
        _evict(self._trial, victims)
        self._trial.place(shape, self._trial.row_of[node])
        counts = dict(outcome.nodes)
        counts[node] = counts.get(node, 0) + 1
        return outcome._replace(
            placed=outcome.placed + 1,
            nodes=tuple(sorted(counts.items())),
            evicted=(*outcome.evicted, *evicted),
            waits_for=(*outcome.waits_for, *waits_for),
        )


def _evict(trial: Trial, workloads: Iterable[Workload]) -> None:
    for each in workloads:
        trial.evict(each)
