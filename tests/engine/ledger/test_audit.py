"""The audit: what should not be in a ledger is found, and what outside changes did to it is named."""

import msgspec
import pytest

from engine.ledger.ledgers import GIB, MIB, Ledger, capacity, drive, group, hold, reserve, volume
from ullage.engine.ledger.audit import audit, audit_against
from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import VOLUME_SPACE, Bind, Supply
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

CPU = Resources({"cpu": 2000})


def entry(**changes):
    facts = {"reservation": "r", "request": "q", "capacity": "node/n", "owner": "team", "resources": CPU}
    return LedgerEntry(**{**facts, "state": "RESERVED", "expires_seconds": 50, **changes})


def found(state):
    return [(each.code, each.severity, each.subject, each.message, each.remedy) for each in audit(state)]


def test_a_sound_ledger_has_no_findings():
    ledger = Ledger(capacity("node/n", "pods", cpu=4), drive("n", "d", GIB))
    ledger.do(reserve("r", hold("node/n", cpu=4, pods=9)))
    for name in "abc":
        ledger.do(reserve(name, nodes=("n",), mode="compat", volumes=(volume("v", "HDDLVG", MIB),)))
    ledger.do(Bind("r"))
    assert len(ledger.state.waiting) == 2
    assert audit(ledger.state) == ()


def test_what_was_cut_or_has_gone_under_promises_is_named():
    ledger = Ledger(capacity("node/n", cpu=4000), capacity("node/m", cpu=4000))
    ledger.do(reserve("r", hold("node/n", cpu=3000), hold("node/m", cpu=1000)))
    ledger.do(Supply((capacity("node/n", cpu=1000),), ("node/m",)))
    assert found(ledger.state) == [
        (
            "ledger-capacity-gone",
            "warning",
            "node/m",
            "node/m: 1 of cpu promised, but it is not known any more",
            "release what was there, or supply it again",
        ),
        (
            "ledger-over-promised",
            "warning",
            "node/n",
            "node/n: 3 of cpu promised, 2 more than the 1 that it offers now",
            "release 2 of what was promised last: ullage ledger release r; or supply more",
        ),
    ]


def cut(*entries, cpu=1000):
    """What is said to do when a node of so much offers no more than that."""
    return audit(LedgerState((capacity("node/n", cpu=cpu),), entries))[-1].remedy.split(": ", 1)[1]


def test_the_newest_promises_are_named_to_be_released_those_in_use_last():
    used = entry(reservation="used", state="BOUND", expires_seconds=None, created_seconds=9)
    old, new = (entry(reservation=name, created_seconds=at) for name, at in (("old", 1), ("new", 5)))
    assert cut(used, old, new, cpu=4000) == "ullage ledger release new; or supply more"
    assert cut(used, old, new, cpu=3000) == (
        "ullage ledger release new; ullage ledger release old; or supply more"
    )
    assert cut(used, old, new, cpu=0).endswith("release old; ullage ledger release used; or supply more")
    many = [entry(reservation=f"r{number}", created_seconds=number) for number in range(9)]
    assert cut(*many, cpu=0).endswith("ullage ledger release r4; and more; or supply more")


def test_all_who_share_a_claim_are_named_to_be_released():
    has = {"capacity": "drive/n/d", "claim": "shop/data"}
    sharing = (
        entry(**has, reservation="a", resources=Resources({VOLUME_SPACE: 2 * GIB})),
        entry(**has, reservation="b", resources=Resources()),
    )
    (short,) = audit(LedgerState((drive("n", "d", GIB),), sharing))
    assert short.remedy.endswith("ullage ledger release a; ullage ledger release b; or supply more")


def test_all_names_of_the_same_bytes_are_added_up():
    made = msgspec.structs.replace(group("n", "vg", 4 * GIB), drives=("drive/n/d",))
    held = {"request": "v", "resources": Resources({VOLUME_SPACE: 3 * GIB}), "drives": ("drive/n/d",)}
    on_drive = entry(**{**held, "reservation": "s", "capacity": "drive/n/d", "drives": ()})
    state = LedgerState((made, drive("n", "d", 4 * GIB)), (entry(capacity="group/n/vg", **held), on_drive))
    assert {each.subject for each in audit(state)} == {"drive/n/d", "group/n/vg"}
    assert all("6Gi of ullage.dev/volume-space promised, 2" in each.message for each in audit(state))


def test_what_was_promised_of_a_group_that_has_gone_is_promised_on_its_drives():
    held = {"capacity": "group/n/vg", "resources": Resources({VOLUME_SPACE: 3 * GIB})}
    promised = LedgerState(entries=(entry(drives=("drive/n/d",), **held),))
    assert audit_against(promised, [drive("n", "d", 4 * GIB)]) == ()
    (short,) = audit_against(promised, [drive("n", "d", 2 * GIB)])
    assert (short.code, short.subject) == ("ledger-over-promised", "drive/n/d")
    assert [each.code for each in audit_against(promised, [])] == ["ledger-capacity-gone"]


def test_what_was_promised_of_a_group_of_which_no_drives_are_known_is_told_with_what_to_do():
    held = {"capacity": "group/n/vg", "resources": Resources({VOLUME_SPACE: 3 * GIB})}
    entries = [entry(**held), entry(reservation="s", **held)]
    (gone,) = audit_against(LedgerState(entries=entries), [drive("n", "d", 4 * GIB)])
    assert gone.message == (
        "group/n/vg: 6Gi of ullage.dev/volume-space promised, but it is not known any more, nor on which "
        "drives it was, so it is counted on none"
    )
    assert (gone.code, gone.remedy) == ("ledger-capacity-gone", "release r, s, and ask for it again")


