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

from ullage.engine.capacity.admission import Place, admit, admit_resize, judge
from ullage.engine.capacity.bounds import CPU, committed_of, free_of
from ullage.engine.capacity.units import refused_by_kind
from ullage.engine.columns import Columns
from ullage.engine.placement.node_rules import closed_by
from ullage.engine.placement.refusal import explain_refusal, resize_remedy
from ullage.engine.placement.running import Running
from ullage.model.cluster import Batch, Workload
from ullage.model.errors import InputError
from ullage.model.plan import Plan, Refusal, Step
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import Rules, rules_for
from ullage.model.verdict import Verdict

REPLICAS_MAX: Final = 10_000_000
VOLUME_KINDS: Final = frozenset(("zmount", "volume"))
SHARE_STEPS: Final = 1_000_000
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
    action: Literal["place", "resize", "keep"] = "place"


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
    running = Running(snapshot)
    outcomes: list[Outcome] = []
    for batch in in_admission_order(batches, rules):
        if not 0 <= batch.replicas <= REPLICAS_MAX:
            raise InputError(
                f"workload {batch.key} asks for {batch.replicas} replicas", remedy=f"use 0 to {REPLICAS_MAX}"
            )
        before = trial.promised.copy() if batch.atomic else None
        outcome = _place(trial, batch, running, rules)
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


def _place(trial: Columns, batch: Batch, running: Running, rules: Rules) -> Outcome:
    workload = batch.workload
    asked = msgspec.structs.replace(workload, requests=trial.taken(workload))
    outcome = Outcome(workload.key, workload.kind, batch.replicas, 0, "ok", (), requests=asked.requests)
    if workload.state in {"error", "deleted"}:
        reason = f"its state is {workload.state}, which is final"
        refusal = Refusal(workload.key, batch.replicas, reason, remedy="ask for it anew, in state init")
        return outcome._replace(state=workload.state, refusal=refusal)
    too_small = refused_by_kind(workload.kind, workload.requests, rules)
    if too_small:
        refusal = Refusal(workload.key, batch.replicas, too_small, remedy="raise its memory request")
        return outcome._replace(state="error", refusal=refusal)
    itself = trial.snapshot.workloads.get(workload.key)
    if itself is not None and itself.holds_capacity and batch.replicas == 1:
        if asked.node in {"", itself.node}:
            return _resize(trial, itself, asked, outcome._replace(action="resize"))
        return _spread(trial, asked, outcome)
    return _update(trial, running.replicas_of(workload), asked, outcome)


def _resize(trial: Columns, running: Workload, asked: Workload, outcome: Outcome) -> Outcome:
    """Judge a workload that runs already: only what it grows by is new."""
    held = trial.taken(running)
    before = msgspec.structs.replace(running, requests=held)
    verdict = admit_resize(_place_named(trial, running.node), before, asked)
    if not verdict.admitted:
        remedy = resize_remedy(verdict.shortfalls, trial.snapshot.resource_types)
        refusal = Refusal(outcome.subject, 1, verdict.reason, verdict.shortfalls, remedy)
        return outcome._replace(state="error", verdict=verdict, refusal=refusal)
    trial.promise(running.node, asked.requests - held)
    return outcome._replace(placed=1, nodes=((running.node, 1),), verdict=verdict)


def _update(trial: Columns, running: Sequence[Workload], asked: Workload, outcome: Outcome) -> Outcome:
    """Judge a set of replicas of which some run already.

    Those stay where they are while their node has room for the new size; the others give up their place
    and are placed anew, and what is too many goes.
    """
    if not running:
        return _spread(trial, asked, outcome)
    counts: dict[str, int] = {}
    for position, replica in enumerate(running):
        held = trial.taken(replica)
        stays = position < outcome.replicas and (
            held == asked.requests
            or judge(_place_named(trial, replica.node), asked.key, asked.requests, held=held).admitted
        )
        trial.promise(replica.node, asked.requests - held if stays else held * -1)
        if stays:
            counts[replica.node] = counts.get(replica.node, 0) + 1
    kept = sum(counts.values())
    added = _spread(trial, asked, outcome._replace(replicas=outcome.replicas - kept))
    for node, count in added.nodes:
        counts[node] = counts.get(node, 0) + count
    same = kept == len(running) and all(trial.taken(each) == asked.requests for each in running)
    return added._replace(
        replicas=outcome.replicas,
        placed=kept + added.placed,
        nodes=tuple(sorted(counts.items())),
        action="keep" if same and not added.nodes else "resize",
    )


