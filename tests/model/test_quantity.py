"""Quantities as people write them: what each text is exactly, which texts are refused, how amounts print."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.model.quantity import (
    INT64_MAX,
    LENGTH_MAX,
    NANO_EXPONENT,
    parse_amount,
    parse_nano,
    print_bytes,
    print_decimal,
    print_scaled,
    readable_bytes,
    readable_count,
    rescale,
)

ONE = 10**9
AMOUNTS = st.integers(-INT64_MAX, INT64_MAX)
WRITE_DIGITS = "write digits, then nothing or a suffix, for example 500m, 2.5 or 40Mi"
KNOWN = "known are n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3"
TOO_LARGE = "does not fit 64 bits; use a smaller amount"


def refusal(text: str) -> str:
    with pytest.raises(InputError) as refused:
        parse_nano(text)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("1n", 1),
        ("1u", 10**3),
        ("1m", 10**6),
        ("1", ONE),
        ("1k", 10**3 * ONE),
        ("1K", 10**3 * ONE),
        ("1M", 10**6 * ONE),
        ("1G", 10**9 * ONE),
        ("1T", 10**12 * ONE),
        ("1P", 10**15 * ONE),
        ("1E", 10**18 * ONE),
        ("1Ki", 2**10 * ONE),
        ("1Mi", 2**20 * ONE),
        ("1Gi", 2**30 * ONE),
        ("1Ti", 2**40 * ONE),
        ("1Pi", 2**50 * ONE),
        ("1Ei", 2**60 * ONE),
    ],
)
def test_every_suffix_multiplies_by_its_own_power(text, nano):
    assert parse_nano(text) == nano
    assert parse_nano(f"-3{text[1:]}") == -3 * nano
    assert parse_nano(f"2.5{text[1:]}") == -(-5 * nano // 2)


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0", 0),
        ("-0", 0),
        ("+0.0", 0),
        ("000", 0),
        ("+1", ONE),
        ("-1", -ONE),
        ("007", 7 * ONE),
        (".5", ONE // 2),
        ("-.5", -ONE // 2),
        ("5.", 5 * ONE),
        ("5.Ki", 5120 * ONE),
        (".5Ki", 512 * ONE),
        ("0.1Ki", 102_400_000_000),
        ("1.001Ki", 1_025_024_000_000),
        ("2.50", 2_500_000_000),
        ("1e3", 1000 * ONE),
        ("1E3", 1000 * ONE),
        ("1e+3", 1000 * ONE),
        ("1e-3", 10**6),
        ("1E-3", 10**6),
        ("1e0", ONE),
        ("1e003", 1000 * ONE),
        ("12.5e1", 125 * ONE),
        ("0.000000001", 1),
        ("0e999999", 0),
    ],
)
def test_a_number_has_a_sign_digits_a_point_and_an_exponent(text, nano):
    assert parse_nano(text) == nano


@pytest.mark.parametrize(
    ("text", "amount"),
    [("128974848", 128_974_848), ("129e6", 129_000_000), ("129M", 129_000_000), ("123Mi", 128_974_848)],
)
def test_roughly_equal_spellings_are_exactly_these_amounts(text, amount):
    assert parse_nano(text) == amount * ONE
    assert parse_amount(text) == amount


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "the end at character 1 where a digit"),
        ("-", "the end at character 2 where a digit"),
        (".", "'.' at character 1 where a digit"),
        ("-.k", "'.' at character 2 where a digit"),
        ("Mi", "'M' at character 1 where a digit"),
        ("--1", "'-' at character 2 where a digit"),
        (" 1", "' ' at character 1 where a digit"),
        ("NaN", "'N' at character 1 where a digit"),
        ("-inf", "'i' at character 2 where a digit"),
        ("٣", "'٣' at character 1 where a digit"),
        ("1 Gi", "' ' at character 2 where the end or a suffix"),
        ("12+", "'+' at character 3 where the end or a suffix"),
        ("1.2.3", "'.' at character 4 where the end or a suffix"),
        ("1\n", "'\\n' at character 2 where the end or a suffix"),
    ],
)
def test_an_unexpected_character_is_named_with_its_place(text, found):
    assert refusal(text) == f"quantity {text!r}: {found} is expected; {WRITE_DIGITS}"


@pytest.mark.parametrize(
    ("text", "suffix", "place", "hint"),
    [
        ("1mi", "mi", 2, "did you mean 'Mi'? "),
        ("1KB", "KB", 2, "did you mean 'k'? "),
        ("16mb", "mb", 3, "did you mean 'M'? "),
        ("-1GiB", "GiB", 3, "did you mean 'Gi'? "),
        ("1N", "N", 2, "did you mean 'n'? "),
        ("1e", "e", 2, "did you mean 'E'? "),
        ("1.5x", "x", 4, ""),
        ("1b", "b", 2, ""),
        ("1e+", "e+", 2, ""),
        ("1e3k", "e3k", 2, ""),
        ("1e3\n", "e3\n", 2, ""),
        ("1Ee3", "Ee3", 2, ""),
        ("1e1.5", "e1.5", 2, ""),
        ("1e٣", "e٣", 2, ""),
    ],
)
def test_an_unknown_suffix_is_named_with_its_place_and_what_may_be_meant(text, suffix, place, hint):
    fact = f"quantity {text!r}: unknown suffix {suffix!r} at character {place}"
    assert refusal(text) == f"{fact}; {hint}{KNOWN}"


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0.1n", 1),
        ("-0.1n", -1),
        ("1.5n", 2),
        ("-1.5n", -2),
        ("1.0000000001", ONE + 1),
        ("-1.0000000001", -ONE - 1),
        ("1e-300", 1),
        ("-1e-300", -1),
        ("1e-999999", 1),
        ("-1e-999999", -1),
        ("0.0000000001Ki", 103),
    ],
)
def test_what_is_finer_than_a_billionth_rounds_away_from_zero(text, nano):
    assert parse_nano(text) == nano


@pytest.mark.parametrize(
    ("text", "whole", "milli", "micro"),
    [
        ("1n", 1, 1, 1),
        ("-1n", -1, -1, -1),
        ("1.0001", 2, 1001, 1_000_100),
        ("-1.0001", -2, -1001, -1_000_100),
        ("0.3", 1, 300, 300_000),
        ("300m", 1, 300, 300_000),
        ("-300m", -1, -300, -300_000),
        ("2", 2, 2000, 2_000_000),
        ("0", 0, 0, 0),
        ("1999m", 2, 1999, 1_999_000),
        ("2001m", 3, 2001, 2_001_000),
    ],
)
def test_an_amount_rounds_away_from_zero_at_the_step_of_its_type(text, whole, milli, micro):
    assert parse_amount(text) == whole
    assert parse_amount(text, 3) == milli
    assert parse_amount(text, 6) == micro
    assert parse_amount(text, NANO_EXPONENT) == parse_nano(text)


@pytest.mark.parametrize(
    ("exponent", "largest", "beyond"),
    [
        (0, "9223372036854775807", "9223372036854775808"),
        (0, "9223372036854775806000000000n", "9223372036854775807000000001n"),
        (0, "7.9Ei", "8Ei"),
        (0, "9.2E", "9.3E"),
        (3, "9223372036854775807m", "9223372036854775808m"),
        (3, "9223372036854775.807", "9223372036854775.8071"),
        (3, "9.2P", "9.3P"),
        (9, "9223372036854775807n", "9223372036854775808n"),
    ],
)
def test_what_does_not_fit_64_bits_is_refused_on_both_sides_of_zero(exponent, largest, beyond):
    amount = parse_amount(largest, exponent)
    assert 0 < amount <= INT64_MAX
    assert parse_amount(f"-{largest}", exponent) == -amount
    for text in (beyond, f"-{beyond}"):
        with pytest.raises(InputError) as refused:
            parse_amount(text, exponent)
        assert str(refused.value) == f"quantity {text!r} {TOO_LARGE}"


def test_the_largest_amounts_are_kept_exactly_at_each_step():
    assert INT64_MAX == 2**63 - 1
    assert parse_amount("9223372036854775807") == INT64_MAX
    assert parse_amount("-9223372036854775807") == -INT64_MAX
    assert parse_amount("9223372036854775807m", 3) == INT64_MAX
    assert parse_amount("-9223372036854775.807", 3) == -INT64_MAX
    assert parse_nano("9223372036854775807") == INT64_MAX * ONE
    assert parse_nano("-9223372036854775807") == -INT64_MAX * ONE


def test_the_range_is_symmetric_so_that_every_amount_can_be_taken_back():
    assert refusal("-9223372036854775808") == f"quantity '-9223372036854775808' {TOO_LARGE}"


@pytest.mark.parametrize("text", ["1e19", "1e300", "1e301", "1e999999", "-1e999999", "0.001e25", "9e0999999"])
def test_a_large_exponent_overflows_without_being_computed(text):
    assert refusal(text) == f"quantity {text!r} {TOO_LARGE}"


@pytest.mark.parametrize("text", ["1e1000000", "1e-1000000", "0e9999999", "1e+9999999"])
def test_an_exponent_of_seven_digits_is_beyond_any_resource(text):
    assert refusal(text) == f"quantity {text!r}: the exponent is beyond any resource; write it out"


def test_leading_zeros_of_an_exponent_do_not_count_as_digits():
    assert parse_nano("1e-0000000003") == 10**6
    assert parse_nano("1e+0000000003") == 1000 * ONE


def test_many_decimals_and_a_large_exponent_cancel_out():
    assert parse_nano("0." + "0" * 240 + "1e241") == ONE
    assert parse_nano("0." + "0" * 243 + "1e244") == ONE
    assert parse_nano("1" + "0" * 240 + "e-240") == ONE
    assert parse_nano("1" + "0" * 240 + "1e-240") == 10 * ONE + 1


def test_a_text_is_at_most_256_characters_long():
    assert LENGTH_MAX == 256
    assert parse_nano("0" * 255 + "1") == ONE
    assert refusal("0" * 256 + "1") == "quantity '00000000000000000000'… has 257 characters; use at most 256"


@pytest.mark.parametrize(
    ("nano", "exponent", "amount"),
    [(ONE, 0, 1), (ONE + 1, 0, 2), (-ONE - 1, 0, -2), (1, 3, 1), (10**6, 3, 1), (10**6 + 1, 3, 2), (0, 0, 0)],
)
def test_billionths_are_rescaled_away_from_zero(nano, exponent, amount):
    assert rescale(nano, exponent) == amount


def test_rescaling_names_the_text_or_else_the_number_that_does_not_fit():
    assert rescale(INT64_MAX, 9) == INT64_MAX
    assert rescale(-INT64_MAX, 9) == -INT64_MAX
    with pytest.raises(InputError, match=r"^quantity '9223372036854775808' does not fit 64 bits;"):
        rescale(2**63, 9)
    with pytest.raises(InputError, match=r"^quantity '-9223372036854775808' does not fit 64 bits;"):
        rescale(-(2**63), 9)
    with pytest.raises(InputError, match=r"^quantity 'huge' does not fit 64 bits;"):
        rescale(2**63, 9, "huge")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1023, "1023"),
        (1024, "1Ki"),
        (-1024, "-1Ki"),
        (1025, "1025"),
        (1536, "1536"),
        (3 * 1024, "3Ki"),
        (2**20, "1Mi"),
        (2**20 + 1024, "1025Ki"),
        (2**30, "1Gi"),
        (2**40, "1Ti"),
        (2**50, "1Pi"),
        (2**60, "1Ei"),
        (2**61 + 2**60, "3Ei"),
        (129_000_000, "129000000"),
        (128_974_848, "123Mi"),
        (-5, "-5"),
        (INT64_MAX, "9223372036854775807"),
    ],
)
def test_bytes_print_with_the_largest_binary_suffix_that_divides_them(amount, text):
    assert print_bytes(amount) == text


@pytest.mark.parametrize(
    ("amount", "exponent", "text"),
    [
        (0, 3, "0"),
        (2500, 3, "2500m"),
        (2000, 3, "2"),
        (-2000, 3, "-2"),
        (-1, 3, "-1m"),
        (10_000_000, 3, "10000"),
        (1, 0, "1"),
        (1, 1, "100m"),
        (12, 1, "1200m"),
        (1, 4, "100u"),
        (1, 6, "1u"),
        (1000, 6, "1m"),
        (10**6, 6, "1"),
        (1001, 6, "1001u"),
        (1, 9, "1n"),
        (1000, 9, "1u"),
        (1001, 9, "1001n"),
        (-1001, 9, "-1001n"),
        (10**6, 9, "1m"),
        (10**9, 9, "1"),
        (INT64_MAX, 3, "9223372036854775807m"),
    ],
)
def test_scaled_amounts_print_whole_or_with_the_coarsest_exact_suffix(amount, exponent, text):
    assert print_scaled(amount, exponent) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (-1000, "-1k"),
        (1001, "1001"),
        (10**6, "1M"),
        (1_001_000, "1001k"),
        (129_000_000, "129M"),
        (10**9, "1G"),
        (10**12, "1T"),
        (10**15, "1P"),
        (10**18, "1E"),
        (9 * 10**18, "9E"),
        (INT64_MAX, "9223372036854775807"),
    ],
)
def test_counts_print_with_the_largest_decimal_suffix_that_divides_them(amount, text):
    assert print_decimal(amount) == text


ROUND_AMOUNTS = st.builds(lambda digits, power: digits << power, st.integers(-8, 8), st.integers(0, 59))


@pytest.mark.parametrize("show", [print_bytes, print_decimal])
@given(amount=AMOUNTS | ROUND_AMOUNTS)
def test_what_is_printed_reads_back_as_the_same_amount(show, amount):
    assert parse_amount(show(amount)) == amount


@given(amount=AMOUNTS | ROUND_AMOUNTS, exponent=st.integers(0, NANO_EXPONENT))
def test_what_is_printed_scaled_reads_back_as_the_same_amount(amount, exponent):
    assert parse_amount(print_scaled(amount, exponent), exponent) == amount


@pytest.mark.parametrize("show", [print_bytes, print_decimal])
@given(digits=st.integers(0, 4000), suffix=st.sampled_from(["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]))
def test_printing_is_stable_after_one_reading(show, digits, suffix):
    text = show(parse_amount(f"{digits}{suffix}"))
    assert show(parse_amount(text)) == text


@given(left=AMOUNTS, right=AMOUNTS, exponent=st.integers(0, NANO_EXPONENT))
def test_rescaling_keeps_the_order_of_amounts(left, right, exponent):
    small, large = sorted((left, right))
    assert rescale(small, exponent) <= rescale(large, exponent)


@given(
    digits=st.integers(0, 10**12),
    decimals=st.integers(0, 12),
    suffix=st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e-7", "e2", "E1"]),
    negative=st.booleans(),
)
def test_an_amount_is_the_exact_value_rounded_away_from_zero(digits, decimals, suffix, negative):
    powers = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "e-7": -7, "e2": 2, "E1": 1}
    shifts = {"Ki": 10, "Mi": 20, "Gi": 30}
    factor = Fraction(10) ** powers.get(suffix, 0) * 2 ** shifts.get(suffix, 0)
    exact = Fraction(digits, 10**decimals) * factor
    padded = f"{digits:0{decimals + 1}d}"
    number = f"{padded[: len(padded) - decimals]}.{padded[len(padded) - decimals :]}"
    text = f"-{number}{suffix}" if negative else number + suffix
    expected = -(-exact.numerator * ONE // exact.denominator)
    assert parse_nano(text) == (-expected if negative else expected)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (1, "1"),
        (-1, "-1"),
        (1023, "1023"),
        (-1023, "-1023"),
        (1024, "1Ki"),
        (-1024, "-1Ki"),
        (1536, "1.5Ki"),
        (-1536, "-1.5Ki"),
        (2**20 - 1, "1024Ki"),
        (2**20, "1Mi"),
        (2**30, "1Gi"),
        (2**40, "1Ti"),
        (2**50, "1Pi"),
        (2**60, "1Ei"),
        (129_000_000, "123.02Mi"),
        (2**30 + 2**20 * 5, "1Gi"),
        (2**30 + 2**20 * 6, "1.01Gi"),
        (1024 * 10, "10Ki"),
        (1024 * 100, "100Ki"),
        (INT64_MAX, "8Ei"),
    ],
)
def test_bytes_are_readable_in_the_largest_unit_with_two_decimals(amount, text):
    assert readable_bytes(amount) == text


@pytest.mark.parametrize(
    ("amount", "exponent", "text"),
    [
        (0, 0, "0"),
        (1, 0, "1"),
        (-1, 0, "-1"),
        (9876, 0, "9876"),
        (9999, 0, "9999"),
        (-9999, 0, "-9999"),
        (10_000, 0, "10k"),
        (-10_000, 0, "-10k"),
        (12_345, 0, "12.35k"),
        (999_999, 0, "1000k"),
        (1_000_000, 0, "1M"),
        (1_234_500, 0, "1.23M"),
        (1_235_000, 0, "1.24M"),
        (10**9, 0, "1G"),
        (10**12, 0, "1T"),
        (10**15, 0, "1P"),
        (10**18, 0, "1E"),
        (1, 3, "1m"),
        (999, 3, "999m"),
        (-999, 3, "-999m"),
        (1000, 3, "1"),
        (-1000, 3, "-1"),
        (2500, 3, "2.5"),
        (1234, 3, "1.23"),
        (1235, 3, "1.24"),
        (-1235, 3, "-1.24"),
        (9_999_000, 3, "9999"),
        (9_999_999, 3, "10000"),
        (10_000_000, 3, "10k"),
        (1_234_500_000, 3, "1.23M"),
        (10**12, 3, "1G"),
        (10**15, 3, "1T"),
        (10**18, 3, "1P"),
        (1500, 6, "1500u"),
    ],
)
def test_counts_are_readable_plain_below_ten_thousand_then_with_two_decimals(amount, exponent, text):
    assert readable_count(amount, exponent) == text


def test_a_count_without_a_scale_is_whole():
    assert readable_count(2500) == "2500"
    assert parse_amount("2500m") == 3
