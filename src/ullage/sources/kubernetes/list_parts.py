"""A long list as kubectl writes it, cut into parts that are lists of their own.

A dump is one list of tens of thousands of objects. Decoding all of it at once would hold every object in
memory at the same time; asking msgspec first where each object ends would read the whole text twice. But
kubectl puts each object's braces on lines of their own, indented alike, so places where one object ends and
the next begins can be found from anywhere in the text.

The hard thing is to be right for any text, however it is indented. The text around the items, with a 0 in
their place, must be a list of one item, 0; and each part, in brackets, must be JSON. If both hold, then the
text is one list and its items are those of the parts. If not, the caller reads it the slow way.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from ullage.sources.places import Bytes

PART_BYTES: Final = 256 << 10
HEAD_BYTES_MAX: Final = 4 << 10
"""How far from the beginning of a list its items are looked for."""

_ITEMS: Final = b'"items": [\n'
_FIRST_LINE: Final = re.compile(rb"( *)\{\n")
_PLACEHOLDER: Final = b"0"


class _Frame(msgspec.Struct):
    items: list[Any]


_FRAME: Final = msgspec.json.Decoder(_Frame)


class LongList(NamedTuple):
    """Where the items of a list begin and end, where the list ends, and its text with a 0 for all items."""

    first: int
    end: int
    after: int
    indent: bytes
    frame: bytes


def long_list(
    data: Bytes, start: int, after: int | None = None, part_bytes: int = PART_BYTES
) -> LongList | None:
    """The list from `start` to `after` (or to the end of the text, if it ends there).

    None where it is short, or is not written as kubectl writes lists.
    """
    after = len(data) if after is None else after
    if after - start <= 2 * part_bytes:
        return None
    head = data.find(_ITEMS, start, start + HEAD_BYTES_MAX)
    first = head + len(_ITEMS)
    opening = _FIRST_LINE.match(data, first) if head >= 0 else None
    if opening is None:
        return None
    indent = bytes(opening[1])
    closing = b"\n" + indent + b"}\n"
    last = data.rfind(closing, first, after)
    if last < 0:
        return None
    end = last + len(closing)
    frame = bytes(data[start:first]) + _PLACEHOLDER + bytes(data[end:after])
    try:
        framed = _FRAME.decode(frame).items
    except (msgspec.DecodeError, RecursionError):
        return None
    return LongList(first, end, after, indent, frame) if framed == [0] else None


def parts_of(data: Bytes, found: LongList, part_bytes: int = PART_BYTES) -> Iterator[bytes]:
    """The items in parts of about the given size, each in brackets of its own."""
    boundary = b"\n" + found.indent + b"},\n" + found.indent + b"{\n"
    before = len(found.indent) + 2
    view = memoryview(data)
    start = found.first
    while start < found.end:
        cut = data.find(boundary, start + part_bytes, found.end)
        end = found.end if cut < 0 else cut + before
        yield b"".join((b"[", view[start:end], b"]"))
        start = end + 1
