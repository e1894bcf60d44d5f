"""What is the embedded ledger's own; what every store promises is in test_protocol.py."""

import pytest

from engine.ledger.ledgers import hold, reserve
from stores.ledger_files import FLEET
from ullage.model.errors import InputError
from ullage.stores import sqlite
from ullage.stores.sqlite import SqliteLedger

ONE = reserve("one", hold("node/a", cpu=10), expires=10**9)


@pytest.fixture
def ledger(tmp_path):
    with SqliteLedger(tmp_path / "ledger") as opened:
        opened.submit(FLEET, at_seconds=100)
        yield opened


def test_a_command_beyond_all_measure_is_refused(ledger, monkeypatch):
    monkeypatch.setattr(sqlite, "COMMAND_CHARACTERS_MAX", 20)
    with pytest.raises(InputError, match=r"a command of .* characters; split it"):
        ledger.submit(ONE, at_seconds=101)
