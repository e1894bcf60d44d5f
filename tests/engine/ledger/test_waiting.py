"""Waiting: logical volumes of one class, one reservation after the other, first come first served."""

import msgspec
import pytest

from engine.ledger.ledgers import GIB, MIB, Ledger, capacity, drive, group, hold, reserve, volume
from ullage.engine.ledger import waiting
from ullage.engine.ledger.audit import audit
from ullage.engine.ledger.decide import decide
from ullage.model.ledger import Bind, Expire, Extend, Release, Resize, Supply, Together
from ullage.model.resources import Resources


def share(name, storage_class="HDDLVG", size=10 * MIB, **more):
    settings = {"nodes": ("n",), "mode": "compat", **more}
    return reserve(name, volumes=(volume("v", storage_class, size),), **settings)


def fleet():
    return Ledger(
        drive("n", "d1", GIB),
        drive("n", "d2", 2 * GIB),
        drive("n", "s1", GIB, "SSD"),
        group("n", "sys", GIB, "SYSLVG"),
        capacity("node/n", cpu=8),
    )


def line(ledger):
    """Who waits, at which place, behind whom."""
    found = {}
    for command in ledger.state.waiting:
        entries = ledger.state.entries_of(command.reservation)
        assert {entry.state for entry in entries} == {"WAITING"}
        (found[command.reservation],) = {(entry.queue_position, entry.blocked_by) for entry in entries}
    assert [finding for finding in audit(ledger.state) if finding.severity == "error"] == []
    return found


def states(ledger, *names):
    return [next(iter(ledger.states(name).values()), None) for name in names]


def test_volumes_of_a_class_wait_until_those_before_are_made_and_share_their_drive():
    ledger = fleet()
    for name in ("pod1", "pod2", "pod3"):
        assert ledger.do(share(name)).accepted
    assert states(ledger, "pod1", "pod2", "pod3") == ["RESERVED", "WAITING", "WAITING"]
    assert line(ledger) == {"pod2": (1, "pod1"), "pod3": (2, "pod1")}
    ledger.do(Bind("pod1", "n"))
    assert line(ledger) == {"pod3": (1, "pod2")}
    ledger.do(Bind("pod2", "n"))
    assert line(ledger) == {}
    assert {entry.capacity for entry in ledger.state.entries} == {"drive/n/d1"}
    assert states(ledger, "pod1", "pod2", "pod3") == ["BOUND", "BOUND", "RESERVED"]


NEVER = {
    "another class": share("b", "SSDLVG"),
    "the system's group": share("b", "SYSLVG"),
    "a whole drive": share("b", "HDD"),
    "the mode is off": share("b", few_drives=False),
    "an exact plan": share("b", mode="exact"),
    "no volume": reserve("b", hold("node/n", cpu=1), mode="compat"),
}


@pytest.mark.parametrize("command", NEVER.values(), ids=NEVER)
def test_nobody_else_waits(command):
    ledger = fleet()
    ledger.do(share("a"))
    assert ledger.do(command).accepted
    assert states(ledger, "a", "b") == ["RESERVED", "RESERVED"]


def test_a_whole_drive_that_is_promised_lets_nobody_wait():
    ledger = fleet()
    ledger.do(share("a", "HDD"))
    ledger.do(share("b"))
    assert states(ledger, "a", "b") == ["RESERVED", "RESERVED"]


def test_a_class_is_that_of_the_drives_also_in_a_group():
    ledger = Ledger(group("n", "g", GIB), drive("m", "d", GIB))
    ledger.do(share("a"))
    ledger.do(share("b", nodes=("m",)))
    assert ledger.states("a") == {("v", "group/n/g"): "RESERVED"}
    assert line(ledger) == {"b": (1, "a")}


MOVERS = {
    "bound": (Bind("a"), 10),
    "released": (Release("a"), 10),
    "expired": (Expire(), 50),
    "its drive has gone": (Supply(gone=("drive/n/d1",)), 10),
    "together with others": (Together((Resize("x", "web", "node/n", Resources()), Release("a"))), 10),
}


