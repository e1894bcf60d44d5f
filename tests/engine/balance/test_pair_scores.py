"""Scores of all pairs of hosts at once are those of the plain code, to the last bit."""

import numpy as np
from hypothesis import assume, given, settings

from fleet_strategies import rare_kinds, seeds, views
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.allocation import Allocation, allocable, allocate_pair, on_pair, pairs_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Place
from ullage.engine.balance.pair_scores import Changing, PairScores
from ullage.engine.balance.score import statistics
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.tiered import NewSize
from ullage.model.ganeti import MIB

SIZE = NewSize(300 * MIB, 1024 * MIB, 1000)


@given(seeds, rare_kinds, views)
@settings(max_examples=40)
def test_scores_of_pairs_are_those_of_the_plain_code(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    machine = SIZE.machine()
    targets = allocable(fleet, range(kind.groups))
    columns = Columns(fleet, targets)
    assume(targets)
    every = np.arange(len(columns.numbers))
    scorer = PairScores(columns, machine)
    scores = scorer.scores(every, every, scorer.kept(every, every))
    known = statistics(fleet.hosts, fleet.states)
    for at, standbys in pairs_of(fleet, targets):
        for standby in standbys:
            found = on_pair(fleet, known, machine, Place(at, standby))
            if isinstance(found, Allocation):
                assert scores[columns.position[at], columns.position[standby]] == found.score


def test_what_is_read_again_is_scored_as_made_anew():
    fleet = Fleet(random_cluster(5, Kind(5, 12)))
    machine = SIZE.machine()
    columns = Columns(fleet, fleet.scope)
    changing = Changing(columns, machine)
    every = np.arange(len(columns.numbers))
    for _ in range(3):
        found = allocate_pair(fleet, machine, pairs_of(fleet, fleet.scope))
        assert found.best is not None
        fleet.add(machine, found.best.placed)
        columns.read(fleet, found.best.placed.changed)
        if not changing.suits(columns, machine):
            changing = Changing(columns, machine)
        scorer = PairScores(columns, machine, changing)
        anew = PairScores(Columns(fleet, fleet.scope), machine)
        expected = anew.scores(every, every, anew.kept(every, every))
        assert (scorer.scores(every, every, scorer.kept(every, every)) == expected).all()
        some = every[1:3]
        assert (scorer.scores(some, every, scorer.kept(some, every)) == expected[1:3]).all()


def test_what_changes_is_known_for_one_machine_and_the_terms_that_are_the_same():
    fleet = Fleet(random_cluster(5, Kind(5, 12)))
    columns, machine = Columns(fleet, fleet.scope), SIZE.machine()
    changing = Changing(columns, machine)
    assert changing.suits(columns, machine)
    assert not changing.suits(columns, SIZE.machine())
    columns.twins.popitem()
    assert not changing.suits(columns, machine)
