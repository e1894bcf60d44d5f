"""Structural schemas (OpenAPI v3 as API servers want it) made from the records that read the objects.

The records say which fields there are; a text for each says what it means, and no field goes without. The
hard thing is that a server judges by these before it asks the webhook: what the webhook judges too, in the
words of the command line, is left to it. CEL rules have a budget, reckoned by the largest object that a
schema allows, so every list, map and text has a maximum.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

from ullage.kube.install.choices import Document

NAME_CHARACTERS_MAX: Final = 253
TEXT_CHARACTERS_MAX: Final = 1024
RESOURCES_MAX: Final = 64
"""Resources that one map of amounts may name."""
LIST_ITEMS_MAX: Final = 100_000
_DIGITS: Final = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_QUANTITY_PATTERN: Final = (
    rf"^[+-]?{_DIGITS}(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$"  # what resource.Quantity reads
)

NAME: Final[Document] = {"type": "string", "maxLength": NAME_CHARACTERS_MAX}
TEXT: Final[Document] = {"type": "string", "maxLength": TEXT_CHARACTERS_MAX}
WHOLE: Final[Document] = {"type": "integer", "format": "int64"}
QUANTITY: Final[Document] = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "maxLength": 64,
    "pattern": _QUANTITY_PATTERN,
}
USED: Final[Document] = {
    "type": "object",
    "maxProperties": RESOURCES_MAX,
    "additionalProperties": QUANTITY,
}
"""Amounts by resource, as they are found."""
WRITTEN: Final[Document] = {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}
"""An amount or a number as somebody writes it, also with decimals: whether it is one the webhook says.

It has no type, as none takes a text, a whole number and a decimal; null is kept, so that it is refused.
"""
AMOUNTS: Final[Document] = {
    "type": "object",
    "maxProperties": RESOURCES_MAX,
    "additionalProperties": WRITTEN,
}
"""Amounts by resource, as they are wanted."""
_CONDITION_TEXTS: Final = {
    "type": "What this condition is about, such as Valid.",
    "reason": "Why, in one word.",
    "message": "Why, for people.",
}
CONDITIONS: Final[Document] = {
    "description": "What is to be said about this object, one entry for each question.",
    "type": "array",
    "maxItems": 16,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            **{
                name: {"description": text, "type": "string", "maxLength": 32768}
                for name, text in _CONDITION_TEXTS.items()
            },
            "status": {
                "description": "Whether it is so.",
                "type": "string",
                "enum": ["True", "False", "Unknown"],
            },
            "lastTransitionTime": {
                "description": "Since when.",
                "type": "string",
                "format": "date-time",
            },
            "observedGeneration": {
                **WHOLE,
                "description": "The generation of the object that this was said of.",
            },
        },
    },
}
OBSERVED: Final[Document] = {
    **WHOLE,
    "description": "The generation of the object that this status was made from.",
}


def described(text: str, schema: Mapping[str, Any]) -> Document:
    """Return a schema with what its field means."""
    return {"description": text, **schema}


def record_schema(
    record: type[msgspec.Struct], texts: Mapping[str, str], forms: Mapping[str, Document] | None = None
) -> Document:
    """Return the schema of a record by the names of its fields as they are written.

    `texts` names every field and nothing else. `forms` are schemas of fields whose type does not tell all.
    """
    fields: Any = inspect.type_info(record)
    written = {field.encode_name: field for field in fields.fields}
    if set(texts) != set(written):
        raise ValueError(f"{record.__name__}: {sorted(set(texts) ^ set(written))} lack a text or a field")
    given = forms or {}
    properties = {
        name: described(texts[name], given[name] if name in given else _form(field.type))
        for name, field in written.items()
    }
    required = [name for name, field in written.items() if field.required]
    found = {"type": "object", "properties": properties}
    return {**found, "required": required} if required else found


def _form(info: Any) -> Document:
    """Return the schema of a type of a field."""
    match info:
        case inspect.UnionType(types=types):
            (only,) = [each for each in types if not isinstance(each, inspect.NoneType)]
            return _form(only)
        case inspect.StrType():
            return NAME
        case inspect.IntType():
            return WHOLE
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case inspect.ListType(item_type=item):
            return {"type": "array", "maxItems": LIST_ITEMS_MAX, "items": _form(item)}
        case _:
            raise TypeError(f"no schema for {info}: give the field a form")


def object_schema(
    text: str, spec: Mapping[str, Any] | None, status: Mapping[str, Any] | None = None, **more: Any
) -> Document:
    """Return the schema of a whole object; `more` stands beside its properties."""
    parts: dict[str, Any] = {
        "apiVersion": {"description": "The version of this form.", "type": "string"},
        "kind": {"description": "What kind of object this is.", "type": "string"},
        "metadata": {"type": "object"},  # of which a definition may say nothing
    }
    if spec is not None:
        parts["spec"] = {"description": "What is wanted.", **spec}
    if status is not None:
        parts["status"] = {"description": "What is found, kept by the operator.", **status}
    return {"description": text, "type": "object", "properties": parts, **more}
