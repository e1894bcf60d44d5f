"""JSON Schemas of the records that are asked and answered, each a component that others refer to.

msgspec makes schemas too, but cannot write a default that is one of our own classes (resources, exact
fractions); those classes are told here as they stand in JSON.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from msgspec import inspect

from ullage.model.resources import Amount, Resources

REFERENCE: Final = "#/components/schemas/"
_PLAIN: Final[Mapping[Any, str]] = {
    inspect.StrType: "string",
    inspect.BytesType: "string",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
}
_BOUNDS: Final[Mapping[str, str]] = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "pattern": "pattern",
}
_CLASSES: Final[Mapping[type, dict[str, Any]]] = {
    Resources: {
        "description": "Amounts by resource name, as 500m, 2.5 or 40Mi.",
        "type": "object",
        "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    },
    Amount: {"description": "An amount, as 500m, 2.5 or 40Mi.", "type": "string"},
    Fraction: {"description": "An exact number: a decimal, or a fraction as 4/3.", "type": "string"},
}


class Schemas:
    """All components so far; two records of one name have to be the same."""

    def __init__(self) -> None:
        self.components: dict[str, dict[str, Any]] = {}
        self._records: dict[str, type] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type; a record is a reference."""
        return self._schema(inspect.type_info(kind))

    def fields(self, record: type) -> dict[str, dict[str, Any]]:
        """Return the schemas of a record's fields by name."""
        self.of(record)
        properties: dict[str, dict[str, Any]] = self.components[record.__name__]["properties"]
        return properties

    def _schema(self, info: Any) -> dict[str, Any]:
        match info:
            case inspect.Metadata(type=inner, extra_json_schema=extra):
                return {**self._schema(inner), **(extra or {})}
            case inspect.StructType(cls=record):
                return self._record(info, record)
            case inspect.CustomType(cls=kind):
                return dict(_CLASSES[kind])
            case inspect.AnyType() | inspect.RawType():
                return {}
            case inspect.LiteralType(values=values):
                return {"enum": list(values)}
            case inspect.UnionType(types=types):
                return {"anyOf": [self._schema(each) for each in types]}
            case inspect.TupleType(item_types=items):
                each = [self._schema(item) for item in items]
                return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
            case inspect.CollectionType(item_type=item):
                return {"type": "array", "items": self._schema(item), **_lengths(info, "Items")}
            case inspect.DictType(value_type=value):
                return {"type": "object", "additionalProperties": self._schema(value)}
            case _:
                bounds = {told: getattr(info, name, None) for name, told in _BOUNDS.items()}
                kept = {told: bound for told, bound in bounds.items() if bound is not None}
                return {"type": _PLAIN[type(info)], **kept, **_lengths(info, "Length")}

    def _record(self, info: inspect.StructType, record: type) -> dict[str, Any]:
        name = record.__name__
        if self._records.setdefault(name, record) is not record:
            raise ValueError(f"two records are called {name}: {record} and {self._records[name]}")
        if name not in self.components:
            self.components[name] = {}  # it may hold itself
            self.components[name] = self._described(info, record)
        return {"$ref": f"{REFERENCE}{name}"}

    def _described(self, info: inspect.StructType, record: type) -> dict[str, Any]:
        properties = {}
        for field in info.fields:
            schema = self._schema(field.type)
            if isinstance(field.default, str | int | float):
                schema = {**schema, "default": field.default}
            properties[field.encode_name] = schema
        required = [field.encode_name for field in info.fields if field.required]
        if info.tag_field is not None:
            properties = {info.tag_field: {"enum": [info.tag]}, **properties}
            required = [info.tag_field, *required]
        found: dict[str, Any] = {
            "title": record.__name__,
            "description": (record.__doc__ or "").partition("\n")[0],
            "type": "object",
            "properties": properties,
        }
        if required:
            found["required"] = required
        if info.forbid_unknown_fields:
            found["additionalProperties"] = False
        return found


def _lengths(info: Any, what: str) -> dict[str, int]:
    ends = {
        f"min{what}": getattr(info, "min_length", None),
        f"max{what}": getattr(info, "max_length", None),
    }
    return {name: length for name, length in ends.items() if length is not None}
