"""Pods are told why they have no node: each once, the newest reason, few at a time, and after others."""

import asyncio
from collections.abc import Awaitable, Callable

from ullage.kube.scheduler import reasons as reasons_module
from ullage.kube.scheduler.reasons import WRITERS, Reason, Reasons


class Told:
    """Takes note of who is told what; nobody is done before the gate is open."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self.gate = asyncio.Event()
        self.most = 0
        self._now = 0

    async def __call__(self, key: str, reason: Reason) -> None:
        self.said.append((key, reason.message))
        self._now += 1
        self.most = max(self.most, self._now)
        await self.gate.wait()
        self._now -= 1


def telling(
    work: Callable[[Reasons, Told], Awaitable[None]], is_busy: Callable[[], bool] = lambda: False
) -> None:
    async def run() -> None:
        told = Told()
        reasons = Reasons(told, is_busy)
        writers = [asyncio.create_task(reasons.write()) for _ in range(WRITERS)]
        try:
            async with asyncio.timeout(10):
                await work(reasons, told)
        finally:
            for writer in writers:
                writer.cancel()
            await asyncio.gather(*writers, return_exceptions=True)

    asyncio.run(run())


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.001)


def test_few_are_told_at_a_time_and_all_in_the_end():
    async def work(reasons: Reasons, told: Told) -> None:
        for number in range(100):
            assert reasons.say(f"a/{number}", Reason("u", "no"))
        await until(lambda: len(told.said) == WRITERS)
        told.gate.set()
        await until(lambda: not reasons and len(told.said) == 100)
        assert told.most <= WRITERS

    telling(work)


def test_the_newest_reason_of_a_pod_is_the_one_that_it_is_told():
    async def work(reasons: Reasons, told: Told) -> None:
        for number in range(WRITERS):
            reasons.say(f"a/{number}", Reason("u", "no"))
        await until(lambda: not reasons)
        reasons.say("a/late", Reason("u", "old"))
        reasons.say("a/late", Reason("u", "new"))
        assert len(reasons) == 1
        told.gate.set()
        await until(lambda: ("a/late", "new") in told.said)
        assert ("a/late", "old") not in told.said

    telling(work)


def test_a_pod_is_told_one_thing_after_the_other():
    """Two writers at once could say them in the other order."""

    async def work(reasons: Reasons, told: Told) -> None:
        reasons.say("a/p", Reason("u", "first"))
        await until(lambda: not reasons)
        reasons.say("a/p", Reason("u", "second"))
        await asyncio.sleep(0.01)
        assert told.said == [("a/p", "first")]
        told.gate.set()
        await until(lambda: len(told.said) == 2)

    telling(work)


def test_what_is_no_longer_so_is_not_said():
    async def work(reasons: Reasons, told: Told) -> None:
        told.gate.set()
        reasons.say("a/p", Reason("u", "no"))
        reasons.drop("a/p")
        reasons.drop("a/q")
        await asyncio.sleep(0.01)
        assert told.said == []

    telling(work)


def test_no_more_wait_than_may_and_those_that_do_can_be_told_something_else(monkeypatch):
    monkeypatch.setattr(reasons_module, "WAITING_MAX", 2)
    reasons = Reasons(Told())
    assert [reasons.say(key, Reason("u", "no")) for key in ("a", "b", "c", "a")] == [True, True, False, True]


def test_while_others_are_bound_pods_are_told_slowly(monkeypatch):
    monkeypatch.setattr(reasons_module, "BUSY_SECONDS", 3600.0)

    async def work(reasons: Reasons, told: Told) -> None:
        reasons.say("a/p", Reason("u", "no"))
        await asyncio.sleep(0.02)
        assert told.said == []

    telling(work, is_busy=lambda: True)
