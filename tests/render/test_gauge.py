import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.render.gauge import bar_tone, gauge, pattern, stack
from ullage.render.lines import width_of
from ullage.render.view import BarRow, Segment, Share

TONES = ("strong", "plain", "muted", "ok", "warn", "bad")


def drawn(line):
    return "".join(span.text for span in line)


@pytest.mark.parametrize(
    ("part", "whole", "bar", "plain"),
    [
        (0, 8, "····", "----"),
        (1, 2, "██··", "##--"),
        (5, 16, "█▎··", "#---"),
        (1, 1000, "▏···", "#---"),
        (999, 1000, "███▉", "###-"),
        (8, 8, "████", "####"),
        (9, 8, "███▶", "###>"),
        (1, 0, "███▶", "###>"),
    ],
)
def test_a_bar_is_empty_only_for_nothing_and_full_only_for_the_whole(part, whole, bar, plain):
    assert drawn(gauge(Share(part, whole), 4, "plain", unicode=True)) == bar
    assert drawn(gauge(Share(part, whole), 4, "plain", unicode=False)) == plain


def test_every_tone_has_a_pattern_of_its_own():
    for unicode in (True, False):
        assert len({pattern(tone, unicode=unicode) for tone in TONES}) == len(TONES)
    assert [bar_tone(tone) for tone in TONES] == ["bar", "bar", "muted", "ok", "warn", "bad"]


def row(parts, whole):
    return BarRow("n", tuple(Segment(t, "", p, t) for t, p in zip(TONES, parts, strict=False)), whole)


@pytest.mark.parametrize(
    ("parts", "whole", "bar"),
    [
        ([5, 0, 0, 5], 10, "█████░░░░░"),
        ([5], 10, "█████·····"),
        ([1, 0, 998, 1], 1000, "█▒▒▒▒▒▒▒▒░"),
        ([10, 0, 10], 10, "█████▒▒▒▒▒"),
        ([-5, 0, 5], 10, "▒▒▒▒▒·····"),
        ([], 0, "··········"),
    ],
)
def test_segments_lie_side_by_side_and_none_is_lost(parts, whole, bar):
    assert drawn(stack(row(parts, whole), 10, unicode=True)) == bar


@given(
    st.lists(st.integers(0, 1 << 50), max_size=6), st.integers(0, 1 << 50), st.integers(1, 60), st.booleans()
)
def test_a_stack_has_its_exact_width_and_shows_every_segment_it_has_room_for(parts, whole, size, unicode):
    line = stack(row(parts, whole), size, unicode=unicode)
    assert width_of(line) == size
    if size >= len(parts):
        present = {pattern(tone, unicode=unicode) for tone, part in zip(TONES, parts, strict=False) if part}
        assert present <= set(drawn(line))