@pytest.mark.parametrize(("command", "at_seconds"), MOVERS.values(), ids=MOVERS)
def test_the_next_turn_is_decided_in_the_step_that_makes_way(command, at_seconds):
    ledger = fleet()
    ledger.do(reserve("x", hold("node/n", cpu=1)))
    ledger.do(share("a", expires=50))
    ledger.do(share("b"))
    ledger.do(share("c"))
    decision = ledger.do(command, at_seconds)
    assert states(ledger, "b", "c") == ["RESERVED", "WAITING"]
    assert line(ledger) == {"c": (1, "b")}
    assert [each.reservation for each in decision.waiting] == ["c"]
    ended = [entry for entry in decision.changed if entry.reservation == "b" and not entry.capacity]
    assert [(entry.state, entry.reason) for entry in ended] == [("RELEASED", "its turn has come")]


def test_what_makes_no_way_leaves_the_line_as_it_is():
    ledger = fleet()
    ledger.do(reserve("x", hold("node/n", cpu=1)))
    ledger.do(share("a"))
    ledger.do(share("b"))
    for command in (Bind("x"), Release("x"), Supply((capacity("node/m"),)), Expire()):
        decision = ledger.do(command)
        assert decision.accepted
        assert decision.waiting is None
        assert all(entry.reservation == "x" for entry in decision.changed)
    assert line(ledger) == {"b": (1, "a")}


def test_a_turn_counts_from_the_request_and_keeps_its_end():
    ledger = fleet()
    ledger.do(share("a"), 10)
    ledger.do(share("b", expires=77), 20)
    assert [entry.created_seconds for entry in ledger.state.entries_of("b")] == [20]
    ledger.do(Bind("a"), 30)
    (entry,) = ledger.state.entries_of("b")
    assert (entry.state, entry.created_seconds, entry.expires_seconds) == ("RESERVED", 20, 77)
    assert (entry.queue_position, entry.blocked_by) == (None, "")


def test_one_that_finds_no_room_at_its_turn_is_rejected_and_the_next_has_its_turn():
    ledger = fleet()
    ledger.do(share("a"))
    ledger.do(share("b", size=99 * GIB))
    ledger.do(share("c"))
    decision = ledger.do(Bind("a"))
    assert decision.accepted
    (rejected,) = [entry for entry in decision.changed if entry.reservation == "b"]
    assert rejected.state == "REJECTED"
    assert rejected.reason.startswith("no node can hold b: node n: ")
    assert states(ledger, "a", "b", "c") == ["BOUND", None, "RESERVED"]
    assert line(ledger) == {}


def test_one_whose_time_has_passed_has_no_turn():
    ledger = fleet()
    ledger.do(share("a"))
    ledger.do(share("b", expires=20))
    ledger.do(share("c"))
    decision = ledger.do(Bind("a"), 20)
    assert [entry.state for entry in decision.changed if entry.reservation == "b"] == ["EXPIRED"]
    assert states(ledger, "b", "c") == [None, "RESERVED"]


def test_who_gives_up_or_expires_leaves_the_line():
    ledger = fleet()
    for name in "abcd":
        ledger.do(share(name, expires=30 if name == "c" else 100))
    assert line(ledger) == {"b": (1, "a"), "c": (2, "a"), "d": (3, "a")}
    decision = ledger.do(Release("b"))
    assert [entry.state for entry in decision.changed if entry.reservation == "b"] == ["RELEASED"]
    assert line(ledger) == {"c": (1, "a"), "d": (2, "a")}
    ledger.do(Expire(), 30)
    assert line(ledger) == {"d": (1, "a")}


