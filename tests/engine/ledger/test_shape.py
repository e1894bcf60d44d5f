"""Commands that no ledger could judge: each is refused with one line that says what to do."""

import pytest

from engine.ledger.ledgers import GIB, capacity, drive, hold, reserve, volume
from ullage.engine.ledger import shape
from ullage.engine.ledger.shape import flaw
from ullage.model.disk_plan import DiskCapacity
from ullage.model.ledger import (
    Bind,
    Capacity,
    Expire,
    Extend,
    Hold,
    Pause,
    Refuse,
    Release,
    Reserve,
    Resize,
    Supply,
    Together,
)
from ullage.model.resources import Resources

HELD = hold("node/n", cpu=1)
CPU = Resources({"cpu": 1})
LESS_THAN_NOTHING = Resources({"cpu": -1})
LONG = "n" * 1024
SHARE = volume("v", "HDDLVG", 1)
ON_NODES = {"nodes": ("a", "b"), "requests": CPU}

GOOD = {
    "every limit is still allowed": reserve(LONG, Hold(LONG, LONG, CPU), owner=LONG, expires=(1 << 63) - 1),
    "a hold of nothing": reserve("r", Hold("q", "c", Resources())),
    "volumes and requests on nodes": reserve("r", volumes=(SHARE,), copies=2, **ON_NODES),
    "a hold may be called compute if nothing else is": reserve("r", hold("node/n", "compute", cpu=1)),
    "the largest volume": reserve("r", volumes=(volume("v", "HDD", 1 << 60),), nodes=("a",)),
    "one request of two capacities": reserve("r", hold("node/a"), hold("node/b")),
    "nodes count only where something is asked of them": reserve("r", HELD, nodes=("a", "a"), copies=0),
    "a supply": Supply((capacity("node/n", "cpu", cpu=0), drive("n", "d", GIB)), ("node/m",)),
    "a supply of nothing": Supply(),
    "a disk without room": Supply((drive("n", "d", 0),)),
    "bind": Bind("r"),
    "bind on a node": Bind("r", "n"),
    "release": Release("r", ("q",)),
    "extend": Extend("r", 1),
    "expire": Expire(),
    "pause": Pause("r"),
    "resize to nothing": Resize("r", "q", "c", Resources()),
    "refuse with a reason": Refuse("r", "o", "q", "x" * 4096),
    "refuse without one": Refuse("r", "o", "q", ""),
    "together": Together((Expire(), Bind("r"))),
}

