"""Room: what is held and what is asked for against what is offered, and a refusal that can be acted on."""

import msgspec
import pytest

from engine.ledger.ledgers import GIB, Ledger, capacity, hold, reserve
from ullage.engine.ledger.room import SHORTFALLS_MAX, Lack, lacking, want
from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import VOLUME_SPACE, Capacity, Hold, Supply, Together
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Amount, Resources
from ullage.model.verdict import Shortfall


def promised(offers, held, *, unbounded=()):
    entry = LedgerEntry("r", "q", "c", "o", Resources(held), state="BOUND")
    return LedgerState((Capacity("c", Resources(offers), unbounded),), (entry,))


ROOM = {
    "all that is left": ({"cpu": 8}, {"cpu": 3}, {"cpu": 5}, True),
    "one too many": ({"cpu": 8}, {"cpu": 3}, {"cpu": 6}, False),
    "what is not offered": ({"cpu": 8}, {}, {"memory": 1}, False),
    "nothing of what is not offered": ({"cpu": 8}, {}, {"memory": 0}, True),
    "nothing where too much is promised": ({"cpu": 8}, {"cpu": 9}, {"cpu": 0}, True),
    "something where too much is promised": ({"cpu": 8}, {"cpu": 9}, {"cpu": 1}, False),
    "the second resource decides too": ({"cpu": 8, "pods": 1}, {"pods": 1}, {"cpu": 1, "pods": 1}, False),
    "nothing at all": ({}, {}, {}, True),
}


@pytest.mark.parametrize(("offers", "held", "asked", "fits"), ROOM.values(), ids=ROOM)
def test_there_is_room_if_all_promises_together_are_offered(offers, held, asked, fits):
    assert (lacking(promised(offers, held), {"c": asked}) is None) is fits


GROUP = Capacity("group/n/vg", Resources({VOLUME_SPACE: 8}), drives=("drive/n/d", "drive/n/e"))
PLAIN = Capacity("drive/n/d", Resources({VOLUME_SPACE: 8}))


def space(capacity, amount=5, drives=()):
    held = Resources({VOLUME_SPACE: amount})
    return LedgerEntry("r", "q", capacity, "o", held, state="RESERVED", drives=drives)


SAME_BYTES = {
    "a group is its drives": (GROUP, space("drive/n/e"), 3),
    "a drive is the group that it was in": (PLAIN, space("group/n/old", drives=("drive/n/d",)), 3),
    "a group is the one that its drive was in": (GROUP, space("group/n/old", drives=("drive/n/d",)), 3),
    "another drive is other bytes": (PLAIN, space("drive/n/e"), 8),
    "a group of other drives is other bytes": (PLAIN, space("group/n/old", drives=("drive/n/e",)), 8),
    "what is beside it is other bytes": (
        msgspec.structs.replace(GROUP, beside=("group/n/part", "drive/n/e")),
        space("group/n/part", drives=("drive/n/d",)),
        8,
    ),
}


@pytest.mark.parametrize(("capacity", "entry", "free"), SAME_BYTES.values(), ids=SAME_BYTES)
def test_what_is_promised_under_another_name_of_the_same_bytes_is_not_free(capacity, entry, free):
    state = LedgerState((capacity,), (entry,))
    assert lacking(state, {capacity.name: {VOLUME_SPACE: free}}) is None
    assert lacking(state, {capacity.name: {VOLUME_SPACE: free + 1}}) is not None


def test_what_one_command_wants_under_two_names_of_the_same_bytes_is_added_up():
    state = LedgerState((GROUP, msgspec.structs.replace(GROUP, name="drive/n/d")))
    half = {VOLUME_SPACE: 4}
    assert lacking(state, {"group/n/vg": half, "drive/n/d": half}) is None
    assert lacking(state, {"group/n/vg": half, "drive/n/d": {VOLUME_SPACE: 5}}) is not None


def test_a_promise_remembers_the_drives_of_its_group():
    ledger = Ledger(GROUP, capacity("node/n", cpu=1))
    asked = hold("node/n", cpu=1), Hold("data", "group/n/vg", Resources({VOLUME_SPACE: 5}))
    assert [each.drives for each in ledger.do(reserve("r", *asked)).changed] == [(), GROUP.drives]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_one_who_sees_the_drive_and_one_who_sees_the_group_are_not_promised_the_same(order):
    asked = Resources({VOLUME_SPACE: 5})
    plans = [
        Together((Supply((PLAIN,)), reserve("drive", Hold("data", "drive/n/d", asked)))),
        Together((Supply((GROUP,)), reserve("group", Hold("data", "group/n/vg", asked)))),
    ]
    ledger = Ledger()
    assert [ledger.do(plans[each]).accepted for each in order] == [True, False]


