"""msgspec's complaints in our words, with the path of what is at fault."""

from typing import Annotated, Literal

import msgspec
import pytest

from ullage.model.errors import InputError
from ullage.sources.decode_errors import input_error


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    size: Annotated[int, msgspec.Meta(ge=0, le=10)] = 0
    short: Annotated[str, msgspec.Meta(max_length=3)] = ""
    mode: Literal["a", "b"] = "a"
    on: bool = False
    amount: str | int = 0
    pair: tuple[int, str] = (0, "")
    ports: dict[int, str] = {}
    nothing: None = None
    share: float = 0

    def __post_init__(self) -> None:
        if self.name == "bad":
            raise InputError('the name "bad" is taken', where="name", remedy="choose another")
        if self.name == "worse":
            raise ValueError("worse\nthan bad")


class Outer(msgspec.Struct):
    items: list[Inner] = []
    table: dict[str, Inner] = {}


COMPLAINTS = {
    b'{"items": 1}': "f: items: expected a list, found a number; write a list",
    b'{"items": [{"name": 5}]}': "f: items[0].name: expected text, found a number; put it in quotes",
    b'{"items": [{"name": []}]}': "f: items[0].name: expected text, found a list; write text",
    b'{"items": [{"name": null}]}': "f: items[0].name: expected text, found null; put it in quotes",
    b'{"items": [{"name": "n"}, {}]}': 'f: items[1]: the field "name" is missing; add it',
    b'{"items": [{"name": "n", "nme": 1}]}': (
        'f: items[0]: unknown field "nme"; correct its spelling or remove it'
    ),
    b'{"items": [{"name": "n", "size": "5"}]}': (
        "f: items[0].size: expected a whole number, found text; write a whole number"
    ),
    b'{"items": [{"name": "n", "size": -1}]}': (
        "f: items[0].size: expected a whole number >= 0; correct the value"
    ),
    b'{"items": [{"name": "n", "short": "abcd"}]}': (
        "f: items[0].short: expected text of length <= 3; correct the value"
    ),
    b'{"items": [{"name": "n", "mode": "c"}]}': (
        "f: items[0].mode: 'c' is not one of the allowed values; use one that is"
    ),
    b'{"items": [{"name": "n", "on": 1}]}': (
        "f: items[0].on: expected true or false, found a number; write true or false"
    ),
    b'{"items": [{"name": "n", "amount": true}]}': (
        "f: items[0].amount: expected a whole number or text, found a boolean; write a whole number or text"
    ),
    b'{"items": [{"name": "n", "pair": [1]}]}': (
        "f: items[0].pair: expected a list of length 2; correct the value"
    ),
    b'{"items": [{"name": "n", "ports": {"x": "y"}}]}': (
        "f: items[0].ports: a key: expected a whole number, found text; write a whole number"
    ),
    b'{"items": [{"name": "n", "nothing": {}}]}': (
        "f: items[0].nothing: expected null, found a mapping; write null"
    ),
    b'{"items": [{"name": "n", "share": 1e400}]}': (
        "f: items[0].share: the number is too large; write a number of at most 64 bits"
    ),
    b'{"items": [{"name": "bad"}]}': 'f: items[0]: name: the name "bad" is taken; choose another',
    b'{"items": [{"name": "worse"}]}': "f: items[0]: worse\\nthan bad; correct the value",
    b'{"table": {"k": {"name": 5}}}': "f: table: expected text, found a number; put it in quotes",
    b"[]": "f: expected a mapping, found a list; write a mapping",
}


@pytest.mark.parametrize(("data", "message"), COMPLAINTS.items(), ids=[data.decode() for data in COMPLAINTS])
def test_a_complaint_names_the_place_the_fault_and_the_remedy(data, message):
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(data, type=Outer)
    assert str(input_error(caught.value, "f")) == message


def test_a_later_document_is_named_by_its_number():
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"items": 1}', type=Outer)
    assert str(input_error(caught.value, "f", 2)) == (
        "f: document 3: items: expected a list, found a number; write a list"
    )
