"""Objects of documents: a list is its items, anything else is itself; each with its kind and its place.

The hard thing: a list of 30 000 pods is cut into the texts of its items in one pass, without looking inside;
only then is each decoded by the decoder of its kind. What kind that is stands at the beginning of each item
as kubectl writes it, or follows from the kind of the list.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from ullage.model.errors import InputError
from ullage.sources.decode_errors import place_text
from ullage.sources.documents import Document, YamlDocument
from ullage.sources.kubernetes.faults import wrong_type
from ullage.sources.kubernetes.wire import NULL, Wire
from ullage.sources.places import Path

LISTS_DEPTH_MAX: Final = 4
"""Lists inside lists: kubectl writes one, a careful person may write two."""

_LIST_ENDING: Final = "List"
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
    items: list[Raw] | None | msgspec.UnsetType = msgspec.UNSET


class _KindOnly(Wire):
    api_version: str | None = None
    kind: str | None = None


_HEAD: Final = msgspec.json.Decoder(_Head)
_KIND: Final = msgspec.json.Decoder(_KindOnly)
_LIST_METADATA: Final = msgspec.json.Decoder(_ListMetadata | None)
_WHOLE: Final = msgspec.json.Decoder(Raw)


class Kind(NamedTuple):
    """The kind of an object and the API group it belongs to, `` for the core group."""

    group: str
    name: str


class Item(NamedTuple):
    """One object: its kind, its JSON text, and where it stands."""

    kind: Kind
    api_version: str
    text: Raw | bytes
    document: Document
    path: Path

    def decode(self, decoder: msgspec.json.Decoder[msgspec.Struct]) -> msgspec.Struct:
        """The object as the decoder's type; raises a Fault."""
        try:
            return decoder.decode(self.text)
        except msgspec.ValidationError as error:
            raise wrong_type(error, bytes(self.text)) from None

    def place(self) -> str:
        """Where the object stands, without its line: cheap enough to be kept for every object."""
        return place_text(self.document.source, self.document.index, self.path)

    def error(self, what: str, remedy: str) -> InputError:
        """An error about the object as a whole."""
        return self.document.error(what, path=self.path, remedy=remedy)


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


def items_of(document: Document) -> Iterator[Item | Page]:
    """The objects of a document in order, and a Page after those of each list."""
    if isinstance(document, YamlDocument):
        text: Raw | bytes = _yaml_text(document)
        head = _decoded_head(text, document, ())
        yield from _items(head, text, document, ())
        return
    head = document.decode(_HEAD)
    text = b"" if _is_list(head) else document.decode(_WHOLE)
    yield from _items(head, text, document, ())


def _yaml_text(document: YamlDocument) -> bytes:
    """YAML as JSON text, so that one decoder reads both."""
    try:
        return msgspec.json.encode(document.value)
    except UnicodeEncodeError:
        raise document.error("a character that UTF-8 does not have", remedy="remove the escape") from None


def _decoded_head(text: Raw | bytes, document: Document, path: Path) -> _Head:
    try:
        return _HEAD.decode(text)
    except msgspec.ValidationError as error:
        raise wrong_type(error, bytes(text)).in_document(document, path) from None


def _is_list(head: _Head) -> bool:
    """Whether it lists others: a custom kind whose name ends so (IPAllowList) has no items."""
    return head.items is not msgspec.UNSET and str(head.kind).endswith(_LIST_ENDING)


def _items(head: _Head, text: Raw | bytes, document: Document, path: Path, depth: int = 0) -> Iterator[Item | Page]:
    if not head.kind:
        raise document.error(
            "the object has no kind", path=path, remedy="expected Kubernetes objects; add apiVersion and kind"
        )
    api_version = head.api_version or ""
    kind = kind_of(api_version, head.kind)
    if not _is_list(head):
        yield Item(kind, api_version, text, document, path)
        return
    if depth >= LISTS_DEPTH_MAX:
        raise document.error(f"more than {LISTS_DEPTH_MAX} lists inside each other", path=path, remedy="flatten them")
    listed = Kind(kind.group, kind.name.removesuffix(_LIST_ENDING))
    kinds: dict[tuple[bytes, bytes], tuple[Kind, str]] = {}
    match_kind = _KIND_FIRST.match
    for index, raw in enumerate(head.items or ()):
        found = match_kind(raw)
        if found is not None:
            key = found.groups()
            if key not in kinds:
                kinds[key] = (kind_of(key[0].decode(), key[1].decode()), key[0].decode())
            item_kind, item_version = kinds[key]
        elif listed.name:
            item_kind, item_version = listed, api_version
        else:
            item_kind, item_version = _stated_kind(raw, document, (*path, "items", index))
        if item_kind.name.endswith(_LIST_ENDING):
            inner_path = (*path, "items", index)
            yield from _items(_decoded_head(raw, document, inner_path), raw, document, inner_path, depth + 1)
        else:
            yield Item(item_kind, item_version, raw, document, (*path, "items", index))
    yield _page(head, listed, document, path)


def _stated_kind(raw: Raw, document: Document, path: Path) -> tuple[Kind, str]:
    """The kind of an item of a List that does not begin with it."""
    try:
        stated = _KIND.decode(raw)
    except msgspec.ValidationError as error:
        raise wrong_type(error, bytes(raw)).in_document(document, path) from None
    if not stated.kind:
        raise document.error("the object has no kind", path=path, remedy="add apiVersion and kind")
    api_version = stated.api_version or ""
    return kind_of(api_version, stated.kind), api_version


def _page(head: _Head, listed: Kind, document: Document, path: Path) -> Page:
    text = bytes(head.metadata)
    try:
        metadata = _LIST_METADATA.decode(text)
    except msgspec.ValidationError as error:
        fault = wrong_type(error, text).under("metadata")
        raise fault.in_document(document, path) from None
    place = place_text(document.source, document.index, path)
    continues = metadata is not None and bool(metadata.continue_)
    return Page(listed, place, continues, metadata.remaining_item_count if metadata else None)
