"""Documents: what every source reads, JSON or YAML, from a file, a folder or standard input.

A document is decoded into a typed record by a msgspec decoder, `document.decode(DECODER)`; unknown fields are
the record's business, wrong ones become an InputError that names file, document, path and, in YAML, line and
column. `document.error(...)` makes such an error for what a source finds wrong later.

The hard thing: a dump of 420 MiB is nearly always one JSON value, so it is decoded straight from the bytes of
the file. Only when msgspec meets more text behind the first value are the others looked for. The YAML reader
is imported where YAML is met.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final, TypeVar

import msgspec

from ullage.model.errors import InputError
from ullage.sources.decode_errors import describe, find_path, inner_path, place_text, take_apart
from ullage.sources.input_files import STANDARD_INPUT, InputFile, read_files, require_utf8
from ullage.sources.json_text import (
    is_json,
    looks_like_json,
    malformed,
    reject_duplicate_keys,
    too_deep,
    trailing_offset,
    value_end,
    value_start,
)
from ullage.sources.limits import ASKED_LIMITS, DEFAULT_LIMITS, Limits
from ullage.sources.places import Bytes, Path, one_line, parse_path

Record = TypeVar("Record")

_YAML_ENDINGS: Final = (".yaml", ".yml", ".yaml.gz", ".yml.gz")
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


class Document(ABC):
    """One document of an input: the file it stands in and its position there, from 0."""

    def __init__(self, source: str, index: int) -> None:
        self.source = source
        self.index = index

    @abstractmethod
    def decode(self, decoder: msgspec.json.Decoder[Record]) -> Record:
        """The document as the decoder's type; the decoder's `strict` and `dec_hook` count for YAML too."""

    @abstractmethod
    def reject_duplicate_keys(self) -> None:
        """Refuse a mapping that has a key twice: YAML never gets this far with one, JSON is checked now."""

    def where(self, path: Path | str = ()) -> str:
        """A place in the document as messages name it."""
        return place_text(self.source, self.index, parse_path(path) if isinstance(path, str) else path)

    def error(self, what: str, *, path: Path | str = (), remedy: str = "") -> InputError:
        """An InputError about a place in the document."""
        return InputError(what, where=self.where(path), remedy=remedy)


class JsonDocument(Document):
    """A JSON value in the bytes of its file; where it ends may not be known yet."""

    def __init__(self, file: InputFile, index: int, start: int, end: int | None, limits: Limits) -> None:
        super().__init__(file.name, index)
        self.data = file.data
        self.start = start
        self.known_end = end
        self.limits = limits

    @property
    def end(self) -> int:
        """The offset after the value and the white space behind it."""
        if self.known_end is None:
            self.known_end = value_end(self.data, self.start, self.source)
        return self.known_end

    def decode(self, decoder: msgspec.json.Decoder[Record]) -> Record:
        """The value as the decoder's type."""
        try:
            return self._decode(decoder)
        except msgspec.ValidationError as error:
            complaint = take_apart(error)
            path = (*find_path(complaint, self._value_at), *inner_path(error))
            raise describe(error, complaint, self.where(path), decoder.type, path) from None
        except msgspec.DecodeError as error:
            raise malformed(error, self.data, self.start, self.source) from None
        except RecursionError:
            raise too_deep(self.data, self.start, self.source, self.limits) from None

    def _decode(self, decoder: msgspec.json.Decoder[Record]) -> Record:
        """Decode the rest of the text in the hope that it is one value, else the value alone."""
        view = memoryview(self.data)
        if self.known_end is None:
            try:
                record = decoder.decode(view[self.start :])
            except msgspec.DecodeError as error:
                length = trailing_offset(error)
                if length is None:
                    raise
                self.known_end = self.start + length
            else:
                self.known_end = len(self.data)
                return record
        return decoder.decode(view[self.start : self.known_end])

    def reject_duplicate_keys(self) -> None:
        """Refuse an object that has a key twice."""
        reject_duplicate_keys(self.data, self.source, self.limits, start=self.start, end=self.end)

    def _value_at(self, path: Path) -> Any:
        """The value at a path, or None when it is absent or too large to be looked at for a message."""
        part: Any = memoryview(self.data)[self.start : self.end]
        try:
            for step in path:
                part = _LIST.decode(part)[step] if isinstance(step, int) else _OBJECT.decode(part)[step]
            return msgspec.json.decode(part) if len(part) <= self.limits.strict_bytes_max else None
        except (msgspec.DecodeError, LookupError, RecursionError):
            return None


