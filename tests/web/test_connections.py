"""Slow clients, huge heads and crowds: who is let go, and that nobody else waits for them."""

import asyncio
import contextlib

import pytest

from ullage.web import connections, serving
from ullage.web.api.operations import ROUTES
from ullage.web.http import Response
from ullage.web.routes import Route
from web_client import ask, closed, head, read_reply, running, until

LARGE = b"x" * (32 << 20)


async def large(server, request):
    del server, request
    return Response(body=LARGE, content="text/plain")


TABLE = (*ROUTES, Route("GET", "/large", large, None, "Much.", answers={200: "text/plain"}))


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(serving, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(connections, "HEAD_SECONDS_MAX", 0.3)
    monkeypatch.setattr(connections, "READING_SECONDS", 0.3)


async def connected(server):
    return await asyncio.open_connection("127.0.0.1", int(server.address.rpartition(":")[2]), limit=1 << 16)


async def ended(reader):
    """Read to the end, which has to come."""
    try:
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    "parts", [[b"GET /health HTTP/1.1\r\n", *[b"X: y\r\n"] * 1000], [b"\r\n"] * 1000, []]
)
def test_who_does_not_come_to_the_point_is_let_go(tmp_path, parts):
    async def work():
        async with running(tmp_path, *TABLE) as server:
            reader, writer = await connected(server)

            async def dribble():
                for part in parts:
                    writer.write(part)
                    await asyncio.sleep(0.02)

            dribbling = asyncio.create_task(dribble())
            try:
                return await ended(reader)
            finally:
                dribbling.cancel()
                await closed(writer)

    told = asyncio.run(work())  # who goes on sending may not see what was said
    assert not told or told.startswith(b"HTTP/1.1 408 ")


def test_a_head_that_does_not_end_is_refused_early(tmp_path):
    async def work():
        async with running(tmp_path, *TABLE) as server:
            reader, writer = await connected(server)
            writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 70_000)
            reply = await read_reply(reader)
            await closed(writer)
            return reply

    reply = asyncio.run(work())
    assert (reply.status, reply.headers["content-type"]) == (431, "application/problem+json")


def test_a_connection_is_used_again_and_again(tmp_path):
    async def work():
        async with running(tmp_path, *TABLE) as server:
            reader, writer = await connected(server)
            statuses = []
            for _ in range(5):
                await asyncio.sleep(0.15)  # together longer than a head may take
                writer.write(head("GET", "/health"))
                statuses.append((await read_reply(reader)).status)
            writer.write(head("GET", "/health") * 20)
            statuses += [(await read_reply(reader)).status for _ in range(20)]
            await closed(writer)
            return statuses

    assert asyncio.run(work()) == [200] * 25


def test_who_sends_far_ahead_is_answered_what_may_wait_and_let_go(tmp_path):
    async def work():
        async with running(tmp_path, *TABLE) as server:
            reader, writer = await connected(server)
            writer.write(head("GET", "/health") * 5000)
            found = b""
            with contextlib.suppress(ConnectionResetError):  # it is closed with much of this unread
                while part := await asyncio.wait_for(reader.read(1000), 10):
                    found += part
            await closed(writer)
            beside = await ask(server.address, "GET", "/health")
            return found.count(b"HTTP/1.1 200 "), beside.status

    answered, beside = asyncio.run(work())
    assert 0 < answered <= connections.AHEAD_MAX + 1
    assert beside == 200


def test_no_more_is_read_while_requests_that_were_sent_ahead_wait(tmp_path):
    paused = []

    async def slow(server, request):
        del server, request
        paused.append([each.is_read_paused for each in connections_of()])
        await asyncio.sleep(0.01)
        return Response()

    async def work():
        async with running(tmp_path, Route("GET", "/slow", slow, None, "Slow.")) as server:
            reader, writer = await connected(server)
            writer.write(head("GET", "/slow") * 10)
            statuses = [(await read_reply(reader)).status for _ in range(10)]
            await closed(writer)
            return statuses

    seen = []
    plain = connections.Connection.connection_made

    def made(self, transport):
        seen.append(self)
        plain(self, transport)

    def connections_of():
        return seen

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(connections.Connection, "connection_made", made)
        assert asyncio.run(work()) == [200] * 10
    assert paused[1:-1] == [[True]] * 8, "from the second to the last but one"


