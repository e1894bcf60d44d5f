"""Holding: everything that is asked for on the best nodes with room, or nothing and a reason."""

import pytest

from engine.ledger.ledgers import GIB, MIB, Ledger, capacity, drive, group, hold, reserve, volume
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE, Bind, Release, Supply
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

CPU = Resources({"cpu": 2})


def held(ledger, reservation):
    return {
        (entry.request, entry.capacity): dict(entry.resources)
        for entry in ledger.state.entries_of(reservation)
    }


def test_holds_are_entries_with_owner_state_and_times():
    ledger = Ledger(capacity("node/n", cpu=8))
    decision = ledger.do(reserve("r", hold("node/n", cpu=8), expires=50))
    entry = LedgerEntry(
        "r",
        "web",
        "node/n",
        "team",
        Resources({"cpu": 8}),
        "RESERVED",
        created_seconds=10,
        expires_seconds=50,
    )
    assert decision.changed == (entry,)
    assert ledger.state.entries == (entry,)


def test_a_refused_reservation_leaves_its_reason_and_holds_nothing():
    ledger = Ledger(capacity("node/n", cpu=8), capacity("quota/q", cpu=1))
    decision = ledger.do(reserve("r", hold("node/n", cpu=2), hold("quota/q", cpu=2)))
    assert not decision.accepted
    assert [(entry.capacity, entry.state, entry.reason) for entry in decision.changed] == [
        ("node/n", "REJECTED", decision.reason),
        ("quota/q", "REJECTED", decision.reason),
    ]
    assert [short.node for short in decision.shortfalls] == ["quota/q"]
    assert len(ledger.state) == 0


def test_what_waited_for_nothing_is_rejected_for_each_of_its_requests():
    ledger = Ledger()
    asked = reserve(
        "r",
        nodes=("n",),
        requests=CPU,
        volumes=(volume("a", "HDD", 5 * MIB), volume("b", "HDDLVG", 5 * MIB)),
    )
    changed = {entry.request: entry for entry in ledger.do(asked).changed}
    assert {name: (entry.capacity, entry.state) for name, entry in changed.items()} == {
        "compute": ("", "REJECTED"),
        "a": ("", "REJECTED"),
        "b": ("", "REJECTED"),
    }
    assert changed["compute"].resources == CPU
    assert changed["a"].resources == Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: 5 * MIB})
    assert changed["b"].resources == Resources({VOLUME_SPACE: 8 * MIB})
    zos = {
        entry.request: entry
        for entry in ledger.do(
            reserve("z", nodes=("n",), volumes=(volume("a", "SSD", 5),), mode="zos")
        ).changed
    }
    assert zos["a"].resources == Resources({VOLUME_SPACE: 5})


def test_requests_go_to_the_first_node_with_room_in_the_order_given():
    ledger = Ledger(capacity("node/a", cpu=1), capacity("node/b", cpu=8), capacity("node/c", cpu=8))
    assert ledger.do(reserve("r", nodes=("a", "c", "b"), requests=CPU)).accepted
    assert held(ledger, "r") == {("compute", "node/c"): {"cpu": 2}}


def test_holds_and_requests_on_one_node_are_added_up():
    ledger = Ledger(capacity("node/a", cpu=3), capacity("node/b", cpu=3), capacity("quota/q", cpu=9))
    asked = reserve("r", hold("node/a", cpu=2), hold("quota/q", cpu=2), nodes=("a", "b"), requests=CPU)
    assert ledger.do(asked).accepted
    assert held(ledger, "r") == {
        ("web", "node/a"): {"cpu": 2},
        ("web", "quota/q"): {"cpu": 2},
        ("compute", "node/b"): {"cpu": 2},
    }


def test_copies_are_held_on_as_many_nodes():
    ledger = Ledger(
        *(capacity(f"node/{name}", cpu=size) for name, size in zip("abcd", (2, 1, 2, 2), strict=True))
    )
    assert ledger.do(reserve("r", nodes=tuple("abcd"), requests=CPU, copies=2)).accepted
    assert set(held(ledger, "r")) == {("compute", "node/a"), ("compute", "node/c")}
    assert ledger.refuses(reserve("s", nodes=tuple("abcd"), requests=CPU, copies=2)) == (
        "1 of 4 nodes can hold s, 2 are asked for: node/a: cpu short by 2m (asked 2m, free 0 of 2m); "
        "ask for another, or release 2m of what is promised there"
    )


