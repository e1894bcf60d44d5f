"""A worker tells its steps now and then, sooner where something else is counted."""

import socket
from contextlib import closing

import msgspec
import pytest

from ullage.web.frames import Answered, EndedError, Said, Stepped, receive, send
from ullage.web.steps import AGAIN_SECONDS, OTHER_SECONDS, Telling
from ullage.web.work import Done

SAID = msgspec.msgpack.Decoder(Said)


def heard(steps):
    """What is heard of steps, each after so many seconds."""
    ours, theirs = socket.socketpair()
    now = 100.0
    with closing(ours), closing(theirs):
        telling = Telling(ours, lambda: now)
        for after_seconds, *step in steps:
            now += after_seconds
            telling(*step)
        send(ours, Answered(Done()))
        found = []
        while isinstance(said := receive(theirs, SAID), Stepped):
            found.append((said.what, said.done, said.total))
    assert said == Answered(Done())
    return found


def test_the_same_is_told_again_after_a_while_and_with_what_is_so_then():
    quick = [(AGAIN_SECONDS / 10, "nodes", done, 100) for done in range(41)]
    found = heard(quick)
    assert found[0] == ("nodes", 0, 100)
    assert 4 <= len(found) <= 5
    assert [done for _, done, _ in found] == sorted({done for _, done, _ in found})


def test_something_else_is_told_sooner():
    assert heard([(0, "nodes", 9, 9), (2 * OTHER_SECONDS, "moves", 0, 5), (0, "moves", 1, 5)]) == [
        ("nodes", 9, 9),
        ("moves", 0, 5),
    ]


def test_what_changes_all_the_time_is_not_told_all_the_time():
    steps = [(OTHER_SECONDS / 100, "ab"[number % 2], 0, 1) for number in range(1000)]
    assert len(heard(steps)) <= 11


def test_a_step_that_nobody_can_hear_is_an_end():
    ours, theirs = socket.socketpair()
    with closing(ours):
        theirs.close()
        with pytest.raises(EndedError):
            Telling(ours)("nodes", 0, 1)
