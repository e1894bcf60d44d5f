"""Records between processes: each travels as msgpack after its length, over a Unix socket.

Three talk: the process that speaks HTTP, a loader that reads a cluster, and the workers that it forks. The
hard thing is that any of them may end at any moment: an end within a record is an end, never half a record,
and no length is believed that is larger than anything we send.
"""

import asyncio
import socket
import struct
from typing import Final, TypeVar

import msgspec

from ullage.web.work import Done, Work

FRAME_BYTES_MAX: Final = 1 << 30
BUFFER_BYTES: Final = 1 << 20
"""How much of a record is taken from a socket at a time."""
_LENGTH: Final = struct.Struct(">I")
_ENCODER: Final = msgspec.msgpack.Encoder()
Kind = TypeVar("Kind")


class EndedError(ConnectionError):
    """The other side is gone, or sends what is no record."""


class ToRead(msgspec.Struct, array_like=True, frozen=True):
    """What a loader reads: a source as `-c` names it, or a document in a file; and whom its workers call.

    `revision` and `digest` are those of the last reading; with `only_if_changed` an equal one is not held.
    """

    cluster: str
    reading: str
    socket: str
    spec: str
    document: str = ""
    context: str = ""
    kubeconfig: str = ""
    as_user: str = ""
    types: tuple[str, ...] = ()
    revision: int = 0
    digest: str = ""
    only_if_changed: bool = False
    loader_bytes_max: int = 0
    worker_bytes_max: int = 0


class Fork(msgspec.Struct, array_like=True, frozen=True):
    """That a loader is to start workers; `apart` is the word by which one is told that is none of them."""

    count: int = 1
    apart: str = ""


class Ready(msgspec.Struct, array_like=True, tag="ready", frozen=True):
    """That a cluster is read, under which revision, and how large it is."""

    revision: int
    digest: str
    nodes: int
    workloads: int
    seconds: float


class Same(msgspec.Struct, array_like=True, tag="same", frozen=True):
    """That a cluster is as it was."""


class Failed(msgspec.Struct, array_like=True, tag="failed", frozen=True):
    """Why a cluster cannot be read, as one line."""

    line: str


Told = Ready | Same | Failed


class Hello(msgspec.Struct, array_like=True, frozen=True):
    """What a worker says first: which reading of a cluster it holds, and what it was forked for."""

    reading: str
    apart: str = ""


class Asking(msgspec.Struct, array_like=True, frozen=True):
    """One thing to do, and after how long nobody waits for it any more.

    `is_followed` says that somebody wants to know meanwhile how far it is.
    """

    work: Work
    seconds_max: float
    is_followed: bool = False


class Stepped(msgspec.Struct, array_like=True, tag="stepped", frozen=True):
    """How far a worker is with what it does: of what is counted, how many are done of how many."""

    what: str
    done: int
    total: int


class Answered(msgspec.Struct, array_like=True, tag="answered", frozen=True):
    """What came of it; the last one of a worker that ends then."""

    done: Done
    is_last: bool = False


Said = Stepped | Answered
"""What a worker says of what it was asked: perhaps how far it is, again and again, and then the answer."""


def packed(record: object) -> bytes:
    """Return a record, or a list of some, as it travels."""
    data = _ENCODER.encode(record)
    if len(data) > FRAME_BYTES_MAX:
        raise ValueError(f"a record of {len(data)} bytes is too large to be sent")
    return _LENGTH.pack(len(data)) + data


def send(connection: socket.socket, record: msgspec.Struct) -> None:
    """Send a record, however long that takes."""
    connection.sendall(packed(record))


def receive(connection: socket.socket, decoder: msgspec.msgpack.Decoder[Kind]) -> Kind:
    """Return the next record; raises an EndedError if there is none."""
    (length,) = _LENGTH.unpack(_received(connection, _LENGTH.size))
    return _decoded(_received(connection, _checked(length)), decoder)


async def read(reader: asyncio.StreamReader, decoder: msgspec.msgpack.Decoder[Kind]) -> Kind:
    """Return the next record of a stream; raises an EndedError if there is none."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        data = await reader.readexactly(_checked(length))
    except (OSError, asyncio.IncompleteReadError) as error:
        raise EndedError("the other process has ended") from error
    return _decoded(data, decoder)


class Splitter:
    """Bytes as they arrive, cut into the records they hold: many small ones come at once."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._wanted = _LENGTH.size
        """How much has to be there before a record may be whole."""

    def cut(self, data: bytes) -> list[memoryview]:
        """Return the records that are whole by now; raises an EndedError where there can be none."""
        self._held += data
        if len(self._held) < self._wanted:
            return []
        view = memoryview(bytes(self._held))
        found = []
        start = 0
        self._wanted = _LENGTH.size
        while len(view) - start >= _LENGTH.size:
            end = start + _LENGTH.size + _checked(_LENGTH.unpack_from(view, start)[0])
            if end > len(view):
                self._wanted = end - start
                break
            found.append(view[start + _LENGTH.size : end])
            start = end
        del self._held[:start]
        return found


def _received(connection: socket.socket, length: int) -> bytearray:
    data = bytearray(length)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view, min(len(view), BUFFER_BYTES))
        if not count:
            raise EndedError("the other process has ended")
        view = view[count:]
    return data


def _checked(length: int) -> int:
    if length > FRAME_BYTES_MAX:
        raise EndedError(f"a record of {length} bytes is announced")
    return length


def _decoded(data: bytes | bytearray, decoder: msgspec.msgpack.Decoder[Kind]) -> Kind:
    try:
        return decoder.decode(data)
    except msgspec.DecodeError as error:
        raise EndedError(f"no record of ours: {error}") from error
