"""Commands and decisions of the ledger: what they are on the wire, and whose a capacity is."""

from typing import get_args

import msgspec
import pytest

from ullage.model.ledger import (
    Bind,
    Capacity,
    Command,
    Decision,
    Expire,
    Hold,
    JournalRow,
    Outcome,
    Reserve,
    Supply,
    Together,
    node_capacity,
    node_of,
)
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.wire import from_builtins, to_builtins

TYPES = ResourceTypes()
CPU = Resources({"cpu": 500})
RESERVE = Reserve("pod-1", "team", 90, holds=(Hold("web", "node/n1", CPU),))

OWNERS = {
    "node/n1": "n1",
    "drive/n1/uuid": "n1",
    "group/n1/vg/0": "n1",
    "cache/n1": "n1",
    "quota/n1": "",
    "quota/n1/x": "",
    "n1": "",
    "": "",
}


@pytest.mark.parametrize(("capacity", "node"), OWNERS.items())
def test_parts_of_a_node_are_told_by_their_names(capacity, node):
    assert node_of(capacity) == node


def test_a_node_is_a_capacity_itself():
    assert node_capacity("n1") == "node/n1"
    assert node_of(node_capacity("n1")) == "n1"


def test_a_capacity_is_known_by_name():
    assert Capacity("node/n1").key == "node/n1"


def test_a_command_is_told_by_its_tag():
    tags = {each.__struct_config__.tag for each in get_args(Command)}
    assert tags == {
        "supply", "reserve", "bind", "release", "extend", "expire", "pause", "resize", "refuse", "together"
    }  # fmt: skip
    assert to_builtins(RESERVE, TYPES) == {
        "command": "reserve",
        "reservation": "pod-1",
        "owner": "team",
        "expiresSeconds": 90,
        "holds": ({"request": "web", "capacity": "node/n1", "resources": {"cpu": "500m"}},),
    }


def test_commands_and_decisions_come_back_as_they_were():
    together = Together((Supply((Capacity("node/n1", CPU),)), RESERVE, Bind("pod-1"), Expire()))
    decision = Decision(accepted=True, capacities=(Capacity("node/n1", CPU),), waiting=(RESERVE,))
    row = JournalRow(7, 12, together, decision, "key")
    assert from_builtins(to_builtins(row, TYPES), JournalRow, TYPES) == row
    outcome = Outcome(7, decision, moved=True)
    assert from_builtins(to_builtins(outcome, TYPES), Outcome, TYPES) == outcome


def test_together_is_not_nested():
    nested = {"command": "together", "commands": [{"command": "together", "commands": []}]}
    with pytest.raises(msgspec.ValidationError):
        from_builtins(nested, Together, TYPES)
