"""What one step of a ledger changed, before and after."""

import pytest

from ullage.engine.ledger.decide import decide
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.step import change_of
from ullage.model.ledger import VOLUME_SPACE, Bind, Capacity, Hold, JournalRow, Release, Reserve, Supply
from ullage.model.resources import Resources


def offers(name, drives=(), unbounded=(), **amounts):
    named = {VOLUME_SPACE if each == "space" else each: amount for each, amount in amounts.items()}
    return Capacity(name, Resources(named), unbounded, drives=drives)


def reserve(name, capacity="node/n1", **amounts):
    named = {VOLUME_SPACE if each == "space" else each: amount for each, amount in amounts.items()}
    return Reserve(name, f"of-{name}", 100, holds=(Hold("c", capacity, Resources(named)),))


def changes(*commands):
    """Take steps one after the other, and return what the last one changed."""
    state = LedgerState()
    for number, command in enumerate(commands, start=1):
        found = change_of(state, JournalRow(number, number, command, decide(state, command, number)))
        assert state.revision == number
    return found


def terms(found):
    """Return offers, held and free before, and the same after, of each capacity and resource."""
    return {
        (each.capacity, each.resource.rpartition("/")[2]): tuple(
            None if amount is None else amount.value
            for side in (each.before, each.after)
            for amount in (side.offers, side.held, side.free)
        )
        for each in found.terms
    }


NODE = Supply((offers("node/n1", cpu=10, memory=5),))


@pytest.mark.parametrize(
    ("commands", "states", "expected"),
    [
        ((NODE,), [], {"cpu": (0, 0, 0, 10, 0, 10), "memory": (0, 0, 0, 5, 0, 5)}),
        ((NODE, reserve("a", cpu=4)), [(None, "RESERVED")], {"cpu": (10, 0, 10, 10, 4, 6)}),
        ((NODE, reserve("a", cpu=4), Bind("a")), [("RESERVED", "BOUND")], {"cpu": (10, 4, 6, 10, 4, 6)}),
        (
            (NODE, reserve("a", cpu=4), reserve("b", cpu=3), Release("a")),
            [("RESERVED", "RELEASED")],
            {"cpu": (10, 7, 3, 10, 3, 7)},
        ),
        (
            (NODE, reserve("a", cpu=4), reserve("b", cpu=7)),
            [(None, "REJECTED")],
            {"cpu": (10, 4, 6, 10, 4, 6)},
        ),
        (
            (NODE, reserve("a", cpu=4), Supply(gone=("node/n1",))),
            [],
            {"cpu": (10, 4, 6, 0, 4, 0), "memory": (5, 0, 5, 0, 0, 0)},
        ),
        (
            (NODE, Supply((offers("node/n1", cpu=8, memory=5),))),
            [],
            {"cpu": (10, 0, 10, 8, 0, 8)},
        ),
    ],
    ids=["supply", "reserve", "bind", "release", "refused", "gone", "shrunk"],
)
def test_entries_and_terms_before_and_after(commands, states, expected):
    found = changes(*commands)
    assert terms(found) == {("node/n1", name): values for name, values in expected.items()}
    pairs = [(each.before and each.before.state, each.after.state) for each in found.entries]
    assert pairs == states


def test_what_has_no_bound_has_neither_offers_nor_free():
    found = changes(Supply((offers("quota/q", unbounded=("cpu",)),)), reserve("a", "quota/q", cpu=4))
    assert terms(found) == {("quota/q", "cpu"): (None, 0, None, None, 4, None)}


def test_bytes_that_are_promised_under_another_name_count():
    supply = Supply(
        (offers("drive/n1/d", space=10), offers("group/n1/g", drives=("drive/n1/d",), space=10)),
    )
    found = changes(supply, reserve("a", "group/n1/g", space=4), reserve("b", "drive/n1/d", space=1))
    assert terms(found) == {("drive/n1/d", "volume-space"): (10, 4, 6, 10, 5, 5)}
