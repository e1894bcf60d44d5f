"""A ledger that is used from elsewhere, through messages: it is the store that it would be on the spot."""

import asyncio

import pytest

from engine.ledger.ledgers import hold, reserve
from stores.ledger_files import FLEET, tell
from ullage.model.errors import InputError
from ullage.service.ledger_messages import MESSAGES
from ullage.stores import codec, exchange
from ullage.stores.protocol import LedgerStore, MovedError
from ullage.stores.remote import RemoteLedger
from ullage.stores.sqlite import SqliteLedger

ONE = reserve("one", hold("node/a", cpu=10), expires=10**9)
TWO = reserve("two", hold("node/a", cpu=10), expires=10**9)
NUMBERS = ("after", "limit", "revision")


class Asking:
    """What a server does with the requests of a ledger, whose file is here; `asked` are their paths."""

    def __init__(self, path):
        self.path = path
        self.asked = []
        self.answer = None

    def __call__(self, path, query, headers=None, body=None):
        self.asked.append(path)
        if self.answer is not None:
            return self.answer
        if body is None:
            told = {name: int(value) if name in NUMBERS else value for name, value in query.items()}
            return MESSAGES[path](str(self.path), told)
        exact = headers.get("If-Match", "").strip('"')
        planned = exact or query.get("planned")
        with SqliteLedger(self.path) as ledger:
            outcome = ledger.submit(
                codec.to_command(body.decode()),
                at_seconds=200,
                key=headers.get("Idempotency-Key", b"").decode(),
                revision=int(planned) if planned else None,
                exact=bool(exact),
            )
        return exchange.outcome_message(outcome)

    def unreadable(self, what):
        return InputError(what, where="there")


@pytest.fixture
def asking(tmp_path):
    return Asking(tmp_path / "ledger")


@pytest.fixture
def ledger(asking):
    with SqliteLedger(asking.path) as opened:
        tell(opened)
    with RemoteLedger(asking) as remote:
        yield remote


def test_it_tells_what_the_ledger_itself_tells(asking, ledger):
    store: LedgerStore = ledger
    with SqliteLedger(asking.path) as own:
        assert store.state() == own.state()
        assert store.ask(len) == len(own.state())
        assert store.at(2) == own.at(2)
        assert list(store.journal()) == list(own.journal())
        assert list(store.journal(3)) == list(own.journal(3))
        assert list(store.history(owner="other")) == list(own.history(owner="other"))
        assert store.verify() == own.verify() == []
        row = next(row for row in own.journal() if row.key == "first")
    assert ledger.row_of_key("first") == row
    assert ledger.row_of_key("never") is None
    assert ledger.earliest() == 0


def test_a_journal_is_read_part_by_part(asking, ledger, monkeypatch):
    rows = list(ledger.journal())
    asking.asked.clear()
    monkeypatch.setattr(exchange, "STEPS_MAX", 2)
    assert list(ledger.journal()) == rows
    assert asking.asked == ["journal"] * -(-len(rows) // 2)


def test_a_step_is_taken_once_under_a_key_and_may_be_told_that_others_were_quicker(ledger):
    ledger.submit(FLEET, at_seconds=1)
    before = ledger.state().revision
    first = ledger.submit(ONE, at_seconds=1, key="ä", revision=before)
    again = asyncio.run(ledger.submit_async(ONE, at_seconds=1, key="ä", revision=before))
    assert (first.decision.accepted, first.moved, first.repeated) == (True, False, False)
    assert (again.revision, again.repeated) == (first.revision, True)
    assert ledger.submit(TWO, at_seconds=1, revision=before).moved


def test_nothing_is_decided_on_another_revision_where_it_is_to_be_exact(ledger):
    before = ledger.state()
    with pytest.raises(MovedError, match=r"the ledger is at revision"):
        ledger.submit(ONE, at_seconds=1, revision=before.revision - 1, exact=True)
    assert ledger.state() == before


def test_nothing_to_look_for_is_refused(ledger):
    with pytest.raises(InputError, match=r"nothing to look for"):
        ledger.history()


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"revision": 1, "state": {"atSeconds": "x"}}', b"\xff"])
def test_an_answer_that_is_none_is_told(asking, ledger, answer):
    asking.answer = answer
    with pytest.raises(InputError, match=r"^there: its ledger cannot be read"):
        ledger.state()
