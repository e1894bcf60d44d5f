"""Places in documents: paths such as `spec.containers[0].name`, and where they stand as line and column.

The hard thing: positions cost more than the values themselves, so none are kept while reading. Only when a
message needs one is the text parsed again, as far as the path leads.
"""

import re
from typing import TypeAlias

from ullage.model.errors import InputError

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the root of a document."""

Position: TypeAlias = tuple[int, int]
"""Line and column, from 1."""

Bytes: TypeAlias = bytes | bytearray

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_STEP = re.compile(r'\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(\d{1,9})\]|\["((?:[^"\\]|\\.)*)"\]')
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHOWN_CHARACTERS_MAX = 60
_COLUMN_BYTES_MAX = 1 << 20


def one_line(text: str) -> str:
    """Text from outside as a message may show it: on one line, control characters escaped."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def shown(text: str) -> str:
    """Text from an input as a message may quote it: on one line, and not all of it when it is long."""
    if len(text) > _SHOWN_CHARACTERS_MAX:
        text = text[: _SHOWN_CHARACTERS_MAX - 1] + "…"
    return one_line(text)


def path_text(path: Path) -> str:
    """A path as messages show it: `spec.containers[0].resources.requests["nvidia.com/gpu"]`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_KEY.match(step):
            parts.append(f".{step}" if parts else step)
        else:
            quoted = step.replace("\\", "\\\\").replace('"', '\\"')
            parts.append(f'["{shown(quoted)}"]')
    return "".join(parts)


def parse_path(text: str) -> Path:
    """Read a path as path_text writes it; ValueError when it is none."""
    steps: list[str | int] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or (match[1] and (match[0][0] == ".") != bool(steps)):
            raise ValueError(f"not a path at character {position + 1}: {shown(text)}")
        plain, number, quoted = match.groups()
        if number is not None:
            steps.append(int(number))
        else:
            steps.append(plain if plain is not None else re.sub(r"\\(.)", r"\1", quoted))
        position = match.end()
    return tuple(steps)


def line_and_column(data: Bytes, offset: int) -> Position:
    """The line and column, from 1, of a byte of UTF-8 text; columns of an enormous line are bytes."""
    line_start = data.rfind(b"\n", 0, offset) + 1
    line = data.count(b"\n", 0, line_start) + 1
    if offset - line_start > _COLUMN_BYTES_MAX:
        return line, offset - line_start + 1
    return line, len(data[line_start:offset].decode("utf-8", "replace")) + 1


def duplicate_key(key: str, source: str, second: Position, first: Position | None) -> InputError:
    """The InputError for a key that its mapping already has."""
    seen = f" (first at {first[0]}:{first[1]})" if first else ""
    return InputError(
        f'key "{shown(key)}" is given twice{seen}',
        where=f"{source}:{second[0]}:{second[1]}",
        remedy="keep one of them",
    )
