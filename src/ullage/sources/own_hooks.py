"""How our documents spell what is not plain: resource maps, registries of types, exact fractions.

The hard part is the number of maps: a hundred thousand workloads name a few hundred distinct ones, so equal
maps are read once and shared. A map may also be the list of single pairs that the Kubernetes resource model
uses (`[ cpu: 2.5, memory: 40Mi ]`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ullage.model.errors import InputError
from ullage.model.resources import BUILT_IN, Resources, ResourceType, ResourceTypes, canonical_name
from ullage.model.wire import decode_hook, encode_hook
from ullage.sources.decode_errors import InnerError, inner_error
from ullage.sources.own_records import CapacitySpec, RequirementSpec
from ullage.sources.places import Path

_SHARED_MAX: Final = 100_000
"""Distinct resource maps that are remembered while one document is read."""


def reading_hook(types: ResourceTypes) -> Callable[[type, Any], Any]:
    """Return the function that msgspec calls for fields of our own classes when it reads."""
    decode = decode_hook(types)
    shared: dict[tuple[tuple[str, object], ...], Resources] = {}

    def read(wanted: type, value: Any) -> Any:
        if wanted is ResourceTypes:
            return read_types(value)
        if wanted is RequirementSpec:
            request, limit = _spec_parts(value, "request", "limit")
            return RequirementSpec(
                None if request is None else read(Resources, request), read(Resources, limit or {})
            )
        if wanted is CapacitySpec:
            return CapacitySpec(read(Resources, _spec_parts(value, "total")[0] or {}))
        if wanted is not Resources:
            return decode(wanted, value)
        if isinstance(value, list):
            value = single_pairs(value)
        if not isinstance(value, Mapping):
            return decode(wanted, value)
        try:
            key = tuple(value.items())
            found = shared.get(key)
        except TypeError:  # a list or a map where an amount should be: let the parser say so
            return decode(wanted, value)
        if found is None or any(isinstance(amount, bool) for amount in value.values()):
            found = decode(wanted, value)
            if len(shared) < _SHARED_MAX:
                shared[key] = found
        return found

    return read


def writing_hook(types: ResourceTypes) -> Callable[[Any], Any]:
    """Return the function that msgspec calls for values of our own classes when it writes."""
    encode = encode_hook(types)

    def write(value: Any) -> Any:
        if isinstance(value, ResourceTypes):
            return [msgspec.to_builtins(each) for each in value.added()]
        return encode(value)

    return write


def read_types(value: Any) -> ResourceTypes:
    """Return the registry written as a list of types, a map by name, or a list of single pairs."""
    given = value if isinstance(value, list) else [value]
    types = []
    for position, entry in enumerate(given):
        path = (position,) if isinstance(value, list) else ()
        if not isinstance(entry, Mapping):
            what = InputError("expected a resource type", remedy="write - {name: example.com/licences}")
            raise InnerError(what, path)
        if "name" in entry and not isinstance(entry["name"], Mapping | list):
            types.append(_read_type(entry, path))
            continue
        for name, inner in entry.items():
            types.append(_read_type({**_properties(inner), "name": name}, (*path, name)))
    return ResourceTypes(types)


def single_pairs(items: list[Any]) -> dict[str, Any]:
    """Return a list of single pairs as a map; a name that stands in it twice is an error."""
    pairs: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, Mapping):
            raise InputError("expected a list of pairs", remedy="write [cpu: 2.5, memory: 40Mi] or a map")
        for name, value in item.items():
            if name in pairs:
                raise InputError(f"{name} is named twice", remedy="keep one")
            pairs[name] = value
    return pairs


def _spec_parts(value: Any, *names: str) -> list[Any]:
    """Return the named parts of a specification, None for those it leaves out."""
    pairs = single_pairs(value) if isinstance(value, list) else value
    if not isinstance(pairs, Mapping) or set(pairs) - set(names):
        raise InputError(
            f"expected {' and '.join(names)}", remedy=f"write [ {names[0]}: [ cpu: 2.5, memory: 40Mi ] ]"
        )
    return [pairs.get(name) for name in names]


def _properties(inner: Any) -> dict[str, Any]:
    if inner is None:
        return {}
    if isinstance(inner, list):
        return single_pairs(inner)
    if isinstance(inner, Mapping):
        return dict(inner)
    raise InputError("expected the properties of a resource type", remedy="write {units: licence}")


def _read_type(entry: Mapping[str, Any], path: Path) -> ResourceType:
    """Return one type; what it says of a built-in type must be what is built in."""
    try:
        given = msgspec.convert(entry, ResourceType)
    except msgspec.ValidationError as error:
        raise inner_error(error, *path) from None
    name = canonical_name(given.name)
    if name not in BUILT_IN:
        return given
    named = {
        field.name: getattr(given, field.name)
        for field in msgspec.structs.fields(ResourceType)
        if field.encode_name in entry
    }
    return msgspec.structs.replace(BUILT_IN[name], **{**named, "name": name})
