import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.sources.host.reading import decimal_parts, lines_of, shown, whole_number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "+1",
        " 1",
        "1.0",
        "\N{ARABIC-INDIC DIGIT ONE}",
        "1_0",
        "0x1",
        "9" * 20,
        "9223372036854775808",
    ],
)
def test_what_is_no_whole_number_of_63_bits_is_refused(text):
    with pytest.raises(InputError, match="here"):
        whole_number(text, where="here")


def test_the_range_holds_after_the_unit_too():
    assert whole_number("9007199254740991", where="x", unit=1024) == 2**63 - 1024
    with pytest.raises(InputError, match="out of range"):
        whole_number("9007199254740992", where="x", unit=1024)


@settings(deadline=None)
@given(st.integers(0, 2**63 - 1))
def test_whole_numbers_read_as_they_are_written(number):
    assert whole_number(str(number), where="x") == number


@pytest.mark.parametrize(("text", "parts"), [("0.52", 52), ("12.5", 1250), ("7", 700), ("0.00", 0)])
def test_decimals_are_exact_integers_of_their_last_digit(text, parts):
    assert decimal_parts(text, where="x", digits=2) == parts


@pytest.mark.parametrize("text", ["1.234", "", ".", "-0.5", "1.2.3", "nan"])
def test_what_is_no_decimal_is_refused(text):
    with pytest.raises(InputError):
        decimal_parts(text, where="x", digits=2)


def test_lines_end_at_newlines_alone_and_are_bounded():
    assert lines_of("a\x0bb\u2028c\nd\n", where="x", lines_max=2) == ["a\x0bb\u2028c", "d"]
    with pytest.raises(InputError, match="3 lines, more than 2"):
        lines_of("a\nb\nc\n", where="x", lines_max=2)


def test_quoted_text_stays_short_and_on_one_line():
    assert shown("a\nb") == r"'a\nb'"
    assert len(shown("x" * 1000)) < 70
