"""Applying: what a decision names is so afterwards, and a refusal is a step that changes nothing."""

from engine.ledger.ledgers import capacity, reserve
from ullage.engine.ledger.apply import amend, apply
from ullage.engine.ledger.overlay import Overlay
from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import Decision
from ullage.model.ledger_entry import FINAL, LedgerEntry

ENTRY = LedgerEntry("r", "q", "node/n", "team", state="BOUND")
LINE = (reserve("w"),)


def test_a_step_counts_and_time_moves_on():
    state = LedgerState(revision=4, at_seconds=10)
    apply(state, Decision(accepted=True), 12)
    assert (state.revision, state.at_seconds) == (5, 12)
    apply(state, Decision(accepted=False), 11)
    assert (state.revision, state.at_seconds) == (6, 12)


def test_everything_that_is_named_is_so_afterwards():
    state = LedgerState((capacity("node/m"),))
    decision = Decision(
        accepted=True, changed=(ENTRY,), capacities=(capacity("node/n"),), gone=("node/m",), waiting=LINE
    )
    apply(state, decision, 1)
    assert (state.entries, state.capacities, state.waiting) == ((ENTRY,), (capacity("node/n"),), LINE)
    apply(state, Decision(accepted=True), 1)
    assert state.waiting == LINE
    apply(state, Decision(accepted=True, waiting=()), 1)
    assert state.waiting == ()


def test_an_entry_in_a_final_state_goes():
    for final in FINAL:
        state = LedgerState(entries=(ENTRY,))
        ended = LedgerEntry("r", "q", "node/n", "team", state=final)
        other = LedgerEntry("s", "q", "node/n", "team", state=final)
        apply(state, Decision(accepted=True, changed=(ended, other)), 1)
        assert len(state) == 0


def test_a_refusal_changes_nothing_whatever_it_lists():
    state = LedgerState(entries=(ENTRY,))
    rejected = LedgerEntry("r", "q", "node/n", "team", state="REJECTED")
    apply(state, Decision(accepted=False, changed=(rejected,), waiting=LINE), 1)
    assert (state.entries, state.waiting, state.revision) == ((ENTRY,), (), 1)


def test_an_overlay_is_changed_in_the_same_way():
    state = LedgerState(entries=(ENTRY,))
    overlay = Overlay(state)
    amend(overlay, Decision(accepted=True, capacities=(capacity("node/n"),), waiting=LINE))
    assert (overlay.capacity("node/n"), overlay.waiting) == (capacity("node/n"), LINE)
    assert (state.capacity("node/n"), state.waiting, state.revision) == (None, (), 0)
