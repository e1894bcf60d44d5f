"""Schemas of records: everything that is written in that way is valid, and what is not is not."""

from fractions import Fraction
from typing import Annotated, Any, Literal

import jsonschema
import msgspec
import pytest

from ullage.model.resources import Resources
from ullage.web.schemas import REFERENCE, Schemas


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    """Inner things."""

    size: Annotated[int, msgspec.Meta(ge=1, description="How large.")]
    inners: tuple["Inner", ...] = ()


class Outer(msgspec.Struct, rename="camel"):
    """Outer things."""

    inner_thing: Inner
    pair: tuple[int, str]
    resources: Resources = Resources()
    ratio: Fraction = Fraction(1)
    mode: Literal["a", "b"] | None = None
    names: Annotated[list[str], msgspec.Meta(max_length=2)] = []
    more: dict[str, Any] = {}
    flag: bool = False


GOOD = {"innerThing": {"size": 1, "inners": [{"size": 2}]}, "pair": [1, "x"]}


def errors(value):
    schemas = Schemas()
    top = schemas.of(Outer)
    assert top == {"$ref": f"{REFERENCE}Outer"}
    whole = {**top, "components": {"schemas": schemas.components}}
    return list(jsonschema.Draft202012Validator(whole).iter_errors(value))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"resources": {"cpu": "500m", "memory": 3}},
        {"ratio": "4/3", "mode": None, "names": ["a", "b"], "more": {"x": [1]}, "unknown": 1},
    ],
)
def test_what_is_so_is_valid(more):
    assert not errors({**GOOD, **more})


@pytest.mark.parametrize(
    "more",
    [
        {"innerThing": {"size": 0}},
        {"innerThing": {"size": 1, "unknown": 2}},
        {"innerThing": {"size": 1, "inners": [{}]}},
        {"pair": [1]},
        {"pair": ["x", 1]},
        {"resources": ["cpu"]},
        {"mode": "c"},
        {"names": ["a", "b", "c"]},
        {"flag": "yes"},
    ],
)
def test_what_is_not_so_is_not(more):
    assert errors({**GOOD, **more})


def test_fields_say_what_they_are_and_what_they_are_otherwise():
    schemas = Schemas()
    assert schemas.fields(Inner)["size"] == {"type": "integer", "minimum": 1, "description": "How large."}
    assert schemas.fields(Outer)["flag"] == {"type": "boolean", "default": False}
    assert schemas.components["Inner"]["description"] == "Inner things."


def test_two_records_of_one_name_are_refused():
    schemas = Schemas()
    schemas.of(Inner)
    with pytest.raises(ValueError, match="two records are called Inner"):
        schemas.of(type("Inner", (msgspec.Struct,), {"__annotations__": {"a": int}}))
