"""The page says that there is newer data, and leaves it to whoever looks when to see it."""

import itertools
import re
from pathlib import Path

import pytest

from page_browser import browser, until_read
from web_client import started

EXAMPLE = Path(__file__).parents[2] / "examples" / "quotas.yaml"
EVENTS = re.compile("/v1/events")
LINE = "There is newer data."
NUMBERS = itertools.count(33)
pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "cluster.yaml"
    path.write_bytes(EXAMPLE.read_bytes())
    return path


@pytest.fixture(scope="module")
def served(tmp_path_factory, source):
    words = ("-c", f"ours={source}", "-c", "demo", "--refresh", "0")
    with started(tmp_path_factory.mktemp("data"), *words) as server:
        until_read(server)
        yield server


@pytest.fixture
def seen(served):
    with browser(served.address) as watched:
        yield watched
        assert watched.complaints == []


@pytest.fixture
def read_anew(seen, source):
    """Let the cluster of the file change, and the server read it."""

    def read():
        text = source.read_text(encoding="utf-8")
        source.write_text(re.sub(r'cpu: "\d+"', f'cpu: "{next(NUMBERS)}"', text), encoding="utf-8")
        assert sent(seen, "/v1/clusters/ours/refresh").status == 200

    return read


def listening(watched, path):
    """Open a page, and go on once it listens."""
    with watched.page.expect_response(EVENTS):
        watched.page.goto(f"{watched.address}{path}")


def sent(watched, path, **options):
    """Ask the server from beside the page; options are those of playwright."""
    return watched.page.request.post(f"{watched.address}{path}", **options)


def commit_a_plan(watched):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{next(NUMBERS)}", "namespace": "web"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = sent(watched, "/v1/clusters/demo/plans", data=pod)
    assert made.status == 201
    assert sent(watched, f"{made.headers['location']}/commit").status == 200


def test_a_new_reading_is_told_and_shown_when_the_link_is_followed_by_key(seen, read_anew):
    listening(seen, "/nodes/n1?cluster=ours")
    page = seen.page
    before = page.inner_text("main")
    assert LINE not in before
    read_anew()
    page.get_by_role("status").get_by_text(LINE).wait_for()
    assert page.inner_text("main").replace(f"{LINE} Reload", "").strip() == before.strip()
    page.get_by_role("link", name="Reload").focus()
    with page.expect_response(EVENTS):
        page.keyboard.press("Enter")
    assert page.get_by_text(LINE).count() == 0
    assert page.inner_text("main") != before


def test_a_committed_plan_is_told(seen):
    listening(seen, "/?cluster=demo")
    commit_a_plan(seen)
    seen.page.get_by_role("status").get_by_text(LINE).wait_for()


def test_what_happened_before_the_page_was_drawn_or_elsewhere_is_no_news(seen, read_anew):
    commit_a_plan(seen)
    listening(seen, "/?cluster=demo")
    read_anew()
    seen.page.wait_for_timeout(500)
    assert seen.page.get_by_text(LINE).count() == 0


def test_who_does_not_see_the_page_keeps_no_connection_and_misses_nothing(seen, read_anew):
    page = seen.page
    listening(seen, "/?cluster=ours")
    with page.expect_event("requestfailed", lambda request: "/v1/events" in request.url):
        page.evaluate(HIDDEN, arg=True)
    read_anew()
    assert page.get_by_text(LINE).count() == 0
    page.evaluate(HIDDEN, arg=False)
    page.get_by_text(LINE).wait_for()


def test_a_page_that_is_left_listens_no_more(seen):
    listening(seen, "/?cluster=ours")
    with seen.page.expect_event("requestfailed", lambda request: "/v1/events" in request.url):
        seen.page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")


def test_a_stream_that_breaks_is_opened_again_no_sooner_than_the_server_says(seen):
    opened = []

    def broken(route):
        opened.append(route.request.url)
        body = "retry: 600\n\n" if len(opened) < 3 else 'event: lost\nid: x-1\ndata: {"remedy":""}\n\n'
        route.fulfill(status=200, content_type="text/event-stream", body=body)

    seen.page.route(EVENTS, broken)
    seen.page.goto(f"{seen.address}/?cluster=ours")
    seen.page.wait_for_timeout(300)
    assert len(opened) == 1
    seen.page.get_by_text(LINE).wait_for()
    seen.page.wait_for_timeout(1000)
    assert len(opened) == 3


HIDDEN = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
