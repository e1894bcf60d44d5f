"""The JSON Schema (2020-12) of our documents, made from the records that read and write them.

The hard part is that a few fields are written in more than one way (a quantity as text or as a number, a map
of resources as a list of pairs): the schema allows what the reader reads.
"""

from fractions import Fraction
from typing import Any, Final

import msgspec
from msgspec import inspect

from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceType, ResourceTypes
from ullage.model.wire import API_VERSION
from ullage.sources.catalog import KIND as CATALOG
from ullage.sources.catalog import CatalogDocument
from ullage.sources.own_records import DOCUMENTS, CapacitySpec, QuotaDocument, RequirementSpec, TraceDocument
from ullage.sources.usage_prices import KIND as PRICES
from ullage.sources.usage_prices import PriceListDocument

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
WRITTEN: Final[dict[str, type]] = {
    **DOCUMENTS,
    CATALOG: CatalogDocument,
    "Quota": QuotaDocument,
    "Trace": TraceDocument,
    PRICES: PriceListDocument,
}
"""Every kind of document that people write."""
_PLAIN: Final[dict[Any, str]] = {
    inspect.StrType: "string",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
}
_QUANTITY: Final = {
    "description": "An amount: a number, or text such as 500m, 2.5 or 40Mi.",
    "anyOf": [{"type": "string", "pattern": r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)"}, {"type": "number"}],
}
_RESOURCE_MAP: Final = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Quantity"}}
_RESOURCES: Final = {
    "description": "Amounts by resource name: a map, or a list of single pairs.",
    "anyOf": [_RESOURCE_MAP, {"type": "array", "items": _RESOURCE_MAP}],
}
_FRACTION: Final = {
    "description": "An exact number: a decimal such as 1.5 or a fraction such as 4/3.",
    "anyOf": [
        {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+|/[0-9]+)?$"},
        {"type": "number", "minimum": 0},
    ],
}


def schema(kind: str) -> dict[str, Any]:
    """Return the schema of one kind of document."""
    if kind not in WRITTEN:
        raise InputError(f"kind {kind!r} is unknown", remedy=f"use one of {', '.join(WRITTEN)}")
    parts: dict[str, Any] = {}
    # The properties stand at the top, where editors look for kind and apiVersion, and not behind a reference.
    top = _struct_schema(inspect.type_info(WRITTEN[kind]), parts)
    del top["title"]
    return {
        "$schema": DIALECT,
        "title": f"{API_VERSION} {kind}",
        **top,
        "$defs": {name: parts[name] for name in sorted(parts)},
    }


def _schema(info: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type; records become parts that are referred to by name."""
    match info:
        case inspect.StructType(cls=record):
            if record.__name__ not in parts:
                parts[record.__name__] = {}
                parts[record.__name__] = _struct_schema(info, parts)
            return {"$ref": f"#/$defs/{record.__name__}"}
        case inspect.CustomType(cls=wanted):
            return _own_schema(wanted, parts)
        case inspect.LiteralType(values=values):
            return {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
        case inspect.UnionType(types=types):
            return {"anyOf": [_schema(each, parts) for each in types]}
        case inspect.VarTupleType(item_type=item):
            return {"type": "array", "items": _schema(item, parts)}
        case inspect.TupleType(item_types=items):
            each = [_schema(item, parts) for item in items]
            return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
        case inspect.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _schema(value, parts)}
        case _:
            return {"type": _PLAIN[type(info)]}


def _struct_schema(info: Any, parts: dict[str, Any]) -> dict[str, Any]:
    properties = {field.encode_name: _schema(field.type, parts) for field in info.fields}
    for field in info.fields:
        if field.default is not msgspec.NODEFAULT and isinstance(field.default, str | int):
            properties[field.encode_name]["default"] = field.default
    described = {"title": info.cls.__name__, "description": (info.cls.__doc__ or "").partition("\n")[0]}
    required = [field.encode_name for field in info.fields if field.required]
    found = {**described, "type": "object", "properties": properties}
    return {**found, "required": required} if required else found


def _own_schema(wanted: type, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a class of ours that is no record."""
    if wanted is Fraction:
        parts["Fraction"] = _FRACTION
        return {"$ref": "#/$defs/Fraction"}
    if wanted is ResourceTypes:
        return _types_schema(parts)
    parts.update({"Quantity": _QUANTITY, "Resources": _RESOURCES})
    if wanted is Resources:
        return {"$ref": "#/$defs/Resources"}
    if wanted is RequirementSpec:
        return _spec_schema("request", "limit")
    if wanted is CapacitySpec:
        return _spec_schema("total")
    raise NotImplementedError(wanted.__name__)


def _types_schema(parts: dict[str, Any]) -> dict[str, Any]:
    by_name = {"type": "object", "additionalProperties": {"type": ["object", "array", "null"]}}
    entry = {"anyOf": [_schema(inspect.type_info(ResourceType), parts), by_name]}
    return {
        "description": "Resource types: a list of them, a map by name, or a list of single pairs.",
        "anyOf": [{"type": "array", "items": entry}, by_name],
    }


def _spec_schema(*names: str) -> dict[str, Any]:
    parts = {
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/Resources"} for name in names},
        "additionalProperties": False,
    }
    return {"anyOf": [parts, {"type": "array", "items": parts}]}
