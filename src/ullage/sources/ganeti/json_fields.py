"""Fields of a JSON object, read one by one; errors say which field of what cannot be read."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from ullage.model.errors import InputError

AMOUNT_MAX: Final = 1 << 43
"""No amount is larger, whatever it counts; MiB of that many are the largest number of bytes in 64 bits."""
LISTED_MAX: Final = 200_000

Json = Any
"""What a decoder of JSON returns: nothing is known of it until it is read here."""
Kind = Literal["Int", "Double", "Bool", "String", "list", "JSObject"]


class Fields:
    """An object of a JSON text; `owner` says in messages what it is."""

    def __init__(self, values: dict[str, Json], owner: str) -> None:
        self.values = values
        self.owner = owner

    def error(self, what: str, remedy: str = "") -> InputError:
        """Return an error about this object."""
        return InputError(what, where=self.owner, remedy=remedy)

    def value(self, key: str) -> Json:
        """Return the value of a key that must be there."""
        if key not in self.values:
            raise self.error(f"key '{key}' not found", remedy=f"it has {_listed(self.values)}")
        return self.values[key]

    def has(self, key: str) -> bool:
        """Whether a key is there, and not null."""
        return self.values.get(key) is not None

    def text(self, key: str) -> str:
        """Return a text."""
        value = self.value(key)
        if not isinstance(value, str):
            raise self._unreadable(key, "String")
        return value

    def flag(self, key: str) -> bool:
        """Return a truth value."""
        value = self.value(key)
        if not isinstance(value, bool):
            raise self._unreadable(key, "Bool")
        return value

    def number(self, key: str, *, signed: bool = False) -> float:
        """Return a number, below zero only where signed."""
        value = self.value(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._unreadable(key, "Double")
        self._check_size(key, value, signed=signed)
        return float(value)

    def whole(self, key: str, *, signed: bool = False) -> int:
        """Return a whole number, below zero only where signed; fractions are rounded."""
        value = self.value(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._unreadable(key, "Int")
        self._check_size(key, value, signed=signed)
        return round(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        values = self.items(key)
        if not all(isinstance(each, str) for each in values):
            raise self._unreadable(key, "String")
        return tuple(values)

    def items(self, key: str) -> list[Json]:
        """Return a list of values that are still to be read."""
        value = self.value(key)
        if not isinstance(value, list):
            raise self._unreadable(key, "list")
        if len(value) > LISTED_MAX:
            raise self.error(f"key '{key}' lists {len(value)}", remedy=f"list at most {LISTED_MAX}")
        return value

    def choice(self, key: str, kind: str, choices: Iterable[str]) -> str:
        """Return one of a few texts."""
        return self.one_of(key, self.text(key), kind, choices)

    def one_of(self, key: str, value: str, kind: str, choices: Iterable[str]) -> str:
        """Return a text that must be one of a few."""
        listed = tuple(choices)
        if value not in listed:
            raise self.error(
                f"key '{key}': Invalid string value for type {kind}: \"{value}\"",
                remedy=f"use one of {', '.join(listed)}",
            )
        return value

    def within(self, key: str) -> "Fields":
        """Return the object under a key, as a part of this one."""
        value = self.value(key)
        if not isinstance(value, dict):
            raise self._unreadable(key, "JSObject")
        return Fields(value, f"{self.owner}: key '{key}'")

    def objects(self, key: str) -> list["Fields"]:
        """Return a list of objects, as parts of this one."""
        return [self._part(key, each) for each in self.items(key)]

    def named(self, key: str, what: str) -> Iterator[tuple[str, "Fields"]]:
        """Return the objects under a key by name, each of which is one of what the key names."""
        values = self.within(key).values
        if len(values) > LISTED_MAX:
            raise self.error(f"key '{key}' has {len(values)}", remedy=f"give at most {LISTED_MAX}")
        for name, value in values.items():
            owner = f"invalid data for {what} '{name}'"
            if not isinstance(value, dict):
                raise InputError("not an object", where=owner)
            yield name, Fields(value, owner)

    def _part(self, key: str, value: Json) -> "Fields":
        if not isinstance(value, dict):
            raise self.error(f"key '{key}': not an object")
        return Fields(value, self.owner)

    def _unreadable(self, key: str, kind: Kind) -> InputError:
        return self.error(f"key '{key}': Unable to read {kind}")

    def _check_size(self, key: str, value: float, *, signed: bool) -> None:
        low = -AMOUNT_MAX if signed else 0
        if not low <= value <= AMOUNT_MAX:
            raise self.error(f"key '{key}': {value} is out of bounds", remedy=f"use {low} to {AMOUNT_MAX}")


def _listed(values: dict[str, Json]) -> str:
    shown = [repr(key) for key in list(values)[:12]]
    return (", ".join(shown) + (", …" if len(values) > len(shown) else "")) or "no keys"
