"""What a query and a body say, as the records of a route: text becomes numbers, or the fault is named."""

from functools import cache
from typing import Final, TypeVar

import msgspec
from msgspec import inspect

from ullage.model.quantity import INT64_MAX
from ullage.web.http import Problem, Request

UNREADABLE: Final = 400
Read = TypeVar("Read", bound=msgspec.Struct)


def query_of(record: type[Read], request: Request) -> Read:
    """Return the query of a request as a record; a list is given by repeating its name."""
    lists, texts = _kinds(record)
    found: dict[str, str | list[str]] = {}
    for name, told in request.query:
        if name in lists:
            found.setdefault(name, []).append(told)  # type: ignore[union-attr]  # it is the list of its name
        elif name in found:
            raise Problem(UNREADABLE, f"{name} is given twice", "give it once", where=name)
        elif told == "null" and name not in texts:
            raise Problem(UNREADABLE, f"{name}: 'null' is no value", "leave it out", where=name)
        else:
            found[name] = told
    try:
        read = msgspec.convert(found, record, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(UNREADABLE, f"the query cannot be used: {error}") from None
    for name in read.__struct_fields__:
        held = getattr(read, name)
        if isinstance(held, int) and not -INT64_MAX <= held <= INT64_MAX:
            raise Problem(UNREADABLE, f"{name}: {held} has too many digits", f"give at most {INT64_MAX}")
    return read


@cache
def _kinds(record: type) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the fields that are lists, and of those that are text."""
    info = inspect.type_info(record)
    assert isinstance(info, inspect.StructType)  # noqa: S101 - queries are records
    lists = [field.encode_name for field in info.fields if _is_list(field.type)]
    texts = [field.encode_name for field in info.fields if _is_text(field.type)]
    return frozenset(lists), frozenset(texts)


def _is_list(info: inspect.Type) -> bool:
    match info:
        case inspect.Metadata(type=inner):
            return _is_list(inner)
        case inspect.UnionType(types=types):
            return any(_is_list(each) for each in types)
        case _:
            return isinstance(info, inspect.CollectionType | inspect.TupleType)


def _is_text(info: inspect.Type) -> bool:
    match info:
        case inspect.Metadata(type=inner):
            return _is_text(inner)
        case inspect.UnionType(types=types):
            return any(_is_text(each) for each in types)
        case _:
            return isinstance(info, inspect.StrType)
