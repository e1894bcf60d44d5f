from xml.etree import ElementTree as ET

from hypothesis import given

from render.pages import pages, texts
from ullage.render.lines import Span
from ullage.render.svg import render, terminal_svg
from ullage.render.text import page_lines
from ullage.render.view import Bars, Page, Verdict
from ullage.render.visible import visible

SPACE = "{http://www.w3.org/2000/svg}"


def parsed(text):
    return ET.fromstring(text)  # noqa: S314 - the text is our own


def shown(text):
    return ["".join(element.itertext()) for element in parsed(text).iter(f"{SPACE}text")]


def test_the_sample_looks_as_it_did(sample, matches_golden):
    matches_golden("page.svg", render(sample))
    lines = page_lines(sample, width=80)
    matches_golden("terminal.svg", terminal_svg(lines, title=sample.title, command="ullage status -c demo"))


@given(pages())
def test_any_page_is_well_formed_and_fetches_nothing(page):
    text = render(page)
    tags = {element.tag.removeprefix(SPACE) for element in parsed(text).iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "text"}
    assert text.count("http") == "".join(parsed(text).itertext()).count("http") + 1 + page.title.count("http")
    assert "url(" not in parsed(text).findtext(f"{SPACE}style")
    assert "@import" not in parsed(text).findtext(f"{SPACE}style")


@given(texts, texts)
def test_lines_from_anywhere_are_made_visible(text, command):
    picture = terminal_svg([(Span(text), Span(text, "bad"))], title=text, command=command)
    assert parsed(picture).findtext(f"{SPACE}title") == visible(text)


def test_everything_lies_inside_the_picture(sample):
    for text in (render(sample), terminal_svg(page_lines(sample, width=120), title="t")):
        root = parsed(text)
        width, height = float(root.get("width")), float(root.get("height"))
        for element in root.iter():
            if element.tag in {f"{SPACE}text", f"{SPACE}rect"}:
                size = element.get("textLength") or element.get("width")
                assert float(element.get("x")) + float(size) <= width
                assert float(element.get("y")) <= height


def test_bars_are_drawn_with_their_words_and_amounts(sample):
    words = shown(render(sample))
    bars = next(block for block in sample.blocks if isinstance(block, Bars))
    for row in bars.rows:
        assert row.label in words
        assert row.total in words
        assert all(f"{segment.word} {segment.text}" in words for segment in row.segments)


def test_a_page_without_bars_is_a_picture_of_its_text():
    assert shown(render(Page("t", Verdict("it fits", "yes"), next_command="ullage status"))) == [
        "✓",
        "it fits",
        "Next:",
        "ullage status",
    ]
