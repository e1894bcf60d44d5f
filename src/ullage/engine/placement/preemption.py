"""Room by priority: who goes for a workload that no quota counts.

As kube-scheduler does it, with three differences: nobody is evicted whom a disruption budget protects or a
quota counts (what is in a quota is taken back by quotas alone), of all sets the fewest go, and a gang goes
whole if too few of it would run on. Who is on the way out already is waited for before anybody is evicted.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Final

from ullage.engine.placement.gangs import GangKey, gang_key
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
        victims = self._fewest(asked, shape)
        if not victims:
            return outcome
        self._gone += victims
        gone = tuple(
            Evicted(each.key, each.node, "", "", each.requests, self._gang_that_goes(each))
            for each in victims
        )
        return self._with(outcome, shape, victims, evicted=gone)

    def _fewest(self, asked: Workload, shape: Shape) -> list[Workload]:
        """Return the fewest who go for one more replica, those of its node first; gangs go whole.

        Where others do who are of no gang, and as few, these go.
        """
        victims = self._victims.fewest(shape, asked.priority - 1, self._counted, self._gone)
        if not any(each.gang for each in victims):
            return victims
        dragged = self._dragged(victims, asked.priority)
        gangs = frozenset(each.key for members in self._gangs.values() for each in members)
        alone = self._victims.fewest(shape, asked.priority - 1, self._counted | gangs, self._gone)
        if dragged is None or (alone and len(alone) <= len(victims) + len(dragged)):
            return alone
        return [*victims, *dragged]

    @cached_property
    def _gangs(self) -> dict[GangKey, list[Workload]]:
        """Those who run, by their gangs."""
        found: dict[GangKey, list[Workload]] = {}
        for each in self._trial.columns.snapshot.workloads:
            key = gang_key(each) if each.node and each.holds_capacity and not each.terminating else None
            if key is not None:
                found.setdefault(key, []).append(each)
        return found

    def _left_of(self, key: GangKey, victims: Collection[str]) -> list[Workload]:
        """Return who of a gang goes on, if too few do to run on."""
        gone = {each.key for each in self._gone}
        left = [each for each in self._gangs[key] if each.key not in victims and each.key not in gone]
        least = min((each.gang_min for each in left), default=0)
        return [] if least and len(left) >= least else left

    def _dragged(self, victims: Sequence[Workload], priority: int) -> list[Workload] | None:
        """Return who goes with victims, as too few of their gangs would run on; None where some must stay."""
        names = {each.key for each in victims}
        keys = {key for each in victims if (key := gang_key(each)) in self._gangs and key is not None}
        found = [each for key in sorted(keys) for each in self._left_of(key, names)]
        stay = any(each.priority >= priority or each.key in self._counted for each in found)
        if stay or self._victims.barring([*victims, *found], self._gone):
            return None
        return sorted(found, key=lambda each: each.key)

    def _gang_that_goes(self, victim: Workload) -> str:
        """Return the gang of a victim where all of it has gone and it is more than one."""
        key = gang_key(victim)
        if key is None or len(self._gangs.get(key, ())) < 2:
            return ""
        gone = {each.key for each in self._gone}
        return victim.gang if all(each.key in gone for each in self._gangs[key]) else ""

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
