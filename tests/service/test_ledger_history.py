"""Every step, or those about one thing."""

import pytest

from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Capacity, Hold, Release, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service import ledger_history as module
from ullage.service.ledger_file import submitted
from ullage.service.ledger_history import HistoryQuestion, ledger_history


def reserve(name, owner, cpu=1):
    return Reserve(name, owner, 100, holds=(Hold("c", "node/n1", Resources({"cpu": cpu})),))


@pytest.fixture
def path(tmp_path):
    """Five steps: two reservations at once, one bound, one refused, one released."""
    path = tmp_path / "ledger.db"
    both = Together(
        (Supply((Capacity("node/n1", Resources({"cpu": 2})),)), reserve("a", "one"), reserve("b", "two"))
    )
    submitted(path, both, at_seconds=1, key="first", create=True)
    for step in (Bind("a"), reserve("c", "two", cpu=9), Release("b")):
        submitted(path, step, at_seconds=2)
    return path


def steps(path, subject="", after=0):
    return ledger_history(HistoryQuestion(str(path), subject, after)).data()["steps"]


@pytest.mark.parametrize(
    ("subject", "after", "revisions"),
    [
        ("", 0, [1, 2, 3, 4]),
        ("", 2, [3, 4]),
        ("reservation/a", 0, [1, 2]),
        ("owner/two", 0, [1, 3, 4]),
        ("owner/two", 1, [3, 4]),
        ("capacity/node/n1", 0, [1, 2, 3, 4]),
        ("reservation/nobody", 0, []),
    ],
)
def test_the_steps_that_are_meant(path, subject, after, revisions):
    assert [each["revision"] for each in steps(path, subject, after)] == revisions


def test_a_step_says_what_was_asked_decided_and_left(path):
    first, _, refused, _ = steps(path)
    assert (first["key"], first["asked"], first["accepted"]) == (
        "first",
        ("supply 1 capacities", "reserve a", "reserve b"),
        True,
    )
    assert [(each["reservation"], each["state"]) for each in first["changed"]] == [
        ("a", "RESERVED"),
        ("b", "RESERVED"),
    ]
    assert not refused["accepted"]
    assert "cpu short" in refused["reason"]
    assert refused["shortfalls"]


def test_of_a_step_about_many_only_the_subject_is_shown(path):
    (first, _) = steps(path, "reservation/a")
    assert [each["reservation"] for each in first["changed"]] == ["a"]


def test_after_so_many_steps_there_are_more(path, monkeypatch):
    monkeypatch.setattr(module, "STEPS_MAX", 2)
    data = ledger_history(HistoryQuestion(str(path))).data()
    assert (len(data["steps"]), data["more"]) == (2, True)


@pytest.mark.parametrize("subject", ["a", "node/n1", "reservation", "reservation/"])
def test_what_a_ledger_does_not_know_is_refused(path, subject):
    with pytest.raises(InputError, match="write reservation/R, owner/O or capacity/C"):
        steps(path, subject)
