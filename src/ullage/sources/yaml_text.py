"""YAML text to plain values: scalars (see yaml_scalars.py), lists, and mappings with text as keys.

The hard thing: libyaml is fast but trusts its input, and PyYAML's constructor above it is slow and knows no
limits. So values are built here, straight from libyaml's events, in one loop with its own stack: depth,
aliases and size are bounded while reading, and nothing recurses. A value behind an alias is shared, not
copied, but it is counted again each time it is used, as its readers will see it each time.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn

from yaml import CSafeLoader, YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from ullage.model.errors import InputError
from ullage.sources.limits import Limits, size_text
from ullage.sources.places import Bytes, Path, duplicate_key, shown
from ullage.sources.yaml_errors import malformed
from ullage.sources.yaml_places import find_place, position_of
from ullage.sources.yaml_scalars import MAYBE_NOT_TEXT, key_text, plain_value, tagged_value

_NO_KEY: Final = object()
_MERGE_KEY: Final = object()
_COLLECTION_TAGS: Final = frozenset({None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})
_TAG_DIRECTIVES_MAX: Final = 100


class _Frame(NamedTuple):
    """What waits while a list or mapping inside it is read."""

    container: Any
    key: Any
    anchor: str | None
    nodes_before: int
    deepest_before: int


class _Anchored(NamedTuple):
    """A value with a name, how many nodes it holds, and how many levels of lists and mappings."""

    value: Any
    nodes: int
    height: int


def iter_yaml_values(data: Bytes, source: str, limits: Limits) -> Iterator[tuple[int, Any]]:
    """Each document's position in the stream, from 0, and its value; empty documents are left out."""
    if len(data) > limits.yaml_bytes_max:
        raise InputError(
            f"{len(data)} bytes of YAML, the limit is {size_text(limits.yaml_bytes_max)}",
            where=source,
            remedy="write it as JSON, which is read a hundred times faster: kubectl get ... -o json",
        )
    if data.count(b"%TAG") > _TAG_DIRECTIVES_MAX:
        raise InputError(
            f"more than {_TAG_DIRECTIVES_MAX} %TAG directives",
            where=source,
            remedy="remove them: tags are not used",
        )
    text = bytes(data)
    try:
        yield from _Reader(text, source, limits).documents()
    except YAMLError as error:
        raise malformed(error, text, source) from None


