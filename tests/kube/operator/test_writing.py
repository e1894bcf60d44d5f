"""Writes go on beside each other, stop with the lead, and what fails comes back."""

import asyncio

import pytest

from ullage.kube.election import ALONE
from ullage.kube.operator.writing import WRITERS, Pace, Writing
from ullage.sources.kubernetes.api.client import RefusedError
from ullage.sources.kubernetes.api.connection import BrokenError


class Lead:
    """Leads for so many questions."""

    def __init__(self, times: int) -> None:
        self.times = times

    @property
    def leads(self) -> bool:
        self.times -= 1
        return self.times >= 0


def refused(status: int) -> RefusedError:
    return RefusedError(status, "", "the server says no")


OUTCOMES = {
    "what is written is done": (None, True, 0),
    "an object that is gone needs nothing": (refused(404), True, 0),
    "an object that was changed is left, and is no failure": (refused(409), False, 0),
    "what is forbidden is left": (refused(403), False, 1),
    "what is wrong is left": (refused(422), False, 1),
    "what got no answer is left": (BrokenError("gone"), False, 1),
}


@pytest.mark.parametrize(("error", "done", "failures"), OUTCOMES.values(), ids=OUTCOMES)
def test_what_is_left_to_be_written(error, done, failures):
    async def write(_: str) -> None:
        if error is not None:
            raise error

    writing = Writing(ALONE)
    left = asyncio.run(writing.each(["one"], write))
    assert left == ([] if done else ["one"])
    assert writing.failures == failures


def test_nothing_is_written_by_one_that_leads_no_more():
    written = []

    async def write(number: int) -> None:
        written.append(number)

    left = asyncio.run(Writing(Lead(3)).each(range(100), write))
    assert sorted(written + left) == list(range(100))
    assert len(written) == 3


def test_many_are_written_at_a_time_and_not_too_many():
    at_once = most = 0

    async def write(_: int) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1

    assert asyncio.run(Writing(ALONE).each(range(100), write)) == []
    assert most == WRITERS


def test_one_reason_in_a_row_is_said_once():
    said = []
    reasons = iter([refused(403), refused(403), refused(422), refused(403)])

    async def write(_: int) -> None:
        raise next(reasons)

    async def work() -> None:
        writing = Writing(ALONE, said.append)
        for number in range(4):
            await writing.each([number], write)

    asyncio.run(work())
    assert [text[:3] for text in said] == ["403", "422", "403"]


def test_a_pace_allows_the_first_at_once_and_the_next_after_a_while():
    now = 0.0
    pace = Pace(2.0, lambda: now)
    assert pace.is_due
    pace.begun()
    assert (pace.is_due, pace.wait_seconds) == (False, 2.0)
    now = 2.0
    assert pace.is_due
    pace.begun(5.0)
    now = 6.0
    assert pace.wait_seconds == 1.0
