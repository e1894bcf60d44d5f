"""What is asked reaches the replica that leads, and its answer comes back."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from kube_cluster import free_port_numbers
from plane.certificate import self_signed
from ullage.kube.extender.relay import identity, leader_path, own_host, relay, trusting
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.serving import Response, Served, serve

ASKED = b'{"Pod":"p"}'


def relayed(answer: Response, tls: Path | None = None, trusted: ssl.SSLContext | None = None) -> list[bytes]:
    """Return what reaches a leader that answers so."""
    heard: list[bytes] = []

    async def bind(body: bytes) -> Response:
        heard.append(body)
        return answer

    async def run() -> None:
        (port,) = free_port_numbers(1)
        served, ready = Served(), asyncio.Event()
        served.add("POST", leader_path("bind"), bind)
        context = None
        if tls is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(tls)
        server = asyncio.create_task(serve(served, host="127.0.0.1", port=port, tls=context, ready=ready.set))
        await ready.wait()
        try:
            found = await relay(identity("pod-1", "127.0.0.1", port), "bind", ASKED, trusted)
            assert found == answer.data
        finally:
            server.cancel()
            with suppress(asyncio.CancelledError):
                await server

    asyncio.run(run())
    return heard


def test_the_leader_hears_what_was_asked():
    assert relayed(Response(200, b'{"Error":""}')) == [ASKED]


def test_a_leader_that_cannot_answer_is_named():
    with pytest.raises(NotDoneError, match="answered 500"):
        relayed(Response(500, b""))


def test_replicas_trust_the_certificate_that_they_share_and_no_other(tmp_path):
    files = [tmp_path / name for name in ("own.pem", "other.pem")]
    for each in files:
        each.write_bytes(self_signed())
    assert relayed(Response(200, b"{}"), files[0], trusting(str(files[0]))) == [ASKED]
    with pytest.raises(NotDoneError, match="does not answer"):
        relayed(Response(200, b"{}"), files[0], trusting(str(files[1])))


@pytest.mark.parametrize(
    ("holder", "why"),
    [("", "no replica leads yet"), ("pod-1", "has no address"), ("pod-1@127.0.0.1:1", "does not answer")],
)
def test_without_a_leader_that_can_be_reached_nothing_is_bound(holder, why):
    with pytest.raises(NotDoneError, match=why):
        asyncio.run(relay(holder, "bind", ASKED))


def test_this_host_has_an_address():
    assert own_host()
