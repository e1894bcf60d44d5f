"""Certificates: where placing one after the other fails, whether there is a way at all.

    found = prove(trial, [(shape, 40), (other, 3)], seconds_max=2)
    found.verdict          # "placed": found.counts say where, replayed on the trial under every rule
                           # "impossible": proven; "unknown": found.note says why

Sums come first: what each node could take on its own, and what there is of a resource in all. Then an integer
programme decides (exact_model.py). The hard thing is the rules between workloads. The programme holds most of
them; one that it does not hold is left out, so that "impossible" stays a proof, and a placement that it finds
counts only if the trial, which knows every rule, accepts it.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from ullage.engine.placement.batches import slots_of
from ullage.engine.placement.exact_model import Counts, Model, Wanted
from ullage.engine.placement.shapes import Shape
from ullage.engine.programme import INSTALL, SOLVER, can_solve
from ullage.engine.trial import Trial

UNKNOWNS_MAX: Final = 50_000
"""Unknowns of one programme; more are not tried."""
STEPS_MAX: Final = 1_000_000
"""Replicas that are replayed one by one."""


class Certificate(NamedTuple):
    """What is known about a set of workloads: `counts` has for each of them rows and how many go there."""

    verdict: Literal["placed", "impossible", "unknown"]
    note: str = ""
    counts: tuple[Counts, ...] = ()


def prove(trial: Trial, wanted: Sequence[Wanted], seconds_max: int, names: Sequence[str] = ()) -> Certificate:
    """Return whether all of these have a place beside what there is; what was found is left placed.

    Notes call them by `names`, else by the workload that each shape was made from.
    """
    if not any(replicas for _, replicas in wanted):
        return Certificate("placed", counts=((),) * len(wanted))
    model = Model(trial, wanted)
    reason = model.impossible(names)
    if reason:
        return Certificate("impossible", reason)
    if seconds_max <= 0:
        return Certificate("unknown", "no time is given for an exact search")
    if not can_solve():
        return Certificate("unknown", f"{SOLVER} is not installed: {INSTALL}")
    for single_nodes in (False, True) if len(wanted) > 1 else (False,):
        model.group(single_nodes=single_nodes)
        if model.size > UNKNOWNS_MAX:
            return Certificate(
                "unknown", f"{model.size} unknowns are too many for an exact search (at most {UNKNOWNS_MAX})"
            )
        solution = model.programme().solve(seconds_max)
        if solution.status == "infeasible":
            return Certificate("impossible", "no placement of all of them exists")
        if not solution.is_solved:
            return Certificate("unknown", f"not decided within {seconds_max} s")
        counts = model.counts(solution)
        if counts is not None and replay(trial, wanted, counts):
            return Certificate("placed", "found by exact search", tuple(counts))
    left_out = ", ".join(model.left_out) or "rounding of large amounts"
    return Certificate("unknown", f"the exact search leaves out: {left_out}")


def replay(trial: Trial, wanted: Sequence[Wanted], counts: Sequence[Counts]) -> bool:
    """Place what was found, in an order that every rule accepts; where there is none, nothing is placed."""
    mark = trial.mark()
    left = [dict(each) for each in counts]
    steps = 0
    while any(left):
        before = steps
        for (shape, _), rows in zip(wanted, left, strict=True):
            if steps > STEPS_MAX:
                break
            steps += _place_some(trial, shape, rows, STEPS_MAX - steps + 1)
        if steps == before or steps > STEPS_MAX:
            trial.undo(mark)
            return False
    return True


def _place_some(trial: Trial, shape: Shape, left: dict[int, int], most: int) -> int:
    """Place what now has its place of what is left, and return how many that were."""
    if not shape.wide_rules and not shape.takes:
        rows = np.array(sorted(left), np.intp)
        rows = rows[trial.feasible(shape)[rows]]
        if not len(rows):
            return 0
        wished = np.array([left[row] for row in rows.tolist()], np.int64)
        taken = np.minimum(slots_of(trial, shape, rows), wished)
        trial.place_many(shape, rows, taken)
        _subtract(left, rows.tolist(), taken.tolist())
        return int(taken.sum())
    placed = 0
    while left and placed < most:
        fits = trial.feasible(shape)
        row = next((each for each in left if fits[each]), -1)
        if row < 0:
            break
        trial.place(shape, row)
        _subtract(left, [row], [1])
        placed += 1
    return placed


def _subtract(left: dict[int, int], rows: Sequence[int], counts: Sequence[int]) -> None:
    for row, count in zip(rows, counts, strict=True):
        left[row] -= count
        if not left[row]:
            del left[row]
