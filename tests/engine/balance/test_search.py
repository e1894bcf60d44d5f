"""Balancing: what the moves lead to, when they end, and which may run at once."""

import pytest
from hypothesis import given, settings

from fleet_strategies import balancings, fleets, rare_kinds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance import search
from ullage.engine.balance.candidates import Balancing, Step, plain_step, score_after
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, Place, place_after
from ullage.engine.balance.quick import Quick
from ullage.engine.balance.score import optimum_of, with_weights
from ullage.engine.balance.search import Plain, balance, best_step, follow, jobsets, search_of
from ullage.engine.balance.state import Failure

MOVES_MAX = 6


@given(fleets(rare_kinds), balancings)
@settings(max_examples=40)
def test_applied_moves_give_the_promised_scores_each_lower_than_the_one_before(fleet, options):
    other = fleet.copy()
    score = other.score()
    steps = list(balance(fleet, options._replace(moves_max=MOVES_MAX)))
    for step in steps:
        assert step.before == other.places[step.machine]
        moved = other.try_move(step.machine, step.move, force=options.force)
        assert not isinstance(moved, Failure)
        assert moved.place == step.place == place_after(step.before, step.move)
        other.accept(step.machine, moved)
        assert other.score() == step.score < score
        score = step.score
    assert other.places == fleet.places
    assert other.states == fleet.states


@given(fleets(rare_kinds), balancings)
@settings(max_examples=25)
def test_every_step_is_that_of_the_plain_search(fleet, options):
    other = fleet.copy()
    for step in balance(fleet, options._replace(moves_max=3)):
        assert step == plain_step(other, options)
        follow(other, step, options)


def uneven() -> Fleet:
    """Return three hosts, the first of which has all six machines."""
    nodes = [ganeti_node(name) for name in "abc"]
    return Fleet(ganeti_cluster(nodes, *(instance(name, "a", template="ext") for name in "ijklmn")))


def test_it_ends_where_no_move_lowers_the_score():
    fleet = uneven()
    steps = list(balance(fleet))
    assert len(steps) == 4
    assert best_step(fleet) is None
    assert [len(state.primaries) for state in fleet.states] == [2, 2, 2]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        pytest.param(Balancing(moves_max=0), 0, id="no move is allowed"),
        pytest.param(Balancing(moves_max=3), 3, id="or some"),
        pytest.param(Balancing(min_score=100.0), 0, id="it is even enough"),
        pytest.param(Balancing(min_score=9.0), 1, id="or gets so"),
        pytest.param(Balancing(min_gain=100.0), 4, id="a small gain is enough for a high score"),
        pytest.param(Balancing(min_gain=100.0, min_gain_limit=100.0), 0, id="but not for a low one"),
        pytest.param(Balancing(min_gain=2.5, min_gain_limit=100.0), 2, id="while gains are large"),
    ],
)
def test_it_ends_where_it_is_told_to(options, count):
    assert len(list(balance(uneven(), options))) == count


def test_the_score_that_no_placement_beats_counts_as_even():
    fleet = Fleet(ganeti_cluster([ganeti_node("a"), ganeti_node("b")], instance("i", "a", "b")))
    score = fleet.score()
    best = optimum_of(fleet.hosts, fleet.states)
    assert best > 0
    assert not list(balance(fleet, Balancing(min_score=score - best)))


def test_a_step_that_the_state_does_not_allow_is_an_error():
    fleet = uneven()
    fleet.states[1] = fleet.states[1]._replace(now=fleet.states[1].now._replace(memory_free=0))
    with pytest.raises(ValueError, match="machine 0 cannot move: FailMem"):
        follow(fleet, Step(0, Move("fa", 1), Place(1), 0.0, Place(0)))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param(Kind(2, 3), Plain, id="few moves"),
        pytest.param(Kind(8, 20), Quick, id="many"),
        pytest.param(Kind(8, 20, forthcoming_share=0.5), Plain, id="machines still to come"),
        pytest.param(Kind(8, 20, exclusive_share=1.0), Plain, id="spindles as a resource"),
    ],
)
def test_the_quick_search_is_for_many_moves_of_the_usual_kind(kind, expected):
    fleet = Fleet(random_cluster(1, kind))
    assert type(search_of(fleet, Balancing())) is expected
    assert search.PAIRS_FEW < 8 * 20


def step(before: tuple[int, int], after: tuple[int, int]) -> Step:
    return Step(0, Move("r"), Place(*after), 0.0, Place(*before))


@pytest.mark.parametrize(
    ("moves", "sizes"),
    [
        pytest.param([], [], id="no moves"),
        pytest.param([((0, 1), (0, 2)), ((3, 4), (3, 5))], [2], id="apart, they run at once"),
        pytest.param(
            [((0, 1), (0, 2)), ((2, 4), (2, 5))], [1, 1], id="a host that is touched again ends a set"
        ),
        pytest.param([((0, 1), (0, 2)), ((1, 4), (1, 5))], [1, 1], id="also one that was left"),
        pytest.param(
            [((0, 1), (0, 2)), ((3, 4), (3, 5)), ((5, 6), (5, 7)), ((0, 1), (0, 8))],
            [2, 2],
            id="what was touched in an earlier set does not matter",
        ),
        pytest.param(
            [((0, NOWHERE), (1, NOWHERE)), ((2, NOWHERE), (3, NOWHERE))], [2], id="no standby is no host"
        ),
    ],
)
def test_moves_run_at_once_until_a_host_is_touched_again(moves, sizes):
    steps = [step(*each) for each in moves]
    sets = jobsets(steps)
    assert [len(each) for each in sets] == sizes
    assert [each for chosen in sets for each in chosen] == steps


def test_weights_of_the_users_own_decide():
    only_reserved = with_weights(dict.fromkeys(("cpu_load_cv", "mem_load_cv", "net_load_cv"), 0.0))
    fleet = Fleet(random_cluster(3, Kind(6, 20)))
    found = best_step(fleet, Balancing(), only_reserved)
    assert found == plain_step(fleet, Balancing(), only_reserved)
    assert found is not None
    assert found.score < score_after(fleet, {}, only_reserved)
