"""What is told of a ledger is what is understood: states, steps, outcomes and findings."""

import msgspec
import pytest

from stores.ledger_files import tell
from ullage.model.verdict import Finding
from ullage.stores import exchange
from ullage.stores.sqlite import SqliteLedger


@pytest.fixture
def ledger(tmp_path):
    with SqliteLedger(tmp_path / "ledger") as opened:
        yield opened


def test_states_steps_and_outcomes_come_back_exactly(ledger):
    for outcome in tell(ledger):
        assert exchange.to_outcome(exchange.outcome_message(outcome)) == outcome
    state = ledger.state()
    assert exchange.to_state(exchange.state_message(state)) == state
    rows = tuple(ledger.journal())
    part = exchange.to_journal(exchange.journal_message(rows, 4))
    assert (part.rows, part.more, part.earliest) == (rows, False, 4)


@pytest.mark.parametrize(("name", "most"), [("STEPS_MAX", 2), ("BYTES_MAX", 1)])
def test_a_journal_is_told_in_parts(ledger, monkeypatch, name, most):
    tell(ledger)
    rows = tuple(ledger.journal())
    monkeypatch.setattr(exchange, name, most)
    part = exchange.to_journal(exchange.journal_message(rows, 0))
    assert (part.rows, part.more) == (rows[:most], True)


def test_findings_come_back_exactly():
    found = [Finding("lost", "error", "node/a", "it is gone", "look"), Finding("b", "warning", "", "c")]
    assert exchange.to_findings(exchange.proof_message(found)) == found


def test_anything_else_is_an_error():
    with pytest.raises(msgspec.DecodeError):
        exchange.to_state(b'{"revision": 1}')