class YamlDocument(Document):
    """A YAML document, already made of plain values; its text is kept to find lines and columns in it."""

    def __init__(self, file: InputFile, index: int, value: Any) -> None:
        super().__init__(file.name, index)
        self.data = file.data
        self.value = value

    def decode(self, decoder: msgspec.json.Decoder[Record]) -> Record:
        """The values as the decoder's type."""
        try:
            return msgspec.convert(
                self.value, decoder.type, strict=decoder.strict, dec_hook=decoder.dec_hook, str_keys=True
            )
        except msgspec.ValidationError as error:
            complaint = take_apart(error)
            path = (*find_path(complaint, self._value_at), *inner_path(error))
            raise describe(error, complaint, self.where(path), decoder.type, path) from None

    def where(self, path: Path | str = ()) -> str:
        """A place in the document with its line and column."""
        from ullage.sources.yaml_places import find_place

        steps = parse_path(path) if isinstance(path, str) else path
        place = find_place(bytes(self.data), self.index, steps).value
        source = f"{self.source}:{place[0]}:{place[1]}" if place else self.source
        return place_text(source, self.index, steps)

    def reject_duplicate_keys(self) -> None:
        """Nothing to do: a key that stands twice was refused when the text was read."""

    def _value_at(self, path: Path) -> Any:
        """The value at a path, or None when it is absent."""
        value = self.value
        try:
            for step in path:
                value = value[step]
        except (LookupError, TypeError):
            return None
        return value


def read_documents(
    path: str,
    *,
    limits: Limits = ASKED_LIMITS,
    stdin: BinaryIO | None = None,
    on_file: Callable[[InputFile], None] | None = None,
) -> Iterator[Document]:
    """The documents of a file, of a folder's JSON and YAML files by name, or of standard input (`-`).

    Files are read one at a time as the documents are asked for; an input without a document is an error.
    The limits are those of manifests unless others are given; `on_file` sees each file before its documents.
    """
    count = 0
    for file in read_files(path, limits, stdin=stdin):
        if on_file is not None:
            on_file(file)
        for document in documents_of(file.data, file.name, limits=limits):
            count += 1
            if count > limits.documents_max:
                raise InputError(
                    f"more than {limits.documents_max} documents",
                    where=document.source,
                    remedy="read fewer at a time, or put the objects into one List",
                )
            yield document
    if not count:
        where = STANDARD_INPUT if path == "-" else one_line(path)
        raise InputError(
            "empty: no document",
            where=where,
            remedy="expected JSON or YAML; was the dump cut off? run kubectl again",
        )


def documents_of(data: Bytes, source: str, *, limits: Limits = DEFAULT_LIMITS) -> Iterator[Document]:
    """The documents of text in memory, JSON or YAML by what it looks like; `source` names it in messages."""
    file = InputFile(source, data)
    require_utf8(file)
    named_yaml = source.lower().endswith(_YAML_ENDINGS)
    if looks_like_json(data) and not (named_yaml and not is_json(data)):
        yield from _json_documents(file, limits)
    else:
        from ullage.sources.yaml_text import iter_yaml_values

        for index, value in iter_yaml_values(data, source, limits):
            yield YamlDocument(file, index, value)


def _json_documents(file: InputFile, limits: Limits) -> Iterator[Document]:
    """The values of JSON text; the first is given out before its end is known, the others after."""
    start = value_start(file.data, 0)
    document = JsonDocument(file, 0, start, None, limits)
    yield document
    while document.end < len(file.data):
        start = document.end
        document = JsonDocument(
            file, document.index + 1, start, value_end(file.data, start, file.name), limits
        )
        yield document
