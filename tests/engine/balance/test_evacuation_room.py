"""What counting says of an evacuation is what trying shows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_strategies import rare_kinds, seeds, views
from ganeti_clusters import random_cluster
from ullage.engine.balance.evacuation_room import Bins, Rooms, needs_of
from ullage.engine.balance.evacuation_trial import try_evacuation
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet

rooms = st.lists(st.integers(-2, 12), max_size=4)
needs = st.lists(st.integers(0, 6), max_size=6)


@pytest.mark.parametrize(
    ("amounts", "free", "expected"),
    [
        ([], [], True),
        ([0], [], False),
        ([0, 0], [0], True),
        ([2, 2, 2], [5, 3], True),
        ([2, 2, 2, 2], [5, 3], False),
        ([3, 1], [3, 1], True),
        ([3, 3], [5, 2], False),
        ([1, 1, 3], [3, 2], None),
        ([9], [8, 8], False),
    ],
)
def test_slots_and_sums_decide_and_else_it_depends_on_the_way(amounts, free, expected):
    assert Bins(free).takes(needs_of(amounts)) is expected


def ways(amounts: list[int], free: list[int]) -> set[bool]:
    """Return the ends of every greedy way to place machines one after the other."""
    if not amounts:
        return {True}
    fitting = [at for at, room in enumerate(free) if room >= amounts[0]]
    if not fitting:
        return {False}
    found: set[bool] = set()
    for at in fitting:
        left = [room - amounts[0] if other == at else room for other, room in enumerate(free)]
        found |= ways(amounts[1:], left)
    return found


@given(needs, rooms)
@settings(max_examples=200)
def test_what_is_told_holds_on_every_way(amounts, free):
    told = Bins(free).takes(needs_of(amounts))
    if told is not None:
        assert ways(amounts, free) == {told}


@given(needs, rooms, st.integers(-1, 12))
def test_leaving_out_a_host_is_as_if_it_were_not_there(amounts, free, own):
    own = NOWHERE if own < 0 else own
    without, with_own = Bins(free), Bins([*free, own])
    assert with_own.takes(needs_of(amounts), own) == without.takes(needs_of(amounts))


@given(needs, rooms, st.integers(1, 6))
@settings(max_examples=200)
def test_more_machines_than_there_are_places_left_close_every_way(amounts, free, size):
    left = Bins(free).places_left(needs_of(amounts), NOWHERE, size)
    for at, room in enumerate(free):
        if room >= size and left < 1:
            after = [each - size if other == at else each for other, each in enumerate(free)]
            assert ways(amounts, after) == {False}
    if left < 1:
        assert ways([size, *amounts], free) == {False} or ways([*amounts, size], free) == {False}


@given(seeds, rare_kinds, views)
@settings(max_examples=40)
def test_a_verdict_is_what_trying_shows(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    counted = Rooms(fleet)
    for number in fleet.scope:
        verdict = counted.verdict(number)
        assert verdict is None or verdict == try_evacuation(fleet, number)
