"""Long lists cut into parts: right for every text, or not at all."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.sources.documents import documents_of
from ullage.sources.kubernetes.items import Page, items_of
from ullage.sources.kubernetes.list_parts import long_list, parts_of

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
ITEMS = st.lists(st.dictionaries(st.sampled_from(["metadata", "spec", "a"]), VALUES, max_size=3), max_size=8)


def joined_parts(text, part_bytes):
    data = text.encode()
    found = long_list(data, 0, None, part_bytes)
    if found is None:
        return None
    return [item for part in parts_of(data, found, part_bytes) for item in json.loads(part)]


@given(ITEMS, st.integers(1, 60), st.integers(0, 8))
def test_the_parts_together_are_the_items(items, part_bytes, indent):
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=indent)
    assert joined_parts(text, part_bytes) in (None, items)


def test_kubectl_writes_lists_that_can_be_cut():
    items = [{"kind": "Pod", "spec": {"list": [{"deep": n}]}} for n in range(50)]
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=4)
    assert joined_parts(text, 200) == items
    data = text.encode()
    found = long_list(data, 0, None, 200)
    assert len(list(parts_of(data, found, 200))) > 10
    assert found.after == len(data)


ONE = json.dumps({"items": [{"a": n} for n in range(9)]}, indent=4)
# Each row: a text that only looks like a list that can be cut.
NOT_CUT = {
    "short": '{"items": [\n {\n}\n]}',
    "items inside something else": json.dumps({"spec": {"items": [{"a": n} for n in range(9)]}}, indent=4),
    "items twice": ONE[:-2] + ',\n"items": []}',
    "cut off": ONE[: len(ONE) // 2],
    "no list at all": json.dumps({"a": ["b" * 99]}, indent=4),
    "items far behind": json.dumps({"a": "b" * 9999, "items": [{"a": n} for n in range(9)]}, indent=4),
    "not indented": json.dumps({"items": [{"a": n} for n in range(9)]}),
    "no objects": json.dumps({"items": list(range(99))}, indent=4),
}


@pytest.mark.parametrize("case", NOT_CUT)
def test_other_texts_are_left_alone(case):
    assert long_list(NOT_CUT[case].encode(), 0, None, 5) is None


def names(text, part_bytes):
    return [
        "page" if isinstance(item, Page) else (document.index, item.path[-1], item.kind.name)
        for document in documents_of(text.encode(), "f")
        for item in items_of(document, part_bytes=part_bytes)
    ]


def test_a_list_behind_another_is_not_taken_for_its_end():
    lists = [
        json.dumps(
            {"kind": "PodList", "items": [{"metadata": {"name": f"{each}{n}"}} for n in range(9)]}, indent=4
        )
        for each in "ab"
    ]
    text = "\n".join(lists)
    expected = [*((0, n, "Pod") for n in range(9)), "page", *((1, n, "Pod") for n in range(9)), "page"]
    for part_bytes in (10, 100, 300, 10_000):
        assert names(text, part_bytes) == expected


def test_an_object_that_is_indented_by_hand_is_read_all_the_same():
    """A line inside an object looks like the line between two objects, so the parts are no JSON."""
    items = ",\n    ".join(
        '{\n"kind": "Pod", "metadata": {"a": [\n    {\n    },\n    {\n    }\n]}}' for _ in range(20)
    )
    text = f'{{"kind": "PodList", "items": [\n    {items}\n]}}'
    text = text.replace('"items": [\n    {', '"items": [\n    {', 1)
    expected = [*((0, n, "Pod") for n in range(20)), "page"]
    for part_bytes in (5, 50, 500):
        assert names(text, part_bytes) == expected
