"""Does it fit: workloads placed one after the other, each where most room is left.

Batches are judged in the order of the policy (volumes largest first, then networks, then machines, where
it names one), each on the state that those before it left. One that does not fit is an error with its
reason and the others go on; asked to be atomic, one failure leaves nothing placed. Judged are resources
and what opens a node to a workload (node_rules.py). Placing a replica only ever makes its node less
attractive, so one heap gives exactly the order that scoring every node for every replica would give.
"""

import heapq
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np

from ullage.engine.capacity.admission import Place, admit, admit_resize
from ullage.engine.capacity.bounds import CPU, committed_of, free_of
from ullage.engine.capacity.units import consumption, refused_by_kind
from ullage.engine.columns import Columns, Flags, Integers
from ullage.engine.placement.node_rules import closed_by
from ullage.engine.placement.refusal import explain_refusal, resize_remedy
from ullage.model.cluster import Batch, Workload
from ullage.model.errors import InputError
from ullage.model.plan import Plan, Refusal, Step
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import Rules, rules_for
from ullage.model.verdict import Verdict

REPLICAS_MAX: Final = 10_000_000
VOLUME_KINDS: Final = frozenset(("zmount", "volume"))
SHARE_STEPS: Final = 1_000_000
SHARE_LIMIT: Final = 1 << 42
"""Shares of free room are compared in millionths: integers, so that ties are ties."""


class Outcome(NamedTuple):
    """What became of one batch: how many replicas stand where, and why not all of them do.

    `requests` is what one replica takes from its node, which may be more than was asked for.
    """

    subject: str
    kind: str
    replicas: int
    placed: int
    state: Literal["ok", "error", "init", "paused", "deleted"]
    nodes: tuple[tuple[str, int], ...]
    verdict: Verdict | None = None
    refusal: Refusal | None = None
    requests: Resources = NOTHING
    action: Literal["place", "resize"] = "place"


class FitAnswer(NamedTuple):
    """The outcome of every batch in the order in which they were judged, and the plan they make."""

    outcomes: tuple[Outcome, ...]
    plan: Plan

    @property
    def fits(self) -> bool:
        """Whether everything that was asked for has its place."""
        return self.plan.complete


def fit(columns: Columns, batches: Sequence[Batch], *, atomic: bool = False) -> FitAnswer:
    """Return where workloads would go; the columns given are left as they are."""
    snapshot = columns.snapshot
    rules = rules_for(snapshot.policy, snapshot.resource_types)
    trial = columns.copy()
    outcomes: list[Outcome] = []
    for batch in in_admission_order(batches, rules):
        if not 0 <= batch.replicas <= REPLICAS_MAX:
            raise InputError(
                f"workload {batch.key} asks for {batch.replicas} replicas", remedy=f"use 0 to {REPLICAS_MAX}"
            )
        before = trial.promised.copy() if batch.atomic else None
        outcome = _place(trial, batch, rules)
        if before is not None and outcome.refusal is not None:
            trial.promised[:] = before
            outcome = outcome._replace(placed=0, nodes=())
        outcomes.append(outcome)
    if atomic and any(outcome.refusal for outcome in outcomes):
        outcomes = [_undone(outcome) for outcome in outcomes]
    steps = tuple(step for outcome in outcomes for step in _steps(outcome))
    refusals = tuple(outcome.refusal for outcome in outcomes if outcome.refusal)
    return FitAnswer(tuple(outcomes), Plan("fit", snapshot.revision, snapshot.policy.name, steps, refusals))


def in_admission_order(batches: Sequence[Batch], rules: Rules) -> list[Batch]:
    """Return batches as the policy orders their kinds; kinds it does not name come last, by name."""
    if not rules.admission_order:
        return list(batches)
    rank = {kind: place for place, kind in enumerate(rules.admission_order)}

    def place(batch: Batch) -> tuple[int, str, int]:
        kind = batch.workload.kind
        known = kind in rank
        size = -sum(batch.workload.requests.values()) if kind in VOLUME_KINDS else 0
        return rank.get(kind, len(rank)), "" if known else kind, size

    return sorted(batches, key=place)


def _place(trial: Columns, batch: Batch, rules: Rules) -> Outcome:
    workload = batch.workload
    asked = msgspec.structs.replace(workload, requests=consumption(workload.kind, workload.requests, rules))
    outcome = Outcome(workload.key, workload.kind, batch.replicas, 0, "ok", (), requests=asked.requests)
    if workload.state in {"error", "deleted"}:
        reason = f"its state is {workload.state}, which is final"
        refusal = Refusal(workload.key, batch.replicas, reason, remedy="ask for it anew, in state init")
        return outcome._replace(state=workload.state, refusal=refusal)
    too_small = refused_by_kind(workload.kind, workload.requests, rules)
    if too_small:
        refusal = Refusal(workload.key, batch.replicas, too_small, remedy="raise its memory request")
        return outcome._replace(state="error", refusal=refusal)
    running = trial.snapshot.workloads.get(workload.key)
    if running is None or not running.holds_capacity or batch.replicas != 1:
        return _spread(trial, asked, outcome)
    if asked.node not in {"", running.node}:
        return _spread(trial, asked, outcome)
    return _resize(trial, running, asked, outcome._replace(action="resize"))


