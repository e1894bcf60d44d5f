"""JSON text: values one after the other, text that is none, and keys that stand twice."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.sources.json_text import is_json, iter_json_values, looks_like_json, reject_duplicate_keys
from ullage.sources.limits import Limits


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"", []),
        (b" \r\n\t", []),
        (b"{}", [{}]),
        (b"\xef\xbb\xbf {}\n", [{}]),
        (b'{"a":1}{"b":2}', [{"a": 1}, {"b": 2}]),
        (b'\n{"a":1}\n\n{"b":[2]}\n[3]\n', [{"a": 1}, {"b": [2]}, [3]]),
        (b'1 2 "x" null', [1, 2, "x", None]),
        (b'{"a":"}{"} {"b":"\\""}', [{"a": "}{"}, {"b": '"'}]),
    ],
)
def test_values_that_stand_one_after_the_other_are_taken_apart(data, values):
    assert [json.loads(bytes(view)) for view in iter_json_values(data, "f")] == values


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text(st.characters(codec="utf-8"), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.lists(JSON_VALUES.filter(lambda value: isinstance(value, list | dict)), max_size=5),
    st.sampled_from(["", "\n", " "]),
)
def test_any_values_written_one_after_the_other_are_taken_apart(values, between):
    data = between.join(json.dumps(value) for value in values).encode()
    assert [json.loads(bytes(view)) for view in iter_json_values(data, "f")] == values
    assert is_json(data)


CUT_OFF = "the JSON ends inside a value; was the dump cut off? run kubectl again"

REFUSALS = {
    "cut off in an object": (
        b'{"items": [\n{"a": 1},\n{"b"',
        f"f: truncated at byte 26 (line 3): {CUT_OFF}",
    ),
    "cut off in a text": (
        b'{"a": "bc',
        f"f: truncated at byte 9 (line 1): {CUT_OFF}",
    ),
    "cut off in the second value": (
        b'{"a": 1}\n{"b": ',
        f"f: truncated at byte 15 (line 2): {CUT_OFF}",
    ),
    "no comma": (
        b'{"a": 1\n "b": 2}',
        "f:2:2: malformed JSON: expected ',' or '}'; correct it, or run kubectl again",
    ),
    "a comma too many": (
        b"[1, 2,]",
        "f:1:7: malformed JSON: trailing comma in array; correct it, or run kubectl again",
    ),
    "something behind a value": (
        "{}\né nothing".encode(),
        "f:2:1: malformed JSON: invalid character; correct it, or run kubectl again",
    ),
    "a hundred thousand lists": (b"[" * 100_000, "f:1:101: nested deeper than 100 levels; flatten it"),
    "a hundred thousand objects": (b'{"a":' * 100_000, "f:1:501: nested deeper than 100 levels; flatten it"),
    "brackets in text do not count": (
        b'["[[[[\\"", ' + b"[" * 100_000,
        "f:1:111: nested deeper than 100 levels; flatten it",
    ),
    "depth in the second value": (
        b"[[]]\n" + b"[" * 100_000,
        "f:2:101: nested deeper than 100 levels; flatten it",
    ),
}


@pytest.mark.parametrize(("data", "message"), REFUSALS.values(), ids=REFUSALS)
def test_text_that_is_no_json_is_refused_in_one_line(data, message):
    with pytest.raises(InputError) as caught:
        list(iter_json_values(data, "f"))
    assert str(caught.value) == message
    assert not is_json(data)


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (b'{"a": 1}', True),
        (b"\xef\xbb\xbf\n {\n}", True),
        (b"[{", True),
        (b"{", True),
        (b"{a: 1}", False),
        (b"[a, b]", False),
        (b"- {}", False),
        (b"apiVersion: v1", False),
        (b"", False),
        (b"---\n{}", False),
    ],
)
def test_json_is_told_by_its_beginning(data, looks):
    assert looks_like_json(data) is looks


DUPLICATES = {
    "at the top": (b'{"a": 1,\n "a": 2}', 'f:2:2: key "a" is given twice (first at 1:2); keep one of them'),
    "inside a list": (
        b'[{"a": 1}, {"a": {"b": 1, "c": [], "b": 2}}]',
        'f:1:36: key "b" is given twice (first at 1:19); keep one of them',
    ),
    "written in two ways": (
        b'{"a": 1, "\\u0061": 2}',
        'f:1:10: key "a" is given twice (first at 1:2); keep one of them',
    ),
    "in the second value": (
        b'{"a": "x: {\\"a\\": 1}"}\n{"b" : 1, "b" : 2}',
        'f:2:11: key "b" is given twice (first at 2:2); keep one of them',
    ),
    "cut off": (
        b'{"a": 1, "a"',
        f"f: truncated at byte 12 (line 1): {CUT_OFF}",
    ),
    "deep": (b"[" * 100_000, "f:1:101: nested deeper than 100 levels; flatten it"),
}


@pytest.mark.parametrize(("data", "message"), DUPLICATES.values(), ids=DUPLICATES)
def test_a_key_given_twice_is_refused_with_both_places(data, message):
    with pytest.raises(InputError) as caught:
        reject_duplicate_keys(data, "f")
    assert str(caught.value) == message


@given(JSON_VALUES)
def test_json_without_duplicate_keys_passes(value):
    reject_duplicate_keys(b"\xef\xbb\xbf" + json.dumps(value).encode(), "f")


def test_numbers_of_any_length_pass_the_check_for_duplicate_keys():
    reject_duplicate_keys(b'{"a": 1' + b"0" * 5000 + b', "b": 1e999, "c": 0.5}', "f")


def test_only_files_of_moderate_size_are_checked_for_duplicate_keys():
    limits = Limits(strict_bytes_max=4)
    reject_duplicate_keys(b"[  ]", "f", limits)
    with pytest.raises(InputError, match=r"^f: more than 4 bytes in one JSON document; split the file$"):
        reject_duplicate_keys(b"[   ]", "f", limits)