OFFERED = (capacity("node/n", cpu=4000),)
WRONG = {
    "no owner": (entry(owner=""), "ledger-no-owner", "r/q@node/n has no owner", "release the reservation"),
    "no expiry": (
        entry(expires_seconds=None),
        "ledger-no-expiry",
        "r/q@node/n is RESERVED and never expires",
        "release the reservation, or bind it",
    ),
    "ended": (
        entry(state="EXPIRED"),
        "ledger-entry-ended",
        "r/q@node/n has ended as EXPIRED and still stands",
        "rebuild the ledger from its journal",
    ),
}


@pytest.mark.parametrize(("given", "code", "message", "remedy"), WRONG.values(), ids=WRONG)
def test_an_entry_that_should_not_be_is_found(given, code, message, remedy):
    assert found(LedgerState(OFFERED, (given,))) == [(code, "error", given.key, message, remedy)]


def test_what_is_held_of_nothing_is_found():
    codes = [each.code for each in audit(LedgerState(OFFERED, (entry(capacity="", resources=Resources()),)))]
    assert codes == ["ledger-no-capacity"]
    codes = [each.code for each in audit(LedgerState(OFFERED, (entry(state="BOUND", expires_seconds=None),)))]
    assert codes == []


def test_a_sum_that_is_not_that_of_the_entries_is_found():
    state = LedgerState(OFFERED, (entry(),))
    state._index().held["node/n"]["cpu"] = 7
    assert found(state) == [
        (
            "ledger-sum-wrong",
            "error",
            "node/n",
            "node/n: 7 of cpu counted, entries hold 2000",
            "rebuild the ledger from its journal",
        )
    ]


def test_a_sum_that_is_missing_or_of_nothing_is_found():
    state = LedgerState(OFFERED, (entry(),))
    del state._index().held["node/n"]["cpu"]
    state._index().held["node/n"]["pods"] = 3
    assert [each.message for each in audit(state)] == [
        "node/n: 0 of cpu counted, entries hold 2000",
        "node/n: 3 of pods counted, entries hold 0",
    ]


def waits(name, place=1, behind="x", **changes):
    waiting = {"state": "WAITING", "capacity": "", "queue_position": place, "blocked_by": behind}
    return entry(reservation=name, **{**waiting, **changes})


def in_line(name, storage_class="HDDLVG"):
    return reserve(name, nodes=("n",), mode="compat", volumes=(volume("v", storage_class, MIB),))


LINES = {
    "in line and not waiting": ((), (in_line("a"),), "a stands in line, but no entry waits"),
    "waiting and not in line": ((waits("a"),), (), "a waits, but does not stand in line"),
    "twice in line": ((waits("a", 2),), (in_line("a"), in_line("a")), "a stands in line twice"),
    "another place": (
        (waits("a"), waits("b", 3)),
        (in_line("a"), in_line("b")),
        "b is told place 3 behind x, not 2",
    ),
    "behind nobody": ((waits("a", 1, ""),), (in_line("a"),), "a is told place 1 behind nobody, not 1"),
}


@pytest.mark.parametrize(("entries", "line", "message"), LINES.values(), ids=LINES)
def test_a_line_that_does_not_agree_with_its_entries_is_found(entries, line, message):
    findings = audit(LedgerState((), entries, line))
    assert message in [each.message for each in findings]
    assert {(each.code, each.severity) for each in findings} == {("ledger-line-wrong", "error")}
    assert findings[0].subject == message.split(maxsplit=1)[0]


def test_places_are_counted_within_a_class():
    line = (in_line("a"), in_line("b", "SSDLVG"), in_line("c"))
    assert audit(LedgerState((), (waits("a"), waits("b"), waits("c", 2)), line)) == ()


def test_findings_come_the_worst_first():
    state = LedgerState((), (entry(owner=""), entry(reservation="s", expires_seconds=None)))
    assert [(each.severity, each.code) for each in audit(state)] == [
        ("error", "ledger-no-expiry"),
        ("error", "ledger-no-owner"),
        ("warning", "ledger-capacity-gone"),
    ]


@pytest.mark.parametrize(
    ("disk", "states"),
    [("drive/m/d", ("RESERVED", "RESERVED")), ("group/m/g", ("BOUND", "BOUND"))],
)
def test_a_reservation_whose_disks_are_on_another_node_is_named(disk, states):
    space = Resources({VOLUME_SPACE: 1})
    on_node = entry(request="compute", state=states[0])
    on_disk = entry(request="data", capacity=disk, resources=space, state=states[1])
    offered = (capacity("node/n", cpu=9000), capacity(disk, **{VOLUME_SPACE: 1}))
    assert (
        "ledger-apart",
        "warning",
        "r",
        "r is on node n, its disks on m",
        "release r, and ask for it again",
    ) in (found(LedgerState(offered, (on_node, on_disk))))
    there = msgspec.structs.replace(on_node, capacity="node/m")
    codes = [code for code, *_ in found(LedgerState(offered, (on_node, there, on_disk)))]
    assert "ledger-apart" not in codes
    assert "ledger-apart" not in [code for code, *_ in found(LedgerState(offered, (on_disk,)))]
