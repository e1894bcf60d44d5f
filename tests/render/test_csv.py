import csv
import io

import pytest
from hypothesis import given

from render.pages import tables
from ullage.model.errors import InputError
from ullage.render.csv import render
from ullage.render.view import Cell, Column, Page, Share, Table, Text, Verdict


def page(*blocks, main=None):
    return Page("p", Verdict("v"), blocks, main=main)


def parsed(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_the_sample_looks_as_it_did(sample, matches_golden):
    matches_golden("page.csv", render(sample))


@given(tables())
def test_every_value_parses_back_exactly_but_for_the_apostrophe_before_a_formula(table):
    rows = parsed(render(page(table)))
    assert len(rows) == len(table.rows) + 1
    for row, cells in zip(rows[1:], table.rows, strict=True):
        if len(cells) > 1 or cells[0].exact:
            assert len(row) == len(cells)
        for value, cell in zip(row, cells, strict=False):
            assert value in {cell.exact, f"'{cell.exact}"}
            assert not value.startswith("'") or cell.exact.startswith(("=", "+", "-", "@", "'"))


@pytest.mark.parametrize("text", ["=1+1", "+cmd|x", "-SUM(A1)", "@SUM(A1)", "-", "=5", "-1+2"])
def test_a_text_that_a_spreadsheet_would_compute_is_quoted(text):
    assert parsed(render(page(Table("t", (Column("a"),), ((Cell(text),),)))))[1] == [f"'{text}"]


@pytest.mark.parametrize("number", ["-5", "+3", "-5.5", "-1e3", "-2Gi", "-12%", "-.5", "12", "-500m"])
def test_a_number_keeps_its_sign(number):
    assert parsed(render(page(Table("t", (Column("a"),), ((Cell(number),),)))))[1] == [number]


def test_values_are_exact_wide_columns_are_there_and_keys_are_the_header():
    columns = (Column("node"), Column("memory free", "right", wide_only=True, key="memory_free_bytes"))
    table = Table("t", columns, ((Cell("n1"), Cell("2Gi", Share(1, 2), value="2147483648")),))
    assert render(page(table)) == "node,memory_free_bytes\nn1,2147483648\n"


def test_the_main_table_alone_is_written():
    first, second = (Table(name, (Column(name),), ()) for name in ("first", "second"))
    assert render(page(first, second)) == "first\n"
    assert render(page(first, second, main=1)) == "second\n"


def test_a_page_without_a_table_is_an_error_with_its_remedy():
    with pytest.raises(InputError, match="-o csv: this answer has no table; use -o json"):
        render(page(Text("", ("x",))))
