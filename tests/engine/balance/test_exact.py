"""Exact scores: bit for bit those of scoring all hosts anew."""

from hypothesis import assume, given, settings

from fleet_strategies import balancings, fleets, tables
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance import exact
from ullage.engine.balance.candidates import Balancing, movers_of, moves_of, score_after, targets_of
from ullage.engine.balance.columns import Columns, suits
from ullage.engine.balance.exact import Exact
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.score import TERMS
from ullage.engine.balance.state import Failure


def all_moves(fleet: Fleet, options: Balancing):
    return [
        moved
        for number in movers_of(fleet, options)
        for move in moves_of(fleet, number, options, targets_of(fleet))
        for moved in [fleet.try_move(number, move, force=options.force)]
        if not isinstance(moved, Failure)
    ]


@given(fleets(), balancings, tables)
@settings(max_examples=30)
def test_the_score_after_each_move_is_that_of_all_hosts_scored_anew(fleet, options, terms):
    assume(suits(fleet, terms))
    columns = Columns(fleet, options, terms)
    found = Exact(fleet, terms, columns.linear.merged, columns.pairs)
    assert found.score() == score_after(fleet, {}, terms)
    moves = all_moves(fleet, options)
    assert found.scores_after(moves) == [score_after(fleet, moved.changed, terms) for moved in moves]


def test_many_moves_are_scored_in_parts(monkeypatch):
    fleet = Fleet(random_cluster(5, Kind(6, 10)))
    moves = all_moves(fleet, Balancing())
    found = Exact(fleet, TERMS, {})
    whole = found.scores_after(moves)
    monkeypatch.setattr(exact, "CELLS_MAX", 300)
    assert found.scores_after(moves) == whole
