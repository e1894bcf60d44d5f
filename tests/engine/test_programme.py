"""Integer programmes: what is cheapest, what is impossible, and rows with huge numbers that lose nothing."""

import sys
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine import programme as module
from ullage.engine.programme import COEFFICIENT_MAX, SIDE_MAX, Programme, can_solve, require_solver
from ullage.model.errors import InputError

SECONDS = 10
small = st.integers(0, 6)


def test_the_cheapest_whole_numbers_are_found_with_their_proof():
    programme = Programme()
    dear, cheap = programme.unknown(cost=3), programme.unknown(1, cost=2)
    programme.at_least([(dear, 2), (cheap, 1)], 5)
    found = programme.solve(SECONDS)
    assert (found.status, found.counts(), found.cost, found.bound) == ("optimal", [2, 1], 8, 8)


def test_without_whole_numbers_rows_have_prices():
    programme = Programme(whole=False)
    unknown = programme.unknown(cost=3)
    programme.at_least([(unknown, 2)], 5)
    found = programme.solve(SECONDS)
    assert (found.cost, found.prices) == (Fraction(15, 2), (Fraction(3, 2),))


def test_what_no_number_satisfies_is_infeasible():
    programme = Programme()
    programme.at_most([(programme.unknown(5), -7)], -40)
    assert programme.solve(SECONDS).status == "infeasible"


@given(st.lists(st.tuples(small, small, small), min_size=1, max_size=3), st.tuples(small, small))
def test_answers_are_those_of_trying_everything(rows, costs):
    programme = Programme()
    unknowns = [programme.unknown(3, cost=cost) for cost in costs]
    for one, other, most in rows[:-1]:
        programme.at_most([(unknowns[0], one), (unknowns[1], other)], most)
    one, other, least = rows[-1]
    programme.at_least([(unknowns[0], one), (unknowns[1], other)], least)
    possible = [
        sum(cost * count for cost, count in zip(costs, counts, strict=True))
        for counts in product(range(4), repeat=2)
        if all(counts[0] * row[0] + counts[1] * row[1] <= row[2] for row in rows[:-1])
        and counts[0] * one + counts[1] * other >= least
    ]
    found = programme.solve(SECONDS)
    assert found.is_solved == bool(possible)
    assert found.cost == min(possible, default=None)


@given(
    st.lists(st.integers(1, 1 << 50), min_size=1, max_size=3),
    st.integers(0, 1 << 55),
    st.lists(st.integers(0, 20), min_size=3, max_size=3),
)
def test_a_row_made_shorter_still_allows_all_that_it_allowed(numbers, most, counts):
    terms = list(enumerate(numbers))
    shorter, side = module._shortened(terms, most)
    assert max(number for _, number in shorter) <= COEFFICIENT_MAX
    assert side <= SIDE_MAX + 1
    if sum(number * counts[place] for place, number in terms) <= most:
        assert sum(number * counts[place] for place, number in shorter) <= side


def test_rows_whose_numbers_have_much_in_common_stay_exact():
    gib = 1 << 30
    assert module._shortened([(0, 2 * gib), (1, 3 * gib)], 7 * gib + 5) == ([(0, 2), (1, 3)], 7)


def test_without_the_solver_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    monkeypatch.setattr(module, "SOLVER", "no_such_solver")
    assert not can_solve()
    with pytest.raises(InputError, match=r"pip install 'ullage\[solve\]'"):
        require_solver()
