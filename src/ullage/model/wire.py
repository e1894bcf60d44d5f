"""Records as JSON and back: quantities as canonical text, fractions as exact text.

Resource maps depend on the types that a document registers, so both directions take the registry.
"""

import functools
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, TypeVar

import msgspec

from ullage.model.defaults import leaving_out_defaults
from ullage.model.errors import InputError
from ullage.model.resources import Amount, Resources, ResourceTypes
from ullage.model.settings import parse_fraction, print_fraction

API_VERSION: Final = "ullage.dev/v1"
Decoded = TypeVar("Decoded")


def encode_hook(types: ResourceTypes) -> Callable[[Any], Any]:
    """Return the function that msgspec calls for values of our own classes when it writes."""

    def encode(value: Any) -> Any:
        if isinstance(value, Resources):
            return types.print(value)
        if isinstance(value, Amount):
            return types[value.resource].print(value.value)
        if isinstance(value, Fraction):
            return print_fraction(value)
        raise NotImplementedError(type(value).__name__)

    return encode


def decode_hook(types: ResourceTypes) -> Callable[[type, Any], Any]:
    """Return the function that msgspec calls for fields of our own classes when it reads."""

    def decode(wanted: type, value: Any) -> Any:
        if wanted is Resources:
            if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
                raise InputError("expected a map of resources", remedy="write {cpu: 2, memory: 40Mi}")
            return types.parse(value)
        if wanted is Fraction:
            return parse_fraction(str(value))
        raise NotImplementedError(wanted.__name__)

    return decode


def to_builtins(record: Any, types: ResourceTypes) -> Any:
    """Return a record as maps, lists, text and integers, ready for JSON or YAML."""
    return msgspec.to_builtins(leaving_out_defaults(record), enc_hook=_printing_once(types), str_keys=True)


def _printing_once(types: ResourceTypes) -> Callable[[Any], Any]:
    """Return the same function for one document: of thousands of nodes many maps and amounts are equal."""
    plain = encode_hook(types)
    maps: dict[Resources, dict[str, str]] = {}
    printers: dict[str, Callable[[int], str]] = {}

    def printer(name: str) -> Callable[[int], str]:
        return printers.setdefault(name, functools.cache(types[name].print))

    def encode(value: Any) -> Any:
        if not isinstance(value, Resources):
            return plain(value)
        found = maps.get(value)
        if found is None:
            found = {name: (printers.get(name) or printer(name))(value[name]) for name in value}
            maps[value] = found
        return found

    return encode


def from_builtins(data: Any, wanted: type[Decoded], types: ResourceTypes) -> Decoded:
    """Return maps and lists as a record of the wanted class; raises msgspec.ValidationError with a path."""
    return msgspec.convert(data, wanted, dec_hook=decode_hook(types))
