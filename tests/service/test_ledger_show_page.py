"""The page of a ledger."""

import pytest

from engine.ledger.ledgers import Ledger, capacity, hold, reserve
from ullage.render import render
from ullage.service.ledger_show import ShowQuestion, ledger_report
from ullage.service.ledger_show_page import ROWS_SHOWN, ledger_show_page


def shown(ledger, at_seconds=10, /, *, shortened=False, **question):
    asked = ShowQuestion(**question)
    page = ledger_show_page(
        ledger_report(ledger.state, "x.db", asked, at_seconds), asked, shortened=shortened
    )
    return render(page, None, "table", width=120).splitlines()


@pytest.fixture
def ledger():
    found = Ledger(capacity("node/n1", cpu=1000))
    found.do(reserve("a", hold("node/n1", cpu=4), owner="one", expires=50))
    found.do(reserve("b", hold("node/n1", cpu=4), owner="two", expires=90))
    return found


def test_an_empty_ledger_promises_nothing():
    lines = shown(Ledger())
    assert lines[0] == "nothing is promised"
    assert lines[-1] == "Next: ullage ledger history"


@pytest.mark.parametrize(
    ("at_seconds", "question", "first", "last"),
    [
        (10, {}, "2 reservations of 2 owners", "Next: ullage ledger history reservation/a"),
        (
            50,
            {"ledger": "x.db"},
            "2 reservations of 2 owners; the time has come for a",
            "Next: ullage ledger expire --ledger x.db",
        ),
        (
            10,
            {"owner": "two"},
            "1 reservation of 1 owner (1 of 2 entries)",
            "Next: ullage ledger history reservation/b",
        ),
    ],
)
def test_the_first_line_counts_and_the_last_leads_on(ledger, at_seconds, question, first, last):
    lines = shown(ledger, at_seconds, **question)
    assert (lines[0], lines[-1]) == (first, last)


def test_of_many_the_first_are_shown():
    many = Ledger(capacity("node/n1", cpu=1000))
    for number in range(ROWS_SHOWN + 1):
        many.do(reserve(f"r{number:03}", hold("node/n1", cpu=1)))
    text = "\n".join(shown(many, shortened=True))
    assert f"the first {ROWS_SHOWN} of {ROWS_SHOWN + 1}" in text
    assert f"r{ROWS_SHOWN:03}" not in text