def _resize(trial: Columns, running: Workload, asked: Workload, outcome: Outcome) -> Outcome:
    """Judge a workload that runs already: only what it grows by is new."""
    row = trial.node_index[running.node]
    verdict = admit_resize(place_of(trial, row), running, asked)
    if not verdict.admitted:
        remedy = resize_remedy(verdict.shortfalls, trial.snapshot.resource_types)
        refusal = Refusal(outcome.subject, 1, verdict.reason, verdict.shortfalls, remedy)
        return outcome._replace(state="error", verdict=verdict, refusal=refusal)
    trial.promise(running.node, asked.requests - running.requests)
    return outcome._replace(placed=1, nodes=((running.node, 1),), verdict=verdict)


def _spread(trial: Columns, asked: Workload, outcome: Outcome) -> Outcome:
    """Place replicas one by one on the node that keeps the largest share of its scarcest resource free."""
    rows = _candidates(trial, asked)
    fitting, shares = _room(trial, rows, asked)
    heap = [(-int(share), int(row)) for row, share in zip(rows[fitting], shares[fitting], strict=True)]
    heapq.heapify(heap)
    verdict = admit(place_of(trial, heap[0][1]), asked) if heap else None
    counts: dict[int, int] = {}
    placed = 0
    while heap and placed < outcome.replicas:
        _, row = heapq.heappop(heap)
        trial.promise(trial.nodes[row].name, asked.requests)
        counts[row] = counts.get(row, 0) + 1
        placed += 1
        fitting, shares = _room(trial, np.array([row]), asked)
        if fitting[0]:
            heapq.heappush(heap, (-int(shares[0]), row))
    nodes = tuple((trial.nodes[row].name, counts[row]) for row in sorted(counts))
    outcome = outcome._replace(placed=placed, nodes=nodes, verdict=verdict)
    if placed == outcome.replicas:
        return outcome
    places = [place_of(trial, int(row)) for row in rows]
    refusal = explain_refusal(asked, outcome.replicas - placed, places, trial.nodes)
    return outcome._replace(state="error", refusal=refusal)


def _candidates(trial: Columns, asked: Workload) -> Integers:
    """Return the rows that a workload may go to: all that are open to it, or of those the one it names."""
    taking = [row for row, node in enumerate(trial.nodes) if not closed_by(node, asked)]
    if asked.node:
        taking = [row for row in taking if trial.nodes[row].name == asked.node]
    return np.array(taking, np.int64)


def _room(trial: Columns, rows: Integers, asked: Workload) -> tuple[Flags, Integers]:
    """Return which rows have room for one more replica, and the share of room each would have left."""
    fitting = np.ones(len(rows), np.bool_)
    shares = np.full(len(rows), SHARE_STEPS, np.int64)
    promised, actual, reserve = trial.promised[rows], trial.actual[rows], trial.reserve[rows]
    committed = np.where(
        trial.counts_actual[rows], committed_of(promised, actual, reserve, counts_actual=True), promised
    )
    strict = trial.strict[rows, 0]
    for resource, amount in asked.requests.items():
        if amount <= 0:
            continue
        column = trial.resource_index.get(resource)
        if column is None:
            return np.zeros(len(rows), np.bool_), shares
        capacity, limit = trial.capacity[rows, column], trial.limit[rows, column]
        bounded = trial.bounded[rows, column]
        left = free_of(limit, committed[:, column]) - amount
        fitting &= np.where(bounded, left >= strict, amount <= capacity)
        if resource == CPU:
            fitting &= amount <= capacity
        shares = np.where(bounded, np.minimum(shares, _share(left, limit)), shares)
    return fitting, shares


def _share(left: Integers, limit: Integers) -> Integers:
    """Return left/limit in steps, without leaving 64 bits."""
    large = limit >= SHARE_LIMIT
    exact = np.where(large, 0, left) * SHARE_STEPS // np.maximum(limit, 1)
    return np.where(large, left // np.maximum(limit // SHARE_STEPS, 1), exact)


def place_of(columns: Columns, row: int) -> Place:
    """Return a node of the columns as admission sees it."""
    return Place(
        columns.nodes[row].name, columns.figures(row), columns.rules(row), columns.snapshot.resource_types
    )


def _undone(outcome: Outcome) -> Outcome:
    """Return an outcome of which nothing stands, because another one failed."""
    state = outcome.state if outcome.refusal else "init"
    return outcome._replace(placed=0, nodes=(), state=state)


def _steps(outcome: Outcome) -> list[Step]:
    return [
        Step(outcome.action, outcome.subject, to_node=node, resources=outcome.requests, count=count)
        for node, count in outcome.nodes
    ]
