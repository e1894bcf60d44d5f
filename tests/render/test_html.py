import html as stdlib_html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from render.pages import pages, texts
from ullage.render.html import environment, placed, render
from ullage.render.view import BarRow, Cell, Column, Page, Segment, Share, Table, Verdict

TAGS = """
    html head meta title style body main header footer section h1 h2 p span div svg rect table thead tbody
    tfoot tr th td dl dt dd ul li b code wbr
"""
ATTRIBUTES = """
    lang charset name content class aria-hidden aria-label role tabindex scope title viewbox
    preserveaspectratio focusable x width height
"""
WIDTHS = (390, 800, 1280)
BROWSER = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --hide-scrollbars --window-size=1300,900
"""


class Reader(HTMLParser):
    """Collects tags, attributes and the text inside each element, as a browser would read them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.open, self.read = set(), [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in {"meta", "wbr", "rect"}:
            self.open.append((tag, []))

    def handle_endtag(self, tag):
        if tag != "rect":
            self.read.append(self.open.pop())
            assert self.read[-1][0] == tag

    def handle_data(self, data):
        for _, parts in self.open:
            parts.append(data)

    def of(self, tag):
        return ["".join(parts) for name, parts in self.read if name == tag]


def test_the_sample_looks_as_it_did(sample, matches_golden):
    matches_golden("page.html", render(sample))


@given(pages())
def test_no_text_becomes_markup(page):
    reader = Reader(render(page))
    assert reader.tags <= set(TAGS.split())
    assert {name for name, _ in reader.attributes} <= set(ATTRIBUTES.split())
    assert not reader.open


@given(texts)
def test_a_browser_reads_every_text_letter_by_letter(text):
    columns = (Column(text), Column("b"))
    page = Page(text, Verdict(text), (Table("t", columns, ((Cell(text, note=text), Cell("x")),)),))
    shown = page.verdict.text
    reader = Reader(render(page))
    assert reader.of("title") == [shown]
    assert reader.of("h1") == [shown]
    assert [part.split() for part in reader.of("th")] == [shown.split(), ["b"], shown.split()]
    assert not shown or ("title", shown) in reader.attributes


def test_the_file_is_alone(sample):
    text = render(sample)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script|<link|<img|\bon[a-z]+=", text)


def test_a_page_can_be_heard_and_walked_by_keyboard(sample):
    text = render(sample)
    assert '<html lang="en">' in text
    assert text.count("<h1>") == 1
    assert text.count("<main>") == 1
    assert len(re.findall(r"<th(?! scope=)[ >]", text)) == 0
    assert len(re.findall(r"<svg(?![^>]*aria-hidden)", text)) == 0
    assert text.count('class="scroll" role="region" tabindex="0" aria-label=') == 2
    assert 'aria-label="warning">▲' in text


def test_a_share_is_a_bar_and_a_percentage_and_a_full_bar_is_the_longest():
    row = tuple(Cell("1", Share(part, 8)) for part in (2, 12))
    text = render(Page("t", Verdict("v"), (Table("t", (Column("a"), Column("b")), (row,)),)))
    assert re.findall(r'class="bar-plain" width="([\d.]+)"', text) == ["25.00", "100.00"]
    assert "(25%)" in text
    assert "(150%)" in text


@given(st.lists(st.integers(-3, 1 << 45), max_size=6), st.integers(0, 1 << 45))
def test_segments_stay_inside_the_bar_and_none_vanishes(parts, whole):
    tones = ("plain", "strong", "muted", "ok", "warn", "bad")
    row = BarRow("n", tuple(Segment(t, "", p, t) for t, p in zip(tones, parts, strict=False)), whole)
    drawn = placed(row)
    assert len(drawn) == sum(part > 0 for part in parts)
    for _, start, width in drawn:
        assert float(width) >= 0.6
        assert 0 <= float(start) <= float(start) + float(width) <= 100.02


def test_an_unknown_name_in_a_template_is_an_error():
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nothing }}").render()


def long_page(sample):
    """Return the sample with names that have no place to break."""
    name = "x" * 120
    table = Table(name, tuple(Column(f"{name[:30]}{i}", "right") for i in range(9)), ((Cell(name),) * 9,))
    return Page(name, Verdict(name, "no"), (*sample.blocks, table), (name,), f"ullage {name}", name)


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["sample", "long"])
def test_no_width_makes_the_page_scroll_sideways(sample, tmp_path, kind):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    document = stdlib_html.escape(render(sample if kind == "sample" else long_page(sample)))
    frames = "".join(
        f'<iframe width="{width}" height="900" srcdoc="{document}"></iframe>' for width in WIDTHS
    )
    measure = (
        "document.title = JSON.stringify([...document.querySelectorAll('iframe')].map(f =>"
        " [f.contentWindow.innerWidth, f.contentDocument.documentElement.scrollWidth,"
        " f.contentDocument.querySelectorAll('tr').length]))"
    )
    style = "<style>iframe { border: 0; display: block }</style>"
    harness = tmp_path / "harness.html"
    script = f"<script>onload = () => {{ {measure} }}</script>"
    harness.write_text(f"<!doctype html><meta charset=utf-8>{style}{frames}{script}", encoding="utf-8")
    done = subprocess.run(
        [
            chromium,
            *BROWSER.split(),
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            harness.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    measured = json.loads(re.search(r"<title>(\[.*?\])</title>", done.stdout).group(1))
    assert [width for width, _, _ in measured] == list(WIDTHS)
    assert all(scroll <= width for width, scroll, _ in measured), measured
    assert all(rows > 5 for _, _, rows in measured)
