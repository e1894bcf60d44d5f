"""Whether a purchase does what it is for, by the engine itself: everything placed, and any k nodes may fail.

First workloads are placed as the policy places them. Where that leaves some out, the placement that was
planned is tried, then an exact search over all of them at once: the purchase is then enough, but only for
someone who follows that placement, and the answer says so.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.exact import UNKNOWNS_MAX, prove, replay
from ullage.engine.placement.exact_model import Counts, Model, Wanted
from ullage.engine.placement.fit import fit
from ullage.engine.placement.local_disks import rule_of
from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.rules import EVERY
from ullage.engine.placement.running import Running
from ullage.engine.placement.shapes import Shape
from ullage.engine.purchase.offers import Market, Offer, Upgrade
from ullage.engine.redundancy.losses import Losses, Survey
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch, Node, Workload
from ullage.model.settings import rules_for

Plan = Sequence[Mapping[str, int]]
"""For each shape how many go to which node."""


class Checked(NamedTuple):
    """What a purchase achieves; `survey` is there where losses were asked for and everything has a place.

    `is_final` says that what does not fit has no place in this cluster by any search.
    """

    nodes: tuple[Node, ...]
    outcomes: tuple[Outcome, ...]
    certificate: Literal["greedy", "exact"]
    survey: Survey | None
    is_final: bool = False

    @property
    def unplaced(self) -> int:
        """How many replicas have no place."""
        return sum(each.refusal.count for each in self.outcomes if each.refusal)

    @property
    def losers(self) -> int:
        """How many workloads would be without a place over all losses."""
        return sum(len(each.losers) * each.alike for each in self.survey.worst) if self.survey else 0

    @property
    def holds(self) -> bool:
        """Whether all is as it was asked for."""
        return not self.unplaced and not self.losers

    @property
    def badness(self) -> tuple[int, int]:
        """What is still missing, first places now, then places after a loss."""
        return self.unplaced, self.losers


class Check:
    """One question, asked of many purchases."""

    def __init__(self, market: Market, batches: Sequence[Batch], nodes_lost: int, seconds_max: int) -> None:
        snapshot = market.snapshot
        self._market = market
        self._batches = batches
        self._nodes_lost = nodes_lost
        self._seconds_max = seconds_max
        self.placement = rules_for(snapshot.policy, snapshot.resource_types).placement
        before, running = BeforePlacement(snapshot), Running(snapshot)
        self._running = {batch.key: running.replicas_of(batch.workload) for batch in batches}
        self.demand = [
            (before.completed(batch.workload), self._new_replicas(batch))
            for batch in batches
            if not (batch.workload.constraints.scheduling_gates or batch.workload.constraints.resource_claims)
        ]

    def _new_replicas(self, batch: Batch) -> int:
        """Return how many of a batch do not run yet."""
        itself = self._market.snapshot.workloads.get(batch.key)
        if itself is not None and itself.holds_capacity:
            return 0
        return max(0, batch.replicas - len(self._running[batch.key]))

    def of(
        self,
        offers: Sequence[Offer],
        plan: Plan | None = None,
        *,
        upgrades: Sequence[Upgrade] = (),
        searches: bool = True,
    ) -> Checked:
        """Return what a purchase achieves; without searches, only as the policy places."""
        nodes = self._market.nodes(offers)
        columns = Columns(self._market.with_nodes(nodes, upgrades=upgrades))
        outcomes = fit(columns, self._batches, names_remedies=False).outcomes
        certificate: Literal["greedy", "exact"] = "greedy"
        is_final = False
        refused = [each for each in outcomes if each.refusal]
        searchable = searches and all(each.certificate == "unknown" for each in refused)
        if refused and searchable and all(each.action == "place" for each in outcomes):
            verdict, found = self._searched(columns, outcomes, plan)
            is_final = verdict == "impossible"
            if verdict == "placed":
                outcomes, certificate = found, "exact"
        survey = None
        if self._nodes_lost and not any(each.refusal for each in outcomes):
            placed = self._placed(outcomes)
            after = Columns(self._market.with_nodes(nodes, placed))
            survey = Losses(after, self.placement).every(self._nodes_lost)
        return Checked(tuple(nodes), tuple(outcomes), certificate, survey, is_final)

    def _searched(
        self, columns: Columns, outcomes: Sequence[Outcome], plan: Plan | None
    ) -> tuple[str, tuple[Outcome, ...]]:
        """Return what an exact search says, and outcomes as it places them."""
        trial = Trial(columns, self.placement, keeps_spare=True)
        wanted: dict[object, Wanted] = {}
        for workload, replicas in self.demand:
            if not replicas:
                continue
            shape = trial.shape_of(workload)
            wanted[shape] = shape, wanted.get(shape, (shape, 0))[1] + replicas
        listed = list(wanted.values())
        counts = None if plan is None else [_rows(trial, each) for each in plan]
        if counts is None or not _replayed(trial, listed, counts):
            found = prove(trial, listed, self._seconds_max)
            if found.verdict == "unknown" and _is_ruled_out(trial, listed, self._seconds_max):
                return "impossible", ()
            if found.verdict != "placed":
                return found.verdict, ()
            counts = list(found.counts)
        left = {shape: dict(each) for shape, each in zip(wanted, counts, strict=True)}
        by_key = {workload.key: trial.shape_of(workload) for workload, _ in self.demand}
        return "placed", tuple(_dealt(each, left.get(by_key[each.subject], {}), trial) for each in outcomes)

    def _placed(self, outcomes: Sequence[Outcome]) -> list[Workload]:
        """Return what was placed as workloads that run; those that ran already are there."""
        by_key = {workload.key: workload for workload, _ in self.demand}
        found = []
        for outcome in outcomes:
            workload = by_key.get(outcome.subject)
            if workload is None:
                continue
            runs = Counter(each.node for each in self._running.get(outcome.subject, ()))
            new = Counter(dict(outcome.nodes)) - runs
            names = [workload.name] if outcome.replicas == 1 else []
            for number, node in enumerate(new.elements()):
                name = names[number] if number < len(names) else f"{workload.name}-new-{number + 1}"
                found.append(msgspec.structs.replace(workload, name=name, node=node, state="ok"))
        return found


def _replayed(trial: Trial, wanted: Sequence[Wanted], counts: Sequence[Counts]) -> bool:
    """Place what was planned: as it is listed, else those first whose volumes leave the least choice."""
    if replay(trial, wanted, counts):
        return True
    if not any(rule_of(shape) for shape, _ in wanted):
        return False
    order = sorted(range(len(wanted)), key=lambda number: _choosiness(wanted[number][0]), reverse=True)
    return replay(trial, [wanted[each] for each in order], [counts[each] for each in order])


def _is_ruled_out(trial: Trial, wanted: Sequence[Wanted], seconds_max: int) -> bool:
    """Whether local disks, which the search leaves out, leave no way for all: nodes without them are closed.

    A node whose disks do not serve one workload now does so no more when others are there.
    """
    rules = [rule_of(shape) for shape, _ in wanted]
    if not any(rules):
        return False
    model = Model(trial, wanted)
    for rule, slots in zip(rules, model.slots, strict=True):
        if rule is not None and rule.is_decided:
            slots[~rule.allows(EVERY)] = 0
    if model.impossible():
        return True
    model.group(single_nodes=False)
    return model.size <= UNKNOWNS_MAX and model.programme().solve(seconds_max).status == "infeasible"


def _choosiness(shape: Shape) -> tuple[int, int]:
    """Return how many whole drives a shape wants, and the size of its largest volume."""
    rule = rule_of(shape)
    requests = rule.wanted() if rule is not None else ()
    sizes = [each.size_bytes for each in requests]
    return sum(not each.is_share for each in requests), max(sizes, default=0)


def _rows(trial: Trial, counts: Mapping[str, int]) -> Counts:
    return tuple(sorted((trial.row_of[name], count) for name, count in counts.items()))


def _dealt(outcome: Outcome, left: dict[int, int], trial: Trial) -> Outcome:
    """Return an outcome with its part of what was found for its shape."""
    missing = outcome.replicas
    nodes = []
    for row in sorted(left):
        count = min(missing, left[row])
        if count:
            nodes.append((trial.nodes[row].name, count))
            left[row] -= count
            missing -= count
    return outcome._replace(
        placed=outcome.replicas,
        nodes=tuple(sorted(nodes)),
        state="ok",
        refusal=None,
        certificate="exact",
        disks=(),
    )
