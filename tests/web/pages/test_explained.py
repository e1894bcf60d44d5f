"""Every number leads to its explanation: a figure without a link is found, and a link that leads nowhere."""

import re
from html.parser import HTMLParser
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from ullage.web.pages.what_if import EXAMPLE

SHAPE = {"shape": "cpu=1,memory=1Gi", "replicas": "2"}
PAGES = (
    ("overview", {}),
    ("overview", {"domains": "all", "findings": "all"}),
    ("nodes", {}),
    ("node", {"node": "s1"}),
    ("node", {"node": "g1"}),
    ("quotas", {}),
    ("drives", {}),
    ("balance", {}),
    ("balance", {"drain": "n1"}),
    ("what_breaks", {"lose": "drive/n3-nvme-0"}),
    ("what_if", SHAPE),
    ("explain", {"subject": "quota/ml"}),
    ("explain", {"subject": "resource/memory"}),
    ("explain", {"subject": "pod/ml/notebook-4"}),
)
FIGURES = {"right", "shared", "figure", "number", "amount", "percent", "measure"}
"""Classes of what holds a number; a number in bold is one too."""
VOID = {"input", "meta", "link", "br", "wbr", "rect", "path", "col", "hr", "img"}
NAMES = {"": "overview", "what-if": "what_if", "what-breaks": "what_breaks"}


class Figures(HTMLParser):
    """The numbers of a page that are in no link and hold none; those of `sums` explain themselves."""

    def __init__(self, html, sums="meanings"):
        super().__init__()
        self._sums = sums
        self.bare = []
        self.count = 0
        self._open = []
        self.feed(html[html.index("<main") : html.index("</main>")])

    def handle_starttag(self, tag, attrs):
        if tag in VOID:
            return
        told = dict(attrs)
        classes = set((told.get("class") or "").split())
        is_figure = bool(classes & FIGURES) or tag == "b"
        is_sum = self._sums in classes or any(each["is_sum"] for each in self._open)
        is_link = tag == "a" and "href" in told
        for each in self._open if is_link else ():
            each["linked"] = True
        linked = is_link or any(each["is_link"] for each in self._open)
        self._open.append(
            {
                "tag": tag,
                "figure": is_figure,
                "is_link": is_link,
                "linked": linked,
                "is_sum": is_sum,
                "text": "",
            }
        )

    def handle_data(self, data):
        for each in self._open:
            each["text"] += data

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        each = self._open.pop()
        assert each["tag"] == tag
        text = re.sub(r"\s+", " ", each["text"]).strip()
        if each["figure"] and not each["is_sum"] and re.match(r"[▲✗<>-]?\s*\d", text):
            self.count += 1
            if not each["linked"]:
                self.bare.append(text)


@pytest.mark.parametrize(("name", "parameters"), PAGES, ids=str)
def test_every_number_of_a_page_leads_to_its_explanation(draws, name, parameters):
    found = Figures(draws(name, **parameters).html, "terms" if name == "explain" else "meanings")
    assert found.count
    assert found.bare == []


def test_a_machine_has_every_number_explained_too(draws):
    source = "ganeti:examples/ganeti.data"
    for name in ("overview", "nodes", "balance"):
        assert Figures(draws(name, source).html).bare == []


def test_a_number_without_a_link_is_found():
    html = (
        '<main><td class="right">12</td><td class="right"><a href="/">3</a></td><b>4</b><b>words</b></main>'
    )
    assert Figures(html).bare == ["12", "4"]


def target(link):
    """Return the page that a link leads to: its name and parameters; None where no worker draws it."""
    parts = urlsplit(link)
    first, _, rest = unquote(parts.path).strip("/").partition("/")
    name = NAMES.get(first, first)
    parameters = dict(parse_qsl(parts.query))
    if first == "nodes" and rest:
        return "node", {"node": rest}
    if first == "explain":
        return name, {"subject": rest}
    return (name, parameters) if name in {"overview", "nodes", "quotas", "drives", "balance"} else None


def test_a_place_on_a_page_that_a_number_leads_to_is_there(draws):
    drawn, missing = {}, []

    def identifiers(name, parameters):
        key = (name, *sorted(parameters.items()))
        if key not in drawn:
            drawn[key] = {told.get("id") for _, told in draws(name, **parameters).tags}
        return drawn[key]

    for name, parameters in PAGES:
        for link in sorted({link for link in draws(name, **parameters).links if "#" in link}):
            where, _, place = link.partition("#")
            found = target(where) if where else (name, parameters)
            if found and unquote(place) not in identifiers(*found):
                missing.append((name, link))
    assert missing == []


def test_a_manifest_that_fits_has_its_numbers_explained(draws):
    assert Figures(draws("what_if", body=EXAMPLE.encode(), namespace="web").html).bare == []
