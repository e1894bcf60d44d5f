"""Where a path of a YAML document stands: the text is parsed once more, only as far as the path leads.

The hard thing: a path may lead through an alias or a merge (`<<`), whose text stands elsewhere. Then the
deepest step that can be seen in the text itself is the answer.
"""

from typing import Any, NamedTuple

from yaml import CSafeLoader, YAMLError
from yaml.events import (
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from ullage.sources.places import Path, Position
from ullage.sources.yaml_scalars import key_text, plain_value


class Place(NamedTuple):
    """Where the deepest visible step of a path stands: its key, if it is one of a mapping, and its value."""

    key: Position | None
    value: Position | None


_NOWHERE = Place(None, None)


def find_place(data: bytes, index: int, path: Path) -> Place:
    """The place of a path in one document of a stream, or of as much of the path as is there."""
    events = CSafeLoader(data)
    try:
        if not _enter_document(events, index):
            return _NOWHERE
        event: Any = events.get_event()
        place = Place(None, position_of(event))
        for step in path:
            event, key = _item(events, event, step) if isinstance(step, int) else _entry(events, event, step)
            if event is None:
                return place
            place = Place(key, position_of(event))
    except YAMLError:
        return _NOWHERE
    return place


def _enter_document(events: CSafeLoader, index: int) -> bool:
    """Read up to the start of a document; False when the stream has no such document."""
    documents = 0
    while documents <= index:
        event = events.get_event()
        if isinstance(event, StreamEndEvent):
            return False
        documents += isinstance(event, DocumentStartEvent)
    return True


def _item(events: CSafeLoader, start: Any, position: int) -> tuple[Any, Position | None]:
    """The event that begins one item of a list."""
    if not isinstance(start, SequenceStartEvent):
        return None, None
    for _ in range(position):
        if not _skip(events, events.get_event()):
            return None, None
    event = events.get_event()
    return (None if isinstance(event, CollectionEndEvent) else event), None


def _entry(events: CSafeLoader, start: Any, key: str) -> tuple[Any, Position | None]:
    """The event that begins the value of a key, and the place of the key."""
    if not isinstance(start, MappingStartEvent):
        return None, None
    while True:
        event: Any = events.get_event()
        if isinstance(event, ScalarEvent):
            value = plain_value(event.value) if event.implicit[0] else event.value
            if key_text(value) == key:
                return events.get_event(), position_of(event)
        if not _skip(events, event):
            return None, None
        _skip(events, events.get_event())


def _skip(events: CSafeLoader, event: Any) -> bool:
    """Read to the end of the value that begins with an event; False when there is no value, but an end."""
    if isinstance(event, CollectionEndEvent):
        return False
    depth = int(isinstance(event, CollectionStartEvent))
    while depth:
        event = events.get_event()
        depth += isinstance(event, CollectionStartEvent)
        depth -= isinstance(event, CollectionEndEvent)
    return True


def position_of(event: Any) -> Position:
    """Line and column of an event, from 1."""
    return event.start_mark.line + 1, event.start_mark.column + 1
