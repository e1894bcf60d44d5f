"""Which texts a type allows at a place of a document, for messages about one that is not."""

from typing import Any, Final

import msgspec.inspect as types

from ullage.sources.places import Path

NAMED_MAX: Final = 12


def use_one_of(kind: Any, path: Path) -> str:
    """Return the remedy for a text at a path that is none of those its type allows."""
    try:
        allowed = _allowed(types.type_info(kind), path)
    except TypeError:  # msgspec knows no such type
        allowed = []
    if not allowed or len(allowed) > NAMED_MAX:
        return "use one that is"
    return f"use {allowed[0]}" if len(allowed) == 1 else f"use one of {', '.join(allowed)}"


def _allowed(kind: types.Type, path: Path) -> list[str]:
    if isinstance(kind, types.UnionType):
        return next((found for each in kind.types if (found := _allowed(each, path))), [])
    if isinstance(kind, types.Metadata):
        return _allowed(kind.type, path)
    if not path:
        values = kind.values if isinstance(kind, types.LiteralType) else ()
        return [each for each in values if isinstance(each, str)]
    first, rest = path[0], path[1:]
    if isinstance(kind, types.StructType):
        return next((_allowed(each.type, rest) for each in kind.fields if each.encode_name == first), [])
    if isinstance(kind, types.DictType):
        return _allowed(kind.value_type, rest)
    if isinstance(kind, types.ListType | types.VarTupleType):
        return _allowed(kind.item_type, rest)
    return []
