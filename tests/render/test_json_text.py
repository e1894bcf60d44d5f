import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from render.pages import characters
from ullage.render.json_text import to_json, to_yaml

DATA = {
    "apiVersion": "ullage.dev/v1",
    "kind": "Status",
    "revision": "012",
    "nodes": [
        {"name": "gpu-7", "cpu_milli": 64000, "limits": {"cpu": "1e3", "memory": "503Gi"}, "ready": True},
        {"name": "no", "note": "grün: 名前", "actual": None},
    ],
    "findings": [],
}
number_like = st.from_regex(r"[-+]?[0-9_]{0,4}[.eExo:]?[-+]?[0-9a-f]{0,4}", fullmatch=True)
plain_texts = (
    st.text(max_size=20) | number_like | st.sampled_from(["yes", "No", "~", "null", "n", "=", "<<", "1:30"])
)
leaves = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | plain_texts
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_texts, inner, max_size=4)
)


def test_the_sample_looks_as_it_did(matches_golden):
    matches_golden("data.json", to_json(DATA))
    matches_golden("data.yaml", to_yaml(DATA))


@given(trees)
def test_what_is_written_reads_back_the_same(tree):
    assert json.loads(to_json(tree)) == tree
    assert yaml.safe_load(to_yaml(tree)) == tree


@given(st.dictionaries(st.text(characters), st.text(characters), max_size=3))
def test_nothing_a_terminal_would_obey_is_written_raw(tree):
    for text in (to_json(tree), to_yaml(tree)):
        assert all(line.isprintable() for line in text.split("\n"))
        text.encode()


@pytest.mark.parametrize(
    "text",
    [
        "1e3",
        "012",
        "08",
        "0o17",
        "0x1F",
        "1_000",
        "1.5",
        ".5",
        "5.",
        "+1",
        "y",
        "N",
        "no",
        "null",
        "~",
        "1:30",
    ],
)
def test_a_text_that_some_reader_takes_for_another_value_is_quoted(text):
    assert to_yaml({"a": text}) in {f'a: "{text}"\n', f"a: '{text}'\n"}


@pytest.mark.parametrize("text", ["500m", "1Gi", "web-1", "v1", "10.0.0.1", "grün"])
def test_an_ordinary_text_is_not_quoted(text):
    assert to_yaml({"a": text}) == f"a: {text}\n"


def test_keys_keep_their_order_and_what_occurs_twice_is_written_twice():
    limits = {"memory": "1Gi", "cpu": "1"}
    assert (
        to_yaml({"b": limits, "a": limits})
        == 'b:\n  memory: 1Gi\n  cpu: "1"\na:\n  memory: 1Gi\n  cpu: "1"\n'
    )
    assert list(json.loads(to_json({"b": 1, "a": 2}))) == ["b", "a"]


def test_a_long_text_stays_on_one_line():
    text = "word " * 100 + "end"
    assert to_yaml({"a": text}) == f"a: {text}\n"


def test_an_undecodable_name_is_spelled_out():
    assert json.loads(to_json({"a\udc80": ["\udc80"]})) == {"a\\udc80": ["\\udc80"]}
    assert yaml.safe_load(to_yaml({"a\udc80": ["\udc80", 1]})) == {"a\\udc80": ["\\udc80", 1]}
