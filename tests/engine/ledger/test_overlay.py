"""An overlay answers as a ledger would that had been changed; the one below stays as it is."""

from hypothesis import given
from hypothesis import strategies as st

from engine.ledger.ledgers import GIB, capacity, drive
from ullage.engine.ledger.overlay import Overlay
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import key_of
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

entries = st.builds(
    LedgerEntry,
    reservation=st.sampled_from("ab"),
    request=st.sampled_from("xy"),
    capacity=st.sampled_from(("node/n", "drive/n/d")),
    owner=st.just("team"),
    resources=st.dictionaries(st.sampled_from(("cpu", VOLUME_SPACE)), st.integers(0, 3)).map(Resources),
    state=st.sampled_from(("WAITING", "RESERVED", "BOUND")),
    expires_seconds=st.none() | st.integers(0, 9),
    drives=st.sampled_from(((), ("drive/n/d",), ("drive/n/d", "drive/n/e"))),
)
capacities = st.sampled_from(
    (
        capacity("node/n", cpu=1),
        capacity("node/n", cpu=2),
        drive("n", "d", GIB),
        drive("n", "d", 2 * GIB),
        drive("n", "e", GIB),
    )
)
changes = st.lists(
    st.tuples(st.just("put"), entries)
    | st.tuples(st.just("end"), entries.map(key_of))
    | st.tuples(st.just("supply"), capacities)
    | st.tuples(st.just("withdraw"), capacities.map(lambda each: each.name)),
    max_size=20,
)
KEYS = [(r, q, c) for r in "ab" for q in "xy" for c in ("node/n", "drive/n/d")]


def answers(ledger):
    names = ("node/n", "drive/n/d", "drive/n/e")
    return {
        "entry": [ledger.entry(key) for key in KEYS],
        "of": [ledger.entries_of(name) for name in "ab"],
        "on": [ledger.entries_on(name) for name in names],
        "amount": [ledger.held_amount(name, kind) for name in names for kind in ("cpu", VOLUME_SPACE)],
        "due": [ledger.due(at) for at in range(10)],
        "shares": ledger.reserved_shares(),
        "capacity": [ledger.capacity(name) for name in names],
        "disks": dict(ledger.disks_of("n")),
        "none": dict(ledger.disks_of("m")),
        # a name under which nothing is left is none of the sum
        "same bytes": [
            sum(ledger.held_amount(each, VOLUME_SPACE) for each in ledger.promised_on_drive(name))
            for name in names
        ],
        "waiting": ledger.waiting,
        "at": ledger.at_seconds,
    }


def change(ledger, steps):
    for what, value in steps:
        getattr(ledger, what)(value)


@given(changes, changes, changes)
def test_an_overlay_answers_as_the_changed_ledger_would_also_on_another_overlay(before, first, second):
    state = LedgerState(revision=1, at_seconds=7)
    change(state, before)
    untouched = answers(state)
    overlay = Overlay(state)
    change(overlay, first)
    above = Overlay(overlay)
    change(above, second)
    changed = state.copy()
    change(changed, first)
    assert answers(overlay) == answers(changed)
    change(changed, second)
    assert answers(above) == answers(changed)
    assert answers(state) == untouched


def test_an_overlay_begins_as_the_ledger_below():
    state = LedgerState((capacity("node/n", cpu=1),), waiting=("somebody",), at_seconds=3)
    overlay = Overlay(state)
    assert answers(overlay) == answers(state)
    assert (overlay.waiting, overlay.at_seconds) == (("somebody",), 3)
