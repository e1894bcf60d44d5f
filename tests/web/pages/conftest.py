"""Pages drawn as a worker draws them, of clusters that are held in this process."""

import re
from html import unescape
from html.parser import HTMLParser

import msgspec
import pytest

from ullage.service.asked import Asked, read_to_hold
from ullage.web.pages.shell import Shell
from ullage.web.work import Work
from ullage.web.worker import answer

HELD = {}


def held(source):
    if source not in HELD:
        HELD[source] = read_to_hold("cluster", Asked(source))
    return HELD[source]


class Drawn(HTMLParser):
    """A page as a test looks at it: its words, its links, its tags."""

    def __init__(self, html):
        super().__init__()
        self.html = html
        self.links = []
        self.tags = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.tags.append((tag, told))
        if tag == "a" and "href" in told:
            self.links.append(told["href"])

    @property
    def words(self):
        main = self.html[self.html.index("<main") :]
        return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", main)))


@pytest.fixture
def draws():
    """Draw a page by its name; what is refused is returned as its problem."""

    def page(name, source="demo", body=b"", shell=None, ledger="", **parameters):
        told = shell or Shell(cluster="cluster", clusters=("cluster",), scope="commit")
        work = Work(f"page/{name}", {**parameters, "shell": msgspec.json.encode(told).decode()}, body, ledger)
        done = answer(work, held(source))
        if done.status != 200:
            return msgspec.json.decode(done.body)
        return Drawn(done.body.decode())

    return page
