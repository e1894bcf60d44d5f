"""The page of one step of a ledger."""

from builders import entry
from ullage.engine.ledger.step import EntryChange, Held, TermChange
from ullage.model.resources import Amount
from ullage.render import render
from ullage.service.ledger_explain import StepExplanation, StepQuestion
from ullage.service.ledger_explain_page import ROWS_SHOWN, ledger_explain_page
from ullage.service.ledger_history import StepReport


def held(offers, amount):
    free = None if offers is None else Amount("cpu", max(0, offers - amount))
    return Held(None if offers is None else Amount("cpu", offers), Amount("cpu", amount), free)


def shown(entries=(), terms=(), *, accepted=True, reason="", asked=("bind a",), shortened=False):
    step = StepReport(3, "then", "", asked, accepted, tuple(each.after for each in entries), reason, ())
    owners = tuple(sorted({each.after.owner for each in entries}))
    report = StepExplanation("x.db", step, owners, entries, terms)
    page = ledger_explain_page(report, StepQuestion(3, "x.db"), shortened=shortened)
    return render(page, None, "table", width=140).splitlines()


def test_the_first_line_says_what_it_was_and_the_last_where_to_look_next():
    before = entry("a b", "node/n1")
    lines = shown((EntryChange(before, entry("a b", "node/n1", state="BOUND")),))
    assert lines[0].startswith("step 3, bind a: 1 entry of 1 owner changed")
    assert lines[-1] == "Next: ullage ledger history 'reservation/a b' --ledger x.db"


def test_a_refusal_says_why_in_its_first_line():
    lines = shown(accepted=False, reason="no room", asked=("reserve a",))
    assert lines[0] == "✗ step 3, reserve a: refused: no room"
    assert lines[-1] == "Next: ullage ledger history --ledger x.db"


def test_what_changes_nobodys_entries_counts_the_terms_that_moved():
    terms = (
        TermChange("node/n1", "cpu", held(4000, 0), held(5000, 0)),
        TermChange("node/n2", "cpu", held(4000, 0), held(4000, 0)),
    )
    lines = shown(terms=terms, asked=("supply 2 capacities",))
    assert lines[0] == "step 3, supply 2 capacities: 1 term changed, nobody's entries"
    assert any("offered before" in line for line in lines)


def test_a_term_has_its_change_with_a_sign_and_no_free_where_there_is_no_bound():
    terms = (
        TermChange("node/n1", "cpu", held(4000, 1000), held(4000, 3000)),
        TermChange("node/n2", "cpu", held(4000, 3000), held(4000, 2500)),
        TermChange("quota/q", "cpu", held(None, 0), held(None, 0)),
    )
    lines = [line.split() for line in shown(terms=terms)]
    assert ["node/n1", "cpu", "4", "1", "+2", "3", "1"] in lines
    assert ["node/n2", "cpu", "4", "3", "-500m", "2.5", "1.5"] in lines
    assert ["quota/q", "cpu", "no", "bound", "0", "0", "0", "no", "bound"] in lines
    assert not any("offered" in line for line in lines)


def test_of_many_entries_and_terms_the_first_are_shown():
    many = ROWS_SHOWN + 1
    entries = tuple(EntryChange(None, entry(f"r{number:03}", "node/n1")) for number in range(many))
    terms = tuple(TermChange(f"node/n{number:03}", "cpu", held(1, 0), held(1, 1)) for number in range(many))
    text = "\n".join(shown(entries, terms, shortened=True))
    assert text.count(f"the first {ROWS_SHOWN} of {many}, -o wide shows all") == 2
