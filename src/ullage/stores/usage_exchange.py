"""All that a ledger has recorded of use, as a server tells it and others read it: rows as they are stored.

    magic      8 bytes
    version    2 bytes, big-endian; a reader refuses a version that it does not know
    parts      length (4 bytes), MessagePack; a part of length 0 is the end
    checksum   32 bytes, SHA-256 of all that stands before

It is told part by part, so that nobody ever holds all of it. The hard thing is a message that breaks off: it
must not be taken for a ledger that has recorded less. So it is believed only after its end has proved it.
"""

import contextlib
import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from ullage.engine.usage.book import DAY_MAX, Book, Stream
from ullage.engine.usage.metering_rows import meters_of
from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.model.errors import InputError
from ullage.stores.database_file import failures
from ullage.stores.opening import check, open_to_read
from ullage.stores.usage import stored_rows
from ullage.stores.usage_meters import VERSION as METERED
from ullage.stores.usage_meters import stored_meters, writings_of
from ullage.stores.usage_tables import StoredRow, put_rows

if TYPE_CHECKING:
    import sqlite3

    from ullage.engine.usage.metering_counters import Meters

MEDIA: Final = "application/vnd.ullage.usage"
MAGIC: Final = b"\x89ULLUSE\n"
VERSION: Final = 1
PART_BYTES: Final = 1 << 20
BYTES_MAX: Final = 512 << 20
"""More than this is not told: whoever reads it has to hold all of it."""
_ROW_BYTES: Final = 40
"""What the numbers of a row take, about."""
_DAYS_SIZE: Final = (
    f"SELECT coalesce(sum({_ROW_BYTES} + length(histogram) + "  # noqa: S608 - our own number
    "coalesce(length(peaks), 0)), 0) + (SELECT coalesce(sum(length(data)), 0) FROM usage_waiting) "
    "FROM usage_days"
)
_METERS_SIZE: Final = "SELECT coalesce(sum(length(name) + length(meter)), 0) FROM usage_meters"
_HEADER: Final = struct.Struct(">8sH")
_LENGTH: Final = struct.Struct(">I")
_CHECKSUM_BYTES: Final = hashlib.sha256().digest_size
_REMEDY: Final = "ask the server itself, as with GET /v1/clusters/NAME/forecast"

_Count = Annotated[int, Meta(ge=0, le=AMOUNT_MAX)]
_DayNumber = Annotated[int, Meta(ge=0, lt=DAY_MAX)]
_Row = tuple[
    int, _DayNumber, _Count, _Count, _Count, _Count, _Count, _Count, _Count, _Count, bytes, bytes | None
]  # fmt: skip
"""The place of its stream in its part, its day, and the columns as they are stored."""


class _Part(msgspec.Struct, array_like=True):
    streams: list[Stream]
    rows: list[_Row]
    meters: dict[str, str]


_PART: Final = msgspec.msgpack.Decoder(_Part)


def usage_message(path: Path | None, *, days: bool = True, meters: bool = True) -> Iterator[bytes]:
    """Yield what a ledger has recorded, as it is at one moment; without a ledger, that there is nothing."""
    checksum = hashlib.sha256()
    waiting = _HEADER.pack(MAGIC, VERSION)
    for part in () if path is None else _parts(path, days=days, meters=meters):
        waiting += _LENGTH.pack(len(part)) + part
        checksum.update(waiting)
        yield waiting
        waiting = b""
    waiting += _LENGTH.pack(0)
    checksum.update(waiting)
    yield waiting + checksum.digest()


def to_book(message: bytes) -> Book:
    """Return the days that were told; whatever else was is left out."""
    book = Book()
    try:
        for part in _told(message):
            put_rows(book, _rows(part))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(str(error)) from None
    return book


def to_meters(message: bytes) -> "Meters | None":
    """Return the meters that were told; None where there are none."""
    rows: dict[str, str] = {}
    try:
        for part in _told(message):
            rows.update(part.meters)
        return meters_of(rows) if writings_of(rows.pop(METERED, "0")) else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(str(error)) from None


def _parts(path: Path, *, days: bool, meters: bool) -> Iterator[bytes]:
    check(path)
    with failures(path), contextlib.closing(open_to_read(path)) as connection:
        if days:
            _check_size(connection, _DAYS_SIZE)
            yield from _day_parts(connection)
        if meters:
            _check_size(connection, _METERS_SIZE)
            yield from _meter_parts(stored_meters(connection))


def _check_size(connection: "sqlite3.Connection", size: str) -> None:
    (size_bytes,) = connection.execute(size).fetchone()
    if size_bytes > BYTES_MAX:
        what = f"{size_bytes >> 20} MiB of usage are recorded, and at most {BYTES_MAX >> 20} are told"
        raise InputError(what, remedy=_REMEDY)


def _day_parts(connection: "sqlite3.Connection") -> Iterator[bytes]:
    streams: list[Stream] = []
    rows: list[tuple[Any, ...]] = []
    size_bytes = 0
    for stream, day, columns in stored_rows(connection):
        if not streams or streams[-1] != stream:
            streams.append(stream)
            size_bytes += sum(map(len, stream))
        rows.append((len(streams) - 1, day, *columns))
        size_bytes += _ROW_BYTES + len(columns[-2]) + len(columns[-1] or b"")
        if size_bytes >= PART_BYTES:
            yield msgspec.msgpack.encode((streams, rows, {}))
            streams, rows, size_bytes = [], [], 0
    if rows:
        yield msgspec.msgpack.encode((streams, rows, {}))


def _meter_parts(meters: dict[str, str]) -> Iterator[bytes]:
    part: dict[str, str] = {}
    size_bytes = 0
    for name, text in sorted(meters.items()):
        part[name] = text
        size_bytes += len(name) + len(text)
        if size_bytes >= PART_BYTES:
            yield msgspec.msgpack.encode(((), (), part))
            part, size_bytes = {}, 0
    if part:
        yield msgspec.msgpack.encode(((), (), part))


def _told(message: bytes) -> Iterator[_Part]:
    """Yield the parts of a message that was found whole."""
    view = memoryview(message)
    _check_whole(view)
    offset, end = _HEADER.size, len(view) - _CHECKSUM_BYTES
    length = 1
    while length:
        if offset + _LENGTH.size > end:
            raise _damaged("it has no end")
        (length,) = _LENGTH.unpack_from(view, offset)
        offset += _LENGTH.size
        if length:
            yield _PART.decode(view[offset : min(offset + length, end)])
        offset += length
    if offset != end:
        raise _damaged("something stands behind its end")


def _check_whole(view: memoryview) -> None:
    magic, version = _HEADER.unpack_from(view) if len(view) >= _HEADER.size else (b"", 0)
    if magic != MAGIC:
        raise InputError("this is no usage")
    if version != VERSION:
        raise InputError(f"usage of version {version}, known is {VERSION}", remedy="use a newer ullage")
    body, checksum = view[:-_CHECKSUM_BYTES], view[-_CHECKSUM_BYTES:]
    if hashlib.sha256(body).digest() != bytes(checksum):
        raise InputError("the usage is cut off or damaged", remedy="ask again")


def _rows(part: _Part) -> Iterator[StoredRow]:
    for place, day, *columns in part.rows:
        if not 0 <= place < len(part.streams):
            raise msgspec.DecodeError("a row is of no stream")
        yield part.streams[place], day, columns


def _damaged(what: str) -> InputError:
    return InputError(f"the usage is damaged ({what})", remedy="ask again")
