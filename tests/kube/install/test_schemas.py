from typing import Literal

import msgspec
import pytest

from ullage.kube.install.schemas import AMOUNTS, record_schema


class Example(msgspec.Struct, rename="camel"):
    first_name: str
    size: int = 0
    is_open: bool | None = None
    parts: list[str] | None = None
    state: Literal["on", "off"] = "on"
    amounts: msgspec.Raw = msgspec.Raw(b"null")


TEXTS = {"firstName": "a", "size": "b", "isOpen": "c", "parts": "d", "state": "e", "amounts": "f"}
FORMS = {"amounts": AMOUNTS}


def test_a_schema_names_every_field_as_it_is_written_with_its_text():
    found = record_schema(Example, TEXTS, FORMS)
    assert {name: each["description"] for name, each in found["properties"].items()} == TEXTS
    assert found["required"] == ["firstName"]
    assert {name: each["type"] for name, each in found["properties"].items()} == {
        "firstName": "string",
        "size": "integer",
        "isOpen": "boolean",
        "parts": "array",
        "state": "string",
        "amounts": "object",
    }
    assert found["properties"]["amounts"] == {"description": "f", **AMOUNTS}
    assert sorted(found["properties"]["state"]["enum"]) == ["off", "on"]


@pytest.mark.parametrize("texts", [{**TEXTS, "more": "g"}, {"size": "b"}])
def test_a_field_without_a_text_and_a_text_without_a_field_are_refused(texts):
    with pytest.raises(ValueError, match="lack a text or a field"):
        record_schema(Example, texts, FORMS)


def test_a_type_that_says_too_little_needs_a_form():
    with pytest.raises(TypeError, match="give the field a form"):
        record_schema(Example, TEXTS)
