"""Rows: the scores of all moves within doubt, which are possible exactly where the primitives say so."""

import numpy as np
from hypothesis import assume, given, settings

from fleet_strategies import balancings, fleets, tables
from ullage.engine.balance.bounds import Bounds
from ullage.engine.balance.candidates import Balancing, movers_of, moves_of, score_after, targets_of
from ullage.engine.balance.columns import FAILOVER, KINDS, Columns, suits
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.rows import failover_scores, spread_of, target_scores
from ullage.engine.balance.state import Failure


def plain_scores(fleet: Fleet, columns: Columns, options: Balancing, terms) -> np.ndarray:
    """Return the scores by kind, machine and host; infinite where a move is not looked at or not possible."""
    found = np.full((len(KINDS) + 1, len(columns.movers), columns.size + 1), np.inf)
    for number in movers_of(fleet, options):
        for move in moves_of(fleet, number, options, targets_of(fleet)):
            moved = fleet.try_move(number, move, force=options.force)
            if not isinstance(moved, Failure):
                kind = FAILOVER if move.kind == "f" else KINDS.index(move.kind)
                host = columns.local[move.target] if move.target >= 0 else columns.size
                found[kind, columns.index[number], host] = score_after(fleet, moved.changed, terms)
    return found


@given(fleets(), balancings, tables)
@settings(max_examples=40)
def test_a_score_is_that_of_the_plain_search_within_doubt(fleet, options, terms):
    assume(suits(fleet, terms))
    columns = Columns(fleet, options, terms)
    bounds = Bounds(columns)
    spread = spread_of(columns, score_after(fleet, {}, terms))
    largest = max((machine.load.memory for machine in columns.machines), default=0.0)
    assert spread.doubt < 1e-4 * max(1.0, largest)
    expected = plain_scores(fleet, columns, options, terms)
    everyone = np.arange(len(columns.movers))
    for kind in range(len(KINDS)):
        found = target_scores(columns, spread, kind, everyone, bounds.sides_for(kind, everyone))
        assert (np.isinf(found) == np.isinf(expected[kind])).all()
        there = np.isfinite(found)
        assert (np.abs(found[there] - expected[kind][there]) <= spread.doubt / 2).all()
    found = failover_scores(columns, spread, bounds.failovers)
    swapped = expected[FAILOVER][:, columns.size]
    assert (np.isinf(found) == np.isinf(swapped)).all()
    there = np.isfinite(found)
    assert (np.abs(found[there] - swapped[there]) <= spread.doubt / 2).all()