BEHIND = b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""What somebody would like to be taken for a request of its own."""


@pytest.mark.parametrize(
    ("method", "headers", "body", "status"),
    [
        ("GET", {"Upgrade": "h2c", "Connection": "Upgrade"}, b"", 200),
        ("POST", {"Upgrade": "h2c", "Connection": "Upgrade", "Content-Length": "3"}, b"abc", 400),
        ("POST", {"Upgrade": "websocket", "Connection": "Upgrade", "Content-Length": "3"}, b"abc", 400),
    ],
)
def test_who_asks_for_another_protocol_is_answered_in_this_one_and_loses_no_body(
    tmp_path, method, headers, body, status
):
    async def echo(server, request):
        del server
        return Response(body=request.body)

    table = [Route(each, "/echo", echo, None, "It.", body=None) for each in ("GET", "POST")]

    async def work():
        async with running(tmp_path, *table) as server:
            reader, writer = await connected(server)
            writer.write(head(method, "/echo", headers) + body + BEHIND)
            reply = await read_reply(reader)
            assert await ended(reader) == b"", "it is the last one"
            await closed(writer)
            return reply.status

    assert asyncio.run(work()) == status


@pytest.mark.parametrize("target", [b"example.com:80", b"x:1", b"/echo"])
def test_who_wants_a_tunnel_is_refused_and_let_go(tmp_path, target):
    async def work():
        async with running(tmp_path) as server:
            reader, writer = await connected(server)
            writer.write(b"CONNECT %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
            reply = await read_reply(reader)
            assert await ended(reader) == b""
            await closed(writer)
            return reply.status

    assert asyncio.run(work()) in {400, 404, 405}


def test_what_would_be_more_than_one_header_is_never_sent(tmp_path):
    async def split(server, request):
        del server, request
        return Response(headers=(("location", "/x\r\nset-cookie: a=b"),))

    async def work():
        async with running(tmp_path, Route("GET", "/split", split, None, "Two.")) as server:
            reader, writer = await connected(server)
            writer.write(head("GET", "/split"))
            found = await ended(reader)
            await closed(writer)
            return found

    found = asyncio.run(work())
    assert b"set-cookie" not in found
    assert found.startswith(b"HTTP/1.1 500 ")


def test_headers_behind_a_body_are_dropped(tmp_path):
    async def echo(server, request):
        del server
        await asyncio.sleep(0)
        return Response(body=b"%d" % len(request.headers))

    async def work():
        taking = Route("POST", "/echo", echo, None, "Echo.", body="*/*")
        async with running(tmp_path, taking) as server:
            reader, writer = await connected(server)
            sent = {"Transfer-Encoding": "chunked", "Content-Type": "text/x"}
            writer.write(head("POST", "/echo", sent) + b"1\r\nx\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
            reply = await read_reply(reader)
            await closed(writer)
            return reply.body

    assert asyncio.run(work()) == b"3"


def test_who_does_not_read_is_let_go_and_who_reads_gets_all(tmp_path):
    async def work():
        async with running(tmp_path, *TABLE) as server:
            reader, writer = await connected(server)
            writer.write(head("GET", "/large"))
            await reader.readexactly(1)
            whole = await ask(server.address, "GET", "/large")
            rest = await until_reset(reader)
            await closed(writer)
            return len(whole.body), rest

    async def until_reset(reader):
        await asyncio.sleep(1.5)  # the buffers on the way are full, and nothing is taken out of them
        return len(await ended(reader))

    size, rest = asyncio.run(work())
    assert size == len(LARGE)
    assert rest < len(LARGE)


def test_who_reads_one_large_answer_after_the_other_is_not_let_go(tmp_path):
    """However often the same is left to read when it is looked at."""

    async def work():
        async with running(tmp_path, *TABLE) as server:
            reader, writer = await connected(server)
            sizes = []
            for _ in range(6):
                writer.write(head("GET", "/large"))
                await asyncio.sleep(0.2)  # six times this is longer than an answer may be left unread
                sizes.append(len((await read_reply(reader)).body))
            await closed(writer)
            return sizes

    assert asyncio.run(work()) == [len(LARGE)] * 6


def test_of_many_who_do_not_read_those_go_first_who_were_first(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "READING_SECONDS", 60)
    monkeypatch.setattr(connections, "UNREAD_BYTES_MAX", 2 * len(LARGE))

    async def work():
        async with running(tmp_path, *TABLE) as server:
            crowd = []
            for _ in range(6):
                crowd.append(await connected(server))
                crowd[-1][1].write(head("GET", "/large"))
                await crowd[-1][0].readexactly(1)
                await asyncio.sleep(0.12)  # until it was looked at
            sizes = []
            for reader, writer in crowd:
                sizes.append(await size_of(reader))
                await closed(writer)
            return [size > len(LARGE) for size in sizes]

    async def size_of(reader):
        size = 1
        try:
            while size <= len(LARGE):  # and a head
                part = await asyncio.wait_for(reader.read(1 << 20), 10)
                if not part:
                    break
                size += len(part)
        except ConnectionResetError:
            pass
        return size

    got_all = asyncio.run(work())
    assert got_all[:3] == [False] * 3
    assert got_all[-1]


def test_a_crowd_that_does_not_finish_asking_makes_room(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "CONNECTIONS_MAX", 20)

    async def echo(server, request):
        del server
        await asyncio.sleep(0)
        return Response(body=request.body)

    async def work():
        taking = Route("POST", "/echo", echo, None, "Echo.", body="*/*")
        async with running(tmp_path, *TABLE, taking) as server:
            crowd = []
            for _ in range(60):
                crowd.append(await connected(server))
                crowd[-1][1].write(head("POST", "/echo", {"Content-Length": "9", "Content-Type": "text/x"}))
            reply = await ask(server.address, "GET", "/health")
            gone = [await is_gone(reader) for reader, _ in crowd]
            for _, writer in crowd:
                await closed(writer)
            return reply.status, gone

    async def is_gone(reader):
        try:
            await asyncio.wait_for(reader.read(), 0.02)
        except TimeoutError:
            return False
        except ConnectionResetError:
            pass
        return True

    status, gone = asyncio.run(work())
    assert status == 200
    assert gone[:40] == [True] * 40
    assert not any(gone[41:])


def test_a_crowd_makes_room_for_who_asks(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "CONNECTIONS_MAX", 20)
    monkeypatch.setattr(connections, "HEAD_SECONDS_MAX", 60)

    async def work():
        async with running(tmp_path, *TABLE) as server:
            crowd = [await connected(server) for _ in range(60)]
            replies = [await ask(server.address, "GET", "/health") for _ in range(3)]
            gone = 0
            for reader, writer in crowd:
                try:
                    await asyncio.wait_for(reader.read(), 0.05)
                    gone += 1
                except TimeoutError:
                    pass
                except ConnectionResetError:
                    gone += 1
                await closed(writer)
            return [each.status for each in replies], gone

    statuses, gone = asyncio.run(work())
    assert statuses == [200] * 3
    assert gone >= 40


def test_what_is_no_http_is_refused_and_told(tmp_path):
    async def work():
        async with running(tmp_path, *TABLE) as server:
            reader, writer = await connected(server)
            writer.write(b"\x16\x03\x01\x02\x00\x01")
            reply = await read_reply(reader)
            await closed(writer)
            await until(lambda: any(line["message"] == "http" for line in server.lines))
            return reply

    reply = asyncio.run(work())
    assert (reply.status, reply.data["title"]) == (400, "invalid http request received")
