"""Fields that say no more than their default, left out of what is written wherever their value came from.

msgspec leaves out what *is* the default, not what equals it: the text `default` that was read from a file is
another object than the one of our record. So the same cluster would be written in two ways. The hard thing is
time: of hundreds of thousands of records only those fields are looked at in which the two can differ.
"""

import functools
from collections.abc import Iterable
from typing import Any, Final, TypeVar, get_args, get_type_hints

import msgspec

Written = TypeVar("Written")
_SMALL: Final = range(-5, 257)
"""Whole numbers of which there is one object each."""
_EMPTY: Final = (None, "", ())
_Looked = tuple[tuple[str, object, bool], ...]


def leaving_out_defaults(value: Written) -> Written:
    """Return an equal record, or records, in which every field that equals its default is that default."""
    return _plain(value)  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _plain_record(value)
    if isinstance(value, (tuple, list)):
        return _plain_each(value)
    return value


def _plain_each(values: tuple[Any, ...] | list[Any]) -> Any:
    found = [_plain(each) for each in values]
    if all(one is other for one, other in zip(found, values, strict=True)):
        return values
    return type(values)(found)


def _plain_record(record: msgspec.Struct) -> msgspec.Struct:
    changed: dict[str, Any] = {}
    for name, default, holds_records in _looked_at(type(record)):
        value = getattr(record, name)
        if value is default:
            continue
        if default is not msgspec.NODEFAULT and value == default:
            changed[name] = default
        elif holds_records:
            plain = _plain(value)
            if plain is not value:
                changed[name] = plain
    return msgspec.structs.replace(record, **changed) if changed else record


@functools.cache
def _looked_at(record: type[msgspec.Struct]) -> _Looked:
    """Return the fields of a class that may equal a default without being it, or hold records with such."""
    return _fields(record, ())


def _fields(record: type[msgspec.Struct], above: tuple[type, ...]) -> _Looked:
    hints = get_type_hints(record)
    leaves_out = record.__struct_config__.omit_defaults
    found: list[tuple[str, object, bool]] = []
    for field in msgspec.structs.fields(record):
        inner = _records_in(hints[field.name])
        holds = any(each in above or _fields(each, (*above, record)) for each in inner)
        default = field.default if leaves_out and _is_risky(field.default) else msgspec.NODEFAULT
        if holds or default is not msgspec.NODEFAULT:
            found.append((field.name, default, holds))
    return tuple(found)


def _is_risky(default: object) -> bool:
    if isinstance(default, (bool, msgspec.UnsetType)) or default in _EMPTY:
        return False
    return not (isinstance(default, int) and default in _SMALL)


def _records_in(hint: Any) -> Iterable[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for each in get_args(hint):
        yield from _records_in(each)
