"""A loader and its workers, as the process that speaks HTTP sees them come and go."""

import asyncio
import os
import signal
import socket
from contextlib import closing

import psutil
import pytest

from ullage.web.frames import Answered, EndedError, Failed, Hello, Ready, Stepped, ToRead, packed
from ullage.web.reading import Reading, Worker, ending, peer
from ullage.web.work import Done, Work
from web.pools import until

WORK = Work("question/status")


def order(spec, **more):
    return ToRead("mine", "r", "", spec, **more)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exit status 0"),
        (1, "exit status 1"),
        (-11, "SIGSEGV"),
        (-9, "SIGKILL, perhaps for want of memory"),
    ],
)
def test_an_end_is_told_in_words(status, words):
    assert ending(status) == words


def test_a_loader_ends_when_it_is_told_to():
    async def scenario():
        reading = Reading(order("demo"))
        told = await reading.load()
        reading.revision = told.revision
        process = reading._process
        await reading.end()
        return told, process.returncode

    told, status = asyncio.run(scenario())
    assert isinstance(told, Ready)
    assert status == 0


@pytest.mark.slow
def test_a_loader_that_is_killed_while_it_reads_has_failed():
    async def scenario():
        reading = Reading(order("synthetic:nodes=100000"))
        loading = asyncio.create_task(reading.load())
        await asyncio.sleep(0.3)
        reading._process.kill()
        told = await loading
        await reading.end()
        return told

    assert asyncio.run(scenario()) == Failed(
        "the process that read it has ended (SIGKILL, perhaps for want of memory)"
    )


@pytest.mark.slow
def test_a_loader_that_needs_more_memory_than_it_may_use_has_failed():
    async def scenario():
        reading = Reading(order("synthetic:nodes=8000", loader_bytes_max=160 << 20))
        told = await reading.load()
        await reading.end()
        return told

    assert isinstance(asyncio.run(scenario()), Failed)


def test_a_reading_that_was_given_up_leaves_no_process():
    async def scenario():
        reading = Reading(order("synthetic:nodes=100000"))
        loading = asyncio.create_task(reading.load())
        await asyncio.sleep(0.3)
        loading.cancel()
        process = reading._process.pid
        assert psutil.pid_exists(process)
        await reading.end()
        return process

    assert not psutil.pid_exists(asyncio.run(scenario()))


def test_a_call_comes_from_a_process_of_the_same_user():
    async def scenario():
        ours, theirs = socket.socketpair()
        _, writer = await asyncio.open_unix_connection(sock=ours)
        with closing(writer), closing(theirs):
            return peer(writer)

    assert asyncio.run(scenario()) == os.getpid()


async def connected(scenario):
    """Run a scenario with a worker whose process is a program that only sleeps, and its end of the line."""
    program = await asyncio.create_subprocess_exec("sleep", "3600")
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    worker = Worker(Reading(order("demo")), reader, writer)
    os.close(worker._handle)
    worker._handle = os.pidfd_open(program.pid)
    following = asyncio.create_task(worker.follow())
    with theirs:
        await scenario(worker, theirs, program)
    await following
    await program.wait()
    return program.returncode


def test_who_waits_for_a_worker_that_ends_hears_so_at_once():
    async def scenario(worker, theirs, _):
        answer = worker.ask(WORK, 5.0)
        theirs.close()
        with pytest.raises(EndedError):
            await answer
        with pytest.raises(EndedError):
            await worker.ask(WORK, 5.0)
        worker.kill()  # of what is gone, nothing is killed: its handle may be another's by now

    assert asyncio.run(connected(scenario)) == -signal.SIGKILL


def test_a_worker_that_says_what_is_no_answer_is_ended():
    async def scenario(worker, theirs, program):
        answer = worker.ask(WORK, 5.0)
        theirs.sendall(packed(Hello("r")))
        with pytest.raises(EndedError):
            await answer
        assert await program.wait() == -signal.SIGKILL

    asyncio.run(connected(scenario))


def test_steps_are_heard_by_who_asked_and_the_answer_follows_them():
    async def scenario(worker, theirs, _):
        first, second = [], []
        for heard, other in ((first, second), (second, first)):
            count = len(other)
            answer = worker.ask(WORK, 5.0, heard.append)
            theirs.sendall(packed(Stepped("nodes", 1, 2)) + packed(Stepped("nodes", 2, 2)))
            theirs.sendall(packed(Answered(Done(body=b"done"))))
            assert (await answer).done.body == b"done"
            assert heard == [Stepped("nodes", 1, 2), Stepped("nodes", 2, 2)]
            assert len(other) == count
        assert worker.answers == 2

    asyncio.run(connected(scenario))


def test_steps_that_nobody_wants_to_know_of_are_no_answer():
    async def scenario(worker, theirs, _):
        heard = []
        answer = worker.ask(WORK, 5.0, heard.append)
        answer.cancel()
        theirs.sendall(packed(Stepped("nodes", 1, 2)) + packed(Answered(Done())))
        await until(lambda: worker.answers == 1)
        answer = worker.ask(WORK, 5.0)
        theirs.sendall(packed(Stepped("nodes", 2, 2)) + packed(Answered(Done(body=b"next"))))
        assert (await answer).done.body == b"next"
        assert heard == []

    asyncio.run(connected(scenario))
