"""Forms as browsers send them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.web.forms import FIELDS_MAX, form_fields
from ullage.web.http import Problem

PLAIN = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
WITH_FILES = {"content-type": 'multipart/form-data; boundary="b"'}


def parts(*given):
    lines = []
    for name, more, text in given:
        lines += ["--b", f'Content-Disposition: form-data; name="{name}"{more}', "", text]
    return "\r\n".join([*lines, "--b--", ""]).encode()


def test_the_last_field_of_a_name_counts():
    assert form_fields(PLAIN, b"a=1&b=%C3%BC+x&a=2&c=") == {"a": "2", "b": "ü x", "c": ""}


def test_files_are_text():
    body = parts(("csrf", "", "t"), ("file", '; filename="pod.yaml"', "kind: Pod\r\nname: ü"))
    assert form_fields(WITH_FILES, body) == {"csrf": "t", "file": "kind: Pod\r\nname: ü"}


@pytest.mark.parametrize("content", ["application/json", "text/plain", ""])
def test_what_is_no_form_has_no_fields(content):
    assert form_fields({"content-type": content}, b"a=b") == {}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (PLAIN, b"\xff=1"),
        (PLAIN, b"a=1&" * (FIELDS_MAX + 1)),
        ({"content-type": "multipart/form-data"}, parts(("a", "", "b"))),
        (WITH_FILES, parts(*[("a", "", "b")] * (2 * FIELDS_MAX + 1))),
    ],
)
def test_what_cannot_be_read_is_refused(headers, body):
    with pytest.raises(Problem, match="the form cannot be read"):
        form_fields(headers, body)


@given(body=st.binary(max_size=300), headers=st.sampled_from([PLAIN, WITH_FILES]))
def test_whatever_is_sent_is_read_or_refused(body, headers):
    try:
        fields = form_fields(headers, body)
    except Problem:
        return
    assert all(isinstance(each, str) for pair in fields.items() for each in pair)
