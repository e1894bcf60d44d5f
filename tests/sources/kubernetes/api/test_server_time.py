"""The time is the server's, whatever single answers say and the own clock shows."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from ullage.sources.kubernetes.api.server_time import ANSWERS, ServerTime

NOON = 1_800_000_000


def date(seconds: float) -> bytes:
    return format_datetime(datetime.fromtimestamp(int(seconds), UTC), usegmt=True).encode()


class World:
    """A server that answers, and a clock here that began when it liked."""

    def __init__(self) -> None:
        self.here = 5.0
        self.time = ServerTime(lambda: self.here)

    def answers(self, times: int = 1, *, late: float = 0.0, wrong: float = 0.0) -> None:
        for _ in range(times):
            self.here += 1.0
            self.time.note(date(NOON + self.here + wrong - late))

    @property
    def error(self) -> float:
        found = self.time.seconds()
        assert found is not None
        return abs(found - NOON - self.here)


@pytest.fixture
def world() -> World:
    return World()


def test_before_the_first_answer_nobody_knows(world):
    assert world.time.seconds() is None
    world.time.note(b"yesterday")
    world.time.note(b"\xff")
    assert world.time.seconds() is None


def test_it_goes_on_between_answers(world):
    world.answers()
    assert world.error <= 1
    world.here += 3600
    assert world.error <= 1


@pytest.mark.parametrize("odd", [{"late": 600.0}, {"wrong": 3600.0}, {"wrong": -3600.0}])
def test_a_single_answer_that_is_odd_does_not_count(world, odd):
    world.answers(2)
    world.answers(1, **odd)
    assert world.error <= 1
    world.answers(3)
    assert world.error <= 1


def test_a_clock_that_was_set_is_believed_when_most_answers_say_so(world):
    world.answers(ANSWERS)
    world.answers(ANSWERS, wrong=100.0)
    assert 99 <= world.error <= 101


def test_a_thousand_answers_of_one_second_count_once(world):
    world.answers(3)
    for _ in range(1000):
        world.time.note(date(NOON + 9999))
    assert world.error <= 1