BAD = {
    "no name": (reserve("", HELD), "name '' cannot be used; use 1 to 1024 printable characters"),
    "a long name": (reserve(LONG + "n", HELD), f"name '{'n' * 60}…' cannot be used; use 1 to 1024 printable"),
    "a name of two lines": (reserve("a\nb", HELD), r"name 'a\nb' cannot be used"),
    "a bad request name": (reserve("r", Hold("", "c", CPU)), "name '' cannot"),
    "a bad capacity name": (reserve("r", Hold("q", "", CPU)), "name '' cannot"),
    "a bad node name": (reserve("r", nodes=("",), requests=CPU), "name '' cannot"),
    "a bad volume name": (reserve("r", volumes=(volume("", "HDD", 1),), nodes=("a",)), "name '' cannot"),
    "no owner": (reserve("r", HELD, owner=""), "reservation r has no owner; say whom it is for"),
    "a bad owner": (reserve("r", HELD, owner="a\tb"), r"name 'a\tb' cannot"),
    "a time beyond 64 bits": (reserve("r", HELD, expires=1 << 63), "the expiry does not fit 64 bits"),
    "less than nothing held": (
        reserve("r", Hold("q", "c", LESS_THAN_NOTHING)),
        "-1 of cpu cannot be had; use 0 or more",
    ),
    "less than nothing requested": (reserve("r", nodes=("a",), requests=LESS_THAN_NOTHING), "-1 of cpu"),
    "nothing asked": (
        reserve("r", nodes=("a",)),
        "reservation r asks for nothing; name holds, requests or volumes",
    ),
    "one hold twice": (reserve("r", HELD, HELD), "reservation r holds one thing twice for one request"),
    "a hold called as the node's": (
        reserve("r", hold("node/n", "compute", cpu=1), **ON_NODES),
        "a hold is called compute, as what is asked of the node is; rename it",
    ),
    "a volume called as the node's": (
        reserve("r", volumes=(volume("compute", "HDD", 1),), **ON_NODES),
        "two requests are called compute; rename one",
    ),
    "a volume called as a hold": (
        reserve("r", HELD, volumes=(volume("web", "HDD", 1),), nodes=("a",)),
        "two requests are called web; rename one",
    ),
    "two volumes of one name": (
        reserve("r", volumes=(SHARE, SHARE), nodes=("a",)),
        "two requests are called v",
    ),
    "a volume of no size": (
        reserve("r", volumes=(volume("v", "HDD", 0),), nodes=("a",)),
        "volume v has 0 bytes; use 1 to 1152921504606846976",
    ),
    "a volume too large": (
        reserve("r", volumes=(volume("v", "HDD", (1 << 60) + 1),), nodes=("a",)),
        "volume v has 1152921504606846977 bytes",
    ),
    "a class that is not": (
        reserve("r", volumes=(volume("v", "TAPE", 1),), nodes=("a",)),
        "volume v is of an unknown class; use one of ANY, HDD, SSD, NVME, HDDLVG, SSDLVG, NVMELVG, SYSLVG",
    ),
    "no nodes for requests": (reserve("r", requests=CPU), "reservation r names no node to choose from"),
    "no nodes for volumes": (reserve("r", volumes=(SHARE,)), "reservation r names no node to choose from"),
    "a node twice": (reserve("r", nodes=("a", "a"), requests=CPU), "reservation r names a node twice"),
    "no copy": (reserve("r", copies=0, **ON_NODES), "reservation r asks for 0 of 2 nodes; use 1 to 2 copies"),
    "more copies than nodes": (reserve("r", copies=3, **ON_NODES), "reservation r asks for 3 of 2 nodes"),
    "a bad capacity": (Supply((capacity(""),)), "name '' cannot"),
    "bad gone": (Supply(gone=("",)), "name '' cannot"),
    "a bad unbounded": (Supply((capacity("c", ""),)), "name '' cannot"),
    "less than nothing offered": (Supply((capacity("c", cpu=-1),)), "-1 of cpu"),
    "a capacity twice": (Supply((capacity("c"), capacity("c"))), "a capacity is named twice; name each once"),
    "here and gone": (Supply((capacity("c"),), ("c",)), "a capacity is named twice"),
    "a disk of another node": (
        Supply((Capacity("drive/n/d", disk=DiskCapacity("d", "m", "HDD", 1)),)),
        "drive/n/d is a disk of node m; call it drive/NODE/UUID or group/NODE/NAME",
    ),
    "a disk of a wrong class": (
        Supply((drive("n", "d", 1, "TAPE"),)),
        "drive/n/d is a disk of an unknown class",
    ),
    "a disk of less than nothing": (Supply((capacity("c"), drive("n", "d", -1))), "drive/n/d has -1 bytes"),
    "a disk too large": (
        Supply((drive("n", "d", (1 << 60) + 1),)),
        "drive/n/d has 1152921504606846977 bytes",
    ),
    "no extents": (Supply((drive("n", "d", 1, extent_bytes=0),)), "drive/n/d has extents of 0 bytes"),
    "extents too large": (Supply((drive("n", "d", 1, extent_bytes=1 << 61),)), "drive/n/d has extents of"),
    "bind without a name": (Bind(""), "name '' cannot"),
    "bind on a bad node": (Bind("r", "\n"), r"name '\n' cannot"),
    "release without a name": (Release(""), "name '' cannot"),
    "release of a bad request": (Release("r", ("",)), "name '' cannot"),
    "extend without a name": (Extend("", 1), "name '' cannot"),
    "extend beyond 64 bits": (Extend("r", 1 << 63), "the expiry does not fit"),
    "pause without a name": (Pause(""), "name '' cannot"),
    "resize without a name": (Resize("", "q", "c", CPU), "name '' cannot"),
    "resize of no request": (Resize("r", "", "c", CPU), "name '' cannot"),
    "resize of no capacity": (Resize("r", "q", "", CPU), "name '' cannot"),
    "resize to less than nothing": (Resize("r", "q", "c", LESS_THAN_NOTHING), "-1 of cpu"),
    "refuse without a name": (Refuse("", "o", "q", ""), "name '' cannot"),
    "refuse without an owner": (Refuse("r", "", "q", ""), "reservation r has no owner"),
    "refuse of no request": (Refuse("r", "o", "", ""), "name '' cannot"),
    "refuse at length": (Refuse("r", "o", "q", "x" * 4097), "the reason of r is no line of at most 4096"),
    "refuse in two lines": (Refuse("r", "o", "q", "x\ny"), "the reason of r is no line of at most 4096"),
    "nothing together": (Together(()), "nothing is to be done together; name a command"),
    "a flaw inside": (Together((Expire(), Bind(""))), "command 2 of 2: name '' cannot"),
}


@pytest.mark.parametrize("command", GOOD.values(), ids=GOOD)
def test_a_command_can_be_judged(command):
    assert flaw(command) == ""


@pytest.mark.parametrize(("command", "expected"), BAD.values(), ids=BAD)
def test_a_command_cannot_be_judged(command, expected):
    assert flaw(command).startswith(expected)
    assert flaw(command).isprintable()


def _holds(count):
    return reserve("r", *(hold(f"c{number}") for number in range(count)))


def _volumes(count):
    return reserve(
        "r", volumes=tuple(volume(f"v{number}", "HDD", 1) for number in range(count)), nodes=("a",)
    )


SIZES = {
    "HOLDS_MAX": (_holds, "holds"),
    "VOLUMES_MAX": (_volumes, "volumes"),
    "NODES_MAX": (lambda count: reserve("r", nodes=tuple(map(str, range(count))), requests=CPU), "nodes"),
    "CAPACITIES_MAX": (
        lambda count: Supply((capacity("c"),), tuple(map(str, range(count - 1)))),
        "capacities",
    ),
    "RELATED_MAX": (
        lambda count: Supply((Capacity("group/a/vg", drives=tuple(map(str, range(count)))),)),
        "drives of one group",
    ),
    "COMMANDS_MAX": (lambda count: Together((Expire(),) * count), "commands"),
}


@pytest.mark.parametrize(("limit", "made", "what"), [(name, *each) for name, each in SIZES.items()])
def test_a_command_has_a_largest_size(limit, made, what, monkeypatch):
    monkeypatch.setattr(shape, limit, 20)
    assert flaw(made(20)) == ""
    assert flaw(made(21)) == f"21 {what} in one command; use at most 20"


def test_a_release_names_no_more_requests_than_a_reservation_can_have():
    most = shape.HOLDS_MAX + shape.VOLUMES_MAX
    assert flaw(Release("r", ("q",) * most)) == ""
    assert (
        flaw(Release("r", ("q",) * (most + 1))) == f"{most + 1} requests in one command; use at most {most}"
    )


def test_every_command_has_its_rules():
    assert {type(command) for command in GOOD.values()} == {
        Reserve, Supply, Bind, Release, Extend, Expire, Pause, Resize, Refuse, Together
    }  # fmt: skip
