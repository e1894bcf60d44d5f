import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.render.lines import Span, Strip, held, padded, paragraph, side_by_side, trimmed, width_of, wrap
from ullage.render.visible import cell_width

lettered = st.text("ab-/. 名", max_size=60)


def plain(lines):
    return ["".join(span.text for span in line) for line in lines]


@given(lettered, st.integers(2, 30))
def test_wrapping_loses_nothing_but_spaces_and_keeps_the_width(text, width):
    lines = wrap(text, width)
    assert all(cell_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("fits  as it is ", 20, ["fits  as it is "]),
        ("one two three", 8, ["one two", "three"]),
        ("storage-archive-9.example", 10, ["storage-", "archive-9.", "example"]),
        ("at kube-system/coredns", 12, ["at", "kube-system/", "coredns"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("名前名前", 3, ["名", "前", "名", "前"]),
        ("      ", 2, [""]),
    ],
)
def test_a_text_breaks_at_spaces_then_after_punctuation_then_anywhere(text, width, lines):
    assert wrap(text, width) == lines


def test_a_paragraph_hangs_behind_its_lead():
    assert plain(paragraph("one two three", 10, lead="- ")) == ["- one two", "  three"]
    assert plain(paragraph("one two", 7, indent=4)) == ["    one", "    two"]


def test_a_line_is_padded_on_the_side_away_from_its_text():
    line = (Span("ab"),)
    assert plain([padded(line, 4, "left"), padded(line, 4, "right"), padded(line, 1, "left")]) == [
        "ab  ",
        "  ab",
        "ab",
    ]


def test_strips_stand_beside_each_other_with_headers_at_the_bottom():
    name = Strip(4, "left", ((Span("name"),),), (((Span("a-"),), (Span("b"),)), ((Span("c"),),)))
    size = Strip(3, "right", ((Span("how"),), (Span("big"),)), (((Span("1"),),), ((Span("22"),),)))
    assert plain(side_by_side([name, size], rule="-")) == [
        "      how",
        "name  big",
        "----  ---",
        "a-      1",
        "b",
        "c      22",
    ]


def test_spaces_at_the_end_of_a_line_are_dropped():
    assert trimmed([Span("a "), Span("  ", "muted"), Span("")]) == (Span("a"),)
    assert trimmed([Span("  ")]) == ()


@given(st.lists(st.builds(Span, lettered, st.sampled_from(["plain", "ok"])), max_size=5), st.integers(2, 20))
def test_no_held_line_is_wider_than_the_terminal(spans, width):
    lines = held([tuple(spans)], width)
    assert all(width_of(line) <= width for line in lines)
    whole = "".join(span.text for span in spans)
    assert "".join(plain(lines)).replace(" ", "") == whole.replace(" ", "")
