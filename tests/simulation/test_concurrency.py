"""Many clients at once see one order of steps, in which nothing is promised twice."""

import pytest

from simulation.concurrency import fleet, history
from simulation.linearizability import violations
from ullage.stores.sqlite import SqliteLedger

CLIENTS = 64


@pytest.mark.parametrize(
    ("seconds", "processes"),
    [pytest.param(2, 1, id="a moment"), pytest.param(60, 2, id="a minute", marks=pytest.mark.slow)],
)
def test_clients_see_one_order_of_steps_and_nothing_is_promised_twice(tmp_path, seconds, processes):
    path = tmp_path / "ledger"
    with SqliteLedger(path) as ledger:
        ledger.submit(fleet(), at_seconds=0)
        start = ledger.state()
    found = history(path, CLIENTS, seconds, processes)
    with SqliteLedger(path) as ledger:
        errors = [finding for finding in ledger.verify() if finding.severity == "error"]
        last = ledger.state()
    assert errors == []
    assert violations(found, start) == []
    assert last.revision == max(each.outcome.revision for each in found)
    decisions = {each.outcome.decision.accepted for each in found}
    assert decisions == {True, False}
    assert any(each.outcome.repeated for each in found)
    ended = {entry.state for each in found for entry in each.outcome.decision.changed}
    assert ended >= {"RESERVED", "BOUND", "RELEASED", "REJECTED", "EXPIRED"}
    assert all(entry.owner for entry in last.entries)
    assert all(entry.expires_seconds is not None or entry.state == "BOUND" for entry in last.entries)
