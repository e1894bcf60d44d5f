"""YAML to plain values: what scalars mean, and every way in which bad YAML is refused, with its message."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.sources.limits import DEFAULT_LIMITS, Limits
from ullage.sources.yaml_text import iter_yaml_values

SMALL = Limits(
    depth_max=5,
    yaml_nodes_max=50,
    yaml_aliases_max=3,
    yaml_alias_nodes_max=36,
    yaml_text_characters_max=20,
    yaml_bytes_max=1000,
)


def values(text, limits=DEFAULT_LIMITS):
    return [value for _, value in iter_yaml_values(text.encode(), "f.yaml", limits)]


def refusal(text, limits=DEFAULT_LIMITS):
    with pytest.raises(InputError) as caught:
        values(text, limits)
    return str(caught.value)


SCALARS = {
    # booleans and null as in YAML 1.1
    "yes": True,
    "Off": False,
    "true": True,
    "~": None,
    "": None,
    "null": None,
    # single letters are text
    "y": "y",
    "N": "N",
    # whole numbers
    "0": 0,
    "-12": -12,
    "+7": 7,
    "0755": 493,
    "0o17": 15,
    "0x1F": 31,
    "-0b101": -5,
    # text that other readers take for numbers
    "1_000": "1_000",
    "12:30:45": "12:30:45",
    "1:30": "1:30",
    "0x": "0x",
    "089": "089",
    "-": "-",
    # fractions and exponents as they were written
    "2.50": "2.50",
    "0.1": "0.1",
    "1e3": "1e3",
    ".inf": ".inf",
    ".nan": ".nan",
    "100m": "100m",
    # dates
    "2024-05-01": "2024-05-01",
    "2024-05-01T12:00:00Z": "2024-05-01T12:00:00Z",
    # quotes and tags
    "'12'": "12",
    '"yes"': "yes",
    "!!str 12": "12",
    "!!int 12": 12,
    "!!float 1.50": "1.50",
    "!!null ~": None,
    # too long for any whole number of ours
    "9" * 40: int("9" * 40),
    "9" * 41: "9" * 41,
}


@pytest.mark.parametrize(("text", "value"), SCALARS.items(), ids=[text[:20] for text in SCALARS])
def test_a_scalar_means(text, value):
    [document] = values(f"[{text}]" if text else "[~]")
    assert document == [value]
    assert type(document[0]) is type(value)


def test_keys_become_text_as_in_json():
    assert values("on: 1\n5: 2\n1.50: 3\n'': 4\n0x10: 5") == [{"true": 1, "5": 2, "1.50": 3, "": 4, "16": 5}]


def test_the_tags_of_lists_and_mappings_are_read():
    assert values("!!map {a: !!seq [1], b: ! {c: ! [d]}}") == [{"a": [1], "b": {"c": ["d"]}}]


def test_empty_documents_are_left_out_and_counted():
    text = "---\n---\na: 1\n...\n---\n# nothing\n---\nb: 2\n"
    assert list(iter_yaml_values(text.encode(), "f", DEFAULT_LIMITS)) == [(1, {"a": 1}), (3, {"b": 2})]


@pytest.mark.parametrize("text", ["", "# a comment\n", "---\n", "\ufeff"])
def test_text_without_a_document_has_no_values(text):
    assert values(text) == []


def test_a_merge_adds_what_the_mapping_lacks_and_the_first_source_wins():
    text = (
        "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nall: {y: 9, <<: [*b, *m], w: 0}\none: {<<: *b, x: 5}"
    )
    [document] = values(text)
    assert document["all"] == {"x": 1, "y": 9, "z": 4, "w": 0}
    assert document["one"] == {"x": 5, "y": 2}
    assert document["base"] == {"x": 1, "y": 2}


def test_a_quoted_merge_sign_is_a_key():
    assert values("'<<': 1\na: {'<<': 2}") == [{"<<": 1, "a": {"<<": 2}}]


def test_anchors_belong_to_their_document():
    assert refusal("a: &x 1\n---\nb: *x") == ("f.yaml:3:4: alias *x has no anchor before it; define &x first")


def test_an_anchor_given_again_is_the_newer_one():
    assert values("[&a 1, *a, &a 2, *a]") == [[1, 1, 2, 2]]


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

REFUSALS = {
    "a billion laughs": (
        LAUGHS,
        "f.yaml:7:8: aliases stand for more than 1000000 values; write the values out",
    ),
    "a list inside itself": (
        "a: &a [*a]",
        "f.yaml:1:8: alias *a stands inside what it names; write the value out",
    ),
    "an unknown alias": ("a: *b", "f.yaml:1:4: alias *b has no anchor before it; define &b first"),
    "a duplicate key": (
        "a: 1\nb:\n  k: 2\n  c: 3\n  k: 4\n",
        'f.yaml:5:3: key "k" is given twice (first at 3:3); keep one of them',
    ),
    "a duplicate key in a list in a later document": (
        "a: 1\n---\n- x: {}\n- [0, {q: 1, 'q': 2}]",
        'f.yaml:4:14: key "q" is given twice (first at 4:8); keep one of them',
    ),
    "two keys that mean the same": (
        "yes: 1\ntrue: 2",
        'f.yaml:2:1: key "true" is given twice (first at 1:1); keep one of them',
    ),
    "two merges": (
        "a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a",
        'f.yaml:4:3: key "<<" is given twice (first at 3:3); keep one of them',
    ),
    "a duplicate key inside a merge": (
        "<<: {a: 1, a: 2}",
        'f.yaml:1:12: key "a" is given twice (first at 1:6); keep one of them',
    ),
    "a merge of text": (
        "<<: abc",
        "f.yaml:1:5: << merges mappings only; give it an alias of a mapping, or a list of them",
    ),
    "deep lists": ("[" * 100_000, "f.yaml:1:101: nested deeper than 100 levels; flatten it"),
    "deep blocks": ("- " * 50_000, "f.yaml:1:201: nested deeper than 100 levels; flatten it"),
    "deep mappings": ("{a: " * 50_000, "f.yaml:1:401: nested deeper than 100 levels; flatten it"),
    "depth by aliases": (
        "a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60,
        "f.yaml:2:64: nested deeper than 100 levels; flatten it",
    ),
    "a tab for an indent": ("a:\n\tb: 1", "f.yaml:2:1: a tab where YAML wants spaces; indent with spaces"),
    "a tab among spaces": (
        "a:\n  b: 1\n\t c: 2",
        "f.yaml:3:1: a tab where YAML wants spaces; indent with spaces",
    ),
    "a tab after a dash": ("- a\n-\tb", "f.yaml:2:2: a tab where YAML wants spaces; indent with spaces"),
    "a tab behind other scripts": (
        "\ufeffä: é\nö:\n\tb: 1",
        "f.yaml:3:1: a tab where YAML wants spaces; indent with spaces",
    ),
    "a character that begins nothing": (
        "a: @b",
        (
            "f.yaml:1:4: malformed YAML: found character that cannot start any token; "
            "put text that begins with such a character in quotes"
        ),
    ),
    "a tag of Python": (
        "a: !!python/object/apply:os.system [ls]",
        (
            "f.yaml:1:4: unknown tag !!python/object/apply:os.system; "
            "remove it: only the tags of plain values are read"
        ),
    ),
    "a tag of one's own": (
        "a: !secret x",
        "f.yaml:1:4: unknown tag !secret; remove it: only the tags of plain values are read",
    ),
    "a set": (
        "a: !!set {b, c}",
        "f.yaml:1:4: unknown tag !!set; remove it: only the tags of plain values are read",
    ),
    "binary": (
        "a: !!binary aGVsbG8=",
        "f.yaml:1:4: unknown tag !!binary; remove it: only the tags of plain values are read",
    ),
    "a tag on the wrong value": (
        "a: !!int abc",
        'f.yaml:1:4: "abc" is no !!int; remove the tag or correct the value',
    ),
    "a list as a key": (
        "? [a]\n: 1",
        "f.yaml:1:3: a list or mapping is used as a key; write text before the colon",
    ),
    "an aliased list as a key": (
        "a: &a []\n*a : 1",
        "f.yaml:2:1: a key is null, a list or a mapping; write text before the colon",
    ),
    "no key": ("~: 1", "f.yaml:1:1: a key is null, a list or a mapping; write text before the colon"),
    "two colons": (
        "a: b: c",
        (
            "f.yaml:1:5: malformed YAML: mapping values are not allowed in this context; "
            "quote text that holds a colon, and indent with care"
        ),
    ),
    "an unclosed list": (
        "a: [1, 2",
        "f.yaml:2:1: malformed YAML: did not find expected ',' or ']'; close the list with ]",
    ),
    "an unclosed quote": (
        'a: "b',
        "f.yaml:1:6: malformed YAML: found unexpected end of stream; close the quote; was the file cut off?",
    ),
    "a crooked indent": (
        "a:\n  b: 1\n c: 2",
        "f.yaml:3:2: malformed YAML: did not find expected key; indent the line like its neighbours",
    ),
    "a control character": (
        "ä: 1\nb: \x01",
        "f.yaml:2:4: character U+0001 is not allowed in YAML; remove it, or escape it in double quotes",
    ),
    "many %TAG directives": (
        "".join(f"%TAG !a{number}! x\n" for number in range(101)) + "--- a",
        "f.yaml: more than 100 %TAG directives; remove them: tags are not used",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSALS.values(), ids=REFUSALS)
def test_bad_yaml_is_refused_in_one_line(text, message):
    assert refusal(text) == message


LIMITED = {
    "depth": ("[[[[[1]]]]]", "[[[[[[1]]]]]]", "f.yaml:1:6: nested deeper than 5 levels; flatten it"),
    "depth behind an alias": (
        "[&a [[1]], [[*a]]]",
        "[&a [[1]], [[[*a]]]]",
        "f.yaml:1:15: nested deeper than 5 levels; flatten it",
    ),
    "depth behind an alias of an alias": (
        "[&a [[]], &b [*a], [*b]]",
        "[&a [[]], &b [*a], [[*b]]]",
        "f.yaml:1:22: nested deeper than 5 levels; flatten it",
    ),
    "depth behind an alias that holds an anchor": (
        "[&o [[[]], &i []], [*o]]",
        "[&o [[[]], &i []], [[*o]]]",
        "f.yaml:1:22: nested deeper than 5 levels; flatten it",
    ),
    "aliases": (
        "[&a 1, *a, *a, *a]\n---\n[&a 1, *a]",
        "[&a 1, *a, *a, *a, *a]",
        "f.yaml:1:20: more than 3 aliases in one document; write the values out",
    ),
    "values": (
        "[" + "1, " * 48 + "1]",
        "[" + "1, " * 49 + "1]",
        "f.yaml:1:149: more than 50 values, aliases expanded; use JSON or split the file",
    ),
    "values over all documents": (
        "[1, 2]\n---\n[" + "1, " * 45 + "1]",
        "[1, 2]\n---\n[" + "1, " * 46 + "1]",
        "f.yaml:3:140: more than 50 values, aliases expanded; use JSON or split the file",
    ),
    "values behind aliases": (
        "[&a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], *a, *a, *a, 1]",
        "[&a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], *a, *a, *a, 1, 1]",
        "f.yaml:1:55: more than 50 values, aliases expanded; use JSON or split the file",
    ),
    "values of aliases": (
        "[&a [" + "1, " * 10 + "1], *a, *a, *a]",
        "[&a [" + "1, " * 11 + "1], *a, *a, *a]",
        "f.yaml:1:51: aliases stand for more than 36 values; write the values out",
    ),
    "text": (
        "a: " + "x" * 20,
        "a: " + "x" * 21,
        "f.yaml:1:4: text of 21 characters, the limit is 20; shorten it",
    ),
    "size": (
        "#" * 1000,
        "#" * 1001,
        (
            "f.yaml: 1001 bytes of YAML, the limit is 1000 bytes; "
            "write it as JSON, which is read a hundred times faster: kubectl get ... -o json"
        ),
    ),
}


@pytest.mark.parametrize(("within", "over", "message"), LIMITED.values(), ids=LIMITED)
def test_what_is_at_a_limit_is_read_and_what_is_over_it_is_refused(within, over, message):
    values(within, SMALL)
    assert refusal(over, SMALL) == message


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc <:", max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_what_a_yaml_writer_writes_is_read_back(value):
    text = yaml.dump(value, Dumper=yaml.CSafeDumper, allow_unicode=True)
    assert values(text) == ([] if value is None else [value])


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_fraction_is_the_text_it_was_written_as(number):
    assert values(f"[{number!r}]") == [[repr(number)]]
    assert math.isclose(float(repr(number)), number, rel_tol=0)
