"""Bodies within bounds: of size, of time, and of what is held of all of them."""

import asyncio

import pytest

from ullage.web import bodies as module
from ullage.web.bodies import Bodies, GoneError, Incoming
from ullage.web.exchange import Exchange
from ullage.web.http import Problem

CHUNKED = {"transfer-encoding": "chunked"}


def arriving(parts, *, wait_seconds=0.0, headers=CHUNKED):
    """A request whose body arrives in these parts; one that is None hangs up."""
    left = list(parts)

    async def receive():
        await asyncio.sleep(wait_seconds)
        if not left:
            await asyncio.Event().wait()
        part = left.pop(0)
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": bool(left)}

    incoming = Incoming(receive)
    incoming.begin(headers)
    return incoming


def read(bodies, incoming, bytes_max=1 << 30):
    async def work():
        return await bodies.read(incoming, bytes_max)

    return asyncio.run(work())


def test_who_sends_steadily_has_time():
    incoming = arriving([b"x" * (32 << 10)] * 5, wait_seconds=0.1)
    bodies = Bodies(grace_seconds=0.25)  # less than all of it takes
    assert len(read(bodies, incoming)) == 5 * (32 << 10)


def test_who_dribbles_has_not():
    with pytest.raises(Problem) as caught:
        read(Bodies(grace_seconds=0.25), arriving([b"x"] * 100, wait_seconds=0.05))
    assert caught.value.status == 408


def test_who_has_sent_much_has_to_go_on_with_it():
    """What came quickly buys no time for what does not come."""
    incoming = arriving([b"x" * (8 << 20), *[b"x"] * 100], wait_seconds=0.05)
    with pytest.raises(Problem) as caught:
        read(Bodies(grace_seconds=0.25), incoming)
    assert caught.value.status == 408


@pytest.mark.parametrize(
    ("incoming", "error"),
    [
        (arriving([b"x" * 11]), Problem),
        (arriving([b"x" * 6, b"y" * 6, b"z"]), Problem),
        (arriving([b"x"], headers={"content-length": "11"}), Problem),
        (arriving([b"x", None]), GoneError),
    ],
)
def test_nothing_is_held_once_it_is_refused(incoming, error):
    bodies = Bodies()
    with pytest.raises(error):
        read(bodies, incoming, bytes_max=10)
    assert bodies.held_bytes == 0


LARGE = module.SMALL_BYTES_MAX + 1


@pytest.mark.parametrize(
    "incoming",
    [arriving([b"x" * LARGE, b"y"]), arriving([b"x"], headers={"content-length": str(LARGE)})],
)
def test_what_is_held_by_all_is_bounded(incoming):
    with pytest.raises(Problem) as caught:
        read(Bodies(held_bytes_max=10), incoming)
    assert caught.value.status == 503


@pytest.mark.parametrize("headers", [CHUNKED, {"content-length": "12"}])
def test_large_bodies_are_no_reason_to_refuse_small_ones(headers):
    bodies = Bodies(held_bytes_max=10)
    bodies.held_bytes = 1000
    assert read(bodies, arriving([b"x" * 11, b"y"], headers=headers)) == b"x" * 11 + b"y"
    assert bodies.held_bytes == 1000


@pytest.mark.parametrize(
    ("incoming", "is_whole"),
    [
        (arriving([], headers={}), True),
        (arriving([], headers={"content-length": "0"}), True),
        (arriving([b"x", b"y"]), True),
        (arriving([b"x", None]), True),
        (arriving([b"x" * 20, b"y" * 20, b"z"]), False),
        (arriving([b"x"], headers={**CHUNKED, "expect": "100-continue"}), False),
    ],
)
def test_what_is_sent_in_vain_is_read_for_a_moment(monkeypatch, incoming, is_whole):
    monkeypatch.setattr(module, "VAIN_BYTES_MAX", 30)

    async def work():
        return await incoming.pass_over()

    assert asyncio.run(work()) is is_whole


def test_what_does_not_come_in_vain_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(module, "VAIN_SECONDS_MAX", 0.05)

    async def work():
        incoming = arriving([b"x"])
        incoming._receive = asyncio.Event().wait
        return await incoming.pass_over()

    assert asyncio.run(work()) is False


def test_a_body_that_has_arrived_is_read_at_once_within_its_size():
    def whole():
        exchange = Exchange(None, {}, keeps=True, expects=False)
        exchange.body += b"x" * 9
        exchange.is_whole = True
        incoming = Incoming(exchange.receive)
        incoming.begin(CHUNKED)
        return incoming

    assert arriving([b"x"]).arrived() is None
    incoming = whole()
    assert read(Bodies(grace_seconds=0.0), incoming) == b"x" * 9
    assert incoming.is_whole
    with pytest.raises(Problem) as caught:
        read(Bodies(), whole(), bytes_max=8)
    assert caught.value.status == 413


def test_what_is_compressed_is_refused_and_not_taken_for_text():
    for encoding, headers in (("gzip", CHUNKED), ("br", {"content-length": "3"})):
        incoming = arriving([b"x" * 3], headers={**headers, "content-encoding": encoding})
        with pytest.raises(Problem, match=f"Content-Encoding '{encoding}'") as caught:
            read(Bodies(), incoming)
        assert caught.value.status == 415
    assert read(Bodies(), arriving([b"x"], headers={**CHUNKED, "content-encoding": "Identity"})) == b"x"
