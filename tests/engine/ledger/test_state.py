"""The state: every index follows from the entries, and sums are those of the entries."""

from hypothesis import given
from hypothesis import strategies as st

from engine.ledger.ledgers import GIB, capacity, drive
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import key_of
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

entries = st.builds(
    LedgerEntry,
    reservation=st.sampled_from("ab"),
    request=st.sampled_from("xy"),
    capacity=st.sampled_from(("node/n", "drive/n/d")),
    owner=st.sampled_from(("team", "other")),
    resources=st.dictionaries(
        st.sampled_from(("cpu", VOLUME_SPACE, WHOLE_DRIVE)), st.integers(0, 3), max_size=3
    ).map(Resources),
    state=st.sampled_from(("REQUESTED", "WAITING", "RESERVED", "BOUND")),
    expires_seconds=st.none() | st.integers(0, 9),
    drives=st.sampled_from(((), ("drive/n/d",), ("drive/n/d", "drive/n/e"))),
)


def answers(state):
    """Everything that a state says of its entries, by question."""
    return {
        "entries": state.entries,
        "length": len(state),
        "of": [state.entries_of(name) for name in "abc"],
        "owned": [state.entries_owned_by(name) for name in ("team", "other", "nobody")],
        "on": [state.entries_on(name) for name in ("node/n", "drive/n/d", "x")],
        "held": [state.held(name) for name in ("node/n", "drive/n/d", "x")],
        "amount": [state.held_amount(name, "cpu") for name in ("node/n", "drive/n/d", "x")],
        "due": [state.due(at) for at in range(10)],
        "shares": state.reserved_shares(),
        "promised": state.promised_capacities,
        "on drive": [state.promised_on_drive(name) for name in ("drive/n/d", "drive/n/e")],
    }


@given(st.lists(st.tuples(entries, st.booleans()), max_size=30))
def test_changing_entries_one_by_one_gives_the_state_of_the_entries_that_are_left(changes):
    state, left = LedgerState(), {}
    assert answers(state) == answers(LedgerState())
    for entry, ends in changes:
        left.pop(key_of(entry), None)
        if ends:
            state.end(key_of(entry))
        else:
            state.put(entry)
            left[key_of(entry)] = entry
    fresh = LedgerState(entries=reversed(left.values()))
    assert answers(state) == answers(fresh)
    assert state == fresh
    assert state.copy() == state
    for index in ("of_reservation", "on_capacity", "of_owner", "on_drive", "held", "reserved_shares"):
        assert getattr(state._index(), index) == getattr(fresh._index(), index)
    for name in state.promised_capacities:
        assert state.held(name) == state.summed(name)


@given(st.lists(entries, unique_by=key_of))
def test_questions_are_answered_from_the_entries_alone(given_entries):
    state = LedgerState(entries=given_entries)
    assert state.entries == tuple(sorted(given_entries, key=key_of))
    for name in "ab":
        expected = [entry for entry in state.entries if entry.reservation == name]
        assert state.entries_of(name) == expected
    for name in ("node/n", "drive/n/d"):
        there = [entry for entry in state.entries if entry.capacity == name]
        assert state.entries_on(name) == there
        for resource in ("cpu", VOLUME_SPACE):
            expected = sum(entry.resources.of(resource) for entry in there if entry.holds)
            assert state.held_amount(name, resource) == expected
            assert state.held(name).get(resource, 0) == expected
            assert state.summed(name).get(resource, 0) == expected
        assert 0 not in state.held(name).values()
        assert 0 not in state.summed(name).values()
    assert state.entries_owned_by("team") == [each for each in state.entries if each.owner == "team"]
    assert state.due(5) == [
        each for each in state.entries if (each.expires_seconds or 99) <= 5 or each.expires_seconds == 0
    ]
    for name in ("drive/n/d", "drive/n/e"):
        expected = {each.capacity for each in state.entries if name in each.drives}
        assert state.promised_on_drive(name) == expected
    assert state.reserved_shares() == [
        entry
        for entry in state.entries
        if entry.state == "RESERVED"
        and VOLUME_SPACE in entry.resources
        and not entry.resources.of(WHOLE_DRIVE)
    ]


def test_a_capacity_is_as_it_was_described_last():
    state = LedgerState((capacity("node/n", cpu=1), capacity("node/m", cpu=1)))
    state.supply(capacity("node/n", cpu=2))
    assert state.capacity("node/n") == capacity("node/n", cpu=2)
    assert state.capacities == (capacity("node/m", cpu=1), capacity("node/n", cpu=2))
    state.withdraw("node/n")
    state.withdraw("node/unknown")
    assert state.capacity("node/n") is None
    assert state.capacities == (capacity("node/m", cpu=1),)


def test_disks_are_found_by_node_under_the_name_of_their_capacity():
    state = LedgerState(
        (drive("n", "d1", GIB), drive("n", "d2", GIB), drive("m", "d1", GIB), capacity("node/n"))
    )
    assert set(state.disks_of("n")) == {"drive/n/d1", "drive/n/d2"}
    assert state.disks_of("n")["drive/n/d1"].name == "drive/n/d1"
    assert state.disks_of("o") == {}
    state.withdraw("drive/n/d1")
    state.supply(drive("n", "d2", 2 * GIB))
    assert {name: disk.size_bytes for name, disk in state.disks_of("n").items()} == {"drive/n/d2": 2 * GIB}
    state.supply(capacity("drive/n/d2"))
    assert state.disks_of("n") == {}


def test_states_differ_by_revision_time_line_capacities_and_entries():
    entry = LedgerEntry("a", "x", "node/n", "team", state="BOUND")
    state = LedgerState((capacity("node/n", cpu=1),), (entry,), revision=3, at_seconds=5)
    assert state == state.copy()
    for changed in (
        LedgerState((), (entry,), revision=3, at_seconds=5),
        LedgerState(state.capacities, (), revision=3, at_seconds=5),
        LedgerState(state.capacities, (entry,), revision=4, at_seconds=5),
        LedgerState(state.capacities, (entry,), revision=3, at_seconds=6),
        LedgerState(state.capacities, (entry,), (None,), revision=3, at_seconds=5),
    ):
        assert state != changed
    assert state != "state"


def test_a_copy_changes_alone():
    entry = LedgerEntry("a", "x", "node/n", "team", Resources({"cpu": 1}), state="BOUND")
    state = LedgerState((capacity("node/n", cpu=1),), (entry,))
    assert state.held("node/n") == {"cpu": 1}
    twin = state.copy()
    twin.end(key_of(entry))
    twin.withdraw("node/n")
    assert (len(state), state.held("node/n"), len(state.capacities)) == (1, {"cpu": 1}, 1)
    assert (len(twin), twin.held("node/n"), len(twin.capacities)) == (0, {}, 0)
