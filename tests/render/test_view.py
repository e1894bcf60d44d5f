import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.pages import pages, shares, texts
from ullage.render.view import (
    BarRow,
    Bars,
    Cell,
    Column,
    Page,
    Segment,
    Share,
    Table,
    Text,
    Verdict,
    respelled,
)


@pytest.mark.parametrize(
    ("part", "whole", "percent"),
    [
        (560, 2000, "28%"),
        (0, 5, "0%"),
        (5, 5, "100%"),
        (1, 1000, "<1%"),
        (999, 1000, ">99%"),
        (1001, 1000, ">100%"),
        (1, 8, "13%"),
        (3, 2, "150%"),
        (0, 0, ""),
        (1, 0, ">100%"),
        (-1, 4, "-25%"),
        (-1, 1000, "<0%"),
    ],
)
def test_a_percentage_is_rounded_but_nothing_and_all_are_said_only_when_exact(part, whole, percent):
    assert Share(part, whole).percent == percent


@given(shares)
def test_the_drawn_fraction_agrees_with_the_percentage(share):
    if share is None or share.whole == 0:
        return
    assert (share.fraction > 1) == (share.part > share.whole)
    if share.part <= share.whole:
        assert share.fraction == pytest.approx(share.part / share.whole)


def test_a_cell_shows_its_share_and_keeps_its_exact_value():
    cell = Cell("560m", share=Share(560, 2000), value="0.56")
    assert (cell.shown, cell.exact) == ("560m (28%)", "0.56")
    assert (Cell("2").shown, Cell("2").exact) == ("2", "2")


@given(texts)
def test_no_record_holds_a_text_that_cannot_be_seen(text):
    cell = Cell(text, note=text, value=text)
    assert (cell.text + cell.note + cell.exact).isprintable()
    assert all(part.isprintable() for part in Text("", (text, text)).paragraphs)
    assert all(part.isprintable() for part in Page("", Verdict(text), not_simulated=(text,)).not_simulated)


def test_a_subclass_of_text_is_stored_as_plain_text():
    class Trusted(str):
        __slots__ = ()

        def __html__(self):
            return str(self)

    assert type(Cell(Trusted("<b>")).text) is str
    assert type(Text("", (Trusted("<b>"),)).paragraphs[0]) is str


def test_a_row_has_one_cell_for_each_column():
    with pytest.raises(ValueError, match="row 0 has 1 cells for 2 columns"):
        Table("t", (Column("a"), Column("b")), ((Cell("1"),),))
    with pytest.raises(ValueError, match="no columns"):
        Table("t", (), ())


@pytest.mark.parametrize(
    "segments",
    [
        (Segment("spare", "1", 1, "ok"), Segment("free", "1", 1, "ok")),
        (Segment("spare", "1", 1, "ok"), Segment("spare", "1", 1, "warn")),
    ],
)
def test_a_word_of_a_bar_has_a_tone_of_its_own(segments):
    with pytest.raises(ValueError, match="one tone of its own"):
        Bars("b", (BarRow("n1", segments, 2),))


def test_bars_are_a_table_too():
    one = BarRow("n1", (Segment("used", "3Gi", 3), Segment("free", "1Gi", 1, "ok")), 4, "4Gi")
    two = BarRow("n2", (Segment("free", "2Gi", 2, "ok"),), 2, "2Gi")
    table = Bars("memory", (one, two)).table
    assert [column.title for column in table.columns] == ["name", "used", "free", "total"]
    assert [[cell.shown for cell in row] for row in table.rows] == [
        ["n1", "3Gi (75%)", "1Gi (25%)", "4Gi"],
        ["n2", "", "2Gi (100%)", "2Gi"],
    ]


def test_segments_beyond_the_whole_fill_the_bar():
    assert BarRow("n", (Segment("a", "", 3), Segment("b", "", 2, "ok")), 4).scale == 5
    assert BarRow("n", (Segment("a", "", 3), Segment("b", "", -2, "ok")), 4).scale == 4
    assert BarRow("n", (), 0).scale == 1


def test_the_main_table_is_the_first_unless_another_is_named():
    first, second = (Table(name, (Column("a"),), ()) for name in ("first", "second"))
    blocks = (Text("", ()), first, second)
    assert Page("p", Verdict(""), blocks).main_table is first
    assert Page("p", Verdict(""), blocks, main=2).main_table is second
    assert Page("p", Verdict("")).main_table is None
    for wrong in (0, 3, -1):
        with pytest.raises(ValueError, match="is not a table"):
            Page("p", Verdict(""), blocks, main=wrong)


@given(pages(st.sampled_from(["näme", "a·b"])))
def test_a_page_respelled_differs_only_in_its_letters(page):
    spelled = respelled(page)
    assert str(spelled).isascii()
    assert str(spelled) == str(page).replace("ä", "\\xe4").replace("·", "-").replace("\\xe4", "\\\\xe4")
