"""Records between processes arrive whole or not at all."""

import asyncio
import socket
import struct
from contextlib import closing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.web import frames
from ullage.web.frames import (
    Answered,
    Asking,
    EndedError,
    Failed,
    Ready,
    Same,
    Splitter,
    Told,
    packed,
    receive,
    send,
)
from ullage.web.work import Done, Work

ASKING = msgspec.msgpack.Decoder(Asking)
TOLD = msgspec.msgpack.Decoder(Told)
WORK = Work("question/fit", {"shape": "cpu=1", "replicas": 3}, b"body", "ledger.db")


@given(st.binary(max_size=5000), st.text(max_size=20), st.floats(0, 1e6))
def test_what_is_sent_is_what_arrives(body, name, seconds):
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        asking = Asking(Work(name, {name: [1, None]}, body), seconds)
        send(ours, asking)
        send(ours, asking)
        assert receive(theirs, ASKING) == asking
        assert receive(theirs, ASKING) == asking


@pytest.mark.parametrize("told", [Ready(3, "ab", 2, 5, 0.5), Same(), Failed("no file")], ids=repr)
def test_a_loader_says_one_of_three_things(told):
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        send(ours, told)
        assert receive(theirs, TOLD) == told


def test_a_record_larger_than_the_buffer_of_a_socket_arrives():
    answered = Answered(Done(body=bytes(3 << 20)))

    async def exchange():
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        with closing(writer), closing(theirs):
            sending = asyncio.create_task(asyncio.to_thread(send, theirs, answered))
            found = await frames.read(reader, msgspec.msgpack.Decoder(Answered))
            await sending
            return found

    assert asyncio.run(exchange()) == answered


BROKEN = {
    "nothing": b"",
    "half a length": b"\0\0",
    "half a record": packed(Asking(WORK, 1.0))[:-1],
    "more than a record may have": struct.pack(">I", frames.FRAME_BYTES_MAX + 1),
    "another record": packed(Failed("no")),
    "no msgpack": struct.pack(">I", 1) + b"\xc1",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_an_end_within_a_record_is_an_end(data):
    async def read_from(theirs):
        reader, writer = await asyncio.open_unix_connection(sock=theirs)
        with closing(writer):
            await frames.read(reader, ASKING)

    for how in ("blocking", "waiting"):
        ours, theirs = socket.socketpair()
        with closing(theirs):
            with closing(ours):
                ours.sendall(data)
            with pytest.raises(EndedError):
                receive(theirs, ASKING) if how == "blocking" else asyncio.run(read_from(theirs))


def test_what_is_too_large_is_not_sent(monkeypatch):
    monkeypatch.setattr(frames, "FRAME_BYTES_MAX", 10)
    with pytest.raises(ValueError, match="too large"):
        packed(Asking(WORK, 1.0))


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(1, 400), max_size=20))
def test_records_are_the_same_however_their_bytes_arrive(sent, sizes):
    data = b"".join(struct.pack(">I", len(each)) + each for each in sent)
    splitter, found, start = Splitter(), [], 0
    for size in (*sizes, len(data)):
        found += [bytes(each) for each in splitter.cut(data[start : start + size])]
        start += size
    assert found == sent


def test_no_length_is_believed_that_nobody_sends():
    with pytest.raises(EndedError):
        Splitter().cut(struct.pack(">I", frames.FRAME_BYTES_MAX + 1))