def _spread(trial: Columns, asked: Workload, outcome: Outcome) -> Outcome:
    """Place replicas one by one on the node that keeps the largest share of its scarcest resource free."""
    rows = _candidates(trial, asked)
    rooms = {row: found for row in rows if (found := _rooms(trial, row, asked)) is not None}
    heap = [(-share, row) for row, found in rooms.items() if (share := _share_left(found)) is not None]
    heapq.heapify(heap)
    verdict = admit(place_of(trial, heap[0][1]), asked) if heap else None
    counts: dict[int, int] = {}
    placed = 0
    while heap and placed < outcome.replicas:
        _, row = heapq.heappop(heap)
        counts[row] = counts.get(row, 0) + 1
        placed += 1
        for room in rooms[row]:
            room.promised += room.amount
        left = _share_left(rooms[row])
        if left is not None:
            heapq.heappush(heap, (-left, row))
    for row, count in counts.items():
        trial.promise(trial.nodes[row].name, asked.requests * count)
    nodes = tuple((trial.nodes[row].name, counts[row]) for row in sorted(counts))
    outcome = outcome._replace(placed=placed, nodes=nodes, verdict=verdict)
    if placed == outcome.replicas:
        return outcome
    places = [place_of(trial, row) for row in rows]
    closed = (
        () if asked.node else [place_of(trial, row) for row in sorted({*range(len(trial.nodes))} - {*rows})]
    )
    refusal = explain_refusal(asked, outcome.replicas - placed, places, trial.nodes, closed)
    if refusal.shortfalls:
        verdict = admit(_place_named(trial, refusal.shortfalls[0].node), asked)
    return outcome._replace(state="error", verdict=verdict, refusal=refusal)


def _candidates(trial: Columns, asked: Workload) -> list[int]:
    """Return the rows that a workload may go to: all that are open to it, or of those the one it names."""
    taking = [row for row, node in enumerate(trial.nodes) if not closed_by(node, asked)]
    return [row for row in taking if trial.nodes[row].name == asked.node] if asked.node else taking


class Room:
    """One bounded resource of one node while replicas are placed on it."""

    __slots__ = ("actual", "amount", "counts_actual", "limit", "promised", "reserve", "strict")

    def __init__(self, trial: Columns, row: int, column: int, amount: int) -> None:
        self.amount = amount
        self.limit = int(trial.limit[row, column])
        self.promised = int(trial.promised[row, column])
        self.actual = int(trial.actual[row, column])
        self.reserve = int(trial.reserve[row, column])
        self.counts_actual = bool(trial.counts_actual[row, 0])
        self.strict = int(trial.strict[row, 0])


def _rooms(trial: Columns, row: int, asked: Workload) -> list[Room] | None:
    """Return the bounded resources of a node that a workload names; None where no replica ever fits."""
    rooms: list[Room] = []
    for resource, amount in asked.requests.items():
        if amount <= 0:
            continue
        column = trial.resource_index.get(resource)
        if column is None:
            return None
        bounded = trial.bounded[row, column]
        if (resource == CPU or not bounded) and amount > trial.capacity[row, column]:
            return None
        if bounded:
            rooms.append(Room(trial, row, column, amount))
    return rooms


def _share_left(rooms: Sequence[Room]) -> int | None:
    """Return the least share of a limit that one more replica leaves free; None where it does not fit."""
    least = SHARE_STEPS
    for room in rooms:
        committed = committed_of(room.promised, room.actual, room.reserve, counts_actual=room.counts_actual)
        left = free_of(room.limit, committed) - room.amount
        if left < room.strict:
            return None
        least = min(least, left * SHARE_STEPS // max(room.limit, 1))
    return least


def _place_named(trial: Columns, node: str) -> Place:
    return place_of(trial, trial.node_index[node])


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
    if outcome.action == "keep":
        return []
    return [
        Step(outcome.action, outcome.subject, to_node=node, resources=outcome.requests, count=count)
        for node, count in outcome.nodes
    ]
