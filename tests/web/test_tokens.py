"""Tokens: what is kept of them, and how soon a change of the file counts."""

import asyncio
import contextlib

import pytest

from ullage.model.errors import InputError
from ullage.web import tokens as module
from ullage.web.state import State
from ullage.web.tokens import Tokens, add_token, digest, list_tokens, remove_token


@pytest.fixture
def state(tmp_path):
    with contextlib.closing(State(tmp_path)) as opened:
        yield opened


@pytest.fixture
def tokens(state, monkeypatch):
    monkeypatch.setattr(module, "LOOK_SECONDS", 0)
    with contextlib.closing(Tokens(state)) as opened:
        yield opened


def test_a_token_is_kept_as_its_hash(state):
    secret = add_token(state, "ci", "plan", 100, 200)
    (kept,) = list_tokens(state.path.parent)
    assert (kept.name, kept.scope, kept.made_seconds, kept.ends_seconds) == ("ci", "plan", 100, 200)
    assert kept.hash == digest(secret)


def test_no_token_is_like_another(state):
    assert len({add_token(state, f"t{number}", "read", 0) for number in range(50)}) == 50


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "x" * 101])
def test_a_name_can_be_read(state, name):
    with pytest.raises(InputError, match="is no name of a token"):
        add_token(state, name, "read", 0)


def test_what_another_process_adds_and_removes_counts(state, tokens):
    with contextlib.closing(State(state.path.parent)) as other:
        secret = add_token(other, "ci", "commit", 0)
        assert tokens.of_token(secret) == ("ci", "commit")
        remove_token(other, "ci")
        assert tokens.of_token(secret) is None


def test_who_signed_in_goes_with_their_token(state, tokens):
    secret = add_token(state, "ci", "read", 0)

    async def sign_in():
        return await tokens.sign_in(secret)

    session = asyncio.run(sign_in())
    assert tokens.of_session(session) == ("ci", "read")
    assert tokens.of_session(secret) is None
    remove_token(state, "ci")
    assert tokens.of_session(session) is None


def test_sessions_are_bounded_and_the_newest_stay(state, tokens, monkeypatch):
    monkeypatch.setattr(module, "SESSIONS_MAX", 3)
    secret = add_token(state, "ci", "read", 0)
    clock = iter(range(2_000_000_000, 2_000_001_000))

    async def sign_in():
        monkeypatch.setattr(module.time, "time", lambda: next(clock))
        return [await tokens.sign_in(secret) for _ in range(5)]

    sessions = asyncio.run(sign_in())
    known = [tokens.of_session(each) is not None for each in sessions]
    assert known == [False, False, True, True, True]


def test_no_session_begins_with_what_is_no_token(tokens):
    async def sign_in(secret):
        return await tokens.sign_in(secret)

    assert [asyncio.run(sign_in(each)) for each in ("", "ullage", "ullage_1_2", "ullage__")] == [None] * 4
