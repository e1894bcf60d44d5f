"""msgspec's complaints in our own words: which field, what was expected there, what was found, what mends it.

The hard thing: msgspec names the fields of records and the positions of lists, but of a mapping's entry it
says only `[...]`. Which key it was is found by looking for the first entry that shows the same fault.
"""

import itertools
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from ullage.model.errors import InputError
from ullage.sources.places import Path, one_line, path_text, shown

Steps: TypeAlias = tuple[str | int | None, ...]
"""A path in which None stands for some key of a mapping."""

_PLACE: Final = re.compile(r" - at (`key` in )?`\$([^`]*)`\Z")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")
_EXPECTED: Final = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`)?(.*)\Z", re.DOTALL)
_FIELD: Final = re.compile(r"Object (missing required|contains unknown) field `(.*)`\Z", re.DOTALL)
_VALUE: Final = re.compile(r"Invalid (?:enum )?value (.*)\Z", re.DOTALL)
_STEPS_MAX: Final = 200

_EXPECTED_KINDS: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a mapping",
}
_FOUND_KINDS: Final = _EXPECTED_KINDS | {"int": "a number", "bool": "a boolean"}
_SCALARS: Final = frozenset({"int", "float", "decimal", "bool", "null"})
_TYPE_NAMES: Final[dict[type, str]] = {
    str: "str",
    int: "int",
    float: "float",
    bool: "bool",
    type(None): "null",
    list: "array",
    dict: "object",
}


class Complaint(NamedTuple):
    """A message of msgspec taken apart: the fault, where it stands, and whether a key is at fault."""

    fault: str
    steps: Steps
    of_key: bool


class InnerError(InputError):
    """What is wrong inside a value that a hook reads, and the path to it from that value."""

    def __init__(self, error: InputError, path: Path) -> None:
        super().__init__(error.what, where=error.where, remedy=error.remedy)
        self.path = path


def inner_error(error: Exception, *path: str | int) -> InnerError:
    """What msgspec says of a part, at a path, of a value that a hook reads."""
    complaint = take_apart(error)
    return InnerError(describe(error, complaint, ""), (*path, *_known(complaint.steps)))


def inner_path(error: Exception) -> Path:
    """The rest of the path of an error that a hook raised; nothing for any other."""
    cause = error.__cause__
    return cause.path if isinstance(cause, InnerError) else ()


def input_error(error: Exception, source: str, document_index: int = 0) -> InputError:
    """The InputError for what msgspec says of one document, when its message is all there is."""
    complaint = take_apart(error)
    return describe(error, complaint, place_text(source, document_index, _known(complaint.steps)))


def place_text(source: str, document_index: int, path: Path) -> str:
    """File, document (the first one unsaid) and path as messages name them."""
    parts = [source, f"document {document_index + 1}" if document_index else "", path_text(path)]
    return ": ".join(part for part in parts if part)


def take_apart(error: Exception) -> Complaint:
    """Fault and path of a message such as: Expected `str`, got `int` - at `$.items[0].name`."""
    text = str(error)
    match = _PLACE.search(text)
    fault = text[: match.start()] if match else text
    of_key, path = match.groups() if match else (None, None)
    steps = tuple(
        field or (int(position) if position else None) for field, position in _STEP.findall(path or "")
    )
    return Complaint(fault, steps, of_key is not None)


def find_path(complaint: Complaint, value_at: Callable[[Path], Any]) -> Path:
    """The path of a complaint, unnamed keys found by looking at the values; cut short where none shows it."""
    known = _known(complaint.steps)
    if len(known) == len(complaint.steps) or len(complaint.steps) > _STEPS_MAX:
        return known
    rest = _search(complaint.steps[len(known) :], value_at(known), complaint.fault)
    return known + (rest or ())


def describe(
    error: Exception, complaint: Complaint, where: str, kind: Any = None, path: Path = ()
) -> InputError:
    """The InputError for a complaint at a place; the type of a document says what it allows at a path."""
    cause = error.__cause__
    if isinstance(cause, InputError):
        return cause.at(where)
    what, remedy = _in_words(complaint.fault)
    if kind is not None and _VALUE.match(complaint.fault):
        from ullage.sources.allowed_values import use_one_of

        remedy = use_one_of(kind, path)
    return InputError(f"a key: {what}" if complaint.of_key else what, where=where, remedy=remedy)


def _in_words(fault: str) -> tuple[str, str]:
    """What is wrong and what mends it, for a fault as msgspec words it."""
    if match := _EXPECTED.match(fault):
        expected, found, condition = match.groups()
        kinds = _kinds(expected)
        if found is None:
            return f"expected {kinds}{one_line(condition)}", "correct the value"
        quotes = expected == "str" and found in _SCALARS
        return (
            f"expected {kinds}, found {_FOUND_KINDS.get(found, found)}",
            "put it in quotes" if quotes else f"write {kinds}",
        )
    if match := _FIELD.match(fault):
        if match[1] == "missing required":
            return f'the field "{shown(match[2])}" is missing', "add it"
        return f'unknown field "{shown(match[2])}"', "correct its spelling or remove it"
    if match := _VALUE.match(fault):
        return f"{shown(match[1])} is not one of the allowed values", "use one that is"
    if fault.endswith("out of range"):
        return "the number is too large", "write a number of at most 64 bits"
    return one_line(fault), "correct the value"


def _kinds(names: str) -> str:
    """Type names of msgspec (`int | str`) in words."""
    *first, last = dict.fromkeys(_EXPECTED_KINDS.get(name, name) for name in names.split(" | "))
    return f"{', '.join(first)} or {last}" if first else last


def _known(steps: Steps) -> Path:
    """The steps before the first unnamed key."""
    return tuple(itertools.takewhile(lambda step: step is not None, steps))  # type: ignore[arg-type]


def _search(steps: Steps, value: Any, fault: str) -> Path | None:
    """The first path, unnamed keys named, that leads to a value which shows the fault."""
    if not steps:
        return () if _shows(fault, value) else None
    step, rest = steps[0], steps[1:]
    if step is not None:
        inside = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not inside and not (isinstance(value, dict) and step in value):
            return None
        found = _search(rest, value[step], fault)
        return None if found is None else (step, *found)
    if isinstance(value, dict):
        for key, entry in value.items():
            found = _search(rest, entry, fault)
            if found is not None:
                return (key, *found)
    return None


def _shows(fault: str, value: Any) -> bool:
    """Whether a value has the fault: the wrong type, a missing field, a value that is not allowed."""
    if match := _EXPECTED.match(fault):
        return match[2] == _TYPE_NAMES.get(type(value))
    if match := _FIELD.match(fault):
        return isinstance(value, dict) and (match[2] in value) == (match[1] == "contains unknown")
    if match := _VALUE.match(fault):
        return match[1] == repr(value)
    return False
