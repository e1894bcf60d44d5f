"""Numbers with decimals, as recorded from Ganeti's tools."""

import pytest

from ullage.service.htools.decimals import fixed, general


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (2.048828125, 8, "2.04882812"),
        (0.125, 2, "0.12"),
        (0.1875, 2, "0.19"),
        (0.155, 2, "0.16"),
        (0.145, 2, "0.14"),
        (5e-05, 4, "0.0000"),
        (1.5e-05, 4, "0.0000"),
        (65536.0, 0, "65536"),
        (-0.5, 3, "-0.500"),
        (float("inf"), 2, "Infinity"),
        (float("nan"), 4, "NaN"),
    ],
)
def test_halves_go_to_the_even_digit_of_what_the_shortest_text_says(
    value: float, places: int, text: str
) -> None:
    assert fixed(value, places) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000000"),
        (123.45678987, "123.456790"),
        (123456789.0, "1.234568e8"),
        (0.1, "0.100000"),
        (0.05, "5.000000e-2"),
        (1e-9, "1.000000e-9"),
    ],
)
def test_small_and_large_numbers_have_an_exponent(value: float, text: str) -> None:
    assert general(value) == text
