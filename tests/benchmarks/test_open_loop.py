"""Requests that are due are sent, whatever became of those before; and each is counted."""

import asyncio
import contextlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import open_loop
from open_loop import OpenLoop, Timed, asked_once, at
from web_client import closed

SLOW_SECONDS = 0.3


@contextlib.asynccontextmanager
async def answering():
    """Give the address of a server, and see that nothing of it is left in the end."""
    tasks = []

    def called(reader, writer):
        tasks.append(asyncio.create_task(answer(reader, writer)))

    async with await asyncio.start_server(called, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()
        await asyncio.gather(*tasks)


async def answer(reader, writer):
    """Answer at once, late, or not at all, as the path says."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
            if path == b"/gone":
                break
            await asyncio.sleep(SLOW_SECONDS if path == b"/slow" else 0.0)
            status = b"503 Service Unavailable" if path == b"/busy" else b"200 OK"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 4\r\n\r\nwell")
    await closed(writer)


def asked(path_of, seconds):
    async def work():
        async with answering() as address:
            ended = asyncio.Event()
            loop = OpenLoop(address, path_of, 50)
            asyncio.get_running_loop().call_later(seconds, ended.set)
            return await loop.run(ended)

    return asyncio.run(work())


def test_nobody_waits_for_those_before():
    timed = asked(lambda _: "/slow", 0.5)
    assert len(timed) > 20, "one after the other there would be two"
    assert all(each.status == 200 and each.seconds >= SLOW_SECONDS for each in timed)


def test_what_is_lost_is_counted():
    timed = asked(lambda number: ("/", "/busy", "/gone")[number % 3], 0.3)
    statuses = [each.status for each in timed]
    assert {200, 503, 0} == set(statuses)
    assert abs(statuses.count(0) - len(statuses) / 3) <= 1


def test_a_share_of_all_is_answered_within():
    timed = [Timed(200, number / 1000) for number in range(1, 101)]
    assert [round(at(timed, share)) for share in (0.5, 0.99, 1.0)] == [51, 100, 100]


def test_one_thing_is_asked_and_timed():
    async def work():
        async with answering() as address:
            return await asked_once(address, "/slow", "POST")

    timed = asyncio.run(work())
    assert timed.status == 200
    assert SLOW_SECONDS <= timed.seconds < open_loop.ANSWER_SECONDS_MAX
