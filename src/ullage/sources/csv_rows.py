"""CSV text as rows of named fields, each value with the line and the column that it stands in.

The hard part is to say where: a quoted field may hold line ends, so the reader's own line count is used, and
every message names line and column.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Final

from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX
from ullage.sources.places import Bytes, one_line, shown

ROWS_MAX: Final = 5_000_000
FIELDS_MAX: Final = 200
_FIELD_CHARACTERS_MAX: Final = 65_536
_INK: Final = re.compile(rb"\S")
_REMEDY: Final = "write comma-separated values with a first line that names the columns"


class Line:
    """One row: its fields by the name of their column."""

    __slots__ = ("fields", "number", "source")

    def __init__(self, source: str, number: int, fields: Mapping[str, str]) -> None:
        self.source = source
        self.number = number
        self.fields = fields

    def text(self, column: str, default: str = "") -> str:
        """Return a field, or the default where it is empty or there is no such column."""
        return self.fields.get(column, "").strip() or default

    def required(self, column: str) -> str:
        """Return a field that may not be empty."""
        text = self.text(column)
        if not text:
            raise self.error(column, "is empty", "fill it in")
        return text

    def whole(self, column: str, default: int = 0) -> int:
        """Return a field as a whole number from 0 on."""
        text = self.text(column)
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= INT64_MAX):
            raise self.error(column, f"{shown(text)!r} is no whole number", "use digits only")
        return int(text)

    def error(self, column: str, what: str, remedy: str) -> InputError:
        """Return an error about a field of this line."""
        return InputError(what, where=f"{self.source}:{self.number}: {column}", remedy=remedy)


def read_header(data: Bytes, source: str) -> tuple[str, ...]:
    """Return the names of the columns; empty where the first line names none."""
    begins = _INK.search(data)
    start = begins.start() if begins else 0
    head = bytes(data[start : start + _FIELD_CHARACTERS_MAX]).decode("utf-8-sig", "replace")
    try:
        return _columns(csv.reader(io.StringIO(head, newline="")))
    except csv.Error as error:
        raise InputError(str(error), where=f"{source}:1", remedy=_REMEDY) from None


def read_lines(data: Bytes, source: str) -> Iterator[Line]:
    """Yield the rows behind the header; a line that is empty is passed over, also before it."""
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline="")
    reader = csv.reader(text, strict=True)
    try:
        columns = _columns(reader)
        _check_columns(columns, source)
        for count, row in enumerate(reader):
            if count >= ROWS_MAX:
                raise InputError(f"more than {ROWS_MAX} lines", where=source, remedy="split the file")
            if _is_blank(row):
                continue
            if len(row) != len(columns):
                raise InputError(
                    f"{len(row)} fields where the first line names {len(columns)}",
                    where=f"{source}:{reader.line_num}",
                    remedy="give every line the same fields, empty ones too",
                )
            yield Line(source, reader.line_num, dict(zip(columns, row, strict=True)))
    except csv.Error as error:
        raise InputError(one_line(str(error)), where=f"{source}:{reader.line_num}", remedy=_REMEDY) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", where=source, remedy="save the file as UTF-8") from None


def _columns(rows: Iterator[list[str]]) -> tuple[str, ...]:
    """Return the names in the first line that has any."""
    names = next((row for row in rows if not _is_blank(row)), [])
    return tuple(name.strip() for name in names)


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _check_columns(columns: tuple[str, ...], source: str) -> None:
    if not columns or len(columns) > FIELDS_MAX:
        raise InputError(
            f"{len(columns)} columns", where=f"{source}:1", remedy=f"name 1 to {FIELDS_MAX} columns"
        )
    for position, name in enumerate(columns):
        if not name or name in columns[:position]:
            what = f"column {shown(name)!r} is there twice" if name else f"column {position + 1} has no name"
            raise InputError(what, where=f"{source}:1", remedy="give each column its own name")
