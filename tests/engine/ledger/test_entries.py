"""Entries beside those that hold something: each once, as it was left."""

from ullage.engine.ledger.entries import ended, latest
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

WAITING = LedgerEntry(
    "r",
    "q",
    "",
    "team",
    Resources({"cpu": 1}),
    "WAITING",
    created_seconds=1,
    queue_position=2,
    blocked_by="a",
)


def test_what_has_ended_stands_in_no_line():
    assert ended(WAITING, "EXPIRED") == LedgerEntry(
        "r", "q", "", "team", Resources({"cpu": 1}), "EXPIRED", created_seconds=1
    )
    assert ended(WAITING, "REJECTED", "no room").reason == "no room"


def test_an_entry_that_changed_twice_is_listed_as_it_was_left():
    other = LedgerEntry("r", "q", "c", "team")
    last = ended(WAITING, "RELEASED")
    assert latest([WAITING, other, last]) == (last, other)
    assert latest([]) == ()
