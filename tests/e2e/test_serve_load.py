"""A server that is beset from all sides at once: by clients that are slow, huge, deaf, idle, or ask for much.

All of it happens within one run, for each kind of client is let go after seconds. Meanwhile somebody else
asks for what takes moments, and is answered.
"""

import asyncio
import collections
import contextlib
import resource
import socket
from pathlib import Path
from typing import NamedTuple

import pytest

from web_client import Reply, ask, closed, head, read_reply, started, until_ready

pytestmark = pytest.mark.slow

CLUSTER = "/v1/clusters/large"
NODES = 600
SOURCE = f"large=synthetic:nodes={NODES},seed=1"
TEXT = "application/yaml"
BODY_BYTES_MAX = 32 << 20
IDLE = 500
SLOW = 20
DEAF = 4
LONG = 40
END_SECONDS_MAX = 35.0
"""Within which every client that is no good has to be let go."""
PROMPT_SECONDS_MAX = 8.0
"""Within which the others are answered, on a machine that does much else."""
GROWTH_BYTES_MAX = 100 << 20
PAUSE_SECONDS = 0.2
PROMPT = ("/health", f"{CLUSTER}/fit?shape=cpu=1,memory=1Gi")
CLOSED = 7
"""The state of a connection that is gone, as Linux tells it."""
FORM = "application/x-www-form-urlencoded"


class Beset(NamedTuple):
    """What came of it: how each kind of client ended, and what the others were answered meanwhile."""

    ends: dict[str, list[Reply | None]]
    prompt: dict[str, list[Reply | str]]
    growth_bytes: int


async def connected(address, receive_bytes=0):
    connection = socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])))
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    return await asyncio.open_connection(sock=connection, limit=1 << 16)


async def end_of(reader, writer):
    """Return the answer that a connection ends with, None where it ends without one."""
    try:
        return await read_reply_late(reader)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    finally:
        await closed(writer)


async def read_reply_late(reader):
    await reader.readuntil(b"H")
    reply = await read_reply(reader)
    assert await reader.read() == b"", "the connection is closed behind the answer"
    return reply


async def dribble(writer, text):
    """Send byte after byte until nobody listens."""
    with contextlib.suppress(ConnectionError):
        for place in range(len(text)):
            writer.write(text[place : place + 1])
            await writer.drain()
            await asyncio.sleep(PAUSE_SECONDS)


