"""Requests and answers on the wire: in order, whole, and over when they are over."""

import asyncio
import contextlib

import pytest

from ullage.web import connections, serving
from ullage.web.exchange import HELD_BYTES_MAX, header_text
from ullage.web.http import Response, Streamed
from ullage.web.routes import Route
from web_client import closed, head, read_reply, running, until


async def echo(server, request):
    del server
    await asyncio.sleep(0)
    return Response(body=request.body, content="text/plain")


async def parts():
    for each in (b"one", b"", b"three"):
        yield each
        await asyncio.sleep(0)


async def stream(server, request):
    del server, request
    return Streamed(parts(), "text/plain")


async def defective(server, request):
    del server, request
    return Response(headers=(("x", "\r\n"),))


TABLE = (
    Route("POST", "/echo", echo, None, "It.", body="*/*", body_bytes_max=8 << 20),
    Route("GET", "/echo", echo, None, "It."),
    Route("GET", "/stream", stream, None, "Parts.", answers={200: "text/plain"}),
    Route("GET", "/defective", defective, None, "A header that is none."),
)
TEXT = {"Content-Type": "text/x"}


def spoken(tmp_path, story):
    """Return what a story with a new connection comes to."""

    async def work():
        async with running(tmp_path, *TABLE) as server:
            port = int(server.address.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=16 << 20)
            try:
                async with asyncio.timeout(20):
                    return await story(reader, writer)
            finally:
                await closed(writer)

    return asyncio.run(work())


def posted(body, **headers):
    return head("POST", "/echo", {**TEXT, "Content-Length": str(len(body)), **headers}) + body


def test_requests_that_are_sent_ahead_are_answered_in_their_order(tmp_path):
    async def story(reader, writer):
        bodies = [b"%d" % each * (each + 1) for each in range(20)]
        writer.write(b"".join(map(posted, bodies)))
        return bodies, [(await read_reply(reader)).body for _ in bodies]

    sent, found = spoken(tmp_path, story)
    assert found == sent


@pytest.mark.parametrize("size", [0, 1, HELD_BYTES_MAX, HELD_BYTES_MAX + 1, 4 << 20])
@pytest.mark.parametrize("piece", [1000, 1 << 20])
def test_a_body_arrives_whole_however_it_is_sent(tmp_path, size, piece):
    if size // piece > 100:
        piece = size // 100
    body = bytes(each % 251 for each in range(size))

    async def story(reader, writer):
        data = posted(body)
        for start in range(0, len(data), piece):
            writer.write(data[start : start + piece])
            await asyncio.sleep(0)
        return (await read_reply(reader)).body

    assert spoken(tmp_path, story) == body


def test_a_body_in_chunks_arrives_whole_and_the_next_request_is_read(tmp_path):
    async def story(reader, writer):
        chunked = head("POST", "/echo", {**TEXT, "Transfer-Encoding": "chunked"})
        writer.write(chunked + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" + posted(b"next"))
        return [(await read_reply(reader)).body for _ in range(2)]

    assert spoken(tmp_path, story) == [b"abcde", b"next"]


def test_who_expects_to_be_asked_for_a_body_is_asked(tmp_path):
    async def story(reader, writer):
        writer.write(head("POST", "/echo", {**TEXT, "Content-Length": "3", "Expect": "100-continue"}))
        asked = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"abc")
        return asked, (await read_reply(reader)).body

    assert spoken(tmp_path, story) == (b"HTTP/1.1 100 Continue\r\n\r\n", b"abc")


def test_parts_are_sent_in_chunks_and_the_connection_is_kept(tmp_path):
    async def story(reader, writer):
        writer.write(head("GET", "/stream"))
        told = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readuntil(b"0\r\n\r\n")
        writer.write(posted(b"next"))
        return told, body, (await read_reply(reader)).body

    told, body, following = spoken(tmp_path, story)
    assert b"transfer-encoding: chunked\r\n" in told
    assert body == b"3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"
    assert following == b"next"


@pytest.mark.parametrize(
    ("version", "headers"),
    [("1.1", {"Connection": "close"}), ("1.0", {}), ("1.0", {"Connection": "keep-alive"})],
)
def test_the_last_answer_says_so_and_is_whole(tmp_path, version, headers):
    async def story(reader, writer):
        asked = head("GET", "/echo", headers).replace(b"HTTP/1.1", f"HTTP/{version}".encode())
        writer.write(asked + head("GET", "/echo"))
        reply = await read_reply(reader)
        return reply.status, reply.headers["connection"], await reader.read()

    assert spoken(tmp_path, story) == (200, "close", b"")


def test_the_head_of_an_answer_comes_without_its_body(tmp_path):
    async def story(reader, writer):
        writer.write(head("HEAD", "/echo") + head("HEAD", "/stream") + head("GET", "/echo"))
        found = [await reader.readuntil(b"\r\n\r\n") for _ in range(3)]
        return [each.partition(b"\r\n")[0] for each in found]

    assert spoken(tmp_path, story) == [b"HTTP/1.1 200 OK"] * 3


def test_who_asks_nothing_for_long_is_let_go_after_an_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(connections, "KEEP_SECONDS", 0.2)

    async def story(reader, writer):
        statuses = []
        for _ in range(4):
            writer.write(head("GET", "/echo"))
            statuses.append((await read_reply(reader)).status)
            await asyncio.sleep(0.1)  # together longer than a connection is kept
        return statuses, await reader.read()

    assert spoken(tmp_path, story) == ([200] * 4, b"")


