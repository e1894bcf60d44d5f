"""A browser that a test looks at the page with: Debian's chromium, which may reach this server alone."""

import contextlib
import shutil
import time
from urllib.parse import urlsplit

import pytest

SECONDS_MAX = 30
READING_SECONDS_MAX = 300


class Watched:
    """A page of a browser, with everything that went wrong on it and every address it has asked for."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.complaints = []
        self.asked = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def _said(self, message):
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def go(self, path):
        self.page.goto(f"{self.address}{path}")
        self.page.wait_for_load_state("networkidle")

    @property
    def elsewhere(self):
        """Requests that have left this server."""
        here = urlsplit(self.address).port
        return [url for url in self.asked if urlsplit(url).port != here]


@contextlib.contextmanager
def browser(address, **options):
    """Open a browser on a server; without one the test is skipped."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            context = opened.new_context(**options)
            context.set_default_timeout(SECONDS_MAX * 1000)
            yield Watched(context.new_page(), address)
        finally:
            opened.close()


def until_read(server):
    """Wait until every cluster of a started server is read, however large it is."""
    end = time.monotonic() + READING_SECONDS_MAX
    while server.ask("GET", "/ready").status != 200:
        assert time.monotonic() < end, "the clusters are not read"
        time.sleep(0.2)
