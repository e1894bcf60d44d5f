"""Faults on their way from where they are found to the document they stand in."""

import msgspec
import pytest

from ullage.model.errors import InputError
from ullage.sources.documents import documents_of
from ullage.sources.kubernetes.faults import Fault, decoded


class Part(msgspec.Struct):
    name: str = "none"
    parts: list["Part"] = []
    flags: dict[str, bool] = {}


PART = msgspec.json.Decoder(Part)
ERROR = InputError("it is wrong", remedy="mend it")


def test_a_fault_gains_steps_on_its_way_out():
    assert Fault(ERROR, ("c",)).under("a", 1).under("z").path == ("z", "a", 1, "c")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"items": [{"a": 1}]}', "f: items[0].a: it is wrong; mend it"),
        ("items:\n- a: 1\n", "f:2:6: items[0].a: it is wrong; mend it"),
    ],
)
def test_it_becomes_an_error_with_its_place(text, expected):
    (document,) = documents_of(text.encode(), "f")
    assert str(Fault(ERROR, ("a",)).in_document(document, ("items", 0))) == expected


def test_a_place_that_the_error_has_itself_stands_behind():
    (document,) = documents_of(b"{}", "f")
    error = InputError("it is wrong", where="inside")
    assert str(Fault(error, ("a",)).in_document(document, ())) == "f: a: inside: it is wrong"


def test_a_field_that_is_null_counts_as_not_there():
    text = b'{"name": null, "parts": [{"name": null, "flags": {"a": true}}, {"parts": null}]}'
    assert decoded(PART, text) == Part(parts=[Part(flags={"a": True}), Part()])


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b'{"parts": [{"name": 1}]}', ("parts", 0, "name")),
        (b'{"name": null, "parts": [{"name": 1}]}', ("name",)),
        (b'{"flags": {"a": "null"}}', ("flags", "a")),
        (b"null", ()),
    ],
)
def test_what_is_wrong_is_found_in_the_text_as_it_was_written(text, path):
    with pytest.raises(Fault) as caught:
        decoded(PART, text)
    assert caught.value.path == path
