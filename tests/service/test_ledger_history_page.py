"""The page of a history."""

from builders import entry
from ullage.render import render
from ullage.service.ledger_history import HistoryQuestion, LedgerHistory, StepReport
from ullage.service.ledger_history_page import ROWS_SHOWN, ledger_history_page


def step(revision, *changed, accepted=True, reason=""):
    return StepReport(revision, "then", "", ("reserve a",), accepted, changed, reason, ())


def shown(*steps, subject="", more=False, shortened=False):
    report = LedgerHistory("x.db", subject, 0, steps, more)
    page = ledger_history_page(report, HistoryQuestion("x.db", subject), shortened=shortened)
    return render(page, None, "table", width=140).splitlines()


def test_the_first_line_counts_steps_and_refusals():
    lines = shown(step(1), step(2, accepted=False, reason="no room"), subject="owner/a")
    assert lines[0] == "2 steps about owner/a, 1 refused"
    assert lines[-1] == "Next: ullage ledger explain 2 --ledger x.db"
    assert any("refused" in line and "no room" in line for line in lines[4:])


def test_each_reservation_is_named_once_for_each_state():
    changed = (entry("a", "node/n1"), entry("a", "quota/q"), entry("b", "", state="REJECTED", reason="why"))
    text = "\n".join(shown(step(1, *changed)))
    assert "RESERVED a; REJECTED b" in text
    assert "why" in text


def test_of_many_steps_the_last_are_shown():
    text = "\n".join(shown(*(step(number) for number in range(1, ROWS_SHOWN + 2)), shortened=True))
    assert f"the last {ROWS_SHOWN} of {ROWS_SHOWN + 1}" in text


def test_where_there_are_more_the_next_command_goes_on():
    assert shown(step(7), subject="owner/a", more=True)[-1] == (
        "Next: ullage ledger history owner/a --after 7 --ledger x.db"
    )
    assert shown()[-1] == "Next: ullage ledger show --ledger x.db"
