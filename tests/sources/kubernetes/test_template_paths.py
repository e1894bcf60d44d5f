"""Paths to pod templates, and where they lead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.sources.kubernetes.template_paths import parse_pattern, places

# Each row: a path as users write it, and its steps.
PATTERNS = {
    "spec.template": ("spec", "template"),
    "template": ("template",),
    ".spec.template": ("spec", "template"),
    "spec.a[*].b": ("spec", "a", None, "b"),
    "spec.a[2][*].b": ("spec", "a", 2, None, "b"),
    "spec.a-b_c/d": ("spec", "a-b_c/d"),
}


@pytest.mark.parametrize("text", PATTERNS)
def test_a_path_has_steps(text):
    assert parse_pattern(text) == PATTERNS[text]


@pytest.mark.parametrize("text", ["", ".", "a.", "a..b", "a[", "a[]", "a[-1]", "a[b]", "a]", "a" + ".b" * 50])
def test_what_is_no_path_is_refused(text):
    with pytest.raises(InputError) as caught:
        parse_pattern(text)
    assert "is no path to a pod template; write it as spec.template" in str(caught.value)


VALUE = {
    "spec": {
        "list": [{"name": "a", "t": 1}, {"groupName": "b", "t": 2}, {"t": None}, {"t": 4}],
        "map": {"K": {"t": 5}},
    }
}
# Each row: a path, and what it leads to: path, name, value.
FOUND = {
    "spec.list[*].t": [
        (("spec", "list", 0, "t"), "a", 1),
        (("spec", "list", 1, "t"), "b", 2),
        (("spec", "list", 3, "t"), "3", 4),
    ],
    "spec.list[1].t": [(("spec", "list", 1, "t"), "b", 2)],
    "spec.list[9].t": [],
    "spec.map[*].t": [(("spec", "map", "K", "t"), "k", 5)],
    "spec[*].K.t": [(("spec", "map", "K", "t"), "map", 5)],
    "spec[*][1].t": [(("spec", "list", 1, "t"), "list-b", 2)],
    "spec.map.K.t": [(("spec", "map", "K", "t"), "", 5)],
    "spec.none.t": [],
    "spec.list.t": [],
    "spec.map.K.t.deeper": [],
    "spec.map.K.t[*]": [],
}  # fmt: skip


@pytest.mark.parametrize("text", FOUND)
def test_a_path_leads_to_places_with_names(text):
    assert [tuple(place) for place in places(VALUE, parse_pattern(text))] == FOUND[text]


STEPS = st.lists(st.one_of(st.sampled_from("abc"), st.integers(0, 2), st.none()), max_size=3)
VALUES = st.recursive(
    st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)


@given(VALUES, STEPS)
def test_every_place_is_where_it_says(value, steps):
    for place in places(value, tuple(steps)):
        found = value
        for step in place.path:
            found = found[step]
        assert found is place.value
        assert len(place.path) == len(steps)
