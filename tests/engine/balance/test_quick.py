"""The quick search finds what the plain one finds: the same step with the same score, to the last bit."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fleet_strategies import balancings, fleets, tables
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.candidates import Balancing, plain_step, score_after
from ullage.engine.balance.columns import suits
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.quick import Quick
from ullage.engine.balance.search import follow

STEPS_MAX = 3


@given(fleets(), balancings, tables, st.sampled_from((1, 2, 8)))
@settings(max_examples=30)
def test_each_step_is_that_of_the_plain_search(fleet, options, terms, first_rows):
    assume(suits(fleet, terms))
    search = Quick(fleet, options, terms)
    search.first_rows = first_rows
    for _ in range(STEPS_MAX):
        expected = plain_step(fleet, options, terms)
        assert search.best() == expected
        if expected is None:
            return
        follow(fleet, expected, options)
        search.follow(expected)
        assert search.score == score_after(fleet, {}, terms)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Kind(12, 48), id="few sizes"),
        pytest.param(Kind(24, 260, "ext", has_distinct_sizes=True), id="very many sizes"),
        pytest.param(Kind(12, 48, "mixed", has_equal_nodes=False, offline_share=0.1), id="unequal nodes"),
        pytest.param(Kind(12, 48, tagged_share=0.5, has_migration_tags=True), id="tags"),
    ],
)
def test_in_a_larger_cluster_most_moves_are_not_scored(kind):
    fleet = Fleet(random_cluster(1, kind))
    search = Quick(fleet)
    step = search.best()
    assert step is not None
    assert step == plain_step(fleet, Balancing())
    assert search.rows_scored < len(search.columns.movers)


def test_after_steps_it_finds_what_a_new_search_finds():
    fleet = Fleet(random_cluster(7, Kind(12, 60, "mixed", tagged_share=0.3, offline_share=0.2)))
    search = Quick(fleet)
    steps = 0
    while (step := search.best()) is not None:
        assert step == Quick(fleet).best()
        follow(fleet, step)
        search.follow(step)
        steps += 1
    assert steps > 5
    assert Quick(fleet).best() is None
