"""Promises that stand: bound, released, extended, expired, paused, resized, each by its own rules."""

import msgspec
import pytest

from engine.ledger.ledgers import GIB, Ledger, capacity, drive, group, hold, reserve
from ullage.engine.storage.extents import group_bytes
from ullage.model.ledger import (
    VOLUME_SPACE,
    WHOLE_DRIVE,
    Bind,
    Expire,
    Extend,
    Hold,
    Pause,
    Refuse,
    Release,
    Resize,
    Supply,
)
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

CPU = Resources({"cpu": 2})


def fleet():
    nodes = [capacity(f"node/{name}", cpu=4) for name in "abc"]
    return Ledger(*nodes, capacity("quota/q", cpu=8), drive("a", "d", GIB), drive("b", "d", GIB))


def entry_of(ledger, name, place):
    return ledger.state.entry((name, "web", place))


UNKNOWN = (Bind("x"), Release("x"), Extend("x", 50), Pause("x"))


@pytest.mark.parametrize("command", UNKNOWN, ids=lambda each: type(each).__name__)
def test_nothing_becomes_of_a_reservation_that_is_not_there(command):
    ledger = fleet()
    assert ledger.refuses(command) == "reservation x is not known or has ended; reserve it first"
    ledger.do(reserve("x", hold("node/a", cpu=1)))
    ledger.do(Release("x"))
    assert ledger.refuses(command) == "reservation x is not known or has ended; reserve it first"


def test_what_is_bound_does_not_expire_and_says_so_once():
    ledger = fleet()
    ledger.do(reserve("r", hold("node/a", cpu=1), hold("quota/q", cpu=1)))
    decision = ledger.do(Bind("r"))
    assert {(entry.state, entry.expires_seconds) for entry in decision.changed} == {("BOUND", None)}
    assert len(decision.changed) == 2
    again = ledger.do(Bind("r"), 500)
    assert (again.accepted, again.changed) == (True, ())
    assert again.reason == "reservation r is bound already"
    assert ledger.do(Expire(), 1000).changed == ()


def test_binding_on_a_node_gives_back_the_others_and_keeps_what_is_of_no_node():
    ledger = fleet()
    held = (
        hold("quota/q", cpu=2),
        hold("drive/b/d", "disk"),
        hold("drive/a/d", "disk"),
        hold("cache/b", "cache"),
    )
    ledger.do(Supply((capacity("cache/b"),)))
    assert ledger.do(reserve("r", *held, nodes=("a", "b", "c"), requests=CPU, copies=3)).accepted
    decision = ledger.do(Bind("r", "a"))
    assert ledger.states("r") == {
        ("web", "quota/q"): "BOUND",
        ("compute", "node/a"): "BOUND",
        ("disk", "drive/a/d"): "BOUND",
    }
    released = [entry for entry in decision.changed if entry.state == "RELEASED"]
    assert {entry.capacity for entry in released} == {"node/b", "node/c", "drive/b/d", "cache/b"}
    assert {entry.reason for entry in released} == {"bound on node a"}
    assert ledger.state.held("node/b") == {}
    assert ledger.refuses(Bind("r", "b")) == "reservation r has nothing on node b; bind it on a"
    assert ledger.do(Bind("r", "a")).changed == ()


def test_a_node_has_to_be_named_where_a_request_is_held_on_several():
    ledger = fleet()
    ledger.do(reserve("r", nodes=("a", "b"), requests=CPU, copies=2))
    assert ledger.refuses(Bind("r")) == "reservation r is held on nodes a, b; say on which one it is bound"
    assert ledger.refuses(Bind("r", "c")) == "reservation r has nothing on node c; bind it on a, b"
    ledger.do(reserve("gang", hold("node/a", "one", cpu=1), hold("node/b", "two", cpu=1)))
    assert ledger.do(Bind("gang")).accepted
    assert set(ledger.states("gang").values()) == {"BOUND"}


def test_what_is_of_no_node_is_bound_wherever_its_owner_runs():
    ledger = fleet()
    ledger.do(reserve("r", hold("quota/q", cpu=1), hold("quota/q", "two", cpu=1)))
    assert ledger.do(Bind("r", "a")).accepted
    assert set(ledger.states("r").values()) == {"BOUND"}


def test_a_release_gives_back_all_or_what_is_named():
    ledger = fleet()
    ledger.do(
        reserve("r", hold("node/a", "one", cpu=1), hold("node/b", "two", cpu=1), hold("node/c", "two", cpu=1))
    )
    assert (
        ledger.refuses(Release("r", ("two", "zwei", "drei")))
        == "reservation r has no request drei; it has one, two"
    )
    decision = ledger.do(Release("r", ("two",)))
    assert [(entry.capacity, entry.state) for entry in decision.changed] == [
        ("node/b", "RELEASED"),
        ("node/c", "RELEASED"),
    ]
    assert ledger.states("r") == {("one", "node/a"): "RESERVED"}
    assert ledger.do(Release("r")).accepted
    assert len(ledger.state) == 0
    assert ledger.state.held("node/a") == {}


