"""A key is for one request: what came of it is told again, and anything else under it is refused."""

import contextlib

import pytest

from ullage.web import keys
from ullage.web.http import Problem
from ullage.web.keys import Keyed, digest_of, forget_keys, key_in
from ullage.web.state import State

FIRST = Keyed("plan", "demo", "mine", digest_of(b"{}", b"body"))


@pytest.fixture
def state(tmp_path):
    with contextlib.closing(State(tmp_path)) as state:
        yield state


def remember(state, keyed, answer):
    state.now(lambda connection: keyed.remember(connection, answer))


def test_what_came_of_a_request_is_known_under_its_key(state):
    assert state.now(FIRST.known) is None
    remember(state, FIRST, "7")
    assert state.now(FIRST.known) == "7"


@pytest.mark.parametrize("part", ["operation", "cluster", "key"])
def test_a_key_is_that_of_one_kind_of_request_about_one_cluster(state, part):
    remember(state, FIRST, "7")
    assert state.now(FIRST._replace(**{part: "another"}).known) is None


def test_something_else_under_the_same_key_is_refused(state):
    remember(state, FIRST, "7")
    with pytest.raises(Problem) as refused:
        state.now(FIRST._replace(digest=digest_of(b"{}", b"another body")).known)
    assert refused.value.status == 422
    assert "Idempotency-Key" in refused.value.title


def test_without_a_key_nothing_is_remembered(state):
    remember(state, FIRST._replace(key=""), "7")
    assert state.now(FIRST._replace(key="").known) is None


def test_only_so_many_keys_are_remembered_the_newest_of_them(state, monkeypatch):
    monkeypatch.setattr(keys, "KEYS_MAX", 2)
    for number in range(4):
        monkeypatch.setattr(keys.time, "time", lambda number=number: 1000.0 + number)
        remember(state, FIRST._replace(key=str(number)), str(number))
    known = [state.now(FIRST._replace(key=str(number)).known) for number in range(4)]
    assert known == [None, None, "2", "3"]


def test_many_keys_of_one_kind_push_out_none_of_another(state, monkeypatch):
    monkeypatch.setattr(keys, "KEYS_MAX", 2)
    remember(state, FIRST, "7")
    for number in range(4):
        monkeypatch.setattr(keys.time, "time", lambda number=number: 9e9 + number)
        monkeypatch.setattr(keys, "SECONDS_MAX", 10**10)
        remember(state, Keyed("samples", "demo", str(number), "digest"), "taken")
    assert state.now(FIRST.known) == "7"


def test_all_keys_about_a_cluster_are_forgotten_with_it(state):
    others = [FIRST._replace(operation="samples"), FIRST._replace(cluster="another")]
    for each in (FIRST, *others):
        remember(state, each, "7")
    state.now(lambda connection: forget_keys(connection, "demo"))
    assert [state.now(each.known) for each in (FIRST, *others)] == [None, None, "7"]


def test_a_key_is_forgotten_after_a_while(state, monkeypatch):
    monkeypatch.setattr(keys.time, "time", lambda: 1000.0)
    remember(state, FIRST, "7")
    monkeypatch.setattr(keys.time, "time", lambda: 1001.0 + keys.SECONDS_MAX)
    remember(state, FIRST._replace(key="later"), "8")
    assert state.now(FIRST.known) is None


def test_parts_of_a_request_are_told_apart():
    assert digest_of(b"ab", b"c") != digest_of(b"a", b"bc")


def test_a_key_that_is_too_long_is_refused():
    assert key_in({}) == ""
    assert key_in({"idempotency-key": "k" * keys.CHARACTERS_MAX}) == "k" * keys.CHARACTERS_MAX
    with pytest.raises(Problem) as refused:
        key_in({"idempotency-key": "k" * (keys.CHARACTERS_MAX + 1)})
    assert refused.value.status == 422