def test_a_refusal_on_nodes_lists_what_each_lacks():
    ledger = Ledger(capacity("node/a", cpu=1), capacity("node/b"))
    decision = ledger.do(reserve("r", nodes=("a", "b"), requests=CPU))
    assert decision.reason == (
        "none of 2 nodes can hold r: node/a: cpu short by 1m (asked 2m, free 1m of 1m); ask for at most 1m"
    )
    assert [short.node for short in decision.shortfalls] == ["node/a", "node/b"]
    assert ledger.refuses(reserve("s", nodes=("x",), requests=CPU)) == (
        "no node can hold s: node/x is not known; supply it, or ask for another"
    )


@pytest.mark.parametrize("mode", ["exact", "compat"])
def test_a_whole_drive_is_held_whole_and_a_share_in_extents(mode):
    ledger = Ledger(capacity("node/n", cpu=8), drive("n", "d1", GIB), drive("n", "d2", 2 * GIB))
    volumes = (volume("all", "HDD", 10), volume("part", "HDDLVG", 5 * MIB))
    assert ledger.do(
        reserve("r", nodes=("n",), requests=CPU, volumes=volumes, mode=mode, few_drives=False)
    ).accepted
    found = held(ledger, "r")
    assert found.pop(("compute", "node/n")) == {"cpu": 2}
    shares = {request: (name, amounts) for (request, name), amounts in found.items()}
    name, amounts = shares["all"]
    size = {"drive/n/d1": GIB, "drive/n/d2": 2 * GIB}[name]
    assert amounts == {WHOLE_DRIVE: 1, VOLUME_SPACE: size - 4 * MIB}
    assert shares["part"][1] == {VOLUME_SPACE: 8 * MIB}
    assert shares["part"][0] != name


def test_in_mode_zos_a_volume_takes_its_bytes_of_a_drive_that_others_share():
    ledger = Ledger(drive("n", "d", GIB, "SSD"))
    for name in ("r", "s"):
        assert ledger.do(
            reserve(name, nodes=("n",), volumes=(volume("v", "SSD", 100 * MIB + 1),), mode="zos")
        ).accepted
    assert held(ledger, "r") == {("v", "drive/n/d"): {VOLUME_SPACE: 100 * MIB + 1}}
    assert ledger.state.held("drive/n/d") == {VOLUME_SPACE: 2 * (100 * MIB + 1)}


def test_a_node_needs_room_for_requests_and_disks_together():
    ledger = Ledger(
        capacity("node/a", cpu=1),
        drive("a", "d", 4 * GIB),
        capacity("node/b", cpu=8),
        drive("b", "d", 4 * GIB),
        capacity("node/c", cpu=8),
    )
    asked = {"nodes": ("a", "b", "c"), "requests": CPU, "volumes": (volume("v", "HDD", GIB),)}
    assert ledger.do(reserve("r", **asked)).accepted
    assert set(held(ledger, "r")) == {("compute", "node/b"), ("v", "drive/b/d")}
    reason = ledger.refuses(reserve("s", **asked))
    assert reason.startswith("none of 3 nodes can hold s: node/a: cpu short by 1m")


def test_volumes_alone_need_no_room_on_the_node_itself():
    ledger = Ledger(drive("n", "d", GIB))
    assert ledger.do(reserve("r", nodes=("n",), volumes=(volume("v", "HDD", GIB),))).accepted
    reason = ledger.refuses(reserve("s", nodes=("n",), volumes=(volume("v", "HDD", GIB),)))
    assert reason.startswith("no node can hold s: node n: ")


