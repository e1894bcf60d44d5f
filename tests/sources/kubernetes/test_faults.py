"""Faults on their way from where they are found to the document they stand in."""

import pytest

from ullage.model.errors import InputError
from ullage.sources.documents import documents_of
from ullage.sources.kubernetes.faults import Fault

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
