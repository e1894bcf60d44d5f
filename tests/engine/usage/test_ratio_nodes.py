"""Nodes composed of what ran: filled to the byte, at the same moments, whatever things are called."""

from fractions import Fraction

import numpy as np
import pytest

from ratio_builders import DAY, MONDAY, evidence_of, world
from ullage.engine.usage.ratio_nodes import ANYWHERE, Evidence, composed, in_order

ONE = np.ones(1)


def evidence(requests, uses, *, nodes=(100,), own=None, swap=None, beyond=None):
    """A day of as many slots as uses have, on some nodes."""
    slots = len(uses[0])
    return Evidence(
        np.array(requests),
        np.array(uses),
        np.array(own or [ANYWHERE] * len(requests)),
        np.array(nodes),
        np.array(swap or [0] * len(nodes)),
        np.array(beyond or [[0] * slots] * len(nodes)),
        slots,
        np.array([MONDAY]),
    )


def peak(found, row=0):
    return float(np.exp(found.peaks[row, 0, 0]))


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        pytest.param(Fraction(1, 2), 0.25, id="a part of the last one that fits"),
        pytest.param(Fraction(1), 0.5, id="all of it"),
        pytest.param(Fraction(2), 1.0, id="all of both"),
        pytest.param(Fraction(3), 1.5, id="more than there is: the same again"),
    ],
)
def test_promises_fill_the_limit_exactly(ratio, expected):
    found = composed(evidence([100, 100], [[50, 10], [50, 20]]), [ratio], ONE, 1, 7)
    assert peak(found) == pytest.approx(expected)


def test_what_peaks_at_other_times_is_not_added_up():
    apart = composed(evidence([50, 50], [[50, 0], [0, 50]]), [Fraction(1)], ONE, 1, 7)
    together = composed(evidence([50, 50], [[50, 0], [50, 0]]), [Fraction(1)], ONE, 1, 7)
    assert (peak(apart), peak(together)) == (pytest.approx(0.5), pytest.approx(1.0))


def test_over_is_more_than_memory_and_more_than_memory_and_swap():
    found = composed(evidence([100], [[101, 150, 100, 151]], swap=[50]), [Fraction(1)], ONE, 1, 7)
    assert (found.over[0, 0], found.over_swap[0, 0]) == (0.75, 0.25)


def test_a_daemon_is_on_its_node_first_and_on_no_other():
    parts = evidence([10, 100], [[10, 10], [0, 0]], nodes=(100, 200), own=[0, ANYWHERE])
    found = composed(parts, [Fraction(1, 10)], ONE, 2, 7)
    assert np.exp(found.peaks[0, :, 0]).tolist() == pytest.approx([0.1, 0.0])


def test_what_nobody_is_known_to_use_stays_on_its_node():
    found = composed(evidence([100], [[50, 0]], beyond=[[20, 20]]), [Fraction(1), Fraction(2)], ONE, 1, 7)
    assert (peak(found, 0), peak(found, 1)) == (pytest.approx(0.7), pytest.approx(1.2))


def test_workloads_that_ask_for_nothing_come_along():
    found = composed(evidence([0, 100], [[30, 30], [50, 50]]), [Fraction(1)], ONE, 1, 7)
    assert peak(found) in (pytest.approx(0.5), pytest.approx(0.8))


def test_growth_multiplies_use():
    found = composed(evidence([100], [[50, 0]]), [Fraction(1)], np.array([1.5]), 1, 7)
    assert peak(found) == pytest.approx(0.75)


def test_the_order_does_not_depend_on_how_things_are_numbered():
    made = evidence_of(world("daily", 3, days=7, workloads=20), 7)
    made = made._replace(
        allocatable=np.array([20, 30]) << 30, own=np.where(np.arange(20) < 2, [0, 1] * 10, -1)
    )
    numbers = np.random.default_rng(1)
    rows, nodes = numbers.permutation(20), np.array([1, 0])
    own = np.array([{ANYWHERE: ANYWHERE, 0: 1, 1: 0}[int(each)] for each in made.own])
    turned = made._replace(
        requests=made.requests[rows], uses=made.uses[rows], own=own[rows], allocatable=made.allocatable[nodes]
    )
    for one, other in zip(in_order(made), in_order(turned), strict=True):
        assert np.array_equal(one, other)
    assert made.uses.shape[1] == 7 * DAY
