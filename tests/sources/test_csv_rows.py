import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.sources import csv_rows
from ullage.sources.csv_rows import read_header, read_lines


def lines(text):
    return list(read_lines(text.encode(), "t.csv"))


def test_fields_are_known_by_the_names_of_their_columns():
    first, second = lines("name, cpu\nn1, 4\n\nn2,\n")
    assert (first.text("name"), first.text("cpu"), first.number) == ("n1", "4", 2)
    assert (second.text("cpu"), second.text("cpu", "1"), second.text("gone"), second.number) == (
        "",
        "1",
        "",
        4,
    )


def test_a_byte_order_mark_is_no_part_of_a_name():
    assert read_header("\ufeffname,cpu\n".encode(), "t.csv") == ("name", "cpu")
    assert lines("\ufeffname,cpu\nn1,4")[0].text("name") == "n1"


def test_lines_before_the_names_of_the_columns_may_be_empty():
    data = b"\n   \n" * 40_000 + b"a,b\n1,2\n"
    assert read_header(data, "x") == ("a", "b")
    (line,) = read_lines(data, "x")
    assert (line.number, line.text("a")) == (80_002, "1")


def test_a_line_is_counted_where_it_ends_even_if_a_field_holds_line_ends():
    assert [line.number for line in lines('name,cpu\n"a\nb",1\nc,2\n')] == [3, 4]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,cpu\nn1\n", "t.csv:2: 1 fields where the first line names 2"),
        ("name,cpu\nn1,1,2\n", "t.csv:2: 3 fields where the first line names 2"),
        ("name,cpu,name\n", "t.csv:1: column 'name' is there twice"),
        ("name,,cpu\n", "t.csv:1: column 2 has no name"),
        ("", "t.csv:1: 0 columns"),
        ('name,cpu\n"n1,1\n', "t.csv:2: unexpected end of data"),
        ("name\n" + "x" * 140_000, "t.csv:2: field larger than field limit"),
    ],
)
def test_bad_text_is_refused_with_its_line(text, said):
    with pytest.raises(InputError) as raised:
        lines(text)
    assert said in str(raised.value)


def test_text_that_is_not_utf8_is_refused():
    with pytest.raises(InputError, match=r"t.csv: is not UTF-8"):
        list(read_lines(b"name\n\xff\n", "t.csv"))


def test_the_number_of_lines_is_bounded(monkeypatch):
    monkeypatch.setattr(csv_rows, "ROWS_MAX", 2)
    with pytest.raises(InputError, match="more than 2 lines"):
        lines("name\na\nb\nc\n")


@pytest.mark.parametrize("text", ["-1", "1.5", "²", "x", "9" * 19, "1" * 30])
def test_a_whole_number_is_digits_of_at_most_64_bits(text):
    (line,) = lines(f"n\n{text}\n")
    with pytest.raises(InputError, match=r"t.csv:2: n: .* is no whole number"):
        line.whole("n")


def test_a_missing_number_has_its_default_and_a_missing_name_is_an_error():
    (line,) = lines("n,m\n,7\n")
    assert (line.whole("n", 3), line.whole("m"), line.whole("gone")) == (3, 7, 0)
    with pytest.raises(InputError, match=r"t.csv:2: n: is empty; fill it in"):
        line.required("n")


@given(st.binary(max_size=60))
def test_any_bytes_are_rows_or_an_input_error(data):
    try:
        read_header(data, "t.csv")
        list(read_lines(data, "t.csv"))
    except InputError:
        pass