def test_what_is_unbounded_can_always_be_had():
    assert lacking(promised({}, {"cpu": 9}, unbounded=("cpu",)), {"c": {"cpu": 1 << 80}}) is None
    assert lacking(promised({}, {}, unbounded=("cpu",)), {"c": {"memory": 1}}) is not None


def test_an_unknown_capacity_has_no_room():
    assert lacking(LedgerState(), {"node/x": {}}) == Lack(
        "node/x is not known; supply it, or ask for another"
    )


def test_a_shortfall_names_every_number():
    lack = lacking(promised({"cpu": 8000}, {"cpu": 3500}), {"c": {"cpu": 6000}})
    amounts = [Amount("cpu", value) for value in (6000, 3500, 8000, 4500, 1500)]
    assert lack.shortfalls == (Shortfall("c", "cpu", *amounts, eviction_could_help=True),)


def test_what_is_over_promised_misses_the_excess_too():
    lack = lacking(promised({"cpu": 4}, {"cpu": 6}), {"c": {"cpu": 1}})
    assert lack.shortfalls[0].missing == Amount("cpu", 3)
    assert lack.shortfalls[0].free == Amount("cpu", 0)


TOO_MUCH = (
    "c: cpu short by 1.5 (asked 6, free 4.5 of 8); "
    "ask for at most 4.5, or release 1.5 of what is promised there"
)
REASONS = {
    "less would fit, or a release": (
        {"cpu": 8000},
        {"cpu": 3500},
        {"cpu": 6000},
        TOO_MUCH,
    ),
    "all that is offered is too little": (
        {"cpu": 8000},
        {"cpu": 3500},
        {"cpu": 9000},
        "c: cpu short by 4.5 (asked 9, free 4.5 of 8); ask for at most 4.5",
    ),
    "exactly all that is offered": (
        {"cpu": 8000},
        {"cpu": 8000},
        {"cpu": 8000},
        "c: cpu short by 8 (asked 8, free 0 of 8); ask for another, or release 8 of what is promised there",
    ),
    "none is offered": ({}, {}, {"memory": GIB}, "c offers no memory (asked 1Gi); ask for another"),
    "bytes of disks are bytes": (
        {VOLUME_SPACE: GIB},
        {},
        {VOLUME_SPACE: 3 * GIB},
        "c: ullage.dev/volume-space short by 2Gi (asked 3Gi, free 1Gi of 1Gi); ask for at most 1Gi",
    ),
    "several": (
        {"pods": 1},
        {},
        {"pods": 2, "memory": 1, "cpu": 1},
        "c offers no cpu (asked 1m), and 2 more such; ask for another",
    ),
}


@pytest.mark.parametrize(("offers", "held", "asked", "reason"), REASONS.values(), ids=REASONS)
def test_a_refusal_says_fact_number_and_remedy(offers, held, asked, reason):
    assert lacking(promised(offers, held), {"c": asked}).reason == reason


def test_shortfalls_are_in_order_and_not_endless():
    many = LedgerState([capacity(f"c{number:03}") for number in range(SHORTFALLS_MAX)])
    wanted = {f"c{number:03}": {"memory": 1, "cpu": 1} for number in reversed(range(SHORTFALLS_MAX))}
    lack = lacking(many, wanted)
    assert lack.reason.startswith("c000 offers no cpu (asked 1m), and 199 more such")
    assert len(lack.shortfalls) == SHORTFALLS_MAX
    places = [(short.node, short.resource) for short in lack.shortfalls]
    assert places == sorted(places)
    assert places[:2] == [("c000", "cpu"), ("c000", "memory")]


def test_what_one_command_wants_of_a_capacity_is_added_up():
    wanted = {}
    want(wanted, "c", Resources({"cpu": 1, "pods": 1}))
    want(wanted, "c", Resources({"cpu": 2}))
    want(wanted, "d", Resources())
    assert wanted == {"c": {"cpu": 3, "pods": 1}, "d": {}}
    ledger = Ledger(capacity("c", cpu=3))
    two = [hold("c", f"q{number}", cpu=2) for number in range(2)]
    assert ledger.refuses(reserve("r", *two)).startswith("c: cpu short by 1m (asked 4m, free 3m of 3m)")
