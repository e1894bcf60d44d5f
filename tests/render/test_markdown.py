import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from render.pages import pages, tables, texts
from ullage.render.markdown import escaped, render
from ullage.render.marks import mark
from ullage.render.view import Bars, Page, Table, Terms, Text, Verdict

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = {"text", "text_special", "strong_open", "strong_close", "code_inline"}


def inlines(text):
    return [token for token in READER.parse(text) if token.type == "inline"]


def content(inline):
    return "".join(child.content for child in inline.children)


def test_the_sample_looks_as_it_did(sample, matches_golden):
    matches_golden("page.md", render(sample))


@given(pages())
def test_no_text_is_read_as_markup(page):
    tokens = READER.parse(render(page))
    assert not {"html_block", "fence", "code_block", "blockquote_open", "hr"} & {
        token.type for token in tokens
    }
    for token in tokens:
        if token.type == "inline":
            assert {child.type for child in token.children} <= OURS


@given(tables())
def test_a_reader_sees_every_cell_letter_by_letter(table):
    found = [content(inline) for inline in inlines(render(Page("p", Verdict("v"), (table,))))]
    columns = [number for number, column in enumerate(table.columns) if number == 0 or not column.wide_only]
    shown = [
        f"{row[number].shown} {mark(row[number].tone)}".strip() for row in table.rows for number in columns
    ]
    start = 2 + bool(table.title.strip()) + len(columns)
    assert [part.split() for part in found[start : start + len(shown)]] == [part.split() for part in shown]


@given(texts)
def test_a_reader_sees_verdict_and_paragraphs_letter_by_letter(text):
    page = Page("p", Verdict(text, "no"), (Text("", (text,)),))
    found = [content(inline).split() for inline in inlines(render(page))]
    shown = page.verdict.text.split()
    assert found == [["p"], ["✗", *shown], *([shown] if shown else [])]


@given(pages())
def test_rows_of_a_table_have_equal_numbers_of_cells(page):
    text = render(page)
    drawn = [block for block in page.blocks if isinstance(block, Table | Bars | Terms)]
    tokens = READER.parse(text)
    assert sum(token.type == "table_open" for token in tokens) == len(drawn)
    sizes = []
    for token in tokens:
        if token.type == "table_open":
            sizes = []
        elif token.type == "tr_open":
            sizes.append(0)
        elif token.type in {"td_open", "th_open"}:
            sizes[-1] += 1
        elif token.type == "table_close":
            assert len(set(sizes)) == 1


@given(texts)
def test_an_escaped_text_holds_no_raw_markup(text):
    shown = escaped(Page("", Verdict(text)).verdict.text)
    assert not set("<>@$") & set(shown)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("web_1_a", "web_1_a"),
        ("_em_", r"\_em\_"),
        ("a|b", r"a\|b"),
        ("# no", r"\# no"),
        ("1.5Gi - 1", "1.5Gi - 1"),
        ("@team", "&#64;team"),
        ("a & b", "a &amp; b"),
    ],
)
def test_what_markdown_would_obey_is_escaped(raw, shown):
    assert escaped(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("- no", "&#45; no"), ("2024. no", "&#50;024. no"), ("1.5Gi", "1.5Gi"), ("      code", "code")],
)
def test_a_paragraph_begins_no_list_and_no_code(raw, shown):
    page = Page("p", Verdict("v"), (Text("", (raw,)),))
    assert render(page).splitlines()[-1] == shown


def test_a_command_with_backticks_is_still_one_code_span():
    page = Page("p", Verdict("v"), next_command="ullage fit `x` ``y``")
    assert render(page).splitlines()[-1] == "Next: ``` ullage fit `x` ``y`` ```"
