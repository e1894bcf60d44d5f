"""What a process answers over HTTP, over TLS too, with a certificate that changes while it runs."""

import asyncio
import contextlib
import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kube_cluster import free_port_numbers
from ullage.kube import serving
from ullage.kube.operator.certificates import Certificate, make
from ullage.kube.serving import Door, Response, Served, serve
from ullage.model.errors import InputError


async def asked(port: int, request: bytes, tls: ssl.SSLContext | None = None) -> bytes:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=tls, server_hostname="localhost" if tls else None
    )
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


def request(method: str, path: str, body: bytes = b"") -> bytes:
    lines = ("Host: localhost", "Connection: close", f"Content-Length: {len(body)}", "", "")
    return "\r\n".join((f"{method} {path} HTTP/1.1", *lines)).encode() + body


async def echo(body: bytes) -> Response:
    return Response(200, body[::-1], serving.TEXT)


def served() -> Served:
    made = Served()
    made.add("POST", "/echo", echo)
    return made


def run(work, tls: ssl.SSLContext | None = None):
    async def whole():
        (port,) = free_port_numbers(1)
        ready = asyncio.Event()
        task = asyncio.create_task(serve(served(), host="127.0.0.1", port=port, tls=tls, ready=ready.set))
        await asyncio.wait_for(ready.wait(), 10)
        try:
            return await work(port)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return asyncio.run(whole())


ANSWERS = {
    "a path with its method": (request("POST", "/echo", b"abc"), b"200", b"cba"),
    "another method": (request("GET", "/echo"), b"404", b"no such path\n"),
    "another path": (request("POST", "/other"), b"404", b"no such path\n"),
}


@pytest.mark.parametrize(("said", "status", "body"), ANSWERS.values(), ids=ANSWERS)
def test_what_is_answered(said, status, body):
    async def work(port: int) -> None:
        answer = await asked(port, said)
        assert answer.split(b" ")[1] == status
        assert answer.endswith(b"\r\n\r\n" + body)

    run(work)


def test_a_body_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(serving, "BODY_BYTES_MAX", 10)

    async def work(port: int) -> None:
        assert b" 413 " in await asked(port, request("POST", "/echo", b"x" * 11))
        assert b" 200 " in await asked(port, request("POST", "/echo", b"x" * 10))

    run(work)


def load(context: ssl.SSLContext, made: Certificate, folder: Path) -> None:
    (folder / "certificate").write_bytes(made.certificate)
    (folder / "key").write_bytes(made.key)
    context.load_cert_chain(folder / "certificate", folder / "key")


def test_new_connections_use_the_certificate_that_was_loaded_last(tmp_path):
    now = datetime.now(UTC)
    first, second = make(("localhost",), now), make(("localhost",), now)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load(context, first, tmp_path)

    async def work(port: int) -> None:
        trusting = [ssl.create_default_context(cadata=each.authorities.decode()) for each in (first, second)]
        said = request("POST", "/echo", b"abc")
        assert (await asked(port, said, trusting[0])).endswith(b"cba")
        with pytest.raises(ssl.SSLError):
            await asked(port, said, trusting[1])
        load(context, second, tmp_path)
        assert (await asked(port, said, trusting[1])).endswith(b"cba")
        with pytest.raises(ssl.SSLError):
            await asked(port, said, trusting[0])

    run(work, context)


def test_who_comes_while_it_begins_anew_waits_and_is_answered_by_the_next():
    said = request("POST", "/echo", b"abc")

    async def whole() -> None:
        (port,) = free_port_numbers(1)
        with contextlib.closing(Door("127.0.0.1", port)) as door:
            waiting = None
            for turn in range(3):
                ready = asyncio.Event()
                task = asyncio.create_task(
                    serve(served(), host="127.0.0.1", port=port, ready=ready.set, door=door)
                )
                await asyncio.wait_for(ready.wait(), 10)
                if waiting is not None:
                    assert (await waiting).endswith(b"cba")
                assert (await asked(port, said)).endswith(b"cba")
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                if turn < 2:
                    waiting = asyncio.create_task(asked(port, said))
                    await asyncio.sleep(0.05)
                    assert not waiting.done(), "nobody answers, and nobody is refused"

    asyncio.run(whole())


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {port}"):
            Door("127.0.0.1", port).open()
