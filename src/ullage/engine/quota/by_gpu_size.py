"""Replicas that count by their node's size of GPUs: each goes to the size for which the best victims go.

Sizes are compared by the cost of their victims, the same by which victims are chosen on nodes of one size.
What is proven of one size says nothing of the others, so it is proven only if it was for all of them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ullage.engine.placement.outcome import Outcome
from ullage.engine.quota.decision import Decision
from ullage.engine.quota.gpu_parts import Part

if TYPE_CHECKING:
    from ullage.engine.quota.judging import Judged, QuotaJudging


class _Tried(NamedTuple):
    """What came of trying one size."""

    dearness: tuple[object, ...]
    outcome: Outcome
    proven: bool


def dearness(decision: Decision | None, *, runs: bool, waited: int) -> tuple[object, ...]:
    """Return by what sizes are compared; of those that are refused, by quotas if one is, the nearest."""
    if runs:
        cost = decision.cost if decision is not None else None
        return 0, cost is not None, cost or (), waited
    refusals = decision.refusals if decision is not None else ()
    return 1, not refusals, sum(each.short for each in refusals)


def evicting_by_size(
    judging: "QuotaJudging", parts: Sequence[Part], outcome: Outcome, turns_max: int
) -> "Judged":
    """Return an outcome with as many more replicas as can run where others go, on whatever size is best.

    In each of so many turns it is one more; where there are none, as many as one size takes at once.
    """
    replicas, turns = outcome.replicas, 0
    while True:
        goal = outcome.placed + 1 if turns_max else replicas
        tried = [_tried(judging, part, outcome._replace(replicas=goal)) for part in parts]
        best = min(range(len(parts)), key=lambda place: tried[place].dearness)
        proven = all(each.proven for each in tried)
        is_refused = tried[best].outcome.placed == outcome.placed
        judging.claims.ask_as((parts[best].workload, 0))
        asked = outcome._replace(replicas=replicas if is_refused else goal)
        judged = judging.evicting(parts[best].workload, parts[best].shape, asked)
        if is_refused:
            return judged._replace(proven=judged.proven and proven)
        turns += 1
        outcome = _with_bounds(judged.outcome, outcome, tried, proven=proven)
        if outcome.placed == replicas or turns == turns_max:
            return judged._replace(outcome=outcome)


def _with_bounds(found: Outcome, before: Outcome, tried: Sequence[_Tried], *, proven: bool) -> Outcome:
    """Return an outcome with what is known of the victims on all sizes."""
    nobody = len(found.evicted) == len(before.evicted)
    known = [each for each in tried if each.outcome.placed > before.placed or not each.proven]
    return found._replace(
        replicas=before.replicas,
        fewest_proven=found.fewest_proven and (nobody or proven),
        evicted_min=min(each.outcome.evicted_min for each in known),
    )


def _tried(judging: "QuotaJudging", part: Part, outcome: Outcome) -> _Tried:
    """Return what becomes of replicas on nodes of one size; nothing stays changed."""
    claims = judging.claims
    mark = claims.mark_both()
    claims.ask_as((part.workload, 0))
    judged = judging.evicting(part.workload, part.shape, outcome)
    claims.undo_both(mark)
    found = judged.outcome
    runs, waited = found.placed > outcome.placed, len(found.waits_for)
    order = (-found.placed, *dearness(judged.decision, runs=runs, waited=waited))
    return _Tried(order, found, found.fewest_proven and judged.proven)
