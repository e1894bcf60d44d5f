"""JSON text: where one value ends and the next begins, and what is wrong with text that is none.

The hard thing: kubectl may write several values one after the other, and a dump is too large to look at byte
by byte. msgspec finds the end of a value at a gigabyte per second, and says where it met more text.

A key that stands twice in one object is accepted and the last one wins, as with every reader of Kubernetes'
own JSON. reject_duplicate_keys is for files that people write.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ullage.model.errors import InputError
from ullage.sources.limits import DEFAULT_LIMITS, Limits, size_text
from ullage.sources.places import Bytes, duplicate_key, line_and_column

_LOOKS_LIKE_JSON: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*+(?:\{\s*+(?:["}]|\Z)|\[\s*+(?:[\[{"\]]|\Z))')
_SPACE: Final = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+")
_TOKEN: Final = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+"?)(\s*+:)?|[\[\]{}]', re.DOTALL)
_PROBLEM: Final = re.compile(r"JSON is malformed: (.*) \(byte (\d+)\)\Z", re.DOTALL)
_TRAILING: Final = "trailing characters"
_SKIPPER: Final = msgspec.json.Decoder(msgspec.Raw)


def looks_like_json(data: Bytes) -> bool:
    """Whether text begins as JSON objects and lists do; YAML that begins so is rare, and mostly JSON too."""
    return _LOOKS_LIKE_JSON.match(data) is not None


def is_json(data: Bytes) -> bool:
    """Whether all of the text is JSON values."""
    try:
        return all(True for _ in iter_json_values(data, ""))
    except InputError:
        return False


def iter_json_values(data: Bytes, source: str) -> Iterator[memoryview]:
    """The values that stand one after the other in a text, each as a view of its bytes; nothing is copied."""
    view = memoryview(data)
    start = value_start(data, 0)
    while start < len(data):
        end = value_end(data, start, source)
        yield view[start:end]
        start = end


def value_start(data: Bytes, offset: int) -> int:
    """The offset of the next value, past white space and a byte-order mark; the end when there is none."""
    match = _SPACE.match(data, offset)
    return match.end() if match else offset


def value_end(data: Bytes, start: int, source: str) -> int:
    """The offset after the value that begins at `start` and the white space behind it."""
    try:
        _SKIPPER.decode(memoryview(data)[start:])
    except msgspec.DecodeError as error:
        end = trailing_offset(error)
        if end is None:
            raise malformed(error, data, start, source) from None
        return start + end
    except RecursionError:
        raise too_deep(data, start, source) from None
    return len(data)


def trailing_offset(error: msgspec.DecodeError) -> int | None:
    """Where msgspec met more text behind a complete value; None when it complains of something else."""
    match = _PROBLEM.match(str(error))
    return int(match[2]) - 1 if match and match[1] == _TRAILING else None


def malformed(error: msgspec.DecodeError, data: Bytes, start: int, source: str) -> InputError:
    """The InputError for text that is no JSON; `start` is where msgspec began to read."""
    match = _PROBLEM.match(str(error))
    if match is None:
        line, _ = line_and_column(data, len(data))
        return InputError(
            f"truncated at byte {len(data)} (line {line}): the JSON ends inside a value",
            where=source,
            remedy="was the dump cut off? run kubectl again",
        )
    line, column = line_and_column(data, min(start + int(match[2]), len(data)))
    what = f"malformed JSON: {match[1]}"
    return InputError(what, where=f"{source}:{line}:{column}", remedy="correct it, or run kubectl again")


def too_deep(data: Bytes, start: int, source: str, limits: Limits = DEFAULT_LIMITS) -> InputError:
    """The InputError for text that msgspec gave up on because it is nested too deeply."""
    depth = 0
    tokens = _TOKEN.finditer(data, start) if len(data) - start <= limits.strict_bytes_max else ()
    for token in tokens:
        depth += (token[0] in b"[{") - (token[0] in b"]}")
        if depth > limits.depth_max:
            line, column = line_and_column(data, token.start())
            source = f"{source}:{line}:{column}"
            break
    return InputError(f"nested deeper than {limits.depth_max} levels", where=source, remedy="flatten it")


def reject_duplicate_keys(
    data: Bytes, source: str, limits: Limits = DEFAULT_LIMITS, *, start: int = 0, end: int | None = None
) -> None:
    """Refuse JSON in which an object has a key twice, naming both places; for files of moderate size."""
    end = len(data) if end is None else end
    if end - start > limits.strict_bytes_max:
        most = size_text(limits.strict_bytes_max)
        raise InputError(f"more than {most} in one JSON document", where=source, remedy="split the file")
    start = value_start(data, start)
    while start < end:
        value = memoryview(data)[start : value_end(data, start, source)]
        try:
            _STRICT.decode(str(value, "utf-8"))
        except _DuplicateKeyError:
            key, *offsets = next(_duplicates(data, start))
            first, second = (line_and_column(data, offset) for offset in offsets)
            raise duplicate_key(key, source, second, first) from None
        except RecursionError:
            raise too_deep(data, start, source, limits) from None
        start += len(value)


class _DuplicateKeyError(Exception):
    """An object has a key twice."""


def _no_duplicates(pairs: list[tuple[str, Any]]) -> None:
    """Look at one object's keys; its values are of no interest."""
    if len(dict(pairs)) != len(pairs):
        raise _DuplicateKeyError


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_no_duplicates, parse_int=len, parse_float=len, parse_constant=len, strict=False
)


def _duplicates(data: Bytes, start: int) -> Iterator[tuple[str, int, int]]:
    """Each key of JSON that its object already has, with the offsets of its first place and of this one."""
    objects: list[dict[str, int]] = []
    for token in _TOKEN.finditer(data, start):
        if token[0] in b"[{":
            objects.append({})
        elif token[0] in b"]}":
            objects.pop()
        elif token[2] is not None:
            key = json.loads(token[1], strict=False)
            first = objects[-1].setdefault(key, token.start())
            if first != token.start():
                yield key, first, token.start()
