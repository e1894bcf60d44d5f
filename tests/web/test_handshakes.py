"""Who never shakes hands is let go: after a while, and sooner where there are many."""

import asyncio
import contextlib
import socket
import ssl
from datetime import UTC, datetime

import pytest
import uvloop

from ullage.kube.operator.certificates import make
from ullage.web import handshakes as module
from ullage.web.certificate import Certificate
from ullage.web.handshakes import Handshakes
from ullage.web.settings import Settings


class Echo(asyncio.Protocol):
    """A client that is told what it said."""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(data)


@pytest.fixture
def run(tmp_path):
    """Run a story with the address of a server that speaks TLS, and what a client needs to trust it."""
    made = make(("localhost",), datetime.now(tz=UTC))
    (tmp_path / "cert.pem").write_bytes(made.certificate)
    (tmp_path / "key.pem").write_bytes(made.key)
    files = {"tls_certificate": str(tmp_path / "cert.pem"), "tls_key": str(tmp_path / "key.pem")}
    server = Certificate(Settings(tmp_path, **files))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE

    def running(story):
        async def with_server():
            listening = socket.create_server(("127.0.0.1", 0))
            accepting = Handshakes(listening, server, Echo)
            try:
                await asyncio.wait_for(story(listening.getsockname(), client), 30)
            finally:
                accepting.close()

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(with_server())

    return running


async def is_answered(address, tls):
    reader, writer = await asyncio.open_connection(*address, ssl=tls)
    with contextlib.closing(writer):
        writer.write(b"hello")
        return await reader.readexactly(5) == b"hello"


async def is_closed(reader):
    """Wait until the other side has hung up; whatever it said before is no matter."""
    with contextlib.suppress(ConnectionError):
        await reader.read()
    return True


def test_who_shakes_hands_is_a_client_for_good(run, monkeypatch):
    monkeypatch.setattr(module, "HANDSHAKES_MAX", 1)

    async def story(address, tls):
        reader, writer = await asyncio.open_connection(*address, ssl=tls)
        with contextlib.closing(writer):
            for _ in range(2):
                writer.write(b"hello")
                assert await reader.readexactly(5) == b"hello"
                silent = [await asyncio.open_connection(*address) for _ in range(3)]
                assert await is_closed(silent[0][0])
                for _, each in silent:
                    each.close()

    run(story)


def test_of_many_who_say_nothing_the_first_go_and_others_are_let_in(run, monkeypatch):
    monkeypatch.setattr(module, "HANDSHAKES_MAX", 3)

    async def story(address, tls):
        silent = [await asyncio.open_connection(*address) for _ in range(8)]
        for reader, _ in silent[:5]:
            assert await is_closed(reader)
        assert await is_answered(address, tls)
        assert not any(reader.at_eof() for reader, _ in silent[6:])
        for _, writer in silent:
            writer.close()

    run(story)


def test_those_of_another_address_are_not_hung_up_on_for_a_crowd_of_one(run, monkeypatch):
    monkeypatch.setattr(module, "HANDSHAKES_MAX", 3)

    async def story(address, tls):
        slow, of_slow = await asyncio.open_connection(*address, local_addr=("127.0.0.2", 0))
        silent = [await asyncio.open_connection(*address) for _ in range(8)]
        for reader, _ in silent[:6]:
            assert await is_closed(reader)
        assert not slow.at_eof()
        assert await is_answered(address, tls)
        for writer in (of_slow, *(each for _, each in silent)):
            writer.close()

    run(story)


def test_who_says_nothing_has_a_bound_in_time(run, monkeypatch):
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS_MAX", 0.1)

    async def story(address, tls):
        reader, writer = await asyncio.open_connection(*address)
        assert await is_closed(reader)
        writer.close()
        assert tls

    run(story)


def test_what_is_no_tls_is_hung_up_on_and_harms_nobody(run):
    async def story(address, tls):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await is_closed(reader)
        writer.close()
        assert await is_answered(address, tls)

    run(story)
