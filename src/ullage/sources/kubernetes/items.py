"""Objects of documents: a list is its items, anything else is itself; each with its kind and its place.

The hard thing: a list of 30 000 pods is read part by part (list_parts.py), and the pods and nodes of a
part, which are nearly all there is, are decoded at once by a decoder that knows them by their kind. A part
that holds anything else, or anything wrong, is read object by object: cut into texts first, then each text
is decoded by the decoder of its kind, so that a message can name its place.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeVar, cast

import msgspec
from msgspec import Raw

from ullage.model.errors import InputError
from ullage.sources.decode_errors import place_text
from ullage.sources.documents import Document, JsonDocument, YamlDocument
from ullage.sources.kubernetes.faults import Fault, decoded, wrong_type
from ullage.sources.kubernetes.list_parts import PART_BYTES, LongList, long_list, parts_of
from ullage.sources.kubernetes.wire import NULL, NodeWire, PodWire, Wire
from ullage.sources.places import Path

LISTS_DEPTH_MAX: Final = 4
"""Lists inside lists: kubectl writes one, a careful person may write two."""

Record = TypeVar("Record")

_LIST_ENDING: Final = "List"
_CORE_VERSION: Final = "v1"
_KIND_FIRST: Final = re.compile(
    rb'\s*\{\s*"apiVersion"\s*:\s*"([^"\\]{1,300})"\s*,\s*"kind"\s*:\s*"([^"\\]{1,300})"\s*,'
)


class _ListMetadata(Wire):
    continue_: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _Head(Wire):
    api_version: str | None = None
    kind: str | None = None
    metadata: Raw = NULL
    items: list[Raw] | msgspec.UnsetType | None = msgspec.UNSET


class _KindOnly(Wire):
    api_version: str | None = None
    kind: str | None = None


class _PodItem(PodWire, tag_field="kind", tag="Pod"):
    api_version: str = ""


class _NodeItem(NodeWire, tag_field="kind", tag="Node"):
    api_version: str = ""


_HEAD: Final = msgspec.json.Decoder(_Head)
_KIND: Final = msgspec.json.Decoder(_KindOnly)
_LIST_METADATA: Final = msgspec.json.Decoder(_ListMetadata | None)
_WHOLE: Final = msgspec.json.Decoder(Raw)
_TEXTS: Final = msgspec.json.Decoder(list[Raw])
_PODS_AND_NODES: Final = msgspec.json.Decoder(list[_PodItem | _NodeItem])


class Kind(NamedTuple):
    """The kind of an object and the API group it belongs to, `` for the core group."""

    group: str
    name: str


POD: Final = Kind("", "Pod")
NODE: Final = Kind("", "Node")


class Item(NamedTuple):
    """One object: its kind, its JSON text or what was decoded from it, and where it stands."""

    kind: Kind
    api_version: str
    content: Raw | bytes | Wire
    document: Document
    path: Path

    def decode(self, decoder: msgspec.json.Decoder[Record]) -> Record:
        """The object as the decoder's type; raises a Fault."""
        content = self.content
        if isinstance(content, Wire):
            return cast("Record", content)  # a pod or a node, as its kind says
        return decoded(decoder, content)

    def place(self) -> str:
        """Where the object stands, without line and column."""
        return place_text(self.document.source, self.document.index, self.path)

    def error(self, what: str, remedy: str) -> InputError:
        """An error about the object as a whole."""
        return self.document.error(what, path=self.path, remedy=remedy)

    def refusal(self, problem: Fault | RecursionError) -> InputError:
        """The error for what was found wrong inside the object."""
        if isinstance(problem, Fault):
            return problem.in_document(self.document, self.path)
        return self.error("lists and mappings nested too deeply", "flatten them")


class Page(NamedTuple):
    """The end of a list: what it lists, and whether the API said that more follows."""

    kind: Kind
    place: str
    continues: bool
    remaining: int | None


def kind_of(api_version: str, name: str) -> Kind:
    """The kind that an apiVersion and a kind name."""
    group, slash, _ = api_version.rpartition("/")
    return Kind(group if slash else "", name)


def items_of(
    document: Document, *, in_parts: bool = True, part_bytes: int = PART_BYTES
) -> Iterator[Item | Page]:
    """The objects of a document in order, and a Page after those of each list; raises an InputError.

    In parts, the pods and nodes of a long list come decoded; otherwise every item is text.
    """
    if isinstance(document, YamlDocument):
        text = _yaml_text(document)
        yield from _items(_decoded_head(text, document, ()), text, document, ())
        return
    skipped = 0
    found = None
    if in_parts and isinstance(document, JsonDocument):
        found = long_list(document.data, document.start, document.known_end, part_bytes)
    if found is not None and isinstance(document, JsonDocument):
        try:
            for item in _items_of_parts(document, found, part_bytes):
                yield item
                skipped += 1
        except _NotALongListError:
            pass
        else:
            document.known_end = found.after
            return
    head = document.decode(_HEAD)
    content = b"" if _is_list(head) else document.decode(_WHOLE)
    for position, item in enumerate(_items(head, content, document, ())):
        if position >= skipped:
            yield item


