"""The past: any state from the journal, and every decision made again."""

import msgspec
import pytest

from engine.ledger.ledgers import Ledger, capacity, hold, reserve
from ullage.engine.ledger.replay import differences, replay
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Decision, Release, Supply


@pytest.fixture
def past():
    """A ledger, and its state after each of its steps."""
    ledger = Ledger(capacity("node/n", cpu=4))
    states = [LedgerState(), ledger.state.copy()]
    for command in (
        reserve("r", hold("node/n", cpu=3)),
        reserve("s", hold("node/n", cpu=3)),
        Bind("r"),
        Supply((capacity("node/n", cpu=2),)),
        Release("r"),
    ):
        ledger.do(command, ledger.at_seconds + 1)
        states.append(ledger.state.copy())
    return ledger, states


def test_every_state_of_the_past_comes_back(past):
    ledger, states = past
    assert replay(ledger.rows) == ledger.state
    for revision, state in enumerate(states):
        assert replay(ledger.rows, revision) == state


def test_a_replay_may_go_on_from_a_state_which_stays_as_it_is(past):
    ledger, states = past
    kept = states[3].copy()
    assert replay(ledger.rows[3:], start=states[3]) == ledger.state
    assert replay(ledger.rows[3:], 4, states[3]) == states[4]
    assert list(differences(ledger.rows[3:], states[3])) == []
    assert states[3] == kept


def test_the_same_commands_lead_to_the_same_decisions(past):
    assert list(differences(past[0].rows)) == []


def test_a_decision_that_does_not_follow_is_found_where_it_is(past):
    ledger, _ = past
    rows = list(ledger.rows)
    honest = rows[2].decision
    assert not honest.accepted
    forged = Decision(accepted=True, changed=tuple(
        msgspec.structs.replace(entry, state="RESERVED", reason="") for entry in honest.changed
    ))  # fmt: skip
    rows[2] = msgspec.structs.replace(rows[2], decision=forged)
    found = list(differences(rows))
    assert [(each.revision, each.recorded, each.decided) for each in found] == [(3, forged, honest)]
    assert found[0].command == rows[2].command


def test_what_follows_is_judged_on_what_the_journal_says(past):
    ledger, _ = past
    rows = list(ledger.rows)
    rows[1] = msgspec.structs.replace(rows[1], decision=Decision(accepted=False, reason="bad luck"))
    assert [each.revision for each in differences(rows)] == [2, 3, 4]


def broken(rows, **changes):
    return msgspec.structs.replace(rows[2], **changes)


@pytest.mark.parametrize("read", [replay, lambda rows: list(differences(rows))])
def test_a_journal_with_a_gap_or_a_clock_that_went_back_is_refused(past, read):
    rows = past[0].rows
    with pytest.raises(InputError, match="revision 3 follows 1 in the journal; read it in order"):
        read([rows[0], *rows[2:]])
    with pytest.raises(InputError, match="revision 2 follows 2"):
        read([*rows[:2], *rows[1:]])
    with pytest.raises(InputError, match="revision 3 is of 3, the one before of 11; restore a backup"):
        read([*rows[:2], broken(rows, at_seconds=3), *rows[3:]])


def test_a_revision_that_is_not_there_cannot_be_had(past):
    ledger, states = past
    with pytest.raises(InputError, match="the journal ends at revision 6, not 7; ask for 6 or less"):
        replay(ledger.rows, 7)
    with pytest.raises(InputError, match="revision 2 is before 3; start from an earlier state"):
        replay(ledger.rows[3:], 2, states[3])
    assert replay(ledger.rows[3:], 3, states[3]) == states[3]
