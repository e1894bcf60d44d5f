"""What is wrong inside an object, and the path to it from the object's root.

The hard thing: the reader of a container's resources knows neither its pod nor its file, and the same text
may stand in a thousand pods. So a fault carries the path as far as it is known and gains steps on its way
out; the reader of the document, which knows file, line and column, makes the one-line error of it.
"""

from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from ullage.model.errors import InputError
from ullage.sources.decode_errors import describe, find_path, take_apart
from ullage.sources.documents import Document
from ullage.sources.places import Path, path_text

Value = TypeVar("Value")
_NULL: Final = b"null"


class Fault(Exception):  # noqa: N818 - never shown: it becomes an InputError at the edge of its document
    """An error without a place, and the path that leads to it."""

    def __init__(self, error: InputError, path: Path = ()) -> None:
        super().__init__(error, path)
        self.error = error
        self.path = path

    def under(self, *steps: str | int) -> "Fault":
        """The same fault, its path seen from further out."""
        return Fault(self.error, (*steps, *self.path))

    def in_document(self, document: Document, path: Path) -> InputError:
        """The error with its place, for an object that stands at a path of a document."""
        return self._at(document.where((*path, *self.path)))

    def alone(self) -> InputError:
        """The error with its path, for an object that stands in no document."""
        return self._at(path_text(self.path))

    def _at(self, where: str) -> InputError:
        inner = f"{where}: {self.error.where}" if self.error.where else where
        return InputError(self.error.what, where=inner, remedy=self.error.remedy)


def wrong_type(error: msgspec.ValidationError, text: bytes, kind: Any = None) -> Fault:
    """The fault that msgspec found in JSON text, which was to be of a type."""
    complaint = take_apart(error)
    found = find_path(complaint, lambda path: _value_at(text, path))
    return Fault(describe(error, complaint, "", kind, found), found)


def decoded(decoder: msgspec.json.Decoder[Value], text: Raw | bytes) -> Value:
    """The value of JSON text, in which fields that are null count as not there; raises a Fault."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        plain = bytes(text)
        if _NULL in plain:
            try:
                return decoder.decode(msgspec.json.encode(_without_nulls(msgspec.json.decode(plain))))
            except msgspec.ValidationError:
                pass  # the message is about the text as it was written
        raise wrong_type(error, plain, decoder.type) from None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value


def _value_at(text: bytes, path: Path) -> Any:
    value = msgspec.json.decode(text)
    try:
        for step in path:
            value = value[step]
    except (LookupError, TypeError):
        return None
    return value
