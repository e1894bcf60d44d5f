"""The page of a commit says first what is held, until when, and what comes next."""

import json

import pytest

from ullage.service.asked import Asked
from ullage.service.fit import Commit, FitQuestion, fit
from ullage.service.ledger_change import release


@pytest.fixture
def pages(tmp_path, monkeypatch, read):
    """Commit a workload of so many replicas of one cpu into a room of four, and read the answer."""
    monkeypatch.setenv("ULLAGE_NOW", "1000")
    monkeypatch.setenv("HOME", str(tmp_path))
    room = {"name": "room", "nodes": [{"name": "n1", "capacity": {"cpu": "4"}}]}
    ours = {"apiVersion": "ullage.dev/v1"}
    (tmp_path / "room.json").write_text(json.dumps({**ours, "kind": "Snapshot", **room}))

    def page(name, replicas, *, atomic=False, **commit):
        asked = {"name": name, "requests": {"cpu": "1"}, "replicas": replicas}
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**ours, "kind": "WorkloadSet", "workloads": [asked]}))
        question = FitQuestion((str(path),), atomic=atomic, commit=Commit(60, **commit))
        return read(fit(Asked(str(tmp_path / "room.json")), question), width=140)

    return page


@pytest.mark.parametrize(
    ("replicas", "how", "first", "last"),
    [
        (
            1,
            {},
            "✓ a fits: 1 replica on 1 node; 1 reservation held until 1970-01-01T00:17:40Z",
            "Next: ullage ledger bind Pod/a/1",
        ),
        (
            2,
            {},
            "✓ a fits: 2 replicas on 1 node; 2 reservations held until 1970-01-01T00:17:40Z",
            "Next: ullage ledger show",
        ),
        (
            5,
            {},
            "✗ a does not fit: 4 of 5 placed; 4 reservations held until 1970-01-01T00:17:40Z",
            "Next: ullage ledger show",
        ),
        (
            5,
            {"atomic": True},
            "✗ a does not fit: 0 of 5 placed, because all or none was asked for; nothing is held",
            "Next: ullage explain node/n1 -c",
        ),
    ],
)
def test_the_first_line_says_what_is_held_and_the_last_what_comes_next(pages, replicas, how, first, last):
    lines = pages("a", replicas, **how).splitlines()
    assert lines[0] == first
    assert lines[-1].startswith(last)


def test_asked_again_it_says_that_it_was_held_before(pages):
    pages("a", 1, key="k")
    assert "; 1 reservation held under the key k already until" in pages("a", 1, key="k").splitlines()[0]
    assert pages("a", 1).splitlines()[0].endswith("; held already: Pod/a/1 until 1970-01-01T00:17:40Z")


def test_what_was_held_under_a_key_and_given_back_is_not_said_to_be_held(pages):
    pages("a", 1, key="k")
    release("", "Pod/a/1")
    told = (
        "✗ a fits: 1 replica on 1 node; Pod/a/1 was held under the key k and has ended; use a new key to hold"
    )
    assert pages("a", 1, key="k").startswith(told)


def test_who_waits_is_named_with_the_place_in_line(pages):
    pages("a", 4)
    text = pages("b", 1, waits=True)
    assert text.splitlines()[0].endswith("; in line: Pod/b/1 (number 1)")
    assert "number 1 in line, after Pod/a/1" in text
    assert "4 reservations held" not in text


def test_a_refusal_alone_is_noted(pages):
    pages("a", 4)
    assert pages("b", 1).splitlines()[0].endswith("; the refusal is noted")