def test_lines_of_different_classes_do_not_hold_each_other_up():
    ledger = fleet()
    both = (volume("h", "HDDLVG", MIB), volume("s", "SSDLVG", MIB))
    ledger.do(share("hdd"))
    ledger.do(share("ssd", "SSDLVG"))
    ledger.do(share("hdd2"))
    ledger.do(reserve("both", nodes=("n",), mode="compat", volumes=both))
    ledger.do(share("ssd2", "SSDLVG"))
    assert line(ledger) == {"hdd2": (1, "hdd"), "both": (2, "hdd"), "ssd2": (2, "ssd")}
    ledger.do(Bind("ssd"))
    assert line(ledger) == {"hdd2": (1, "hdd"), "both": (2, "hdd"), "ssd2": (2, "both")}
    ledger.do(Bind("hdd"))
    assert line(ledger) == {"both": (1, "hdd2"), "ssd2": (2, "both")}
    ledger.do(Release("hdd2"))
    assert states(ledger, "both", "ssd2") == ["RESERVED", "WAITING"]
    assert line(ledger) == {"ssd2": (1, "both")}


def test_the_one_in_the_way_is_the_one_that_came_first():
    ledger = fleet()
    ledger.do(share("z", few_drives=False), 10)
    ledger.do(share("a", few_drives=False), 11)
    ledger.do(share("b"), 12)
    assert line(ledger) == {"b": (1, "z")}
    ledger.do(Bind("z"))
    assert line(ledger) == {"b": (1, "a")}


def test_a_reservation_waits_as_a_whole_and_holds_nothing_meanwhile():
    ledger = fleet()
    ledger.do(share("a"))
    asked = reserve(
        "b",
        hold("node/n", cpu=3),
        nodes=("n",),
        requests=Resources({"cpu": 2}),
        volumes=(volume("v", "HDDLVG", 10 * MIB),),
        mode="compat",
    )
    assert ledger.do(asked).accepted
    assert ledger.states("b") == {
        ("compute", ""): "WAITING", ("v", ""): "WAITING", ("web", "node/n"): "WAITING"
    }  # fmt: skip
    assert ledger.state.held("node/n") == {}
    assert ledger.refuses(Resize("b", "web", "node/n", Resources({"cpu": 1}))) == (
        "reservation b holds nothing of node/n for request web; reserve it first"
    )
    ledger.do(Bind("a"))
    assert ledger.states("b") == {
        ("compute", "node/n"): "RESERVED", ("v", "drive/n/d1"): "RESERVED", ("web", "node/n"): "RESERVED"
    }  # fmt: skip
    assert ledger.state.held("node/n") == {"cpu": 5}


def test_the_same_request_again_keeps_its_place_and_another_one_is_refused():
    ledger = fleet()
    ledger.do(share("a"))
    ledger.do(share("b"))
    decision = ledger.do(share("b"))
    assert (decision.accepted, decision.changed, decision.waiting) == (True, (), None)
    assert ledger.refuses(share("b", size=20 * MIB)) == (
        "reservation b is WAITING for team; release it or use another name"
    )


def test_waiting_longer_is_part_of_the_place_in_line():
    ledger = fleet()
    ledger.do(share("a"))
    ledger.do(share("b", expires=30))
    ledger.do(share("c", expires=30))
    decision = ledger.do(Extend("b", 90))
    assert [each.expires_seconds for each in decision.waiting] == [90, 30]
    ledger.do(Bind("a"), 60)
    assert states(ledger, "b") == ["RESERVED"]
    assert [entry.expires_seconds for entry in ledger.state.entries_of("b")] == [90]


def test_who_waits_can_be_neither_bound_nor_released_in_part():
    ledger = fleet()
    ledger.do(share("a"))
    ledger.do(share("b"))
    assert ledger.refuses(Bind("b")) == "reservation b waits for a; bind it when its turn has come"
    assert ledger.refuses(Release("b", ("v",))) == (
        "reservation b waits as a whole; release all of it and reserve less"
    )
    assert ledger.refuses(Resize("b", "v", "x", Resources())).startswith("reservation b holds nothing of x")


def test_the_line_has_an_end(monkeypatch):
    monkeypatch.setattr(waiting, "LINE_MAX", 2)
    ledger = fleet()
    for name in "abc":
        assert ledger.do(share(name)).accepted
    decision = ledger.do(share("d"))
    assert not decision.accepted
    assert decision.reason == "2 reservations wait already; try again later or turn few_drives off"
    assert [entry.state for entry in decision.changed] == ["REJECTED"]
    assert list(line(ledger)) == ["b", "c"]


