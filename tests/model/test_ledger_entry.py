"""One promise: how it is known, and in which states it takes what it names."""

from typing import get_args

import pytest

from ullage.model.cluster import WorkloadState
from ullage.model.ledger_entry import FINAL, HOLDING, STATE_OF_WORKLOAD, EntryState, LedgerEntry
from ullage.model.resources import NOTHING

STATES = ("REQUESTED", "WAITING", "RESERVED", "BOUND", "RELEASED", "REJECTED", "EXPIRED")


def test_an_entry_is_known_by_reservation_request_and_capacity():
    assert LedgerEntry("pod-1", "data", "drive-7", "team-a").key == "pod-1/data@drive-7"


@pytest.mark.parametrize("state", STATES)
def test_only_reserved_and_bound_entries_hold_their_resources(state):
    entry = LedgerEntry("r", "q", "c", "o", state=state)
    assert entry.holds is (state in {"RESERVED", "BOUND"})
    assert (state in HOLDING) is entry.holds


def test_states_are_waiting_holding_or_final():
    assert get_args(EntryState) == STATES
    assert frozenset({"RESERVED", "BOUND"}) == HOLDING
    assert frozenset({"RELEASED", "REJECTED", "EXPIRED"}) == FINAL
    assert not HOLDING & FINAL


def test_every_state_of_a_workload_is_a_state_of_its_entry():
    assert STATE_OF_WORKLOAD == {
        "init": "REQUESTED",
        "ok": "BOUND",
        "paused": "BOUND",
        "error": "REJECTED",
        "deleted": "RELEASED",
    }
    assert set(STATE_OF_WORKLOAD) == set(get_args(WorkloadState))
    assert set(STATE_OF_WORKLOAD.values()) <= set(STATES)


def test_a_new_entry_is_requested_and_holds_nothing():
    entry = LedgerEntry("r", "q", "c", "o")
    assert (entry.state, entry.paused, entry.resources, entry.holds) == ("REQUESTED", False, NOTHING, False)
    assert (entry.created_seconds, entry.expires_seconds, entry.queue_position) == (None, None, None)
    assert (entry.blocked_by, entry.reason) == ("", "")
