"""What is promised, filtered, summed, and as it was."""

import pytest

from engine.ledger.ledgers import Ledger, capacity, hold, reserve
from ullage.model.ledger import Bind
from ullage.service.ledger_show import ShowQuestion, ledger_report


@pytest.fixture
def state():
    ledger = Ledger(capacity("node/n1", cpu=10), capacity("quota/q", "cpu"))
    ledger.do(reserve("a", hold("node/n1", cpu=4), hold("quota/q", cpu=4), owner="one", expires=50))
    ledger.do(reserve("b", hold("node/n1", cpu=5), owner="two", expires=90))
    ledger.do(Bind("b"))
    return ledger.state


def reported(state, at_seconds=10, /, **question):
    return ledger_report(state, "file", ShowQuestion(**question), at_seconds)


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ({}, ["a", "a", "b"]),
        ({"owner": "two"}, ["b"]),
        ({"capacity": "quota/q"}, ["a"]),
        ({"state": "bound"}, ["b"]),
        ({"owner": "nobody"}, []),
        ({"owner": "one", "state": "bound"}, []),
    ],
)
def test_only_what_is_asked_for_is_shown(state, question, shown):
    assert [each.reservation for each in reported(state, **question).entries] == shown


def test_sums_are_those_of_all_whatever_is_shown(state):
    (node,) = reported(state, owner="two").capacities
    assert (node.capacity, node.offers.value, node.held.value, node.free.value) == ("node/n1", 10, 9, 1)


def test_what_has_no_bound_has_no_rest(state):
    (quota,) = reported(state, capacity="quota/q").capacities
    assert (quota.offers, quota.held.value, quota.free) == (None, 4, None)


def test_what_is_not_known_any_more_offers_nothing(state):
    state.withdraw("node/n1")
    (node,) = reported(state, owner="two").capacities
    assert (node.offers.value, node.free.value) == (0, 0)


def test_what_its_time_has_come_for_is_named_but_not_of_the_past(state):
    assert reported(state, 49).due == ()
    assert reported(state, 50).due == ("a",)
    assert reported(state, 50, revision=3).due == ()
