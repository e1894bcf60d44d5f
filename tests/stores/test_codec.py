"""Records as text and back, and the chain over the rows of a journal."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.ledger.commands import FLEET, at, commands
from engine.ledger.ledgers import Ledger, capacity, hold, reserve
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Decision, Release
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Amount, Resources
from ullage.model.verdict import Shortfall
from ullage.stores import codec

ENTRY = LedgerEntry("r", "web", "node/a", "team", Resources({"memory": 5, "cpu": 4}), "RESERVED")
ENTRY_TEXT = '["r","web","node/a","team",{"cpu":4,"memory":5},"RESERVED",false,null,null,null,"","",[],""]'
NO_AMOUNTS = ENTRY_TEXT.replace('{"cpu":4,"memory":5}', "[4]")
ROW = (7, 60, "key", '{"command":"expire"}', '{"accepted":true}')


@given(command=commands)
def test_a_command_is_the_same_after_it_was_written(command):
    assert codec.to_command(codec.command_text(command)) == command


@given(asked=st.lists(commands, max_size=8))
def test_decisions_and_the_state_they_lead_to_are_the_same_after_they_were_written(asked):
    ledger = Ledger(capacity("node/a", cpu=4, memory=4))
    for command in asked:
        decision = ledger.do(at(command, ledger.at_seconds), ledger.at_seconds + 1)
        assert codec.to_decision(codec.decision_text(decision)) == decision
    state = ledger.state
    assert codec.to_state(state.revision, codec.state_text(state)) == state


def test_amounts_are_integers_in_internal_steps():
    assert codec.entry_text(ENTRY) == ENTRY_TEXT


def test_entries_are_read_as_if_they_had_been_made_here():
    (entry,) = codec.to_entries(f"[{ENTRY_TEXT}]")
    assert entry == ENTRY
    assert hash(entry) == hash(ENTRY)
    assert list(entry.resources) == ["cpu", "memory"]


@given(asked=st.lists(commands, min_size=1, max_size=8))
def test_every_entry_that_comes_up_is_the_same_after_it_was_written(asked):
    ledger = Ledger(*FLEET)
    for command in asked:
        for entry in ledger.do(at(command, ledger.at_seconds), ledger.at_seconds + 1).changed:
            assert codec.to_entries(f"[{codec.entry_text(entry)}]") == [entry]


def test_the_amounts_of_a_shortfall_keep_their_resource():
    amounts = [Amount("cpu", number) for number in range(5)]
    decision = Decision(
        accepted=False, shortfalls=(Shortfall("node/a", "cpu", *amounts, eviction_could_help=True),)
    )
    assert codec.to_decision(codec.decision_text(decision)) == decision


@pytest.mark.parametrize("text", ['["r"]', ENTRY_TEXT, f"[{NO_AMOUNTS}]", f"[{ENTRY_TEXT[:-4]}]"])
def test_text_that_is_no_list_of_entries_is_not_taken_for_one(text):
    with pytest.raises(msgspec.MsgspecError):
        codec.to_entries(text)


def test_a_name_with_half_a_character_is_refused():
    with pytest.raises(InputError, match="half a character"):
        codec.command_text(Release("a\ud800"))


@pytest.mark.parametrize(
    "other",
    [
        (8, *ROW[1:]),
        (7, 61, *ROW[2:]),
        (7, 60, "kez", *ROW[3:]),
        (7, 60, "key", '{"command":"expirf"}', ROW[4]),
        (*ROW[:4], '{"accepted":false}'),
        (7, 60, "key{", '"command":"expire"}', ROW[4]),
        (7, 60, "key", ROW[3] + "{", ROW[4][1:]),
    ],
    ids=["revision", "time", "key", "command", "decision", "key and command", "command and decision"],
)
def test_no_part_of_a_row_changes_without_its_hash(other):
    assert codec.chained(codec.GENESIS, other) != codec.chained(codec.GENESIS, ROW)


def test_a_row_is_tied_to_the_one_before():
    first = codec.chained(codec.GENESIS, ROW)
    assert codec.chained(first, ROW) != first
    assert len(first) == codec.HASH_BYTES


def test_a_state_without_anything_is_kept_too():
    assert codec.to_state(0, codec.state_text(LedgerState())) == LedgerState()


def test_a_name_stands_in_the_text_of_a_record_as_it_is_looked_for():
    command = reserve('a"b\n', hold("node/ü", cpu=1))
    assert codec.name_text('a"b\n') in codec.command_text(command)
    assert codec.name_text("node/ü") in codec.command_text(command)
