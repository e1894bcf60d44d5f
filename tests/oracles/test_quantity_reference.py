"""Quantities beside Kubernetes' own resource.Quantity, over a hundred thousand texts drawn with a fixed seed.

The same texts are accepted, with the same exact value; Value and MilliValue are that value rounded up at
exponents 0 and 3. Where the two differ on purpose there is a test that says so.
"""

import functools
import itertools
import random
import re
from fractions import Fraction

import pytest

from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX, NANO_EXPONENT, parse_amount, parse_nano, print_decimal

pytestmark = pytest.mark.slow

SEED = 1_610_612_741
TEXTS = 100_000
SUFFIXES = ("", "n", "u", "m", "k", "K", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
ALPHABET = "0123456789.+-eEnumkKMGTPi"
GARBAGE = f"{ALPHABET} \t\n_,/%bBaNzfx\x00é٣\N{INFINITY}\N{PILE OF POO}"
BEGINS_WITH_A_NUMBER = re.compile(r"[+-]?(?:[0-9]|\.[0-9])")


def digits(chance: random.Random, longest: int) -> str:
    length = chance.randint(0, chance.choice((1, 3, longest)))
    return "".join(chance.choices("0123456789", (4, *[1] * 9), k=length))


def exponent(chance: random.Random) -> str:
    power = chance.randint(0, chance.choice((3, 12, 30, 300)))
    return f"{chance.choice('eE')}{chance.choice(('', '+', '-'))}{chance.choice(('', '0'))}{power}"


def valid(chance: random.Random) -> str:
    number = digits(chance, 21)
    if chance.random() < 0.5:
        number += f".{digits(chance, 14)}"
    if not number.strip("."):
        number = f"{chance.randint(0, 9)}{number}"
    suffix = exponent(chance) if chance.random() < 0.25 else chance.choice(SUFFIXES)
    return f"{chance.choice(('', '', '', '+', '-'))}{number}{suffix}"


def mutated(chance: random.Random) -> str:
    text = valid(chance)
    for _ in range(chance.randint(1, 2)):
        place = chance.randrange(len(text) + 1)
        skipped = chance.randint(0, 1)
        text = text[:place] + chance.choice(("", *GARBAGE)) + text[place + skipped :]
    return text


def garbage(chance: random.Random) -> str:
    return "".join(chance.choices(chance.choice((ALPHABET, GARBAGE)), k=chance.randint(0, 8)))


@functools.cache
def drawn_texts() -> tuple[str, ...]:
    """Return valid texts for the most part; exponents stay small, because Go computes them step by step."""
    chance = random.Random(SEED)  # noqa: S311 - a reproducible draw, not a secret
    texts: list[str] = []
    while len(texts) < TEXTS:
        text = chance.choices((valid, mutated, garbage), (6, 3, 1))[0](chance)
        if not re.search(r"[eE][+-]?0*[0-9]{4}", text):
            texts.append(text)
    return tuple(texts)


def read(text: str) -> int | str:
    """Return billionths, or why there are none."""
    try:
        return parse_nano(text)
    except InputError as error:
        return str(error)


def exact(said: dict) -> Fraction:
    return int(said["unscaled"]) * Fraction(10) ** -int(said["scale"])


def in_kubernetes_words(text: str) -> str:
    return f"{text[:-1]}k" if text.endswith("K") else text


def disagreement(text: str, said: dict) -> str:
    """Return how our reading of a text differs from Kubernetes' beyond the differences on purpose."""
    ours = read(text)
    if isinstance(ours, str):
        if not said["ok"]:
            return ""
        if not BEGINS_WITH_A_NUMBER.match(text):
            return "" if exact(said) == 0 else "a number without digits"
        too_large = "does not fit 64 bits" in ours and abs(exact(said)) >= INT64_MAX
        return "" if too_large else ours
    if not said["ok"]:
        return f"accepted, but {said['error']}"
    return "" if Fraction(ours, 10**NANO_EXPONENT) == exact(said) else f"{ours} is not {exact(said)}"


def test_random_texts_are_accepted_with_the_exact_value_that_kubernetes_gives_them(quantity_reference):
    texts = drawn_texts()
    answers = quantity_reference([in_kubernetes_words(text) for text in texts])
    accepted = sum(said["ok"] for said in answers)
    assert TEXTS * 6 // 10 < accepted < TEXTS * 9 // 10
    found = [
        (text, problem, said)
        for text, said in zip(texts, answers, strict=True)
        if (problem := disagreement(text, said))
    ]
    assert not found, found[:10]


def test_random_amounts_are_value_and_milli_value_wherever_these_fit(quantity_reference):
    """Negative texts are asked without their sign: rounding away from zero is the same on both sides."""
    texts = [text for text in drawn_texts() if isinstance(read(text), int)]
    answers = quantity_reference([in_kubernetes_words(text).lstrip("+-") for text in texts])
    compared = 0
    for text, said in zip(texts, answers, strict=True):
        sign = -1 if text.startswith("-") else 1
        for scale_exponent, answer in ((0, said["value"]), (3, said["milli"])):
            if exact(said) * 10**scale_exponent <= INT64_MAX:
                assert parse_amount(text, scale_exponent) == sign * answer, text
                compared += 1
            else:
                with pytest.raises(InputError, match="does not fit 64 bits"):
                    parse_amount(text, scale_exponent)
    assert compared > TEXTS


def test_random_texts_compare_as_kubernetes_compares_them(quantity_reference):
    readings = [(text, nano) for text in drawn_texts()[:20_000] if isinstance(nano := read(text), int)]
    near = sorted(readings, key=lambda reading: reading[1])
    pairs = [*itertools.pairwise(near), *itertools.pairwise(readings)]
    questions = [(in_kubernetes_words(left), in_kubernetes_words(right)) for (left, _), (right, _) in pairs]
    found = [
        (left, right, said)
        for ((left, ours), (right, theirs)), said in zip(
            pairs, quantity_reference.compare(questions), strict=True
        )
        if said != {"ok": True, "compared": (ours > theirs) - (ours < theirs)}
    ]
    assert not found, found[:10]


def test_capital_k_is_ours_and_means_what_small_k_means_there(quantity_reference):
    capital, small = quantity_reference(["1.5K", "1.5k"])
    assert not capital["ok"]
    assert parse_amount("1.5K") == small["value"] == 1500


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8Ei", INT64_MAX),  # capped
        ("9223372036854775808", -(2**63)),  # wrapped
        ("9.3E", 0),
        ("1e4294967296", 1),  # the exponent itself wrapped
    ],
)
def test_what_does_not_fit_is_an_error_where_kubernetes_caps_or_wraps(quantity_reference, text, value):
    assert quantity_reference([text])[0]["value"] == value
    with pytest.raises(InputError):
        parse_amount(text)


@pytest.mark.parametrize("text", ["+", "-", ".", "-.", "Mi", "e3", "-k"])
def test_a_number_without_digits_is_an_error_where_kubernetes_reads_nothing(quantity_reference, text):
    said = quantity_reference([text])[0]
    assert said["ok"]
    assert exact(said) == 0
    with pytest.raises(InputError, match="where a digit is expected"):
        parse_amount(text)


def test_negative_fractions_round_away_from_zero_also_where_kubernetes_mixes_two_ways(quantity_reference):
    """Short numbers follow its own documentation (`away from 0`); long ones it truncates and adds one."""
    short, long = quantity_reference(["-1.5", "-0.5n"])
    assert (short["value"], long["value"]) == (-2, 1)
    assert (parse_amount("-1.5"), parse_amount("-0.5n")) == (-2, -1)


def test_one_amount_has_one_text_where_kubernetes_keeps_what_was_written(quantity_reference):
    spellings = ["1000k", "1e6", "+1M"]
    assert {said["canonical"] for said in quantity_reference(spellings)} == {"1M", "1e6", "+1M"}
    assert {print_decimal(parse_amount(text)) for text in spellings} == {"1M"}
