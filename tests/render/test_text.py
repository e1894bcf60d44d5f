import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from render.pages import pages, words
from ullage.render.text import WIDTH_MIN, render
from ullage.render.view import (
    BarRow,
    Bars,
    Column,
    Finding,
    Findings,
    Page,
    Segment,
    Table,
    Term,
    Terms,
    Text,
    Verdict,
)

SGR = re.compile(r"\x1b\[[0-9;]*m")
latin = st.text(st.characters(max_codepoint=0x2FF), max_size=40)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("page-80.txt", {"width": 80}),
        ("page-80-ascii.txt", {"width": 80, "unicode": False}),
        ("page-80-color.txt", {"width": 80, "color": True}),
        ("page-50.txt", {"width": 50}),
        ("page-200-wide.txt", {"width": 200, "wide": True}),
    ],
)
def test_the_sample_looks_as_it_did(sample, matches_golden, name, options):
    matches_golden(name, render(sample, **options))


@given(pages(latin | words), st.integers(1, 200), st.booleans())
def test_no_line_is_wider_than_the_terminal(page, width, unicode):
    for line in render(page, width=width, unicode=unicode).splitlines():
        assert cell_len(line) <= max(width, WIDTH_MIN)


@given(pages(), st.booleans(), st.booleans())
def test_nothing_a_terminal_would_obey_gets_through_but_our_own_colours(page, color, wide):
    text = render(page, color=color, wide=wide)
    plain = SGR.sub("", text) if color else text
    assert all(line.isprintable() for line in plain.split("\n"))
    assert text.endswith("\n")


@given(pages())
def test_colour_changes_no_character(page):
    assert SGR.sub("", render(page, color=True)) == render(page)


@given(pages())
def test_a_page_without_unicode_is_ascii(page):
    assert render(page, unicode=False).isascii()


@given(pages(words))
def test_every_text_stands_in_full_in_a_wide_page_of_two_hundred_columns(page):
    text = render(page, width=200, wide=True)
    for block in page.blocks:
        match block:
            case Table(rows=rows, columns=columns) if rows:
                shown = [column.title for column in columns] + [cell.text for row in rows for cell in row]
            case Bars(rows=rows):
                shown = [part.text for row in rows for part in row.segments] + [row.label for row in rows]
            case Terms(lines=lines, result=result):
                shown = [
                    part for term in (*lines, result) for part in (term.name, term.amount, term.explanation)
                ]
            case Findings(rows=rows):
                shown = [
                    part for row in rows for part in (row.severity, row.subject, row.message, row.remedy)
                ]
            case Text(paragraphs=paragraphs):
                shown = list(paragraphs)
            case _:
                shown = []
        assert all(part in text for part in (block.title, *shown))


@pytest.mark.parametrize(
    ("tone", "unicode", "line"),
    [
        ("yes", True, "✓ it fits"),
        ("no", True, "✗ it fits"),
        ("info", True, "it fits"),
        ("yes", False, "yes: it fits"),
        ("no", False, "no: it fits"),
    ],
)
def test_the_first_line_is_the_verdict_with_its_sign(tone, unicode, line):
    assert render(Page("t", Verdict("it fits", tone)), unicode=unicode) == f"{line}\n"


def test_the_last_line_is_the_next_command_and_can_be_copied():
    page = Page("t", Verdict("no"), next_command="ullage fit -f 'my file.yaml' --policy ganeti -c demo")
    assert render(page, width=80).splitlines()[-1] == f"Next: {page.next_command}"
    assert render(page, width=36).splitlines()[2:] == [
        "Next: ullage fit -f 'my file.yaml' \\",
        "      --policy ganeti -c demo",
    ]


def test_what_was_not_simulated_is_named():
    page = Page("t", Verdict("yes"), not_simulated=("image pulls", "affinity"))
    assert render(page).splitlines()[-1] == "Not simulated: image pulls; affinity"


def test_a_sum_is_set_as_on_paper():
    terms = Terms(
        "", (Term("", "capacity", "64Gi", "stated"), Term("-", "reserve", "2Gi")), Term("=", "rest", "62Gi")
    )
    assert render(Page("t", Verdict("v"), (terms,)), unicode=False).splitlines()[2:] == [
        "   capacity  64Gi  stated",
        "-  reserve    2Gi",
        "   --------------",
        "=  rest      62Gi",
    ]


def test_an_explanation_goes_below_its_line_where_there_is_no_room_beside():
    terms = Terms("", (Term("", "capacity", "64Gi", "as the node says"),), Term("=", "rest", "62Gi"))
    assert render(Page("t", Verdict("v"), (terms,)), width=30).splitlines()[2:4] == [
        "   capacity  64Gi",
        "   as the node says",
    ]


def test_bars_stand_with_their_amounts_and_below_each_other_where_it_is_narrow():
    parts = (Segment("used", "3Gi", 3, "strong"), Segment("free", "1Gi", 1, "ok"))
    page = Page("t", Verdict("v"), (Bars("", (BarRow("n1", parts, 4, "4Gi"),)),))
    assert render(page, width=48).splitlines()[2:] == [
        "                           █ used  ░ free  total",
        "──  ─────────────────────  ──────  ──────  ─────",
        "n1  ████████████████░░░░░     3Gi     1Gi    4Gi",
    ]
    assert render(page, width=30, unicode=False).splitlines()[2:] == [
        "n1  4Gi",
        "  #####################-------",
        "  # used 3Gi  - free 1Gi",
    ]


def test_a_finding_has_its_word_its_fact_and_its_remedy():
    findings = Findings(
        "Findings", (Finding("warning", "node n1", "is full", "move web-1"), Finding("info", "", "x"))
    )
    assert render(Page("t", Verdict("v"), (findings,))).splitlines()[3:] == [
        "▲ warning  node n1: is full",
        "           → move web-1",
        "· info     x",
    ]


def test_an_empty_list_says_so():
    blocks = (Findings("Findings", ()), Bars("", ()), Table("Nodes", (Column("node"),), ()))
    assert render(Page("t", Verdict("v"), blocks)).splitlines()[2:] == [
        "Findings",
        "none",
        "",
        "none",
        "",
        "Nodes",
        "none",
    ]
