"""Bytes from a file, a folder or standard input, each bounded, decompressed and known to be UTF-8.

The hard thing: a dump of hundreds of megabytes must be in memory once. A file of known size is read in one
piece; a pipe or compressed data, whose size nobody knows, into one growing buffer that stops at the limit.
"""

import codecs
import contextlib
import errno
import io
import itertools
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from ullage.model.errors import InputError
from ullage.sources.given import given
from ullage.sources.limits import MIB, Limits, size_text
from ullage.sources.places import Bytes, line_and_column, one_line

STANDARD_INPUT = "standard input"
_ENDINGS = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")
_CHUNK_BYTES = MIB
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW_BITS = 31
_REMEDIES = {
    errno.ENOENT: "check the path, or use - for standard input",
    errno.EACCES: "ask for the right to read it",
}


class InputFile(NamedTuple):
    """A file's name as messages show it, and its bytes: UTF-8, which may begin with a byte-order mark."""

    name: str
    data: Bytes


def read_files(path: str, limits: Limits, *, stdin: BinaryIO | None = None) -> Iterator[InputFile]:
    """The file, or the JSON and YAML files of the folder, or standard input (`-`), one after the other."""
    if "\0" in path:
        raise InputError("a path holds a NUL character", where=one_line(path), remedy="correct it")
    data = given(path) if stdin is None else None
    if data is not None:
        name = STANDARD_INPUT if path == "-" else one_line(path)
        yield InputFile(name, _read_stream(io.BytesIO(data), name, limits))
    elif path == "-":
        yield _read_standard_input(stdin, limits)
    elif os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where a folder above may not be read
        for file in folder_files(path, limits):
            yield _read_file(file, limits)
    else:
        yield _read_file(path, limits)


def read_small_files(path: str, size_bytes_max: int, limits: Limits) -> Iterator[InputFile]:
    """The JSON and YAML files of a folder that are small, compressed ones also when decompressed."""
    bounded = msgspec.structs.replace(limits, file_bytes_max=size_bytes_max)
    for file in folder_files(path, limits):
        with contextlib.suppress(InputError, OSError):  # whoever reads all of the folder names what is wrong
            if Path(file).stat().st_size <= size_bytes_max:
                yield _read_file(file, bounded)


def require_utf8(file: InputFile) -> None:
    """Refuse what is not UTF-8, naming the first wrong byte."""
    name, data = file
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise InputError(
            "the text is UTF-16", where=name, remedy="save it as UTF-8; PowerShell: -Encoding utf8"
        )
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for start in range(0, len(view), _CHUNK_BYTES):
        carried = len(decoder.getstate()[0])
        end = start + _CHUNK_BYTES
        try:
            decoder.decode(view[start:end], final=end >= len(view))
        except UnicodeDecodeError as error:
            offset = start - carried + error.start
            line, column = line_and_column(data, offset)
            raise InputError(
                f"byte {offset} (0x{data[offset]:02x}) is not UTF-8",
                where=f"{name}:{line}:{column}",
                remedy="save the file as UTF-8",
            ) from None


def folder_files(folder: str, limits: Limits) -> list[str]:
    """The JSON and YAML files below a folder by name, hidden ones and links to folders left out."""
    found: list[str] = []
    folders = [(folder, 0)]
    entries = 0
    while folders:
        current, depth = folders.pop()
        if depth > limits.folder_depth_max:
            raise InputError(
                f"more than {limits.folder_depth_max} folders inside each other",
                where=one_line(current),
                remedy="name a folder nearer to the files",
            )
        try:
            with os.scandir(current) as listing:
                for entry in listing:
                    entries += 1
                    _check_count(entries, limits.entries_max, "names", folder)
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append((entry.path, depth + 1))
                    elif entry.name.lower().endswith(_ENDINGS) and entry.is_file():
                        found.append(entry.path)
                        _check_count(len(found), limits.files_max, "files", folder)
        except OSError as error:
            raise _unreadable(error, current) from None
    if not found:
        raise InputError(
            "no .json, .yaml or .yml file in this folder",
            where=one_line(folder),
            remedy="name another folder",
        )
    return sorted(found, key=lambda name: Path(name).parts)