async def pour(writer, part):
    """Send as fast as it is taken, until nobody listens or it is much more than may be sent."""
    with contextlib.suppress(ConnectionError):
        for _ in range(2 * BODY_BYTES_MAX // len(part)):
            writer.write(part)
            await writer.drain()


async def sending(address, start, work):
    """Begin a request, go on with it, and return how it ends."""
    reader, writer = await connected(address)
    writer.write(start)
    task = asyncio.create_task(work(writer))
    try:
        return await end_of(reader, writer)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def slow_head(address):
    text = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 1000
    return sending(address, b"", lambda writer: dribble(writer, text))


def slow_body(address):
    start = head("POST", f"{CLUSTER}/fit", {"Content-Type": TEXT, "Content-Length": "1000"})
    return sending(address, start, lambda writer: dribble(writer, b"#" * 1000))


def slow_chunks(address):
    start = head("POST", f"{CLUSTER}/fit", {"Content-Type": TEXT, "Transfer-Encoding": "chunked"})
    return sending(address, start, lambda writer: dribble(writer, b"1\r\n#\r\n" * 200))


def stalled_body(address):
    """Most of a large body at once, and then next to nothing."""
    start = head("POST", f"{CLUSTER}/fit", {"Content-Type": TEXT, "Content-Length": str(BODY_BYTES_MAX)})
    return sending(address, start + b"#" * (8 << 20), lambda writer: dribble(writer, b"#" * 1000))


def huge_body(address):
    start = head("POST", "/login", {"Content-Type": FORM, "Content-Length": str(2 * BODY_BYTES_MAX)})
    return sending(address, start, lambda writer: pour(writer, b"x" * (1 << 16)))


def huge_chunks(address):
    start = head("POST", "/login", {"Content-Type": FORM, "Transfer-Encoding": "chunked"})
    part = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
    return sending(address, start, lambda writer: pour(writer, part))


def huge_trailer(address):
    """Headers without an end, behind a body."""
    start = head("POST", f"{CLUSTER}/fit", {"Content-Type": TEXT, "Transfer-Encoding": "chunked"})
    return sending(address, start + b"0\r\nX: ", lambda writer: pour(writer, b"y" * (1 << 16)))


async def idle(address):
    return await end_of(*await connected(address))


async def deaf(address):
    """Ask for all of a cluster, and read nothing of it, until the connection is gone."""
    _, writer = await connected(address, receive_bytes=4096)
    writer.transport.pause_reading()
    writer.write(head("GET", f"{CLUSTER}/snapshot"))
    connection = writer.get_extra_info("socket")
    while connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != CLOSED:  # noqa: ASYNC110 - the system tells it to nobody
        await asyncio.sleep(PAUSE_SECONDS)
    await closed(writer)


async def long(address):
    return await ask(address, "GET", f"{CLUSTER}/check")


KINDS = {
    deaf: DEAF,
    slow_head: SLOW,
    slow_body: SLOW,
    slow_chunks: SLOW,
    stalled_body: 1,
    huge_body: 4,
    huge_chunks: 4,
    huge_trailer: 4,
    idle: IDLE,
    long: LONG,
}


async def prompt(address, path, kept):
    """Ask again and again, each time on a connection of its own, and keep what was answered."""
    while True:
        try:
            async with asyncio.timeout(PROMPT_SECONDS_MAX):
                kept.append(await ask(address, "GET", path))
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            kept.append(repr(error))
        await asyncio.sleep(PAUSE_SECONDS)


def resident_bytes(process):
    pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


async def beset(server):
    address, process = server.address, server.process.pid
    paths = {path: [] for path in PROMPT}
    for path in paths:
        assert (await ask(address, "GET", path)).status == 200
    before, growth = resident_bytes(process), 0
    prompts = [asyncio.create_task(prompt(address, path, kept)) for path, kept in paths.items()]
    clients = {
        kind: [asyncio.create_task(kind(address)) for _ in range(count)] for kind, count in KINDS.items()
    }
    every = [task for tasks in clients.values() for task in tasks]
    loop = asyncio.get_running_loop()
    ends = loop.time() + END_SECONDS_MAX
    while not all(task.done() for task in every) and loop.time() < ends:
        await asyncio.sleep(PAUSE_SECONDS)
        growth = max(growth, resident_bytes(process) - before)
    left = collections.Counter(
        kind.__name__ for kind, tasks in clients.items() for task in tasks if not task.done()
    )
    for task in (*prompts, *every):
        task.cancel()
    await asyncio.gather(*prompts, *every, return_exceptions=True)
    assert not left, "all of them are let go"
    found = {kind.__name__: [task.result() for task in tasks] for kind, tasks in clients.items()}
    return Beset(found, paths, growth)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", SOURCE, "--refresh", "0") as server:
        until_ready(server)
        found = asyncio.run(beset(server))
        code, lines = server.stop()
    assert code == 0
    assert not any("defect" in line["message"] for line in lines)
    return found


@pytest.mark.parametrize(
    ("kind", "statuses"),
    [
        ("slow_head", {408, None}),  # who goes on sending may not see the answer
        ("slow_body", {408, None}),
        ("slow_chunks", {408, None}),
        ("stalled_body", {408, None}),
        ("huge_body", {413, None}),
        ("huge_chunks", {413, None}),
        ("huge_trailer", {431, None}),
        ("idle", {None}),
        ("deaf", {None}),
        ("long", {200, 503}),
    ],
)
def test_who_is_no_good_is_let_go(outcome, kind, statuses):
    assert {reply and reply.status for reply in outcome.ends[kind]} <= statuses


@pytest.mark.parametrize("kind", ["slow_head", "slow_body", "slow_chunks"])
def test_who_is_too_slow_is_told_so(outcome, kind):
    assert 408 in {reply and reply.status for reply in outcome.ends[kind]}


def test_who_comes_too_late_to_ask_for_much_is_told_when_to_ask_again(outcome):
    refused = [reply for reply in outcome.ends["long"] if reply.status == 503]
    assert refused
    assert all(int(reply.headers["retry-after"]) > 0 for reply in refused)


@pytest.mark.parametrize("path", PROMPT)
def test_everybody_else_is_answered_meanwhile(outcome, path):
    replies = outcome.prompt[path]
    assert len(replies) > END_SECONDS_MAX / PROMPT_SECONDS_MAX
    assert {reply if isinstance(reply, str) else reply.status for reply in replies} == {200}


def test_the_process_that_speaks_http_does_not_grow_with_them(outcome):
    assert outcome.growth_bytes < GROWTH_BYTES_MAX
