"""Points of very many streams as bytes and back, exactly, and the last moments of streams.

Columns stand one behind the other, each in as few bytes as its largest number needs, put together by their
weight before they are packed: a point of a reading takes three or four bytes.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from ullage.engine.usage.aggregate import DROPPED
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.summaries import AMOUNT_MAX

_LEVEL: Final = 1
_HEADER: Final = struct.Struct("<IqBBB")
_AMOUNT: Final = np.dtype("<i8")
_BYTES_MAX: Final = 1 << 30
"""More than any reading of ours unpacks to."""


class Points(NamedTuple):
    """Points: the number of the stream of each, in order, its moment and its amount."""

    streams: Integers
    at_seconds: Integers
    amounts: Integers


NO_POINTS: Final = Points(*[np.empty(0, np.int64)] * 3)


def in_order(parts: Sequence[Points]) -> Points:
    """Return all points of several parts in the order of their streams."""
    streams, at_seconds, amounts = (np.concatenate(each) for each in zip(NO_POINTS, *parts, strict=True))
    if (streams[1:] >= streams[:-1]).all():
        return Points(streams, at_seconds, amounts)
    order = np.argsort(streams, kind="stable")
    return Points(streams[order], at_seconds[order], amounts[order])


def points_bytes(points: Points) -> bytes:
    """Return points as bytes; amounts that are none are all the same: points that were dropped."""
    good = (points.amounts >= 0) & (points.amounts <= AMOUNT_MAX)
    begin = int(points.at_seconds.min(initial=AMOUNT_MAX))
    columns = (
        np.diff(points.streams, prepend=0),
        points.at_seconds - begin,
        np.where(good, points.amounts, DROPPED) - DROPPED,
    )
    widths = [-(-int(each.max(initial=0)).bit_length() // 8) for each in columns]
    parts = (_by_weight(each, width) for each, width in zip(columns, widths, strict=True))
    return zlib.compress(_HEADER.pack(len(good), begin, *widths) + b"".join(parts), _LEVEL)


def to_points(data: bytes) -> Points:
    """Return the points that bytes hold; a msgspec.DecodeError where they are not as we write them."""
    unpacking = zlib.decompressobj()
    try:
        unpacked = unpacking.decompress(data, _BYTES_MAX)
        count, begin, *widths = _HEADER.unpack_from(unpacked)
    except (zlib.error, struct.error) as error:
        raise msgspec.DecodeError(f"a reading of usage cannot be unpacked: {error}") from None
    sizes = np.cumsum([_HEADER.size, *(count * width for width in widths)]).tolist()
    if not unpacking.eof or len(unpacked) != sizes[-1] or max(widths) > _AMOUNT.itemsize:
        raise msgspec.DecodeError("a reading of usage is cut off, or too long")
    streams, at_seconds, amounts = (
        _from_weight(unpacked[place : place + count * width], count, width)
        for place, width in zip(sizes, widths, strict=False)
    )
    return Points(np.cumsum(streams), at_seconds + begin, amounts + DROPPED)


def _by_weight(column: Integers, width: int) -> bytes:
    return column.astype(_AMOUNT).view(np.uint8).reshape(-1, _AMOUNT.itemsize)[:, :width].T.tobytes()


def _from_weight(data: bytes, count: int, width: int) -> Integers:
    found = np.zeros((count, _AMOUNT.itemsize), np.uint8)
    found[:, :width] = np.frombuffer(data, np.uint8).reshape(width, count).T
    return found.view(_AMOUNT).reshape(-1).astype(np.int64)
