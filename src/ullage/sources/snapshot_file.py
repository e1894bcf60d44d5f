"""The compact snapshot file (`.ullage`): a header, a checksum, and MessagePack in compressed blocks.

    magic      8 bytes, of which some change when a tool mangles line ends
    version    2 bytes, big-endian; a reader refuses a version it does not know
    checksum   32 bytes, SHA-256 of all that follows
    blocks     compressed length (4 bytes), length (4 bytes), zlib data; a block of length 0 is the end

The hard part is that a small file can claim to be a huge one: every length is bounded before it is believed,
and decompression stops at it.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import Snapshot
from ullage.model.delta import TABLE_FACTS
from ullage.model.errors import InputError
from ullage.model.ganeti import InstancePolicy
from ullage.model.policy import Policy
from ullage.model.resources import ResourceType, ResourceTypes
from ullage.sources.atomic_file import write_atomically
from ullage.sources.documents import documents_of
from ullage.sources.input_files import read_files
from ullage.sources.limits import DEFAULT_LIMITS, GIB, MIB, Limits
from ullage.sources.own_format import read_snapshot
from ullage.sources.places import Bytes
from ullage.sources.snapshot_columns import Columns, damaged, exact_values, own_values, pack, unpack

MAGIC: Final = b"\x89ULLAGE\n"
VERSION: Final = 1
BLOCK_BYTES: Final = 4 * MIB
CONTENT_BYTES_MAX: Final = GIB
EXPANSION_MAX: Final = 100
"""How many times larger than its file the content may be, beyond the first FREE_BYTES; honest ones are 10."""
FREE_BYTES: Final = 16 * MIB
_HEADER: Final = struct.Struct(">8sH32s")
_BLOCK: Final = struct.Struct(">II")
_LEVEL: Final = 6


class _Content(msgspec.Struct, frozen=True):
    """What the blocks hold; a field that a newer version adds is ignored by this one."""

    name: str
    revision: int
    policy: Policy
    resource_types: list[ResourceType]
    unknowns: tuple[str, ...]
    tables: dict[str, Columns]
    tags: tuple[str, ...] = ()
    instance_policy: InstancePolicy | None = None
    taken_seconds: int | None = None


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=exact_values, order="deterministic")
_IN_ORDER: Final = msgspec.msgpack.Encoder(enc_hook=exact_values)
_DECODER: Final = msgspec.msgpack.Decoder(_Content, dec_hook=own_values)


def is_snapshot_bytes(data: Bytes) -> bool:
    """Whether data begins as a compact snapshot does, of any version."""
    return data[: len(MAGIC)] == MAGIC


def snapshot_bytes(snapshot: Snapshot, *, keeps_order: bool = False) -> bytes:
    """Return a snapshot in the compact form; equal snapshots give equal bytes.

    Where it `keeps_order`, labels and the like stand in the order that they have, which people are shown.
    """
    tables = {
        facts.file_name: pack(list(getattr(snapshot, name)), facts.row_type)
        for name, facts in TABLE_FACTS.items()
    }
    content = _Content(
        name=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy,
        resource_types=list(snapshot.resource_types.added()),
        unknowns=snapshot.unknowns,
        tables=tables,
        tags=snapshot.tags,
        instance_policy=snapshot.instance_policy,
        taken_seconds=snapshot.taken_seconds,
    )
    blocks = b"".join(_compressed((_IN_ORDER if keeps_order else _ENCODER).encode(content)))
    return _HEADER.pack(MAGIC, VERSION, hashlib.sha256(blocks).digest()) + blocks


def snapshot_of_bytes(data: Bytes, source: str) -> Snapshot:
    """Return the checked snapshot in compact data; `source` names it in messages."""
    try:
        return _snapshot(_content_bytes(data))
    except InputError as error:
        raise error.at(source) from None


def save_snapshot_file(path: str, snapshot: Snapshot) -> None:
    """Write a compact snapshot file, all of it or nothing, readable for its owner alone."""
    write_atomically(path, snapshot_bytes(snapshot))


def read_snapshot_file(path: str, *, limits: Limits = DEFAULT_LIMITS) -> Snapshot:
    """Return the snapshot in a file: compact, JSON or YAML, by its content and not by its name."""
    if Path(path).is_dir():
        raise InputError("is a folder", where=path, remedy="name a snapshot file")
    (file,) = read_files(path, limits)
    if is_snapshot_bytes(file.data):
        return snapshot_of_bytes(file.data, file.name)
    documents = list(documents_of(file.data, file.name, limits=limits))
    if len(documents) != 1:
        raise InputError(
            f"{len(documents)} documents where one snapshot is expected",
            where=file.name,
            remedy="write it with `ullage snapshot save`",
        )
    return read_snapshot(documents[0])


def _compressed(content: bytes) -> Iterator[bytes]:
    view = memoryview(content)
    for start in range(0, len(view), BLOCK_BYTES):
        block = view[start : start + BLOCK_BYTES]
        packed = zlib.compress(block, _LEVEL)
        yield _BLOCK.pack(len(packed), len(block))
        yield packed
    yield _BLOCK.pack(0, 0)


def _content_bytes(data: Bytes) -> bytearray:
    """Return what the blocks hold, after the header and the checksum are found good."""
    if not is_snapshot_bytes(data):
        raise InputError("not a compact snapshot", remedy="name a file of `ullage snapshot save`")
    if len(data) < _HEADER.size:
        raise _cut_off(len(data))
    _, version, checksum = _HEADER.unpack_from(data)
    if version != VERSION:
        raise InputError(
            f"compact snapshot of version {version}, known is {VERSION}", remedy="use a newer ullage"
        )
    view = memoryview(data)[_HEADER.size :]
    blocks = list(_blocks(view))
    if hashlib.sha256(view).digest() != checksum:
        raise _corrupt()
    most = min(CONTENT_BYTES_MAX, FREE_BYTES + len(data) * EXPANSION_MAX)
    if sum(length for _, length in blocks) > most:
        raise InputError(f"the content is larger than {most // MIB} MiB", remedy="save it as JSON instead")
    content = bytearray()
    for packed, length in blocks:
        content += _decompressed(packed, length)
    return content


def _blocks(view: memoryview) -> Iterator[tuple[memoryview, int]]:
    """Yield each block's compressed data and its length; nothing may follow the last one."""
    offset = 0
    while True:
        if offset + _BLOCK.size > len(view):
            raise _cut_off(_HEADER.size + len(view))
        packed_length, length = _BLOCK.unpack_from(view, offset)
        offset += _BLOCK.size
        if not length:
            break
        if length > BLOCK_BYTES:
            raise _corrupt()
        if offset + packed_length > len(view):
            raise _cut_off(_HEADER.size + len(view))
        yield view[offset : offset + packed_length], length
        offset += packed_length
    if packed_length or offset != len(view):
        raise _corrupt()


def _decompressed(packed: memoryview, length: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        block = stream.decompress(packed, length)
    except zlib.error:
        raise _corrupt() from None
    if len(block) != length or stream.unconsumed_tail:
        raise _corrupt()
    return block


def _snapshot(content: bytearray) -> Snapshot:
    try:
        read = _DECODER.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise damaged(str(error)) from None
    tables: dict[str, Any] = {}
    for name, facts in TABLE_FACTS.items():
        columns = read.tables.get(facts.file_name)
        rows: list[Any] = [] if columns is None else unpack(columns, facts.row_type)
        tables[name] = unique(rows, facts.singular)
    return check_snapshot(
        Snapshot(
            name=read.name,
            revision=read.revision,
            policy=read.policy,
            resource_types=ResourceTypes(read.resource_types),
            unknowns=read.unknowns,
            tags=read.tags,
            instance_policy=read.instance_policy,
            taken_seconds=read.taken_seconds,
            **tables,
        )
    )


def _cut_off(size: int) -> InputError:
    return InputError(f"the compact snapshot is cut off at byte {size}", remedy="copy or save it again")


def _corrupt() -> InputError:
    return InputError("the compact snapshot is damaged", remedy="copy or save it again")
