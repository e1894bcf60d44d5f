"""Paths as text and back, and offsets as lines and columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.sources.places import line_and_column, one_line, parse_path, path_text, shown

PATHS = {
    "spec.containers[0].resources.requests.cpu": ("spec", "containers", 0, "resources", "requests", "cpu"),
    'labels["nvidia.com/gpu"]': ("labels", "nvidia.com/gpu"),
    '["a b"].node-name[12]': ("a b", "node-name", 12),
    '[3]["say \\"x\\" \\\\"]': (3, 'say "x" \\'),
    '["5"]': ("5",),
    '[""]': ("",),
    "": (),
}


@pytest.mark.parametrize(("text", "path"), PATHS.items(), ids=PATHS)
def test_a_path_is_written_and_read(text, path):
    assert path_text(path) == text
    assert parse_path(text) == path


@given(
    st.lists(
        st.integers(0, 10**9 - 1)
        | st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=20)
    )
)
def test_a_path_survives_its_text(steps):
    assert parse_path(path_text(tuple(steps))) == tuple(steps)


@pytest.mark.parametrize("text", ["a..b", ".a", "a b", "a[", "a[b]", "[0]a", 'a["x]', "a."])
def test_what_is_no_path_is_refused(text):
    with pytest.raises(ValueError, match="not a path at character"):
        parse_path(text)


def test_text_in_a_message_is_short_and_on_one_line():
    assert shown("a\nb\x1b[31m\u2028\ud800") == "a\\nb\\x1b[31m\\u2028\\ud800"
    assert shown("x" * 60) == "x" * 60
    assert shown("x" * 61) == "x" * 59 + "…"
    assert one_line("x" * 61) == "x" * 61


@pytest.mark.parametrize(
    ("data", "offset", "place"),
    [
        (b"abc", 0, (1, 1)),
        (b"abc", 3, (1, 4)),
        (b"a\nbc", 2, (2, 1)),
        (b"a\n\n\nbc", 5, (4, 2)),
        ("é\nöx".encode(), 5, (2, 2)),
        (b"\n" + "é".encode() * (1 << 20), 1 + (1 << 20), (2, (1 << 19) + 1)),
        (b"\n" + "é".encode() * (1 << 20), 3 + (1 << 20), (2, (1 << 20) + 3)),
        (bytearray(b"a\nb"), 2, (2, 1)),
    ],
)
def test_an_offset_has_a_line_and_a_column_in_characters(data, offset, place):
    assert line_and_column(data, offset) == place
