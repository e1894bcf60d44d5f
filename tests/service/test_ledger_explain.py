"""One step of a ledger: what it was, and what it changed."""

import pytest

from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Capacity, Hold, Reserve, Supply
from ullage.model.resources import Resources
from ullage.service.ledger_explain import StepQuestion, ledger_explain
from ullage.service.ledger_file import submitted


@pytest.fixture
def path(tmp_path):
    """Four steps: a node is known, something is held of it, and bound; too much is refused."""
    path = tmp_path / "ledger.db"
    hold = Hold("c", "node/n1", Resources({"cpu": 1500}))
    large = Hold("c", "node/n1", Resources({"cpu": 9000}))
    supply = Supply((Capacity("node/n1", Resources({"cpu": 2000})),))
    submitted(path, supply, at_seconds=1, create=True)
    for step in (Reserve("a", "one", 100, holds=(hold,)), Bind("a"), Reserve("b", "two", 100, (large,))):
        submitted(path, step, at_seconds=2, key=f"of {type(step).__name__} {step.reservation}")
    return path


def data(path, revision, told=""):
    return ledger_explain(StepQuestion(revision, str(path), told)).data()


def test_a_step_is_told_with_its_owner_its_entries_and_its_terms(path):
    found = data(path, 2, told="room")
    assert (found["ledger"], found["step"]["revision"], found["step"]["key"]) == ("room", 2, "of Reserve a")
    assert (found["step"]["asked"], found["owners"]) == (("reserve a",), ("one",))
    ((entry),) = found["entries"]
    assert (entry["before"], entry["after"]["state"]) == (None, "RESERVED")
    ((term),) = found["terms"]
    assert term["before"] == {"offers": "2", "held": "0", "free": "2"}
    assert term["after"] == {"offers": "2", "held": "1500m", "free": "500m"}


def test_an_entry_is_told_as_it_was_and_as_it_is(path):
    ((entry),) = data(path, 3)["entries"]
    assert (entry["before"]["state"], entry["after"]["state"]) == ("RESERVED", "BOUND")


def test_a_refusal_is_told_with_what_it_lacked(path):
    found = data(path, 4)
    assert not found["step"]["accepted"]
    assert found["step"]["shortfalls"][0]["missing"] == "8500m"
    assert [(each["capacity"], each["before"] == each["after"]) for each in found["terms"]] == [
        ("node/n1", True)
    ]


@pytest.mark.parametrize("revision", [5, 1000])
def test_a_step_that_was_not_taken_is_refused_with_those_that_were(path, revision):
    with pytest.raises(InputError, match=f"there is no step {revision}; use 1 to 4"):
        data(path, revision)