def _check_count(count: int, most: int, what: str, folder: str) -> None:
    """Refuse a folder that holds too much."""
    if count > most:
        raise InputError(
            f"more than {most} {what} in this folder",
            where=one_line(folder),
            remedy="name a smaller folder",
        )


def _read_standard_input(stdin: BinaryIO | None, limits: Limits) -> InputFile:
    """All of standard input, or of the stream that stands for it."""
    stream = stdin or getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise InputError("closed", where=STANDARD_INPUT, remedy="name a file, or pipe a dump in")
    try:
        return InputFile(STANDARD_INPUT, _read_stream(stream, STANDARD_INPUT, limits))
    except OSError as error:
        raise _unreadable(error, STANDARD_INPUT) from None


def _read_file(path: str, limits: Limits) -> InputFile:
    """One file, decompressed when its first bytes say gzip."""
    name = one_line(path)
    try:
        with Path(path).open("rb", buffering=0) as stream:
            status = os.fstat(stream.fileno())
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                raise InputError("is a device", where=name, remedy="name a file, or use - for standard input")
            if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
                return InputFile(name, _read_stream(stream, name, limits))
            if status.st_size > limits.file_bytes_max:
                raise _too_large(name, limits)
            magic = stream.read(len(_GZIP_MAGIC))
            stream.seek(0)
            if magic == _GZIP_MAGIC:
                return InputFile(name, _read_stream(stream, name, limits))
            return InputFile(name, stream.readall())
    except OSError as error:
        raise _unreadable(error, path) from None


def _read_stream(stream: BinaryIO | FileIO, name: str, limits: Limits) -> bytearray:
    """All of a stream of unknown length, decompressed when its first bytes say gzip."""
    data = bytearray()
    chunks = _chunks(stream, name, limits)
    first = b""
    while len(first) < len(_GZIP_MAGIC) and (chunk := next(chunks, b"")):
        first += chunk
    chunks = itertools.chain((first,), chunks)
    for chunk in _decompressed(chunks, name) if first.startswith(_GZIP_MAGIC) else chunks:
        data += chunk
        if len(data) > limits.file_bytes_max:
            raise _too_large(name, limits)
    return data


def _chunks(stream: BinaryIO | FileIO, name: str, limits: Limits) -> Iterator[bytes]:
    """The stream in pieces, as far as the limit."""
    total_bytes = 0
    while chunk := stream.read(_CHUNK_BYTES):
        total_bytes += len(chunk)
        if total_bytes > limits.file_bytes_max:
            raise _too_large(name, limits)
        yield chunk


def _decompressed(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The content of gzip data of one or more members, never more than a chunk at a time."""
    member = zlib.decompressobj(_GZIP_WINDOW_BITS)
    try:
        for chunk in chunks:
            rest = chunk
            while rest:
                if member.eof:
                    rest = rest.lstrip(b"\0")
                    if not rest:
                        break
                    member = zlib.decompressobj(_GZIP_WINDOW_BITS)
                yield member.decompress(rest, _CHUNK_BYTES)
                rest = member.unused_data if member.eof else member.unconsumed_tail
        while tail := member.decompress(b"", _CHUNK_BYTES):
            yield tail
    except zlib.error:
        raise InputError("damaged gzip data", where=name, remedy="compress the file again") from None
    if not member.eof:
        raise InputError("the gzip data is cut off", where=name, remedy="copy or compress the file again")


def _too_large(name: str, limits: Limits) -> InputError:
    """The refusal of a file that is over the limit."""
    most = size_text(limits.file_bytes_max)
    return InputError(
        f"more than {most} of text", where=name, remedy="dump fewer namespaces or kinds at a time"
    )


def _unreadable(error: OSError, path: str) -> InputError:
    """A failure of the operating system as an InputError."""
    reason = (error.strerror or str(error)).lower()
    return InputError(
        f"cannot be read: {reason}", where=one_line(path), remedy=_REMEDIES.get(error.errno or 0, "")
    )