@pytest.mark.parametrize("target", ["/\xff", "http://localhost", "http://[/x"])
def test_what_names_no_path_is_no_http(tmp_path, target):
    async def story(reader, writer):
        writer.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"))
        reply = await read_reply(reader)
        return reply.status, await reader.read()

    assert spoken(tmp_path, story) == (400, b"")


@pytest.mark.parametrize("junk", [b"\x16\x03\x01\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"y" * 200_000])
@pytest.mark.parametrize("asked", [1, 3])
def test_what_cannot_be_read_is_refused_behind_the_answers_to_what_could(tmp_path, junk, asked):
    async def story(reader, writer):
        writer.write(posted(b"first") * asked + junk)
        replies = [await read_reply(reader) for _ in range(asked + 1)]
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        return [each.status for each in replies]

    *answered, last = spoken(tmp_path, story)
    assert answered == [200] * asked
    assert last in {400, 431}


def test_what_cannot_be_read_does_not_get_into_a_stream(tmp_path):
    async def story(reader, writer):
        writer.write(head("GET", "/stream") + b"\x16\x03\x01\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        body = await reader.readuntil(b"0\r\n\r\n")
        return body, (await read_reply(reader)).status

    assert spoken(tmp_path, story) == (b"3\r\none\r\n5\r\nthree\r\n0\r\n\r\n", 400)


def test_a_body_that_breaks_off_into_junk_is_refused_itself(tmp_path):
    async def story(reader, writer):
        chunked = head("POST", "/echo", {**TEXT, "Transfer-Encoding": "chunked"})
        writer.write(posted(b"first") + chunked + b"3\r\nabc\r\nnonsense\r\n")
        replies = [await read_reply(reader) for _ in range(2)]
        return [each.status for each in replies], await reader.read()

    assert spoken(tmp_path, story) == ([200, 400], b"")


@pytest.mark.parametrize("beside", [b"0\r\nX: ", b"1;x="], ids=["behind the body", "beside a size"])
def test_only_so_much_may_be_sent_that_is_no_body(tmp_path, beside):
    async def story(reader, writer):
        chunked = head("POST", "/echo", {**TEXT, "Transfer-Encoding": "chunked"})
        writer.write(chunked + beside)
        with contextlib.suppress(ConnectionError):
            for _ in range(200):
                writer.write(b"y" * 10_000)
                await writer.drain()
                await asyncio.sleep(0)
        with contextlib.suppress(ConnectionError):
            return (await reader.readline()).split()[1:2]
        return []

    assert spoken(tmp_path, story) in ([], [b"431"])


@pytest.mark.parametrize("coding", ["gzip, chunked", "identity", "gzip"])
def test_a_body_in_another_coding_is_not_read(tmp_path, coding):
    async def story(reader, writer):
        writer.write(head("POST", "/echo", {**TEXT, "Transfer-Encoding": coding}) + b"3\r\nabc\r\n0\r\n\r\n")
        reply = await read_reply(reader)
        return reply.status

    assert spoken(tmp_path, story) in {400, 501}


def test_who_does_not_know_of_chunks_gets_parts_until_the_connection_ends(tmp_path):
    async def story(reader, writer):
        writer.write(head("GET", "/stream").replace(b"HTTP/1.1", b"HTTP/1.0"))
        told = await reader.readuntil(b"\r\n\r\n")
        return b"chunked" in told, await reader.read()

    assert spoken(tmp_path, story) == (False, b"onethree")


def test_a_body_that_nobody_asked_for_is_passed_over(tmp_path):
    async def story(reader, writer):
        body = b"x" * 200_000
        writer.write(
            head("OPTIONS", "/echo", {**TEXT, "Content-Length": str(len(body))}) + body + posted(b"next")
        )
        first = await reader.readuntil(b"\r\n\r\n")
        return first.split()[1], (await read_reply(reader)).body

    assert spoken(tmp_path, story) == (b"204", b"next")


def test_a_defect_in_an_answer_is_told_and_closes(tmp_path):
    async def story(reader, writer):
        writer.write(head("GET", "/defective"))
        reply = await read_reply(reader)
        return reply.status, await reader.read()

    assert spoken(tmp_path, story) == (500, b"")


def test_who_hangs_up_is_noticed_by_whoever_answers(tmp_path):
    noticed = asyncio.Event()

    async def endless():
        try:
            while True:
                yield b"x"
                await asyncio.sleep(0.01)
        finally:
            noticed.set()

    async def answer(server, request):
        del server, request
        return Streamed(endless(), "text/plain")

    async def work():
        table = (Route("GET", "/endless", answer, None, "For ever.", answers={200: "text/plain"}),)
        async with running(tmp_path, *table) as server:
            port = int(server.address.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head("GET", "/endless"))
            await reader.readuntil(b"x")
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await until(noticed.is_set)

    asyncio.run(work())
    assert noticed.is_set()


@pytest.mark.parametrize("told", [b"a\r\nb", b"a\nb", b"\0", b"\x7f"])
def test_a_header_is_one(told):
    with pytest.raises(ValueError, match="more than one"):
        header_text([(b"x", told)])
    assert header_text([(b"x", b"a\tb"), (b"y", b"")]) == b"x: a\tb\r\ny: \r\n"
