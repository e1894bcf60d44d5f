import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from render.pages import characters
from ullage.render.visible import ascii_only, cell_width, visible


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("web-1", "web-1"),
        ("größe 名前", "größe 名前"),
        ("e\u0301", "e\u0301"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x9b", r"\x9b"),
        ("\x7f", r"\x7f"),
        ("\u202e", r"\u202e"),
        ("\u200b\ufeff", r"\u200b\ufeff"),
        ("a\u00a0b", r"a\xa0b"),
        ("\u3164\ufe0f", r"\u3164\ufe0f"),
        ("\udc80", r"\udc80"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_a_character_without_a_picture_is_spelled_out(raw, shown):
    assert visible(raw) == shown


@given(st.text(characters))
def test_a_visible_text_is_printable_and_stays_as_it_is(text):
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    shown.encode("utf-8")


@given(st.text(st.sampled_from("abc-åß 名前ｗé́😀한█▏·✓✗▲→")))
def test_width_is_what_a_terminal_gives_it(text):
    assert cell_width(text) == cell_len(text)


@given(st.text(characters))
def test_ascii_text_is_ascii_and_ascii_stays(text):
    shown = ascii_only(visible(text))
    assert shown.isascii()
    assert shown.isprintable()
    assert ascii_only("a-b 1.5Gi") == "a-b 1.5Gi"


def test_a_typographic_sign_becomes_its_like_in_ascii():
    text = "demo · 3 \N{MULTIPLICATION SIGN} 2 \N{MINUS SIGN} 1 → 5 … größe"
    assert ascii_only(text) == r"demo - 3 x 2 - 1 -> 5 ... gr\xf6\xdfe"