def test_what_is_in_use_is_released_too():
    ledger = fleet()
    ledger.do(reserve("r", hold("node/a", cpu=4)))
    ledger.do(Bind("r"))
    ledger.do(Release("r"))
    assert ledger.do(reserve("s", hold("node/a", cpu=4))).accepted


def test_an_end_can_be_moved_within_the_future():
    ledger = fleet()
    ledger.do(reserve("r", hold("node/a", cpu=1), expires=50))
    for expires in (90, 40, 11):
        assert ledger.do(Extend("r", expires)).accepted
        assert entry_of(ledger, "r", "node/a").expires_seconds == expires
    again = ledger.do(Extend("r", 11))
    assert (again.accepted, again.changed, again.reason) == (True, (), "reservation r ends at 11 already")
    assert ledger.refuses(Extend("r", 10)) == "reservation r cannot end at 10, now is 10; give it a later end"
    ledger.do(Bind("r"))
    assert ledger.refuses(Extend("r", 99)) == (
        "reservation r is in use and does not expire; release it when it ends"
    )


def test_a_reservation_stands_until_it_is_expired_and_can_be_saved_until_then():
    ledger = fleet()
    ledger.do(reserve("r", hold("node/a", cpu=1), expires=50))
    assert ledger.do(Extend("r", 99), 60).accepted
    assert ledger.do(Expire(), 98).changed == ()
    assert [entry.state for entry in ledger.do(Expire(), 99).changed] == ["EXPIRED"]


def test_everything_whose_time_has_come_expires_and_nothing_else():
    ledger = fleet()
    for name, expires in (("r", 50), ("s", 51), ("t", 52), ("u", 50)):
        ledger.do(reserve(name, hold("node/a", cpu=1), expires=expires))
    ledger.do(Bind("u"))
    assert ledger.do(Expire(), 49).changed == ()
    decision = ledger.do(Expire(), 51)
    assert [(entry.reservation, entry.state) for entry in decision.changed] == [
        ("r", "EXPIRED"),
        ("s", "EXPIRED"),
    ]
    assert [entry.reservation for entry in ledger.state.entries] == ["t", "u"]
    assert ledger.state.held("node/a") == {"cpu": 2}


def test_time_does_not_go_backwards():
    ledger = fleet()
    ledger.do(reserve("r", hold("node/a", cpu=1), expires=50), 40)
    ledger.at_seconds = 5
    assert ledger.refuses(Extend("r", 30)) == "reservation r cannot end at 30, now is 40; give it a later end"
    assert ledger.state.at_seconds == 40


def test_what_is_in_use_can_pause_and_stays_promised():
    ledger = fleet()
    ledger.do(reserve("r", hold("node/a", "one", cpu=1), hold("node/b", "two", cpu=1)))
    assert ledger.refuses(Pause("r")) == "reservation r is RESERVED, not in use; bind it first"
    ledger.do(Bind("r"))
    assert len(ledger.do(Pause("r")).changed) == 2
    assert {entry.paused for entry in ledger.state.entries} == {True}
    assert ledger.state.held("node/a") == {"cpu": 1}
    assert ledger.do(Pause("r")).changed == ()
    assert {entry.paused for entry in ledger.do(Pause("r", paused=False)).changed} == {False}


RESIZES = {
    "more that is there": ({"cpu": 2}, {"cpu": 3}, True),
    "more than is there": ({"cpu": 2}, {"cpu": 4}, False),
    "less": ({"cpu": 2}, {"cpu": 1}, True),
    "nothing": ({"cpu": 2}, {}, True),
    "another resource that is there": ({"cpu": 2}, {"cpu": 2, "pods": 5}, True),
    "another resource that is not": ({"cpu": 2}, {"cpu": 1, "memory": 1}, False),
    "the same": ({"cpu": 2}, {"cpu": 2}, True),
}


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize(("first", "then", "accepted"), RESIZES.values(), ids=RESIZES)
def test_a_size_changes_if_the_difference_can_be_had(first, then, accepted, bound):
    ledger = Ledger(capacity("cache/n", cpu=4, pods=5))
    ledger.do(reserve("other", hold("cache/n", cpu=1)))
    ledger.do(reserve("r", hold("cache/n", **first)))
    if bound:
        ledger.do(Bind("r"))
    before = entry_of(ledger, "r", "cache/n")
    decision = ledger.do(Resize("r", "web", "cache/n", Resources(then)))
    after = entry_of(ledger, "r", "cache/n")
    assert decision.accepted is accepted
    assert dict(after.resources) == (then if accepted else first)
    assert (after.state, after.expires_seconds) == (before.state, before.expires_seconds)
    assert len(decision.changed) == (accepted and first != then)


