"""Elastic quotas beside a trial: how many may run, and who goes so that one more can.

Trial and standing change together: what is evicted leaves both, what is placed enters both, and `undo` takes
both back. Newcomers count as created last, and none of them is evicted for another of the same question.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Final

from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.shapes import Shape
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, Member, Terms, share_something
from ullage.engine.quota.claim_rooms import (
    Wanted,
    open_to,
    placed_all,
    placed_on,
    room_for,
    room_for_all,
)
from ullage.engine.quota.decision import (
    Decision,
    Verdict,
    asking_nobody,
    better_of,
    decide,
    most_admitted,
    why_barred,
)
from ullage.engine.quota.demand import Counted, demand_of
from ullage.engine.quota.gang_columns import Columns as GangColumns
from ullage.engine.quota.gang_victims import GangFound, GangSearch, gang_victims
from ullage.engine.quota.gpu_parts import Part, on_nodes, parts_of
from ullage.engine.quota.heeded_budgets import heeding, kept_by, left_of
from ullage.engine.quota.rights import Rules, is_above
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victim_gangs import running_gangs
from ullage.engine.quota.victims import Nodes
from ullage.engine.trial import Mark, Trial
from ullage.model.cluster import Batch, Quota, Workload
from ullage.model.quantity import INT64_MAX

NEWEST_SECONDS: Final = INT64_MAX
STEPS: Final = 10_000
"""How many steps the searches for victims of one question make in all, and more for each second given."""
STEPS_A_SECOND: Final = 25_000
STEPS_MIN: Final = 500
"""How many each of them makes at least."""


class Claims:
    """The quotas of a trial's cluster, with what a question adds to them."""

    def __init__(
        self, trial: Trial, accounts: Accounts, asked: Sequence[Batch] = (), exact_seconds: int = 0
    ) -> None:
        self._trial = trial
        self._steps_left = STEPS + STEPS_A_SECOND * exact_seconds
        self._accounts = accounts
        self.standing = accounts.standing
        self.book = accounts.book
        self._asked = tuple(asked)
        self._demand = demand_of(accounts, asked)
        self.rules = Rules(self.standing, self.standing.entitlements(self._demand, accounts.capacity))
        self._changes: list[tuple[Member, bool]] = []
        self._newcomers = 0
        self._gone: set[str] = set()
        self._evicted: list[Member] = []
        self._gang_members = accounts.gangs
        self._known_columns: tuple[set[str], GangColumns] | None = None
        self.heeds_budgets = False

    def concerns(self, workload: Workload) -> bool:
        """Whether a workload asks a quota; one that is admitted does not ask again."""
        return not workload.admitted and self.quota_of(workload) != NO_QUOTA

    def quota_of(self, workload: Workload) -> int:
        """Return the place of a workload's quota."""
        return self.book.place_of(workload.namespace, workload.labels)

    def member_of(self, batch: Batch) -> Member:
        """Return a batch as one member of its quota."""
        one = self._accounts.member_of(batch.workload)
        return one._replace(amounts=tuple(amount * batch.replicas for amount in one.amounts))

    def admits(self, workload: Workload, replicas: int) -> int:
        """Return how many replicas the quotas let in as things stand."""
        return most_admitted(self.rules, self._accounts.member_of(workload), replicas)

    def take(self, workload: Workload, replicas: int) -> None:
        """Count replicas that have a place, all of them as one: they come last in every order."""
        if replicas and self.concerns(workload):
            one = self._newcomer(workload)
            self._enter(one._replace(amounts=tuple(amount * replicas for amount in one.amounts)))

    def release(self, workloads: Sequence[Workload]) -> None:
        """Count running replicas no longer, as they are judged anew; who waits admitted stays counted."""
        for workload in workloads:
            member = self._accounts.running.get(workload.key)
            if member is not None and member.node and member.key not in self._gone:
                self._leave(member)

    def decide(self, workload: Workload, shape: Shape) -> Decision:
        """Return what becomes of one more replica; where it runs, trial and standing show it done."""
        newcomer = self._sized(workload, shape)
        nodes = self._nodes(shape)
        decision = self._decided(newcomer, nodes, self._candidates() if workload.preempts else [])
        if not workload.preempts:
            decision = asking_nobody(decision)
        elif decision.verdict != "admit" and self._spares():
            other = self._decided(newcomer, nodes, self._candidates(spares=False))
            decision = decision._replace(spared=self._spared_of(other.victims))
        if decision.verdict != "refuse":
            self.evict(decision.victims)
            self._trial.place(shape, self._trial.row_of[decision.node])
            self._enter(newcomer._replace(node=decision.node))
        return decision

    def _decided(self, newcomer: Member, nodes: Nodes, candidates: Sequence[Member]) -> Decision:
        """Return what is decided of one, while budgets are kept if they are to be."""

        def search(rest: Sequence[Member]) -> Decision:
            return self._searched(newcomer, nodes, rest)

        left = self._left_of_budgets() if self.heeds_budgets else None
        return kept_by(*heeding(search, candidates, left), self._accounts.budgets)

    def _searched(self, newcomer: Member, nodes: Nodes, candidates: Sequence[Member]) -> Decision:
        """Return the same for candidates; where not all sets were looked at, the search for gangs helps."""
        steps_max, budgets = max(STEPS_MIN, self._steps_left), self._left_of_budgets()
        gangs = running_gangs(self._gang_members, self._gone)
        found = decide(
            self.rules, newcomer, nodes, candidates, budgets=budgets, gangs=gangs, steps_max=steps_max
        )
        self._steps_left -= found.steps
        if found.proven:
            return found
        columns = self._columns(nodes)
        rows = columns.rows_of(candidates)
        other = gang_victims(
            self.rules, found.claim, columns, candidates=rows, budgets=budgets, gangs=gangs, steps_max=1
        )
        return better_of(found, other.found, nodes)

    def decide_together(self, wanted: Sequence[Wanted]) -> tuple[Decision, GangFound | None]:
        """Return what becomes of replicas of one quota, all or none; where they run, that is done.

        Their right is judged on what they ask for in all, and their use before is that before any of them.
        """
        members: list[Member] = []
        for each in wanted:
            one = self._sized(each.workload, each.shape)
            members += [one._replace(key=f"{one.key}.{number:07d}") for number in range(each.replicas)]
        shapes = [each.shape for each in wanted for _ in range(each.replicas)]
        kinds = {shape: number for number, shape in enumerate(dict.fromkeys(shapes))}
        claim = self.rules.claim(members)
        columns = self._columns(room_for_all(self._trial, self._accounts.capacity, shapes))
        preempts = all(each.workload.preempts for each in wanted)

        def search(candidates: Sequence[Member]) -> GangSearch:
            return gang_victims(
                self.rules,
                claim,
                columns,
                allowed=open_to(self._trial, shapes, columns.nodes),
                candidates=columns.rows_of(candidates),
                budgets=left,
                gangs=running_gangs(self._gang_members, self._gone),
                kinds=[kinds[shape] for shape in shapes],
                accepts=lambda victims, nodes: self._takes(shapes, nodes, victims),
            )

        left = self._left_of_budgets()
        candidates = self._candidates() if preempts else []
        first, kept = heeding(search, candidates, left if self.heeds_budgets else None)
        spared: tuple[Member, ...] = ()
        if preempts and self._spares() and (first.found is None or first.found.victims):
            other = search(self._candidates(spares=False)).found
            spared = self._spared_of(other.victims if other is not None else ())
        found = self._carried_out(wanted, first.found) if first.found is not None else None
        if found is not None:
            verdict: Verdict = "preempt" if found.victims else "admit"
            decision = Decision(verdict, claim, victims=found.victims, cost=found.cost, proven=found.proven)
            decision = decision._replace(spared=spared, victims_min=found.victims_min)
            return kept_by(decision, kept, self._accounts.budgets), found
        refusals = tuple(self.rules.refusals(claim.quota, claim.amounts))
        barred = why_barred(self.rules, claim, turns=first.turns)
        proven = first.proven and first.found is None
        refused = Decision("refuse", claim, proven=proven, refusals=refusals, barred=barred, spared=spared)
        refused = refused if preempts else asking_nobody(refused)
        return kept_by(refused, kept, self._accounts.budgets), None

    def evict(self, victims: Sequence[Member]) -> None:
        """Let victims leave."""
        for victim in victims:
            self._trial.evict(self._workload(victim))
            self._leave(victim)
        self._evicted += victims

    def put(self, wanted: Wanted, nodes: Sequence[str]) -> None:
        """Place replicas on nodes that have room for them."""
        for node in nodes:
            self._trial.place(wanted.shape, self._trial.row_of[node])
        for each, count in on_nodes(self._accounts, wanted.workload, Counter(nodes).items()):
            self.take(each, count)

    def _columns(self, nodes: Nodes) -> GangColumns:
        """Return all who count as columns; who is on the way out counts until gone."""
        counted = {**self._accounts.running, **self._accounts.leaving}
        gone = self._gone & counted.keys()
        known = self._known_columns
        if known is not None and known[0] == gone and known[1].standing is self.standing:
            return known[1].on(nodes)
        found = GangColumns(self.standing, [counted[key] for key in counted.keys() - gone], nodes)
        self._known_columns = gone, found
        return found

    def _takes(self, shapes: Sequence[Shape], nodes: Sequence[str], victims: Sequence[Member]) -> bool:
        """Whether nodes would take these shapes once victims have gone."""
        mark = self._trial.mark()
        fits = placed_on(self._trial, shapes, nodes, map(self._workload, victims))
        self._trial.undo(mark)
        return fits

    # Those who are on their way out

    def leaving(self) -> list[Member]:
        """Return who is on the way out, and not waited for yet, by name."""
        there = [each for each in self._accounts.leaving.values() if each.key not in self._gone]
        return sorted(there, key=lambda each: each.key)

    def let_go(self, leaving: Sequence[Member]) -> None:
        """Judge what follows as if these were gone."""
        for member in leaving:
            self._trial.evict(self._workload(member))
            self._leave(member)

    def place(self, workload: Workload, shape: Shape, replicas: int) -> dict[str, int]:
        """Place as many replicas as may run and have room, and return how many on each node."""
        counts = place_replicas(self._trial, shape, self.admits(workload, replicas))
        self.take(workload, sum(counts.values()))
        return {self._trial.nodes[row].name: count for row, count in counts.items()}

    def is_in_the_way(self, member: Member, one: Member, nodes: Mapping[str, int], *, evicting: bool) -> bool:
        """Whether one who is on the way out keeps new members from nodes; else it is counted again.

        In the way is who has no room beside them, or brings their quota above a bound. Where somebody is
        evicted for them, it is everybody whose use of quotas has a part in who may be.
        """
        shape, row = self._trial.shape_of(self._workload(member)), self._trial.row_of[member.node]
        self._return(member)
        if (
            (member.node in nodes and not self._trial.feasible(shape)[row])
            or is_above(self.rules, one)
            or (evicting and share_something(self.book, member.quota, one.quota))
        ):
            self._leave(member)
            return True
        self._trial.place(shape, row)
        return False

    def _candidates(self, *, spares: bool = True) -> list[Member]:
        """Return who could be evicted still; those who have not run long enough are spared."""
        spared = self._accounts.spared if spares else {}
        return [
            each for each in self._accounts.evictable if each.key not in self._gone and each.key not in spared
        ]

    def gang_that_went(self, member: Member) -> str:
        """Return the gang of one who goes, where all of it does; '' where others stay, or there are none."""
        members = self._gang_members.get(member.gang, ())
        return member.gang if len(members) > 1 and all(each.key in self._gone for each in members) else ""

    def _spares(self) -> bool:
        return any(key not in self._gone for key in self._accounts.spared)

    def _spared_of(self, members: Sequence[Member]) -> tuple[Member, ...]:
        return tuple(each for each in members if each.key in self._accounts.spared)

    def _carried_out(self, wanted: Sequence[Wanted], found: GangFound) -> GangFound | None:
        """Let victims leave and place a gang, on other nodes if need be; None where nodes do not take it."""
        goes = [self._workload(victim) for victim in found.victims]
        nodes = placed_all(self._trial, wanted, found.nodes, goes)
        if not nodes:
            return None
        if tuple(nodes) != found.nodes:
            found = found._replace(nodes=tuple(nodes), proven=False)
        for victim in found.victims:
            self._leave(victim)
        self._evicted += found.victims
        for each in wanted:
            self.take(each.workload, each.replicas)
        return found

    @property
    def accounts(self) -> Accounts:
        """Who runs and who waits where nothing is asked for."""
        return self._accounts

    def judged(self, workload: Workload) -> Decision:
        """Return what quotas alone say to one more replica that is not to evict anyone."""
        claim = self.rules.claim([self._newcomer(workload)])
        refusals = tuple(self.rules.refusals(claim.quota, claim.amounts))
        return Decision("refuse" if refusals else "admit", claim, refusals=refusals)

    def under(self, *quotas: Quota) -> "Claims":
        """Return these claims as they stand, on the same trial, if some quotas were others."""
        found = copy(self)
        running = [member for members in self.standing.members for member in members.values()]
        found.book = self.book.with_quotas(*quotas)
        found.standing = Standing(found.book, running, self.standing.order)
        found.rules = Rules(found.standing, found._entitled())  # noqa: SLF001 - the copy is one of these
        found._steps_left = STEPS_MIN  # noqa: SLF001 - the copy is one of these
        found._changes = []  # noqa: SLF001 - the copy is one of these
        found._gone, found._evicted = set(self._gone), list(self._evicted)  # noqa: SLF001 - and so here
        return found

    def ask_as(self, *counted: Counted) -> None:
        """Judge what follows as if what is asked for counted as these do; what is beyond them as the last."""
        if "fair" in self.book.modes:
            self._demand = demand_of(self._accounts, self._asked, counted)
            self.rules = Rules(self.standing, self._entitled())

    def _entitled(self) -> tuple[Terms, ...]:
        """Return what quotas are entitled to by those who run before the question, and all who ask."""
        before = (*self._accounts.running.values(), *self._accounts.leaving.values())
        return Standing(self.book, before).entitlements(self._demand, self._accounts.capacity)

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
        nodes = room_for(self._trial, self._accounts.capacity, shape)
        return nodes._replace(verify=lambda node, victims: self._takes([shape], [node], victims))

    def _left_of_budgets(self) -> list[int]:
        return left_of(self._accounts.budgets, self._evicted)

    def _enter(self, member: Member) -> None:
        self.standing.add(member)
        self._changes.append((member, True))

    def _leave(self, member: Member) -> None:
        self.standing.remove(member)
        self._gone.add(member.key)
        self._changes.append((member, False))

    def _return(self, member: Member) -> None:
        """Let one that left run again."""
        self.standing.add(member)
        self._gone.discard(member.key)
        self._changes.append((member, True))

    def parts(self, workload: Workload, shape: Shape) -> list[Part]:
        """Return a workload on nodes of each size of GPUs."""
        return parts_of(self._trial, self._accounts, workload, shape)

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
                self._gone.add(member.key)
            else:
                self.standing.add(member)
                self._gone.discard(member.key)
        self._evicted = [each for each in self._evicted if each.key in self._gone]
