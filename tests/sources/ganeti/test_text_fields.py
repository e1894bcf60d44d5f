from fractions import Fraction

import pytest

from ullage.model.errors import InputError
from ullage.model.ganeti import MIB
from ullage.sources.ganeti import text_fields as kinds
from ullage.sources.ganeti.text_fields import Field, FieldError, Kind, Table


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (kinds.size, "5", 5 * MIB),
        (kinds.free_size, "-5", -5 * MIB),
        (kinds.total_size, "1.5", 3 * MIB // 2),
        (kinds.total_size, "1e3", 1000 * MIB),
        (kinds.count, "0", 0),
        (kinds.free_count, "-1", -1),
        (kinds.cpus, "2", 2000),
        (kinds.total_cpus, "2.5", 2500),
        (kinds.ratio, "1.1", Fraction(11, 10)),
        (kinds.ratio, "0", Fraction(0)),
        (kinds.ratio, "1.23456789012345678901234567890", Fraction("1.2345678901234567")),
        (kinds.speed, "1e-99", Fraction(1, 10**99)),
        (kinds.any_ratio, "-1.0", Fraction(-1)),
        (kinds.listed, "a,b,", ("a", "b", "")),
        (kinds.listed, "", ()),
        (kinds.yes, "N", False),
    ],
)
def test_a_text_means_its_value(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (kinds.size, "", "'' is no number"),
        (kinds.size, "-1", "'-1' is below zero"),
        (kinds.size, "-", "'-' is no number"),
        (kinds.size, "-x", "'-x' is no number"),
        (kinds.size, "+1", "'+1' is no number"),
        (kinds.size, " 1", "' 1' is no number"),
        (kinds.size, "1_000", "'1_000' is no number"),
        (kinds.size, "\u0661", "is no number"),
        (kinds.size, "9" * 30, "is too large"),
        (kinds.free_size, "--1", "'--1' is no number"),
        (kinds.free_size, "-" + "9" * 30, "is too large"),
        (kinds.total_size, "nan", "'nan' is no number"),
        (kinds.total_size, "-1", "is below zero"),
        (kinds.total_size, "1e9999", "is out of range"),
        (kinds.total_size, "1/2", "'1/2' is no number"),
        (kinds.total_size, "1e99", "is too large"),
        (kinds.cpus, "1.5", "'1.5' is no number"),
        (kinds.speed, "0", "is not above zero"),
        (kinds.ratio, "0.1e-99", "'0.1e-99' is out of range"),
        (kinds.speed, "0.0e-9", "is not above zero"),
        (kinds.ratio, "-1", "is below zero"),
        (kinds.name, "", "the name is empty"),
        (kinds.yes, "y", "'y' is neither Y nor N"),
        (kinds.one_of(("a", "b"), "letter"), "c", "'c' is no letter"),
    ],
)
def test_a_text_that_means_nothing_is_refused(read, text, said):
    with pytest.raises(FieldError) as raised:
        read(text)
    assert said in raised.value.what
    assert raised.value.remedy


def test_a_kind_reads_each_text_once():
    asked = []
    kind = Kind(lambda text: asked.append(text) or len(text))
    assert [kind["a"], kind["bb"], kind["a"]] == [1, 2, 1]
    assert asked == ["a", "bb"]


def test_fields_that_are_left_out_have_defaults_and_others_are_ignored():
    table = Table(Field("a", kinds.count), Field("b", kinds.count, "7"))
    assert table.read(["1"], "line ", 1) == [1, 7]
    assert table.read(["1", "2", "x"], "line ", 1) == [1, 2]


def test_a_line_without_a_field_that_is_needed_says_which():
    table = Table(Field("a", kinds.count), Field("b", kinds.count), Field("c", kinds.count, "7"))
    with pytest.raises(InputError, match=r"^line 3: the line ends before field b; the fields are a\|b\|c$"):
        table.read(["1"], "line ", 3)


def test_a_long_text_is_shortened_in_messages():
    assert len(kinds.quoted("x" * 1000)) < 80
