"""Paths to pod templates: `spec.template`, `spec.groups[*].template`, and where they lead in an object.

`[*]` stands for every item of a list or every entry of a map, `[0]` for one item. The hard thing is to name
what is found: pods of several templates in one object are told apart by the keys and names on the way to
them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ullage.model.errors import InputError
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.places import Path, one_line, shown

STEPS_MAX: Final = 50
EVERY: Final = "*"
_STEP: Final = re.compile(r"(?:\A|\.)([^.\[\]]+)|\[(\*|[0-9]{1,6})\]")
_NAMES: Final = ("name", "groupName")

Pattern = tuple[str | int | None, ...]
"""Steps of a path; None is every item."""


class Place(NamedTuple):
    """Where a template was found, and what to call the pods made from it."""

    path: Path
    name: str
    value: Any


def parse_pattern(text: str) -> Pattern:
    """Return the steps of a path as users write it; raises an InputError."""
    steps: list[str | int | None] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or len(steps) >= STEPS_MAX:
            break
        field, inside = match.groups()
        steps.append(field if field is not None else None if inside == EVERY else int(inside))
        position = match.end()
    if not steps or position < len(text):
        raise InputError(
            f"{shown(text)!r} is no path to a pod template",
            where="--pod-template",
            remedy="write it as spec.template or spec.groups[*].template",
        )
    return tuple(steps)


def places(value: Any, pattern: Pattern) -> Iterator[Place]:
    """Yield all that a path leads to, in order; nothing where it leads nowhere."""
    yield from _places(value, pattern, (), "")


def _places(value: Any, pattern: Pattern, path: Path, name: str) -> Iterator[Place]:
    if not pattern:
        if value is not None:
            yield Place(path, name, value)
        return
    step, rest = pattern[0], pattern[1:]
    if step is None:
        for key, inner in _entries(value):
            yield from _places(inner, rest, (*path, key), _joined(name, _name_of(key, inner)))
    elif isinstance(step, int):
        if isinstance(value, list) and step < len(value):
            yield from _places(value[step], rest, (*path, step), _joined(name, _name_of(step, value[step])))
    elif isinstance(value, Mapping) and step in value:
        yield from _places(value[step], rest, (*path, step), name)


def _entries(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _name_of(key: str | int, value: Any) -> str:
    """What an item is called: by its key, by its own name, else by its position."""
    if isinstance(key, str):
        return one_line(key).lower()
    named = next((value[each] for each in _NAMES if isinstance(value, Mapping) and each in value), None)
    return one_line(named) if isinstance(named, str) and named else str(key)


def _joined(name: str, more: str) -> str:
    return f"{name}-{more}" if name else more


class Scope:
    """The mapping that holds a template: what it says about how many pods there are."""

    def __init__(self, root: Any, path: Path) -> None:
        self._root = root
        self._path = path

    def up(self, levels: int) -> "Scope":
        """The scope so many levels further out."""
        return Scope(self._root, self._path[: len(self._path) - levels])

    def has(self, name: str) -> bool:
        """Whether the mapping says something of that name."""
        value = self._value()
        return isinstance(value, Mapping) and value.get(name) is not None

    def number(self, name: str, default: int, most: int) -> int:
        """A count, the default where it is not given; raises a Fault."""
        value = self._value()
        found = value.get(name) if isinstance(value, Mapping) else None
        if found is None:
            return default
        path = (*self._path, name)
        if isinstance(found, bool) or not isinstance(found, int):
            raise Fault(
                InputError(f"{name} is no whole number", remedy="write a whole number, without quotes"), path
            )
        if not 0 <= found <= most:
            amount = str(found) if abs(found) < 10**12 else "too large"
            raise Fault(InputError(f"{name} is {amount}", remedy=f"use 0 to {most}"), path)
        return found

    def _value(self) -> Any:
        value = self._root
        for step in self._path:
            value = value[step]
        return value
