"""One connection gives each request its own answer, whole or not at all, whatever a server sends."""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable

import pytest

from plane.certificate import self_signed
from sources.kubernetes.api.raw_server import CUT, END, HOLD, LAST_CHUNK, answer, chunk, chunked, serving
from ullage.sources.kubernetes.api import connection as connection_module
from ullage.sources.kubernetes.api.connection import Address, Answer, BrokenError, Connection, connect

REQUEST = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\n"


async def connected(server) -> Connection:
    return await connect(Address("127.0.0.1", server.port, None))


def asked(*acts: object, bytes_max: int = 1000) -> tuple[Answer, bool]:
    """What one request is answered, and whether the connection can be used again."""

    async def ask() -> tuple[Answer, bool]:
        async with serving(acts) as server:
            connection = await connected(server)
            found = await connection.ask(REQUEST, bytes_max=bytes_max)
            reusable = connection.reusable
            connection.close()
            return found, reusable

    return asyncio.run(ask())


WHOLE = {
    "with its length": ([answer(200, b"body")], True),
    "without a body": ([b"HTTP/1.1 204 No Content\r\n\r\n"], True),
    "in chunks": ([chunked(b"bo", b"dy"), LAST_CHUNK], True),
    "in single bytes": ([bytes([each]) for each in answer(200, b"body")], True),
    "slowly": ([answer(200, b"body")[:30], 0.02, answer(200, b"body")[30:]], True),
    "until it closes": ([HEAD, b"\r\nbo", b"dy", END], False),
    "and says that it closes": ([answer(200, b"body", "Connection: close"), HOLD], False),
    "after it said to wait": ([b"HTTP/1.1 103 Early Hints\r\n\r\n", answer(200, b"body")], True),
}


