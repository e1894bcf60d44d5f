import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.pages import tables, words
from ullage.render.lines import width_of
from ullage.render.text_table import table_lines
from ullage.render.view import Cell, Column, Share, Table


def toned(table, width=80):
    return [span for line in table_lines(table, width=width, wide=False, unicode=True) for span in line]


def laid_out(table, width, *, wide=False, unicode=True):
    lines = table_lines(table, width=width, wide=wide, unicode=unicode)
    return ["".join(span.text for span in line).rstrip() for line in lines]


def numbers(*priorities, text="1234567890"):
    columns = (Column("node"), *(Column(f"c{i}", "right", priority=p) for i, p in enumerate(priorities)))
    return Table("t", columns, ((Cell("n1"), *(Cell(text) for _ in priorities)),))


def test_numbers_stand_right_shares_and_marks_under_each_other():
    rows = (
        (Cell("n1"), Cell("560m", Share(560, 2000))),
        (Cell("n2"), Cell("30500m", Share(30500, 30000), "bad")),
        (Cell("n3"), Cell("0m", Share(0, 2000))),
    )
    table = Table("t", (Column("node"), Column("cpu", "right")), rows)
    assert laid_out(table, 80)[2:] == [
        "n1      560m  (28%)   ████▌···········",
        "n2    30500m (102%) ✗ ███████████████▶",
        "n3        0m   (0%)   ················",
    ]
    assert laid_out(table, 34, unicode=False) == [
        "node                          cpu",
        "----  ---------------------------",
        "n1      560m  (28%)    ###-------",
        "n2    30500m (102%) !! #########>",
        "n3        0m   (0%)    ----------",
    ]


@pytest.mark.parametrize(
    ("priorities", "hidden"),
    [((1, 2, 3), "c0"), ((3, 2, 1), "c2"), ((1, 1, 1), "c2"), ((-5, 0, 0), "c0")],
)
def test_the_lowest_priority_goes_first_and_the_rightmost_of_equals(priorities, hidden):
    notice = f"1 column hidden at 34 columns: {hidden}; use -o wide or a wider terminal"
    assert " ".join(laid_out(numbers(*priorities), 34)[3:]) == notice


def test_several_hidden_columns_are_named_in_their_order_and_the_name_stays():
    lines = laid_out(numbers(3, 1, 2), 17)
    assert lines[0] == "node          c0"
    assert " ".join(lines[3:]).startswith("2 columns hidden at 17 columns: c1, c2;")


def test_a_wide_table_keeps_every_column_however_narrow_the_terminal():
    columns = (Column("node"), Column("policy", wide_only=True))
    table = Table("t", columns, ((Cell("n1"), Cell("kubernetes")),))
    assert laid_out(table, 80)[0] == "node"
    assert laid_out(table, 80, wide=True)[0] == "node  policy"
    assert laid_out(numbers(1, 1, 1), 20, wide=True)[2] == "n1    1234567890  1234567890  1234567890"


@pytest.mark.parametrize(
    ("width", "bar", "name_lines", "hidden"),
    [
        (77, 16, 1, False),
        (76, 10, 1, False),
        (65, 10, 1, False),
        (64, 6, 1, False),
        (57, 6, 1, False),
        (56, 4, 1, False),
        (53, 4, 1, False),
        (52, 4, 2, False),
        (48, 4, 2, False),
        (47, 0, 1, False),
        (46, 0, 2, False),
        (34, 0, 3, False),
        (33, 0, 2, True),
    ],
)
def test_room_is_won_by_shorter_bars_then_wrapped_names_then_no_bars_then_a_column(
    width, bar, name_lines, hidden
):
    share = Share(1, 2)
    rows = ((Cell("storage-archive-node-0123"), Cell("1", share), Cell("2", share)),)
    columns = (Column("node"), Column("cpu committed", "right"), Column("memory committed", "right"))
    lines = laid_out(Table("t", columns, rows), width)
    notice = [line for line in lines if "hidden" in line]
    rule = next(number for number, line in enumerate(lines) if "─" in line)
    body = lines[rule + 1 : lines.index(notice[0]) if notice else None]
    assert (len(body), bool(notice)) == (name_lines, hidden)
    assert sum(body[0].count(sign) for sign in "█·") == bar * (1 if hidden else 2)


def test_names_wrap_and_numbers_do_not():
    rows = ((Cell("storage-archive-9.example.internal"), Cell("1234567890123456Gi")),)
    lines = laid_out(Table("t", (Column("node"), Column("memory", "right")), rows), 40)
    assert lines[2:] == ["storage-archive-9.    1234567890123456Gi", "example.internal"]


@pytest.mark.parametrize("align", ["left", "right"])
@pytest.mark.parametrize(
    ("tone", "letters"), [("bad", "strong"), ("warn", "strong"), ("ok", "plain"), ("muted", "muted")]
)
def test_a_sign_has_a_colour_and_letters_have_none(align, tone, letters):
    rows = ((Cell("n1"), Cell("520Gi", tone=tone)),)
    spans = toned(Table("t", (Column("node"), Column("memory", align)), rows))
    assert letters in {span.tone for span in spans if "520Gi" in span.text}
    assert {span.tone for span in spans if span.text.strip() in {"✗", "▲"}} == ({tone} & {"bad", "warn"})


def test_an_empty_table_says_so():
    assert laid_out(Table("t", (Column("a"),), ()), 80) == ["none"]


@given(tables(words), st.integers(40, 120), st.booleans())
def test_every_number_stands_whole_in_a_column_or_the_column_is_announced(table, width, unicode):
    lines = laid_out(table, width, unicode=unicode)
    text = "\n".join(lines)
    assert all(
        width_of(line) <= width for line in table_lines(table, width=width, wide=False, unicode=unicode)
    )
    if "hidden at" in text:
        return
    for row in table.rows:
        for number, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
            if number == 0 or not column.wide_only:
                shown = column.align == "right" or cell.share
                assert cell.text in text if shown else cell.text[:1] in text
