"""Requests of many threads and tasks come together, and each ends with its own outcome or error."""

import asyncio
import threading
from collections.abc import Sequence
from itertools import chain

import pytest

from ullage.model.errors import InputError
from ullage.model.ledger import Decision, Expire, Outcome
from ullage.stores import group_commit
from ullage.stores.group_commit import GroupCommit, Request
from ullage.stores.protocol import StoreUnavailableError

WAIT_SECONDS = 30


def request(number: int) -> Request:
    return Request(Expire(), "", number, "", None)


class Writer:
    """Answers each request with its number, once it may; one whose number is below zero fails."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.settled = 0
        self.may_write = threading.Event()
        self.may_write.set()
        self.is_writing = threading.Event()

    def write(self, batch: Sequence[Request]) -> None:
        self.is_writing.set()
        assert self.may_write.wait(WAIT_SECONDS)
        self.batches.append([each.at_seconds for each in batch])
        for each in batch:
            if each.at_seconds < 0:
                each.fail(ValueError(each.at_seconds))
            else:
                each.outcome = Outcome(each.at_seconds, Decision(accepted=True))

    def settle(self) -> None:
        self.settled += 1
        raise StoreUnavailableError("nobody waits for this")


@pytest.fixture
def writer():
    return Writer()


@pytest.fixture
def group(writer):
    with_thread = GroupCommit(writer.write, writer.settle)
    yield with_thread
    writer.may_write.set()
    with_thread.close()


def in_threads(work, count):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads


def joined(threads):
    for thread in threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()


def queued(group, count):
    """Wait until so many requests wait."""
    for _ in range(10_000):
        if len(group._queue) >= count:
            return
        threading.Event().wait(0.001)
    pytest.fail(f"{count} requests never came")


def test_who_comes_while_a_batch_is_written_makes_the_next_one(group, writer):
    writer.may_write.clear()
    found = {}

    def client(number):
        found[number] = group.submit(request(number)).revision

    first = in_threads(client, 1)
    assert writer.is_writing.wait(WAIT_SECONDS)
    others = in_threads(client, 20)
    queued(group, 20)
    assert not writer.batches
    writer.may_write.set()
    joined(first + others)
    assert [len(batch) for batch in writer.batches] == [1, 20]
    assert found == {number: number for number in range(20)}


def test_a_batch_has_a_limit(writer):
    group = GroupCommit(writer.write, writer.settle, batch_max=8)
    writer.may_write.clear()
    threads = in_threads(lambda number: group.submit(request(number)), 30)
    assert writer.is_writing.wait(WAIT_SECONDS)
    queued(group, 30 - 8)
    writer.may_write.set()
    joined(threads)
    group.close()
    assert max(map(len, writer.batches)) == 8
    assert sorted(chain(*writer.batches)) == list(range(30))


def test_tasks_are_answered_in_their_own_loop(group):
    async def client(number):
        return (await group.submit_async(request(number))).revision

    async def clients():
        return await asyncio.gather(*(client(number) for number in range(50)))

    assert asyncio.run(clients()) == list(range(50))


def test_an_error_belongs_to_the_one_whose_it_is(group):
    async def clients():
        asked = [group.submit_async(request(number)) for number in (1, -2, 3)]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, second, third = asyncio.run(clients())
    assert (first.revision, third.revision) == (1, 3)
    assert isinstance(second, ValueError)
    with pytest.raises(ValueError, match="-5"):
        group.submit(request(-5))


def test_when_writing_breaks_everybody_of_the_batch_is_told_and_the_next_batch_is_tried():
    broken = [MemoryError("no room")]

    def write(batch):
        if broken:
            raise broken.pop()
        for each in batch:
            each.outcome = Outcome(each.at_seconds, Decision(accepted=True))

    group = GroupCommit(write, lambda: None)
    with pytest.raises(MemoryError):
        group.submit(request(1))
    assert group.submit(request(2)).revision == 2
    group.close()


def test_a_request_that_was_forgotten_is_not_answered_with_silence():
    group = GroupCommit(lambda _: None, lambda: None)
    with pytest.raises(StoreUnavailableError, match="not answered"):
        group.submit(request(1))
    group.close()


def test_a_thread_that_dies_over_its_answer_keeps_nobody_asleep(group, writer):
    class InterruptedRequest(Request):
        """One whose thread gets the answer, but not to waking the next."""

        def result(self):
            raise AssertionError("never reached")

        @property
        def following(self):
            raise KeyboardInterrupt

        @following.setter
        def following(self, request):
            pass

    writer.may_write.clear()
    first = in_threads(lambda number: group.submit(request(number)), 1)
    assert writer.is_writing.wait(WAIT_SECONDS)
    interrupted = []

    def impatient(number):
        with pytest.raises(KeyboardInterrupt):
            group.submit(InterruptedRequest(Expire(), "", number, "", None))
        interrupted.append(number)

    others = in_threads(impatient, group_commit.WOKEN_AT_ONCE)
    queued(group, group_commit.WOKEN_AT_ONCE)
    others += in_threads(lambda number: group.submit(request(number)), 8)
    queued(group, group_commit.WOKEN_AT_ONCE + 8)
    writer.may_write.set()
    joined(first + others)
    assert len(interrupted) == group_commit.WOKEN_AT_ONCE


def test_a_task_that_gives_up_disturbs_nobody(group, writer):
    async def clients():
        writer.may_write.clear()
        impatient = asyncio.ensure_future(group.submit_async(request(1)))
        patient = asyncio.ensure_future(group.submit_async(request(2)))
        await asyncio.sleep(0)
        impatient.cancel()
        writer.may_write.set()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        return (await patient).revision

    assert asyncio.run(clients()) == 2
    assert sorted(chain(*writer.batches)) == [1, 2]


def test_a_loop_that_has_ended_disturbs_nobody(group, writer):
    async def client():
        writer.may_write.clear()
        asked = asyncio.ensure_future(group.submit_async(request(1)))
        await asyncio.sleep(0)
        asked.cancel()

    asyncio.run(client())
    writer.may_write.set()
    assert group.submit(request(2)).revision == 2


def test_what_was_let_in_is_answered_before_it_closes_and_nobody_is_let_in_after(writer):
    group = GroupCommit(writer.write, writer.settle)
    writer.may_write.clear()
    answered = []
    threads = in_threads(lambda number: answered.append(group.submit(request(number))), 1)
    assert writer.is_writing.wait(WAIT_SECONDS)
    threads += in_threads(lambda number: answered.append(group.submit(request(number))), 4)
    queued(group, 4)
    closing = threading.Thread(target=group.close)
    closing.start()
    writer.may_write.set()
    joined([*threads, closing])
    assert len(answered) == 5
    with pytest.raises(InputError, match="closed"):
        group.submit(request(6))
    group.close()


def test_no_more_wait_than_there_is_room_for(group, writer, monkeypatch):
    monkeypatch.setattr(group_commit, "QUEUE_MAX", 2)
    writer.may_write.clear()
    threads = in_threads(lambda number: group.submit(request(number)), 1)
    assert writer.is_writing.wait(WAIT_SECONDS)
    threads += in_threads(lambda number: group.submit(request(number)), 2)
    queued(group, 2)
    with pytest.raises(StoreUnavailableError, match="2 requests wait already; try again later"):
        group.submit(request(9))
    writer.may_write.set()
    joined(threads)


def test_work_that_nobody_waits_for_is_done_after_the_answer_and_may_fail(group, writer):
    group.submit(request(1))
    group.submit(request(2))
    group.close()
    assert writer.settled == 2