@pytest.mark.parametrize(("acts", "reusable"), WHOLE.values(), ids=WHOLE)
def test_an_answer_comes_whole(acts, reusable):
    found, again = asked(*acts)
    assert (found.data or b"body", found.status // 100, again) == (b"body", 2, reusable)


def test_a_server_says_how_long_to_leave_it_alone():
    found, _ = asked(answer(429, b"", "retry-AFTER: 7"))
    assert (found.status, found.retry_seconds) == (429, 7)
    found, _ = asked(answer(503, b"", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"))
    assert found.retry_seconds == 0


BROKEN = {
    "nothing": ([END], "closed"),
    "a reset": ([CUT], "reset"),
    "half a head": ([HEAD, END], "closed"),
    "half an answer": ([answer(200, b"body")[:-1], END], "closed"),
    "half of its chunks": ([chunked(b"bo"), END], "closed"),
    "garbage": ([b"SSH-2.0-OpenSSH_9.6\r\n"], "not HTTP"),
    "another protocol": ([b"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nxx"], "not HTTP"),
    "too much": ([answer(200, b"x" * 1001)], "more than 1000 bytes"),
    "too much in chunks": ([chunked(b"x" * 600, b"x" * 600)], "more than 1000 bytes"),
}


@pytest.mark.parametrize(("acts", "why"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_whole_answer_is_an_error(acts, why):
    with pytest.raises(BrokenError, match=why):
        asked(*acts)


def test_a_connection_is_used_for_one_request_after_the_other():
    async def ask() -> None:
        async with serving([answer(200, b"a", "Retry-After: 9")], [answer(404, b"b")], [END]) as server:
            connection = await connected(server)
            assert await connection.ask(REQUEST, bytes_max=9) == (200, b"a", 9, b"")
            assert await connection.ask(REQUEST, bytes_max=9) == (404, b"b", 0, b"")
            with pytest.raises(BrokenError):
                await connection.ask(REQUEST, bytes_max=9)
            assert not connection.reusable
            with pytest.raises(BrokenError, match="was closed"):
                await connection.ask(REQUEST, bytes_max=9)
            assert server.connections == 1

    asyncio.run(ask())


@pytest.mark.parametrize("pause", [[], [0.02]])
def test_an_answer_that_nobody_asked_for_is_given_to_nobody(pause):
    async def ask() -> None:
        async with serving([answer(200, b"mine"), *pause, answer(200, b"another's"), HOLD]) as server:
            connection = await connected(server)
            assert (await connection.ask(REQUEST, bytes_max=99)).data == b"mine"
            await asyncio.sleep(0.05)
            assert not connection.reusable
            with pytest.raises(BrokenError):
                await connection.ask(REQUEST, bytes_max=99)

    asyncio.run(ask())


def followed(*acts: object, take: Callable[[bytes], None] | None = None) -> tuple[int, Answer, list[bytes]]:
    """The status, the end, and the lines of an answer that goes on."""

    async def ask() -> tuple[int, Answer, list[bytes]]:
        found: list[bytes] = []
        async with serving(acts) as server:
            connection = await connected(server)
            try:
                status = await connection.follow(REQUEST, take or found.append, bytes_max=1000)
                return status, await connection.ended(), found
            finally:
                connection.close()

    return asyncio.run(ask())


LINES = {
    "together": [chunked(b"one\ntwo\n"), LAST_CHUNK],
    "across chunks": [chunked(b"on", b"e\ntw", b"o\n"), 0.01, LAST_CHUNK],
    "one by one": [chunked(b"one\n"), 0.01, chunk(b"two\n"), 0.01, LAST_CHUNK],
    "with empty ones": [chunked(b"\none\n\n"), 0.01, chunk(b"\ntwo\n"), 0.01, LAST_CHUNK],
    "without a last line end": [chunked(b"one\ntwo"), LAST_CHUNK],
    "until the server closes": [HEAD, b"\r\none\n", 0.01, b"two\n", END],
    "all at once and then it closes": [chunked(b"one\ntwo\n") + LAST_CHUNK, END],
}


@pytest.mark.parametrize("acts", LINES.values(), ids=LINES)
def test_an_answer_that_goes_on_is_handed_over_line_by_line(acts):
    assert followed(*acts) == (200, (200, b"", 0, b""), [b"one", b"two"])


def test_lines_are_handed_over_as_they_come():
    async def ask() -> None:
        came: asyncio.Queue[bytes] = asyncio.Queue()
        async with serving([chunked(b"one\ntw"), HOLD]) as server:
            connection = await connected(server)
            await connection.follow(REQUEST, came.put_nowait, bytes_max=1000)
            assert await came.get() == b"one"
            assert came.empty()
            connection.close()

    asyncio.run(ask())


@pytest.mark.parametrize("end", [[], [END]])
def test_a_refusal_is_returned_whole_and_not_handed_over(end):
    assert followed(answer(403, b"no\nway\n", "Retry-After: 2"), *end) == (
        403,
        (403, b"no\nway\n", 2, b""),
        [],
    )


def test_an_endless_refusal_is_an_error():
    with pytest.raises(BrokenError, match="more than 1000 bytes"):
        followed(answer(403, b"x" * 1001))


def test_a_line_that_was_cut_off_is_not_handed_over():
    found: list[bytes] = []
    with pytest.raises(BrokenError, match="closed"):
        followed(chunked(b"one\ntw"), 0.02, END, take=found.append)
    assert found == [b"one"]


@pytest.mark.parametrize("last", [b"\n", b""])
def test_what_is_raised_on_taking_a_line_ends_the_answer(last):
    taken: list[bytes] = []

    def take(line: bytes) -> None:
        taken.append(line)
        if line == b"two":
            raise KeyError(line)

    with pytest.raises(KeyError):
        followed(chunked(b"one\ntwo" + last + (b"three\n" if last else b"")), LAST_CHUNK, take=take)
    assert taken == [b"one", b"two"]


def test_a_line_without_an_end_is_an_error(monkeypatch):
    monkeypatch.setattr(connection_module, "LINE_BYTES_MAX", 100)
    with pytest.raises(BrokenError, match="a line of more than 100 bytes"):
        followed(chunked(b"x" * 101), HOLD)


def test_silence_is_an_error_and_a_word_now_and_then_is_none(monkeypatch):
    monkeypatch.setattr(connection_module, "SILENT_SECONDS_MAX", 0.2)
    with pytest.raises(BrokenError, match="nothing came"):
        followed(chunked(b"one\n"), HOLD)
    words = [act for _ in range(5) for act in (chunk(b"a\n"), 0.06)]
    assert followed(chunked(), *words, LAST_CHUNK)[2] == [b"a"] * 5


def test_who_takes_lines_slowly_holds_the_server_up_and_gets_all_of_them():
    lines = [b"%06d" % number + b"x" * 993 for number in range(20_000)]
    taken: list[bytes] = []

    def take(line: bytes) -> None:
        taken.append(line)
        if len(taken) % 1000 == 0:
            time.sleep(0.005)

    followed(chunked(*(line + b"\n" for line in lines)), LAST_CHUNK, take=take)
    assert taken == lines


def test_tcp_looks_after_a_peer_that_says_nothing():
    async def ask() -> None:
        async with serving([answer()]) as server:
            connection = await connected(server)
            plain = connection._transport.get_extra_info("socket")
            assert plain.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 15
            connection.close()

    asyncio.run(ask())


def test_where_nobody_listens_there_is_no_connection():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(BrokenError, match="Connect call failed"):
            asyncio.run(connect(Address("127.0.0.1", taken.getsockname()[1], None)))


def test_a_server_that_does_not_answer_a_greeting_is_given_up(monkeypatch):
    monkeypatch.setattr(connection_module, "CONNECT_SECONDS_MAX", 0.05)

    async def ask() -> None:
        async with serving([HOLD]) as server:
            with pytest.raises(BrokenError, match=r"no connection within 0\.05 s"):
                await connect(Address("127.0.0.1", server.port, ssl.create_default_context()))

    asyncio.run(ask())


def test_one_that_is_given_up_when_it_stands_already_does_not_wait_for_the_server(tmp_path, monkeypatch):
    certificate = tmp_path / "server.pem"
    certificate.write_bytes(self_signed())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))
    trusting.check_hostname = False
    over = threading.Event()

    def serve(listening: socket.socket) -> None:
        accepted, _ = listening.accept()
        with context.wrap_socket(accepted, server_side=True):
            over.wait(30)

    async def run(port: int) -> int:
        task = asyncio.create_task(connect(Address("127.0.0.1", port, trusting)))
        stood: list[socket.socket] = []
        stands = Connection.connection_made

        def give_up(connection: Connection, transport: asyncio.BaseTransport) -> None:
            stands(connection, transport)
            stood.append(transport.get_extra_info("socket"))
            task.cancel()

        monkeypatch.setattr(Connection, "connection_made", give_up)
        await asyncio.wait((task,))
        assert task.cancelled()
        for _ in range(5):
            await asyncio.sleep(0)
        return stood[0].fileno()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        try:
            assert asyncio.run(run(listening.getsockname()[1])) == -1
        finally:
            over.set()
            thread.join()