def test_within_one_command_the_line_moves_from_step_to_step():
    ledger = fleet()
    ledger.do(share("a"))
    decision = ledger.do(Together((share("b"), share("c"), Bind("a"), Bind("b"))))
    assert decision.accepted
    assert states(ledger, "a", "b", "c") == ["BOUND", "BOUND", "RESERVED"]
    assert decision.waiting is None
    assert line(ledger) == {}


def shrinking(**more):
    """Somebody's time comes, and in the same step the drive is told to be smaller."""
    ledger = Ledger(drive("n", "d", 100 * MIB))
    ledger.do(share("a", size=60 * MIB, expires=50))
    ledger.do(share("b", size=90 * MIB, waits=True, expires=900, **more))
    ledger.at_seconds = 60
    return ledger, (Expire(), Supply((drive("n", "d", 46 * MIB),)))


@pytest.mark.parametrize("end", [Expire(), Release("a")])
def test_nobody_in_line_has_a_turn_before_all_supply_is_known(end):
    ledger, (_, supply) = shrinking()
    assert ledger.do(Together((end, supply), line_last=True)).accepted
    assert states(ledger, "b") == ["WAITING"]
    (waits,) = ledger.state.entries_of("b")
    assert waits.reason.startswith("no node can hold b: ")
    ledger.do(Supply((drive("n", "d", 200 * MIB),)))
    assert states(ledger, "b") == ["RESERVED"]


def test_ledgers_of_the_first_versions_are_decided_again_as_they_were():
    ledger, parts = shrinking()
    decision = decide(ledger.state, Together(parts), 60)
    held = [each.reservation for each in decision.changed if each.state == "RESERVED"]
    assert held == ["b"], "between the two commands"


def test_a_plan_has_its_room_before_those_in_line():
    ledger, (expire, _) = shrinking()
    ledger.do(Together((expire, share("whole", "HDD", size=90 * MIB)), line_last=True))
    assert states(ledger, "a", "b", "whole") == [None, "WAITING", "RESERVED"]


@pytest.mark.parametrize("small_waits", [True, False])
def test_who_has_the_turn_and_finds_no_room_lets_the_next_one_pass(small_waits):
    ledger, parts = shrinking(lets_pass=True)
    small = share("c", size=4 * MIB, waits=small_waits, expires=900)
    decision = ledger.do(Together((*parts, small), line_last=True))
    assert states(ledger, "a", "b", "c") == [None, "WAITING", "RESERVED"]
    assert [(each.reservation, each.state) for each in decision.changed if each.reservation == "c"] == [
        ("c", "RESERVED")
    ], "it has not waited"
    ledger.do(Bind("c"))
    ledger.do(share("d", size=4 * MIB, expires=900))
    assert states(ledger, "d") == ["RESERVED"], "nor does who comes later"
    ledger.do(share("e", size=4 * MIB, expires=900))
    assert line(ledger)["e"] == (2, "d"), "but for a turn"


def test_a_long_line_of_one_class_keeps_its_order():
    ledger = fleet()
    names = [f"r{number:03}" for number in range(40)]
    for name in names:
        ledger.do(share(name, size=4 * MIB))
    for place, name in enumerate(names):
        assert ledger.states(name) == {("v", "drive/n/d1"): "RESERVED"}
        assert list(line(ledger)) == names[place + 1 :]
        ledger.do(Bind(name))


def wants(name, cpu, **more):
    return reserve(name, nodes=("n",), requests=Resources({"cpu": cpu}), waits=True, **more)