class _Reader:
    """The reading of one stream: libyaml's events and what has been counted so far."""

    def __init__(self, data: bytes, source: str, limits: Limits) -> None:
        self.data = data
        self.source = source
        self.limits = limits
        self.events = CSafeLoader(data)
        self.index = 0
        self.nodes = 0
        self.aliases = 0
        self.alias_nodes = 0
        self.stack: list[_Frame] = []
        self.anchors: dict[str, _Anchored | None] = {}
        self.merged: dict[int, list[dict[str, Any]]] = {}

    def documents(self) -> Iterator[tuple[int, Any]]:
        """All documents of the stream."""
        while True:
            kind = type(self.events.get_event())
            if kind is StreamEndEvent:
                return
            if kind is DocumentStartEvent:
                value = self.document()
                if value is not None:
                    yield self.index, value
                self.index += 1

    def document(self) -> Any:
        """The value of one document, whose start has been read: the hot loop, with as few calls as can be."""
        get_event, stack, merged, limits = self.events.get_event, self.stack, self.merged, self.limits
        nodes_max, text_max = limits.yaml_nodes_max, limits.yaml_text_characters_max
        self.anchors.clear()
        self.aliases = 0
        nodes, deepest = self.nodes, 0
        container: Any = []
        key: Any = _NO_KEY
        while True:
            event: Any = get_event()
            kind = type(event)
            if kind is ScalarEvent:
                nodes += 1
                value = event.value
                if len(value) > text_max:
                    self.fail_text(event)
                if event.implicit[0]:
                    if value[:1] in MAYBE_NOT_TEXT:
                        value = plain_value(value)
                elif event.tag is not None:
                    value = self.tagged(event)
                if event.anchor is not None:
                    self.anchors[event.anchor] = _Anchored(value, nodes=1, height=0)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                nodes += 1
                if event.tag not in _COLLECTION_TAGS:
                    self.fail_tag(event, event.tag)
                if key is _NO_KEY and type(container) is dict:
                    self.fail(event, "a list or mapping is used as a key", "write text before the colon")
                stack.append(_Frame(container, key, event.anchor, nodes, deepest))
                if len(stack) > limits.depth_max:
                    self.fail_depth(event)
                if event.anchor is not None:
                    self.anchors[event.anchor] = None
                    deepest = len(stack)
                elif len(stack) > deepest:
                    deepest = len(stack)
                container = {} if kind is MappingStartEvent else []
                key = _NO_KEY
                continue
            elif kind is AliasEvent:
                value, alias_nodes, height = self.alias(event)
                nodes += alias_nodes
                deepest = max(deepest, len(stack) + height)
            elif kind is DocumentEndEvent:
                self.nodes = nodes
                return container[0]
            else:
                if merged and len(stack) in merged:
                    self.merge(container)
                value, depth = container, len(stack)
                container, key, anchor, nodes_before, deepest_before = stack.pop()
                if anchor is not None:
                    self.anchors[anchor] = _Anchored(value, nodes - nodes_before + 1, deepest - depth + 1)
                    deepest = max(deepest, deepest_before)
            if nodes > nodes_max:
                self.fail_nodes(event)
            if type(container) is list:
                container.append(value)
            elif key is _NO_KEY:
                plain = type(value) is str and value != "<<" and value not in container
                key = value if plain else self.key(event, value, container)
            elif key is _MERGE_KEY:
                self.note_merge(event, value)
                key = _NO_KEY
            else:
                container[key] = value
                key = _NO_KEY

    def tagged(self, event: ScalarEvent) -> Any:
        """The value of a scalar with a tag."""
        try:
            return tagged_value(str(event.tag), event.value)
        except KeyError:
            self.fail_tag(event, str(event.tag))
        except ValueError:
            tag = str(event.tag).rpartition(":")[2]
            self.fail(event, f'"{shown(event.value)}" is no !!{tag}', "remove the tag or correct the value")

    def alias(self, event: AliasEvent) -> _Anchored:
        """What an alias stands for, within the limits on their number and on depth."""
        name = str(event.anchor)
        self.aliases += 1
        if self.aliases > self.limits.yaml_aliases_max:
            most = self.limits.yaml_aliases_max
            self.fail(event, f"more than {most} aliases in one document", "write the values out")
        if name not in self.anchors:
            self.fail(event, f"alias *{shown(name)} has no anchor before it", f"define &{shown(name)} first")
        anchored = self.anchors[name]
        if anchored is None:
            self.fail(event, f"alias *{shown(name)} stands inside what it names", "write the value out")
        if len(self.stack) + anchored.height > self.limits.depth_max:
            self.fail_depth(event)
        self.alias_nodes += anchored.nodes
        if self.alias_nodes > self.limits.yaml_alias_nodes_max:
            most = self.limits.yaml_alias_nodes_max
            self.fail(event, f"aliases stand for more than {most} values", "write the values out")
        return anchored

    def key(self, event: Any, value: Any, container: dict[str, Any]) -> Any:
        """The key a value makes, or the mark of a merge; the rare cases of the hot loop."""
        merges = value == "<<" and type(event) is ScalarEvent and event.implicit[0]
        text = key_text(value)
        if text is None:
            self.fail(event, "a key is null, a list or a mapping", "write text before the colon")
        if (len(self.stack) in self.merged) if merges else (text in container):
            self.fail_duplicate(event, text)
        return _MERGE_KEY if merges else text

    def note_merge(self, event: Any, value: Any) -> None:
        """Remember what `<<` brings into the mapping being read, until all its own keys are known."""
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            self.fail(event, "<< merges mappings only", "give it an alias of a mapping, or a list of them")
        self.merged[len(self.stack)] = sources

    def merge(self, container: dict[str, Any]) -> None:
        """Add the merged keys that the mapping does not have; the first source of a key wins."""
        for source in self.merged.pop(len(self.stack)):
            for key, value in source.items():
                container.setdefault(key, value)

    def path(self) -> Path:
        """Where the reading stands, as a path; the outermost frame holds the document itself."""
        frames = [(frame.container, frame.key) for frame in self.stack[1:]]
        return tuple(
            len(container) if isinstance(container, list) else "<<" if key is _MERGE_KEY else str(key)
            for container, key in frames
        )

    def fail(self, event: Event, what: str, remedy: str) -> NoReturn:
        """Refuse the input at an event."""
        line, column = position_of(event)
        raise InputError(what, where=f"{self.source}:{line}:{column}", remedy=remedy)

    def fail_depth(self, event: Event) -> NoReturn:
        """Refuse what is nested too deeply."""
        self.fail(event, f"nested deeper than {self.limits.depth_max} levels", "flatten it")

    def fail_text(self, event: ScalarEvent) -> NoReturn:
        """Refuse a text that is too long."""
        most = self.limits.yaml_text_characters_max
        self.fail(event, f"text of {len(event.value)} characters, the limit is {most}", "shorten it")

    def fail_nodes(self, event: Event) -> NoReturn:
        """Refuse too many values."""
        most = self.limits.yaml_nodes_max
        self.fail(event, f"more than {most} values, aliases expanded", "use JSON or split the file")

    def fail_tag(self, event: Event, tag: str) -> NoReturn:
        """Refuse a tag that only a program could give a meaning."""
        short = tag.replace("tag:yaml.org,2002:", "!!")
        self.fail(event, f"unknown tag {shown(short)}", "remove it: only the tags of plain values are read")

    def fail_duplicate(self, event: Event, key: str) -> NoReturn:
        """Refuse a key that its mapping already has, and say where it was first."""
        first = find_place(self.data, self.index, (*self.path(), key)).key
        raise duplicate_key(key, self.source, position_of(event), first)