def test_a_refused_size_names_the_difference():
    ledger = Ledger(capacity("cache/n", cpu=4))
    ledger.do(reserve("r", hold("cache/n", cpu=2)))
    reason = ledger.refuses(Resize("r", "web", "cache/n", Resources({"cpu": 5})))
    assert reason.startswith("cache/n: cpu short by 1m (asked 3m, free 2m of 4m)")
    assert [short.node for short in ledger.rows[-1].decision.shortfalls] == ["cache/n"]
    assert ledger.refuses(Resize("r", "web", "cache/m", CPU)) == (
        "reservation r holds nothing of cache/m for request web; reserve it first"
    )


def test_less_can_be_had_also_of_what_is_cut_or_gone():
    ledger = Ledger(capacity("cache/n", cpu=4))
    ledger.do(reserve("r", hold("cache/n", cpu=4)))
    ledger.do(Supply((capacity("cache/n", cpu=1),)))
    assert ledger.do(Resize("r", "web", "cache/n", Resources({"cpu": 3}))).accepted
    ledger.do(Supply(gone=("cache/n",)))
    for _ in range(2):
        assert ledger.do(Resize("r", "web", "cache/n", Resources({"cpu": 2}))).accepted
    assert ledger.refuses(Resize("r", "web", "cache/n", Resources({"cpu": 3}))).startswith(
        "cache/n is not known"
    )


def test_a_refusal_elsewhere_is_noted_and_holds_nothing():
    ledger = fleet()
    decision = ledger.do(Refuse("r", "team", "web", "no licence"))
    assert decision.accepted
    assert decision.changed == (
        LedgerEntry("r", "web", "", "team", state="REJECTED", created_seconds=10, reason="no licence"),
    )
    assert len(ledger.state) == 0
    ledger.do(reserve("r", hold("node/a", cpu=1)))
    assert ledger.refuses(Refuse("r", "team", "web", "late")) == (
        "reservation r is RESERVED; release it before it is refused"
    )


def test_a_supply_notes_what_has_changed_and_leaves_promises_alone():
    ledger = fleet()
    ledger.do(reserve("r", hold("node/a", cpu=4)))
    same, less = capacity("node/b", cpu=4), capacity("node/a", cpu=1)
    decision = ledger.do(Supply((same, less), ("node/c", "node/unknown")))
    assert decision.accepted
    assert (decision.capacities, decision.gone, decision.changed) == ((less,), ("node/c",), ())
    assert ledger.state.capacity("node/c") is None
    assert ledger.state.held("node/a") == {"cpu": 4}
    assert ledger.refuses(reserve("s", hold("node/a", cpu=1))).startswith("node/a: cpu short by 4m")


def test_a_drive_that_is_plain_again_is_in_no_group_and_what_was_promised_there_stays():
    made = msgspec.structs.replace(group("a", "vg", GIB), drives=("drive/a/d",))
    beside = msgspec.structs.replace(group("a", "wg", GIB), drives=("drive/a/e",))
    ledger = Ledger(made, beside)
    share = Hold("data", "group/a/vg", Resources({VOLUME_SPACE: GIB // 2}))
    ledger.do(reserve("r", share))
    decision = ledger.do(Supply((drive("a", "d", GIB),)))
    assert decision.gone == ("group/a/vg",)
    assert ledger.state.disks_of("a").keys() == {"group/a/wg", "drive/a/d"}
    whole = Hold("all", "drive/a/d", Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: group_bytes(GIB)}))
    assert "short by" in ledger.refuses(reserve("s", whole))
    again = Supply((made, msgspec.structs.replace(made, name="drive/a/d", disk=None)))
    assert ledger.do(again).gone == ()


@pytest.mark.parametrize(("volumes_stay", "left"), [(True, 60), (False, 100)])
@pytest.mark.parametrize("bound", [True, False])
def test_what_is_in_use_of_a_disk_may_stay_taken_until_a_supply_says_otherwise(volumes_stay, left, bound):
    vg = msgspec.structs.replace(group("n", "vg", 100), drives=("drive/n/d",))
    ledger = Ledger(vg, msgspec.structs.replace(vg, name="drive/n/d", disk=None))
    ledger.do(reserve("a", Hold("data", "drive/n/d", Resources({VOLUME_SPACE: 40}))))
    if bound:
        ledger.do(Bind("a"))
    assert ledger.do(Release("a", volumes_stay=volumes_stay)).accepted
    offers = {each.name: each.offers.of(VOLUME_SPACE) for each in ledger.state.capacities}
    expected = left if bound else 100
    assert offers == {"group/n/vg": expected, "drive/n/d": expected}
    ledger.do(Supply((vg,)))
    assert ledger.state.capacity("group/n/vg") == vg