def test_who_waits_for_room_is_held_when_there_is_some():
    ledger = fleet()
    ledger.do(reserve("a", hold("node/n", cpu=6)))
    decision = ledger.do(wants("b", 4))
    assert decision.accepted
    assert line(ledger) == {"b": (1, "a")}
    (entry,) = ledger.state.entries_of("b")
    assert entry.reason.startswith("no node can hold b: node/n: cpu short by 2m")
    ledger.do(wants("c", 5), 12)
    assert line(ledger) == {"b": (1, "a"), "c": (2, "a")}
    ledger.do(Release("a"), 15)
    assert states(ledger, "b", "c") == ["RESERVED", "WAITING"]
    assert line(ledger) == {"c": (1, "b")}
    (held,) = ledger.state.entries_of("b")
    assert (held.capacity, held.created_seconds, held.reason) == ("node/n", 10, "")


def test_without_asking_to_wait_it_is_refused():
    ledger = fleet()
    ledger.do(reserve("a", hold("node/n", cpu=6)))
    assert "cpu short" in ledger.refuses(msgspec.structs.replace(wants("b", 4), waits=False))


def test_a_smaller_one_may_be_held_before_a_larger_one():
    ledger = fleet()
    ledger.do(reserve("a", hold("node/n", cpu=4), expires=50))
    ledger.do(reserve("z", hold("node/n", cpu=4)))
    ledger.do(wants("large", 7))
    ledger.do(wants("small", 3))
    ledger.do(Expire(), 50)
    assert states(ledger, "large", "small") == ["WAITING", "RESERVED"]


def test_more_of_a_capacity_is_room_too():
    ledger = fleet()
    ledger.do(wants("b", 9))
    assert line(ledger) == {"b": (1, "")}, "nobody is in the way: there is too little"
    ledger.do(Supply((capacity("node/m", cpu=9),)))
    assert states(ledger, "b") == ["WAITING"], "it asked for another node"
    ledger.do(Supply((capacity("node/n", cpu=9),)))
    assert states(ledger, "b") == ["RESERVED"]


def test_what_a_plan_gives_back_for_itself_is_not_for_who_waits():
    ledger = fleet()
    ledger.do(reserve("a", hold("node/n", cpu=6)))
    ledger.do(wants("b", 4))
    ledger.do(Together((Release("a"), reserve("a2", hold("node/n", cpu=7)))))
    assert states(ledger, "a2", "b") == ["RESERVED", "WAITING"]
    assert line(ledger) == {"b": (1, "a2")}


def test_who_waits_ends_at_its_time_or_when_it_is_given_up():
    ledger = fleet()
    ledger.do(reserve("a", hold("node/n", cpu=6)))
    ledger.do(wants("b", 4, expires=50))
    ledger.do(wants("c", 4))
    ledger.do(Expire(), 50)
    assert line(ledger) == {"c": (1, "a")}
    ledger.do(Release("c"))
    assert line(ledger) == {}


def test_in_a_class_who_waits_for_room_keeps_its_turn():
    ledger = fleet()
    ledger.do(share("a", size=2 * GIB - 8 * MIB, few_drives=False))
    ledger.do(share("b", size=GIB - 8 * MIB))
    ledger.do(share("c", size=GIB, waits=True))
    ledger.do(share("d", size=MIB, waits=True))
    ledger.do(Bind("a"))
    ledger.do(Bind("b"))
    assert line(ledger) == {"c": (1, "a"), "d": (2, "c")}
    ledger.do(Release("a"))
    assert line(ledger) == {"d": (1, "c")}


def test_who_waits_for_a_drive_has_it_when_its_group_makes_room():
    made = msgspec.structs.replace(group("n", "vg", GIB), drives=("drive/n/d",))
    whole = drive("n", "d", GIB)
    ledger = Ledger(made, msgspec.structs.replace(whole, disk=None, drives=("drive/n/d",)))
    space = "ullage.dev/volume-space"
    ledger.do(reserve("a", hold("group/n/vg", **{space: GIB - 8 * MIB})))
    ledger.do(reserve("b", hold("drive/n/d", **{space: 16 * MIB}), waits=True))
    assert line(ledger) == {"b": (1, "")}
    ledger.do(Release("a"))
    assert states(ledger, "b") == ["RESERVED"]
