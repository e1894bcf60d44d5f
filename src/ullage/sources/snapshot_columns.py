"""The rows of a table as columns of distinct values: how a snapshot becomes small and is read fast.

A hundred thousand workloads have a few hundred distinct requests, labels and constraints. Each column keeps
its distinct values once, and for each row the position of its value; rows that are read share them. The
first field of a row is part of its key, nearly always different, and stands in full.

The hard part is trust: a file may say anything. Values are converted to the field's own type, positions are
checked, and the number of rows is the number of first fields that really stand in the file.
"""

from collections.abc import Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Any, Final, TypeVar, get_type_hints

import msgspec

from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import Resources, canonical_name
from ullage.model.settings import parse_fraction, print_fraction

Row = TypeVar("Row", bound=msgspec.Struct)


class Column(msgspec.Struct, frozen=True, array_like=True):
    """Distinct values, and the position of each row's value; no positions: all rows have the only one."""

    values: list[Any]
    positions: list[int] | None = None


class Columns(msgspec.Struct, frozen=True, array_like=True):
    """A table: its first field row by row, and every other field by its name on the wire."""

    first: list[str]
    others: dict[str, Column]


def pack(rows: Sequence[msgspec.Struct], row_type: type[msgspec.Struct]) -> Columns:
    """Return rows as columns of plain values."""
    first, *others = msgspec.structs.fields(row_type)
    columns = {}
    for field in others:
        column = _column(list(map(attrgetter(field.name), rows)))
        if column is not None and not _is_default(column, field.default):
            columns[field.encode_name] = Column(
                [msgspec.to_builtins(value, enc_hook=exact_values) for value in column.values],
                column.positions,
            )
    return Columns([getattr(row, first.name) for row in rows], columns)


def unpack(columns: Columns, row_type: type[Row]) -> list[Row]:
    """Return the rows that columns stand for; a column that is not there has its field's default."""
    hints = get_type_hints(row_type)
    others = msgspec.structs.fields(row_type)[1:]
    count = len(columns.first)
    if not count:
        return []
    parts: list[Sequence[Any]] = [columns.first]
    for field in others:
        column = columns.others.get(field.encode_name)
        if column is not None:
            values = _typed(column.values, hints[field.name], field.encode_name)
            parts.append(_spread(values, column.positions, count, field.encode_name))
        elif field.required:
            raise damaged(f"the column {field.encode_name} is missing")
        else:
            parts.append([_default(field)] * count)
    return list(map(row_type, *parts))


def exact_values(value: Any) -> Any:
    """Return our own classes as plain values: amounts as integers, not as quantities."""
    if isinstance(value, Resources):
        return dict(value)
    if isinstance(value, Fraction):
        return print_fraction(value)
    raise NotImplementedError(type(value).__name__)


def own_values(wanted: type, value: Any) -> Any:
    """Return plain values as our own classes: the way back of exact_values."""
    if wanted is Resources:
        return _resources(value)
    if wanted is Fraction:
        return parse_fraction(str(value))
    raise NotImplementedError(wanted.__name__)


def damaged(what: str) -> InputError:
    """Return the error for a file whose checksum holds and whose content does not."""
    return InputError(f"not a valid snapshot: {what}", remedy="save it again with this version of ullage")


def _column(values: list[Any]) -> Column | None:
    """Return values as distinct ones and positions; None for no values."""
    if not values:
        return None
    # The list keeps its values alive, so an identity stays that of one value.
    identities = list(map(id, values))
    known: dict[Any, int] = {}
    distinct: list[Any] = []
    positions_by_identity: dict[int, int] = {}
    for identity, value in dict(zip(identities, values, strict=True)).items():
        position = known.setdefault(_key(value), len(distinct))
        if position == len(distinct):
            distinct.append(value)
        positions_by_identity[identity] = position
    if len(distinct) == 1:
        return Column(distinct)
    return Column(distinct, list(map(positions_by_identity.__getitem__, identities)))


def _key(value: Any) -> Any:
    """Return something hashable that is equal for equal values of a column."""
    if isinstance(value, str | int | Resources):
        return value
    return _ENCODER.encode(value)


def _is_default(column: Column, default: Any) -> bool:
    """Whether all rows have a field's plain default, so that the column can be left out."""
    return len(column.values) == 1 and default is not msgspec.NODEFAULT and column.values[0] == default


def _default(field: Any) -> Any:
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()


def _typed(values: list[Any], wanted: Any, name: str) -> list[Any]:
    try:
        return msgspec.convert(values, list[wanted], dec_hook=own_values)
    except (msgspec.ValidationError, InputError) as error:
        raise damaged(f"{name}: {error}") from None


def _spread(values: list[Any], positions: list[int] | None, count: int, name: str) -> Sequence[Any]:
    """Return the value of each row."""
    if positions is None:
        if len(values) != 1:
            raise damaged(f"the column {name} has {len(values)} values and no positions")
        return values * count
    if len(positions) != count:
        raise damaged(f"the column {name} has {len(positions)} of {count} positions")
    if positions and not 0 <= min(positions) <= max(positions) < len(values):
        raise damaged(f"the column {name} points outside its {len(values)} values")
    return list(map(values.__getitem__, positions))


def _resources(value: Any) -> Resources:
    if not isinstance(value, dict):
        raise InputError("expected a map of amounts")
    for name, amount in value.items():
        if type(amount) is not int or abs(amount) > INT64_MAX:
            raise InputError(f"{name} is no amount of at most 64 bits")
        if canonical_name(name) != name:
            raise InputError(f"{name} is not the canonical name")
    return Resources(value)


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=exact_values, order="deterministic")
