"""The first bytes of an input, which tell what it is; a stream is then read as if from its beginning.

Compressed data is unpacked as far as it goes: nobody waits for the rest of it.
"""

import io
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Final

HEAD_BYTES: Final = 1 << 16
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW_BITS: Final = 31


def head_of_file(path: str) -> bytes:
    """Return the first bytes of a file; one that cannot be read is left to its reader to name."""
    try:
        with Path(path).open("rb") as file:
            return _unpacked(file.read(HEAD_BYTES))
    except OSError:
        return b""


def head_of_stream(stream: BinaryIO) -> tuple[bytes, io.BufferedReader]:
    """Return the first bytes of a stream, and the stream with them still in it."""
    head = b""
    while len(head) < HEAD_BYTES and (more := stream.read(HEAD_BYTES - len(head))):
        head += more
    return _unpacked(head), io.BufferedReader(_Replayed(head, stream))


def _unpacked(head: bytes) -> bytes:
    if not head.startswith(_GZIP_MAGIC):
        return head
    try:
        return zlib.decompressobj(_GZIP_WINDOW_BITS).decompress(head, HEAD_BYTES)
    except zlib.error:
        return b""


class _Replayed(io.RawIOBase):
    """A stream of which the first bytes were read already."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._head[: len(buffer)] or self._stream.read(len(buffer))
        self._head = self._head[len(part) :]
        buffer[: len(part)] = part
        return len(part)
