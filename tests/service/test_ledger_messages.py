"""What is told of a ledger, and of none."""

import pytest

from stores.ledger_files import tell
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.service.ledger_messages import MESSAGES
from ullage.stores import exchange
from ullage.stores.sqlite import SqliteLedger


@pytest.fixture
def told(tmp_path):
    with SqliteLedger(tmp_path / "ledger") as ledger:
        tell(ledger)
        rows = list(ledger.journal())

    def ask(what, **parameters):
        return MESSAGES[what](str(tmp_path / "ledger"), parameters)

    ask.rows = rows
    return ask


def test_steps_are_those_after_one_that_name_something_or_have_a_key(told):
    part = exchange.to_journal(told("journal", after=1, limit=2, reservation="", key=""))
    assert part.rows == tuple(told.rows[1:3])
    assert exchange.to_journal(told("journal", key="first")).rows == (told.rows[1],)
    assert exchange.to_journal(told("journal", key="never")).rows == ()
    named = exchange.to_journal(told("journal", owner="other")).rows
    assert {row.revision for row in named} < {row.revision for row in told.rows}


def test_where_nothing_was_promised_the_ledger_is_empty():
    assert exchange.to_state(MESSAGES["state"]("", {"revision": None})) == LedgerState()
    assert exchange.to_state(MESSAGES["state"]("", {"revision": 0})) == LedgerState()
    assert exchange.to_journal(MESSAGES["journal"]("", {"key": "k"})).rows == ()
    assert exchange.to_findings(MESSAGES["proof"]("", {})) == []
    with pytest.raises(InputError, match=r"there is no revision 3; use 0 to 0"):
        MESSAGES["state"]("", {"revision": 3})


def test_a_state_is_that_after_a_step(told):
    assert exchange.to_state(told("state", revision=2)).revision == 2
    assert exchange.to_state(told("state", revision=None)).revision == len(told.rows)