def test_a_drive_with_a_volume_in_use_is_no_fresh_drive():
    ledger = Ledger(drive("n", "d", GIB), drive("n", "e", GIB))
    part = (volume("v", "HDDLVG", 10 * MIB),)
    assert ledger.do(reserve("r", nodes=("n",), volumes=part)).accepted
    assert ledger.do(Bind("r", "n")).accepted
    assert ledger.do(reserve("s", nodes=("n",), volumes=part)).accepted
    (first,), (second,) = (ledger.state.entries_of(name) for name in "rs")
    assert first.capacity == second.capacity
    whole = (volume("v", "HDD", 10 * MIB),)
    assert ledger.do(reserve("t", nodes=("n",), volumes=whole)).accepted
    assert not ledger.do(reserve("u", nodes=("n",), volumes=whole)).accepted


def test_what_a_plan_chose_is_summed_up_like_any_other_hold():
    small = group("n", "g", GIB)
    ledger = Ledger(
        capacity("node/n", cpu=1), type(small)(small.name, Resources({VOLUME_SPACE: MIB}), disk=small.disk)
    )
    decision = ledger.do(reserve("r", nodes=("n",), volumes=(volume("v", "HDDLVG", GIB),)))
    assert not decision.accepted
    assert [short.node for short in decision.shortfalls] == ["group/n/g"]
    assert decision.reason.startswith(
        "no node can hold r: group/n/g: ullage.dev/volume-space short by 1023Mi"
    )


def test_the_best_node_of_the_plan_comes_first_and_copies_follow_it():
    ledger = Ledger(
        *(drive(node, "d", size) for node, size in (("a", 9 * GIB), ("b", 2 * GIB), ("c", 4 * GIB)))
    )
    whole = (volume("v", "HDD", GIB),)
    assert ledger.do(reserve("r", nodes=tuple("abc"), volumes=whole, copies=2)).accepted
    assert set(held(ledger, "r")) == {("v", "drive/b/d"), ("v", "drive/c/d")}


def test_drives_of_one_uuid_on_two_nodes_are_two():
    ledger = Ledger(drive("a", "d", GIB), drive("b", "d", GIB), group("a", "drive", GIB))
    for name in ("r", "s"):
        assert ledger.do(reserve(name, nodes=("a", "b"), volumes=(volume("v", "HDD", GIB),))).accepted
    assert not ledger.do(reserve("t", nodes=("a", "b"), volumes=(volume("v", "HDD", GIB),))).accepted


BOTH = {"nodes": ("a", "b"), "requests": CPU}
VOLUMES = {"nodes": ("a", "b"), "volumes": (volume("v", "HDD", GIB), volume("w", "HDDLVG", GIB))}
REPEATED = {
    "holds": (reserve("r", hold("node/a", cpu=1)), None),
    "requests": (reserve("r", **BOTH), None),
    "volumes": (reserve("r", **VOLUMES), None),
    "all of them": (reserve("r", hold("quota/q", cpu=1), requests=CPU, **VOLUMES), None),
    "copies": (reserve("r", copies=2, **BOTH), None),
    "a drive to the last byte": (reserve("r", nodes=("a",), volumes=(volume("v", "HDD", 4 * GIB),)), None),
    "any class where the drive fits": (
        reserve("r", **VOLUMES),
        reserve("r", nodes=("a", "b"), volumes=(volume("v", "ANY", GIB), volume("w", "HDDLVG", GIB))),
    ),
}
CHANGED = {
    "another owner": (reserve("r", **BOTH), reserve("r", owner="else", **BOTH)),
    "another end": (reserve("r", **BOTH), reserve("r", expires=99, **BOTH)),
    "other amounts": (reserve("r", hold("node/a", cpu=1)), reserve("r", hold("node/a", cpu=2))),
    "another capacity": (reserve("r", hold("node/a", cpu=1)), reserve("r", hold("node/b", cpu=1))),
    "less": (reserve("r", hold("node/a", cpu=1), hold("node/b", cpu=1)), reserve("r", hold("node/a", cpu=1))),
    "more": (reserve("r", hold("node/a", cpu=1)), reserve("r", hold("node/a", cpu=1), hold("node/b", cpu=1))),
    "other requests": (reserve("r", **BOTH), reserve("r", nodes=("a", "b"), requests=Resources({"cpu": 1}))),
    "requests beside": (reserve("r", hold("node/a", cpu=1)), reserve("r", hold("node/a", cpu=1), **BOTH)),
    "other nodes": (reserve("r", **BOTH), reserve("r", nodes=("b",), requests=CPU)),
    "fewer copies": (reserve("r", copies=2, **BOTH), reserve("r", **BOTH)),
    "more copies": (reserve("r", **BOTH), reserve("r", copies=2, **BOTH)),
    "a larger drive": (
        reserve("r", **VOLUMES),
        reserve("r", nodes=("a", "b"), volumes=(volume("v", "HDD", 9 * GIB), volume("w", "HDDLVG", GIB))),
    ),
    "a drive of another class": (
        reserve("r", **VOLUMES),
        reserve("r", nodes=("a", "b"), volumes=(volume("v", "SSD", GIB), volume("w", "HDDLVG", GIB))),
    ),
    "a larger share": (
        reserve("r", **VOLUMES),
        reserve("r", nodes=("a", "b"), volumes=(volume("v", "HDD", GIB), volume("w", "HDDLVG", 2 * GIB))),
    ),
    "a share for a drive": (
        reserve("r", **VOLUMES),
        reserve("r", nodes=("a", "b"), volumes=(volume("v", "HDDLVG", GIB), volume("w", "HDDLVG", GIB))),
    ),
    "a drive for a share": (
        reserve("r", **VOLUMES),
        reserve("r", nodes=("a", "b"), volumes=(volume("v", "HDD", GIB), volume("w", "HDD", GIB))),
    ),
    "another volume": (
        reserve("r", **VOLUMES),
        reserve("r", nodes=("a", "b"), volumes=(volume("v", "HDD", GIB), volume("x", "HDDLVG", GIB))),
    ),
}


