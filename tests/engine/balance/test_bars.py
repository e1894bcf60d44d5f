"""Moves that are not to be made: hosts closed to kinds of machines, and single moves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.balance.bars import Bars
from ullage.engine.balance.moves import Move

KINDS = ("fa", "r", "rf", "frf", "fr")
moves = st.one_of(st.just(Move("f")), st.builds(Move, st.sampled_from(KINDS), st.integers(0, 3)))


def test_without_bars_everything_is_allowed():
    bars = Bars()
    assert bars.allows(3, Move("fa", 7))
    assert not bars.closed([3], np.array([7]), "fa").any()


def test_a_host_may_be_closed_to_a_kind_of_machine():
    bars = Bars([0, 1], np.array([[True, False], [True, True]]))
    assert bars.allows(0, Move("fa", 0))
    assert not bars.allows(0, Move("r", 1))
    assert bars.allows(1, Move("fa", 1))
    assert bars.allows(0, Move("f"))


def test_a_single_move_is_barred_by_itself():
    bars = Bars()
    bars.bar(2, Move("fa", 1))
    assert not bars.allows(2, Move("fa", 1))
    assert bars.allows(2, Move("r", 1))
    assert bars.allows(1, Move("fa", 1))


@given(
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.lists(st.tuples(st.integers(0, 3), moves), max_size=6),
)
def test_what_is_closed_is_what_is_not_allowed(kind_of, flags, barred):
    bars = Bars(kind_of, np.array(flags).reshape(3, 4))
    for machine, move in barred:
        bars.bar(machine, move)
    machines, hosts = [3, 1, 0], np.array([2, 0, 1])
    for kind in KINDS:
        closed = bars.closed(machines, hosts, kind)
        for row, machine in enumerate(machines):
            for column, host in enumerate(hosts.tolist()):
                assert closed[row, column] == (not bars.allows(machine, Move(kind, host)))
    assert bars.failovers == {machine for machine in range(4) if not bars.allows(machine, Move("f"))}
