"""Who waits for a worker, and who gets one."""

import asyncio

import pytest

from ullage.web.http import Problem
from ullage.web.line import (
    LONG_WAITING_EACH_MAX,
    LONG_WAITING_MAX,
    WAITING_EACH_MAX,
    WAITING_MAX,
    Kind,
    Line,
)


async def turn():
    for _ in range(5):
        await asyncio.sleep(0)


def kind(name):
    """Return the kind of a question: L is long, and behind a dash is whose it is."""
    return Kind(name.partition("-")[2], name.startswith("L"))


class Crowd:
    """Questions by name, as they get their workers."""

    def __init__(self, line):
        self.line = line
        self.served = []
        self.tasks = {}

    async def comes(self, name, *, seconds_max=60.0):
        """Let a question come, of the kind that its name tells."""

        async def waits():
            worker = await self.line.take(kind(name), seconds_max=seconds_max)
            self.served.append(name)
            return worker

        self.tasks[name] = asyncio.create_task(waits())
        await turn()

    async def is_answered(self, name):
        self.line.give(await self.tasks[name])
        self.line.finished(kind(name))
        await turn()


def crowd(workers):
    line = Line(workers)
    for number in range(workers):
        line.give(number)
    return Crowd(line)


def run(scenario, workers=2):
    async def running():
        return await scenario(crowd(workers))

    return asyncio.run(running())


def test_who_came_first_goes_first():
    async def scenario(them):
        for name in ("a", "b", "c", "L1", "d"):
            await them.comes(name)
        assert them.served == ["a", "b"]
        await them.is_answered("b")
        await them.is_answered("a")
        await them.is_answered("c")
        return them.served

    assert run(scenario) == ["a", "b", "c", "L1", "d"]


@pytest.mark.parametrize(("workers", "at_once"), [(1, 1), (2, 1), (3, 2)])
def test_long_questions_leave_a_worker_for_quick_ones_where_there_are_several(workers, at_once):
    async def scenario(them):
        for number in range(workers + 1):
            await them.comes(f"L{number}")
        assert len(them.served) == at_once
        await them.comes("quick")
        assert ("quick" in them.served) == (workers > 1)
        await them.is_answered("L0")
        return len(them.served)

    # with one worker the next long one came first; with several, one ended and one began
    assert run(scenario, workers) == (2 if workers == 1 else at_once + 2)


def test_who_would_wait_behind_too_many_is_told_so_at_once():
    async def scenario(them):
        for number in range(WAITING_MAX):
            await them.comes(f"quick{number}-{number % 9}")
        for number in range(LONG_WAITING_MAX):
            await them.comes(f"L{number}-{number % 9}")
        for name in ("quick", "L"):
            with pytest.raises(Problem) as refused:
                await them.line.take(kind(name), seconds_max=60)
            assert refused.value.status == 503
            assert refused.value.members["retryAfterSeconds"] > 0
        assert them.line.waiting == WAITING_MAX + LONG_WAITING_MAX
        for task in them.tasks.values():
            task.cancel()

    run(scenario, 0)


@pytest.mark.parametrize(("name", "most"), [("quick", WAITING_EACH_MAX), ("L", LONG_WAITING_EACH_MAX)])
def test_one_client_fills_only_a_share_of_the_line(name, most):
    async def scenario(them):
        for number in range(most):
            await them.comes(f"{name}{number}-flood")
        with pytest.raises(Problem) as refused:
            await them.line.take(kind(f"{name}-flood"), seconds_max=60)
        assert (refused.value.status, str(most) in refused.value.title) == (503, True)
        await them.comes(f"{name}-other")
        assert them.line.waiting == most + 1
        for task in them.tasks.values():
            task.cancel()

    run(scenario, 0)


def test_clients_take_turns_however_much_one_asks():
    async def scenario(them):
        for name in ("a-flood", "b-flood", "c-flood", "d-flood", "x-other", "y-other"):
            await them.comes(name)
        for name in ("a-flood", "b-flood", "x-other", "c-flood"):
            await them.is_answered(name)
        them.tasks["d-flood"].cancel()
        return them.served

    assert run(scenario, 1) == ["a-flood", "b-flood", "x-other", "c-flood", "y-other"]


def test_a_long_question_of_another_client_has_a_claim_to_one_more_worker():
    async def scenario(_):
        present = [0, 1]
        line = Line(2, lambda: len(present))
        them = Crowd(line)
        for worker in present:
            line.give(worker)
        for name in ("L1-flood", "L2-flood"):
            await them.comes(name)
        assert not line.has_claim
        await them.comes("L3-other")
        assert (them.served, line.has_claim) == (["L1-flood"], True)
        present.append(2)
        line.give(2)
        await turn()
        assert (them.served, line.has_claim) == (["L1-flood", "L3-other"], False)
        await them.comes("quick-flood")
        them.tasks["L2-flood"].cancel()
        return them.served

    assert run(scenario, 0) == ["L1-flood", "L3-other", "quick-flood"]


def test_long_ones_do_not_fill_the_line_of_quick_ones():
    async def scenario(them):
        for number in range(LONG_WAITING_EACH_MAX):
            await them.comes(f"L{number}")
        await them.comes("quick")
        assert them.line.waiting == LONG_WAITING_EACH_MAX + 1
        them.line.give("worker")
        await turn()
        served = list(them.served)
        for task in them.tasks.values():
            task.cancel()
        return served

    assert run(scenario, 0) == ["L0"]


def test_who_waits_too_long_is_told_so_and_leaves_the_line():
    async def scenario(them):
        await them.comes("late", seconds_max=0.01)
        with pytest.raises(Problem) as refused:
            await them.tasks["late"]
        assert refused.value.status == 503
        assert them.line.waiting == 0
        them.line.give("worker")
        await them.comes("next")
        return them.served

    assert run(scenario, 0) == ["next"]


@pytest.mark.parametrize("name", ["quick", "L1"])
def test_a_worker_given_to_somebody_who_left_in_that_moment_goes_to_the_next(name):
    async def scenario(them):
        await them.comes(name)
        await them.comes("L2")
        them.line.give("worker")
        them.tasks[name].cancel()
        await turn()
        return them.served, await them.tasks["L2"]

    assert run(scenario, 0) == (["L2"], "worker")


def test_a_worker_that_is_withdrawn_serves_nobody():
    async def scenario(them):
        them.line.withdraw(0)
        them.line.withdraw("unknown")
        await them.comes("a")
        assert await them.tasks["a"] == 1
        them.line.give(1)
        assert them.line.withdraw_all() == [1]
        await them.comes("b")
        assert them.served == ["a"]
        them.tasks["b"].cancel()

    run(scenario)
