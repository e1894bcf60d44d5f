"""Numbers of a report as people and spreadsheets read them."""

from fractions import Fraction

import pytest

from ullage.service.usage_report_page import decimal, machine_number


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        ("0", 2, "0.00"),
        ("12.345", 2, "12.34"),
        ("12.355", 2, "12.36"),
        ("-1/3", 2, "-0.33"),
        ("1/1000", 2, "<0.01"),
        ("-1/1000", 2, ">-0.01"),
        ("1/3", 0, "<1"),
        ("7/3", 0, "2"),
        ("1999999.999", 2, "2000000.00"),
    ],
)
def test_what_is_not_nothing_never_reads_as_nothing(value, decimals, text):
    assert decimal(Fraction(value), decimals) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("5", "5"),
        ("-1/8", "-0.125"),
        ("1/3", "0.333333333"),
        ("-2/3", "-0.666666667"),
        ("1/10000000000", "0.000000000"),
    ],
)
def test_a_spreadsheet_gets_plain_decimals(value, text):
    assert machine_number(Fraction(value)) == text
