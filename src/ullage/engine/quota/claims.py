"""Elastic quotas beside a trial: how many may run, and who goes so that one more can.

Trial and standing change together: what is evicted leaves both, what is placed enters both, and `undo` takes
both back. Newcomers count as created last, and none of them is evicted for another of the same question.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.running import sets_of
from ullage.engine.placement.shapes import Shape
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.decision import Decision, decide, why_barred
from ullage.engine.quota.gang_columns import Columns as GangColumns
from ullage.engine.quota.gang_victims import GangFound, gang_victims
from ullage.engine.quota.rights import Refusal, Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victims import Nodes
from ullage.engine.trial import Mark, Trial
from ullage.model.cluster import Batch, Quota, Workload
from ullage.model.quantity import INT64_MAX

NEWEST_SECONDS: Final = INT64_MAX


class Claims:
    """The quotas of a trial's cluster, with what a question adds to them."""

    def __init__(self, trial: Trial, accounts: Accounts, asked: Sequence[Batch] = ()) -> None:
        self._trial = trial
        self._accounts = accounts
        self.standing = accounts.standing
        self.book = accounts.book
        self._demand = self._demand_of(asked)
        self.rules = Rules(self.standing, self.standing.entitlements(self._demand, accounts.capacity))
        self._allowed = [budget.allowed for budget in accounts.budgets.all]
        self._changes: list[tuple[Member, bool]] = []
        self._newcomers = 0
        self._gone: set[str] = set()
        self._evicted: list[Member] = []

    def _demand_of(self, asked: Sequence[Batch]) -> list[Member]:
        """Return who asks to run: those that wait already, and what is asked for beyond all there are."""
        waiting = list(self._accounts.waiting.values())
        there = self._replicas_there() if asked else {}
        for batch in asked:
            workload = batch.workload
            itself = workload.key in self._accounts.waiting or workload.key in self._accounts.running
            known = there.get((workload.namespace, f"{workload.kind}/{workload.name}"), 0)
            more = batch.replicas - (1 if itself else known)
            if more > 0:
                member = self._accounts.member_of(workload)
                waiting.append(member._replace(amounts=tuple(amount * more for amount in member.amounts)))
        return waiting

    def _replicas_there(self) -> dict[tuple[str, str], int]:
        """Return how many workloads of each set run or wait."""
        counts: dict[tuple[str, str], int] = {}
        for workload in self._trial.columns.snapshot.workloads:
            if workload.owner and (
                workload.key in self._accounts.running or workload.key in self._accounts.waiting
            ):
                for owner in sets_of(workload.owner):
                    key = (workload.namespace, owner)
                    counts[key] = counts.get(key, 0) + 1
        return counts

    def concerns(self, workload: Workload) -> bool:
        """Whether a workload is under a quota."""
        return self.quota_of(workload) != NO_QUOTA

    def quota_of(self, workload: Workload) -> int:
        """Return the place of a workload's quota."""
        return self.book.place_of(workload.namespace, workload.labels)

    def member_of(self, batch: Batch) -> Member:
        """Return a batch as one member of its quota."""
        one = self._accounts.member_of(batch.workload)
        return one._replace(amounts=tuple(amount * batch.replicas for amount in one.amounts))

    def admits(self, workload: Workload, replicas: int) -> int:
        """Return how many replicas the quotas let in as things stand."""
        member = self._accounts.member_of(workload)
        if not self._refusals(member, replicas):
            return replicas
        fits, too_many = 0, replicas
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            if self._refusals(member, middle):
                too_many = middle
            else:
                fits = middle
        return fits

    def _refusals(self, member: Member, replicas: int) -> list[Refusal]:
        return self.rules.refusals(member.quota, [amount * replicas for amount in member.amounts])

    def take(self, workload: Workload, replicas: int) -> None:
        """Count replicas that have a place, all of them as one: they come last in every order."""
        if replicas and self.concerns(workload):
            one = self._newcomer(workload)
            self._enter(one._replace(amounts=tuple(amount * replicas for amount in one.amounts)))

    def release(self, workloads: Sequence[Workload]) -> None:
        """Count running replicas no longer, because they are judged anew."""
        for workload in workloads:
            member = self._accounts.running.get(workload.key)
            if member is not None and member.key not in self._gone:
                self._leave(member)

    def decide(self, workload: Workload, shape: Shape) -> Decision:
        """Return what becomes of one more replica; where it runs, trial and standing show it done."""
        newcomer = self._sized(workload, shape)
        candidates = [each for each in self._accounts.evictable if each.key not in self._gone]
        decision = decide(
            self.rules, newcomer, self._nodes(shape), candidates, budgets=self._left_of_budgets()
        )
        if decision.verdict != "refuse":
            for victim in decision.victims:
                self._trial.evict(self._workload(victim))
                self._leave(victim)
            self._evicted += decision.victims
            self._trial.place(shape, self._trial.row_of[decision.node])
            self._enter(newcomer._replace(node=decision.node))
        return decision

    def decide_together(
        self, workload: Workload, shape: Shape, count: int
    ) -> tuple[Decision, GangFound | None]:
        """Return what becomes of so many more replicas, all or none; where they run, that is done.

        The rest of what stands against them on nodes is tried afterwards: where it does, none runs.
        """
        one = self._sized(workload, shape)
        members = [one._replace(key=f"{one.key}.{number}") for number in range(count)]
        claim = self.rules.claim(members)
        nodes = self._nodes(shape)
        counted = [each for each in self._accounts.running.values() if each.key not in self._gone]
        columns = GangColumns(self.standing, counted, nodes)
        evictable = [each for each in self._accounts.evictable if each.key not in self._gone]
        search = gang_victims(
            self.rules, claim, columns, candidates=columns.rows_of(evictable), budgets=self._left_of_budgets()
        )
        refusals = tuple(self.rules.refusals(claim.quota, claim.amounts))
        found = search.found
        if found is not None and self._carried_out(workload, shape, found):
            return Decision(
                "preempt", claim, victims=found.victims, cost=found.cost, proven=found.proven
            ), found
        barred = why_barred(self.rules, claim, turns=search.turns)
        return Decision("refuse", claim, proven=search.proven, refusals=refusals, barred=barred), None

    def _carried_out(self, workload: Workload, shape: Shape, found: GangFound) -> bool:
        """Whether victims leave and a gang is placed; nothing is changed where a node does not take one."""
        trial = self._trial
        mark = trial.mark()
        for victim in found.victims:
            trial.evict(self._workload(victim))
        for node in found.nodes:
            row = trial.row_of[node]
            if not trial.feasible(shape)[row]:
                trial.undo(mark)
                return False
            trial.place(shape, row)
        for victim in found.victims:
            self._leave(victim)
        self._evicted += found.victims
        self.take(workload, len(found.nodes))
        return True

    @property
    def evictable(self) -> int:
        """How many could be evicted at most."""
        return len(self._accounts.evictable)

    def judged(self, workload: Workload) -> Decision:
        """Return what quotas alone say to one more replica that is not to evict anyone."""
        claim = self.rules.claim([self._newcomer(workload)])
        refusals = tuple(self.rules.refusals(claim.quota, claim.amounts))
        return Decision("refuse" if refusals else "admit", claim, refusals=refusals)

    def tried(self, workload: Workload, shape: Shape, quota: Quota) -> Decision:
        """Return what would become of one more replica if a quota were another; nothing is changed."""
        running = [member for members in self.standing.members for member in members.values()]
        standing = Standing(self.book.with_quota(quota), running, self.standing.order)
        rules = Rules(standing, standing.entitlements(self._demand, self._accounts.capacity))
        candidates = [each for each in self._accounts.evictable if each.key not in self._gone]
        return decide(
            rules,
            self._sized(workload, shape),
            self._nodes(shape),
            candidates,
            budgets=self._left_of_budgets(),
        )

    @property
    def members(self) -> int:
        """How many run under quotas."""
        return sum(len(each) for each in self.standing.members)

    def _newcomer(self, workload: Workload) -> Member:
        self._newcomers += 1
        member = self._accounts.member_of(workload)
        return member._replace(
            key=f"{workload.key}#{self._newcomers}", node="", created_seconds=NEWEST_SECONDS
        )

    def _sized(self, workload: Workload, shape: Shape) -> Member:
        """Return a newcomer that takes from its node what nodes have a bound for."""
        newcomer = self._newcomer(workload)
        bounded = {self._trial.columns.resources[column] for column in shape.columns}
        return newcomer._replace(takes=newcomer.takes.only(bounded))

    def _workload(self, member: Member) -> Workload:
        found = self._trial.columns.snapshot.workloads.get(member.key)
        assert found is not None  # noqa: S101 - members that can go are workloads of the snapshot
        return found

    def _nodes(self, shape: Shape) -> Nodes:
        trial = self._trial
        is_open = shape.open & ~trial.lost
        wide = trial.wide_open(shape)
        if wide is not None and (wide & is_open).any():
            is_open = wide & is_open
        names = [trial.columns.resources[column] for column in shape.columns]
        free = trial.room.free[shape.columns]
        rows = np.flatnonzero(is_open).tolist()
        room = {trial.nodes[row].name: dict(zip(names, free[:, row].tolist(), strict=True)) for row in rows}

        def verify(node: str, victims: Sequence[Member]) -> bool:
            mark = trial.mark()
            for victim in victims:
                trial.evict(self._workload(victim))
            fits = bool(trial.feasible(shape)[trial.row_of[node]])
            trial.undo(mark)
            return fits

        return Nodes(room, self._accounts.capacity, verify)

    def _left_of_budgets(self) -> list[int]:
        left = list(self._allowed)
        for victim in self._evicted:
            for budget in victim.budgets:
                left[budget] = max(0, left[budget] - 1)
        return left

    def _enter(self, member: Member) -> None:
        self.standing.add(member)
        self._changes.append((member, True))

    def _leave(self, member: Member) -> None:
        self.standing.remove(member)
        self._gone.add(member.key)
        self._changes.append((member, False))

    def apply(self, outcome: Outcome, workload: Workload) -> int:
        """Count what became of a batch; return how many of its new replicas are over their quota's min."""
        for each in outcome.evicted:
            member = self._accounts.running[each.workload]
            if member.key not in self._gone:
                self._leave(member)
        if outcome.action != "place" or not self.concerns(workload):
            return 0
        one = self._accounts.member_of(workload)
        fits = outcome.placed
        for used, amount, least in zip(
            self.standing.own_used[one.quota], one.amounts, self.book.own_mins[one.quota], strict=True
        ):
            if least is not None:
                left = least - used
                fits = min(fits, max(0, left // amount if amount else (0 if left < 0 else fits)))
        self.take(workload, outcome.placed)
        return outcome.placed - fits

    def mark_both(self) -> tuple[Mark, int]:
        """Return a point in time to which trial and standing can go back together."""
        return self._trial.mark(), self.mark()

    def undo_both(self, mark: tuple[Mark, int]) -> None:
        """Take back every change to trial and standing since a mark."""
        self._trial.undo(mark[0])
        self.undo(mark[1])

    def mark(self) -> int:
        """Return a point in time to which `undo` can go back."""
        return len(self._changes)

    def undo(self, mark: int) -> None:
        """Take back every change to the standing since a mark; the trial has its own."""
        while len(self._changes) > mark:
            member, entered = self._changes.pop()
            if entered:
                self.standing.remove(member)
            else:
                self.standing.add(member)
                self._gone.discard(member.key)
        self._evicted = [each for each in self._evicted if each.key in self._gone]