def fleet():
    drives = [drive(node, uuid, 4 * GIB) for node in "ab" for uuid in ("d", "e")]
    return Ledger(capacity("node/a", cpu=9), capacity("node/b", cpu=9), capacity("quota/q", cpu=9), *drives)


@pytest.mark.parametrize(("first", "second"), REPEATED.values(), ids=REPEATED)
def test_the_same_reservation_again_is_accepted_and_changes_nothing(first, second):
    ledger = fleet()
    assert ledger.do(first).accepted
    before = ledger.state.entries
    decision = ledger.do(second or first)
    assert (decision.accepted, decision.changed) == (True, ())
    assert decision.reason == "reservation r stands already"
    assert ledger.state.entries == before


@pytest.mark.parametrize(("first", "second"), CHANGED.values(), ids=CHANGED)
def test_another_reservation_of_a_name_that_stands_is_refused(first, second):
    ledger = fleet()
    assert ledger.do(first).accepted
    assert ledger.refuses(second) == "reservation r is RESERVED for team; release it or use another name"
    assert ledger.rows[-1].decision.changed == ()


def test_a_reservation_in_use_is_not_made_again():
    ledger = fleet()
    asked = reserve("r", **BOTH)
    ledger.do(asked)
    ledger.do(Bind("r"))
    assert ledger.refuses(asked) == "reservation r is BOUND for team; release it or use another name"


def test_a_repeated_volume_on_a_drive_that_has_gone_cannot_be_told():
    ledger = fleet()
    asked = reserve("r", **VOLUMES)
    ledger.do(asked)
    ledger.do(Supply(gone=tuple(entry.capacity for entry in ledger.state.entries)))
    assert ledger.refuses(asked).startswith("reservation r is RESERVED")


def test_a_name_can_be_used_again_once_its_reservation_has_ended():
    ledger = fleet()
    ledger.do(reserve("r", hold("node/a", cpu=1)))
    ledger.do(Release("r"))
    assert ledger.do(reserve("r", hold("node/b", cpu=2))).accepted
    assert held(ledger, "r") == {("web", "node/b"): {"cpu": 2}}


def test_a_reservation_without_a_future_is_refused():
    ledger = fleet()
    for expires in (10, 9, -1):
        decision = ledger.do(reserve("r", hold("node/a", cpu=1), expires=expires))
        assert not decision.accepted
        assert decision.reason == f"reservation r would end at {expires}, now is 10; give it a later end"
        assert [entry.state for entry in decision.changed] == ["REJECTED"]
    assert ledger.do(reserve("r", hold("node/a", cpu=1), expires=11)).accepted
