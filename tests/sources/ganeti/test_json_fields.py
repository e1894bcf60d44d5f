"""Fields of JSON objects: each kind is read as such, and what is not of its kind is refused by name."""

import pytest

from ullage.model.errors import InputError
from ullage.sources.ganeti.json_fields import AMOUNT_MAX, LISTED_MAX, Fields

HUGE = 10**400


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        ("text", "x", "x"),
        ("flag", False, False),
        ("number", 3, 3.0),
        ("number", 0.5, 0.5),
        ("whole", 3, 3),
        ("whole", 2.5, 2),
        ("whole", 3.5, 4),
        ("texts", ["a", "b"], ("a", "b")),
        ("items", [1, "b"], [1, "b"]),
    ],
)
def test_a_value_of_its_kind_is_read(read, value, expected):
    assert getattr(Fields({"k": value}, "it"), read)("k") == expected


@pytest.mark.parametrize(
    ("read", "value", "what"),
    [
        ("text", 1, "Unable to read String"),
        ("text", None, "Unable to read String"),
        ("flag", 1, "Unable to read Bool"),
        ("number", "1", "Unable to read Double"),
        ("number", True, "Unable to read Double"),
        ("number", -1, "-1 is out of bounds"),
        ("whole", "1", "Unable to read Int"),
        ("whole", True, "Unable to read Int"),
        ("whole", -1, "-1 is out of bounds"),
        ("whole", AMOUNT_MAX + 1, "is out of bounds"),
        ("whole", HUGE, "is out of bounds"),
        ("number", float("inf"), "inf is out of bounds"),
        ("number", float("nan"), "nan is out of bounds"),
        ("texts", "ab", "Unable to read list"),
        ("texts", [1], "Unable to read String"),
        ("items", [0] * (LISTED_MAX + 1), "lists 200001"),
        ("within", [], "Unable to read JSObject"),
        ("objects", [1], "not an object"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_name(read, value, what):
    with pytest.raises(InputError, match="it: key 'k'") as raised:
        getattr(Fields({"k": value}, "it"), read)("k")
    assert what in str(raised.value)


def test_a_key_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(InputError) as raised:
        Fields({"a": 1, "b": 2}, "it").text("k")
    assert str(raised.value) == "it: key 'k' not found; it has 'a', 'b'"


def test_signed_numbers_may_be_below_zero():
    fields = Fields({"k": -2}, "it")
    assert (fields.whole("k", signed=True), fields.number("k", signed=True)) == (-2, -2.0)


def test_a_choice_is_one_of_those_listed():
    fields = Fields({"k": "red"}, "it")
    assert fields.choice("k", "Colour", ("red", "blue")) == "red"
    with pytest.raises(InputError, match="Invalid string value for type Colour"):
        fields.choice("k", "Colour", ("blue",))


def test_objects_by_name_say_what_they_are():
    fields = Fields({"nodes": {"a": {"x": 1}, "b": 3}}, "it")
    named = fields.named("nodes", "node")
    name, first = next(named)
    assert (name, first.whole("x")) == ("a", 1)
    with pytest.raises(InputError, match="invalid data for node 'b': not an object"):
        next(named)


def test_null_counts_as_absent_where_a_key_may_be():
    fields = Fields({"a": None, "b": 0}, "it")
    assert [fields.has(key) for key in ("a", "b", "c")] == [False, True, False]