class _NotALongListError(Exception):
    """The text does not consist of the parts that it was cut into."""


def _items_of_parts(document: JsonDocument, found: LongList, part_bytes: int) -> Iterator[Item | Page]:
    """The items of a long list, part by part."""
    head = _decoded_head(found.frame, document, ())
    reading = _ListReading(head, document, ())
    for part in parts_of(document.data, found, part_bytes):
        try:
            records = _PODS_AND_NODES.decode(part)
        except (msgspec.DecodeError, RecursionError):
            records = None
        if records is not None and all(record.api_version == _CORE_VERSION for record in records):
            yield from reading.decoded(records)
            continue
        try:
            texts = _TEXTS.decode(part)
        except (msgspec.DecodeError, RecursionError):
            raise _NotALongListError from None
        yield from reading.items(texts)
    yield reading.page()


def _yaml_text(document: YamlDocument) -> bytes:
    """YAML as JSON text, so that one decoder reads both."""
    try:
        return msgspec.json.encode(document.value)
    except UnicodeEncodeError:
        raise document.error("a character that UTF-8 does not have", remedy="remove its escape") from None


def _decoded_head(text: Raw | bytes, document: Document, path: Path) -> _Head:
    try:
        return _HEAD.decode(text)
    except msgspec.ValidationError as error:
        raise wrong_type(error, bytes(text)).in_document(document, path) from None


def _is_list(head: _Head) -> bool:
    """Whether it lists others: a custom kind whose name ends so (IPAllowList) has no items."""
    return head.items is not msgspec.UNSET and str(head.kind).endswith(_LIST_ENDING)


def _items(
    head: _Head, content: Raw | bytes, document: Document, path: Path, depth: int = 0
) -> Iterator[Item | Page]:
    if not head.kind:
        remedy = "expected Kubernetes objects; add apiVersion and kind"
        raise document.error("the object has no kind", path=path, remedy=remedy)
    if _is_list(head):
        reading = _ListReading(head, document, path, depth)
        yield from reading.items(head.items or ())
        yield reading.page()
    else:
        api_version = head.api_version or ""
        yield Item(kind_of(api_version, head.kind), api_version, content, document, path)


class _ListReading:
    """The reading of one list: what it lists, and the position of the next item."""

    def __init__(self, head: _Head, document: Document, path: Path, depth: int = 0) -> None:
        self._head = head
        self._document = document
        self._path = path
        self._depth = depth
        self._api_version = head.api_version or ""
        group, name = kind_of(self._api_version, str(head.kind))
        self._listed = Kind(group, name.removesuffix(_LIST_ENDING))
        self._kinds: dict[tuple[bytes, ...], tuple[Kind, str]] = {}
        self._index = 0
        if depth >= LISTS_DEPTH_MAX:
            what = f"more than {LISTS_DEPTH_MAX} lists inside each other"
            raise document.error(what, path=path, remedy="flatten them")

    def decoded(self, records: Sequence[_PodItem | _NodeItem]) -> Iterator[Item]:
        """The next items, decoded already."""
        document, path = self._document, self._path
        for record in records:
            kind = POD if type(record) is _PodItem else NODE
            yield Item(kind, _CORE_VERSION, record, document, (*path, "items", self._index))
            self._index += 1

    def items(self, texts: Sequence[Raw]) -> Iterator[Item | Page]:
        """The next items, from their texts."""
        for text in texts:
            path = (*self._path, "items", self._index)
            self._index += 1
            kind, api_version = self._kind(text, path)
            if kind.name.endswith(_LIST_ENDING):
                head = _decoded_head(text, self._document, path)
                yield from _items(head, text, self._document, path, self._depth + 1)
            else:
                yield Item(kind, api_version, text, self._document, path)

    def page(self) -> Page:
        """The end of the list."""
        text = bytes(self._head.metadata)
        try:
            metadata = _LIST_METADATA.decode(text) or _ListMetadata()
        except msgspec.ValidationError as error:
            fault = wrong_type(error, text).under("metadata")
            raise fault.in_document(self._document, self._path) from None
        place = place_text(self._document.source, self._document.index, self._path)
        return Page(self._listed, place, bool(metadata.continue_), metadata.remaining_item_count)

    def _kind(self, text: Raw, path: Path) -> tuple[Kind, str]:
        """The kind of an item, which kubectl writes first; a list of pods need not say it of each."""
        found = _KIND_FIRST.match(text)
        if found is not None:
            stated = found.groups()
            known = self._kinds.get(stated)
            if known is None:
                api_version, name = (part.decode() for part in stated)
                known = self._kinds[stated] = (kind_of(api_version, name), api_version)
            return known
        if self._listed.name:
            return self._listed, self._api_version
        try:
            only = _KIND.decode(text)
        except msgspec.ValidationError as error:
            raise wrong_type(error, bytes(text)).in_document(self._document, path) from None
        if not only.kind:
            raise self._document.error("the object has no kind", path=path, remedy="add apiVersion and kind")
        api_version = only.api_version or ""
        return kind_of(api_version, only.kind), api_version
