"""The page of five thousand nodes: as quick to walk as that of twelve."""

import re

import pytest

from page_browser import browser, until_read
from web_client import started

pytestmark = [pytest.mark.slow, pytest.mark.browser]
NODES = 5000


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    words = ("-c", f"large=synthetic:nodes={NODES},seed=1", "--refresh", "0")
    with started(tmp_path_factory.mktemp("data"), *words) as server:
        until_read(server)
        with browser(server.address) as watched:
            yield watched
            assert watched.complaints == []
            assert watched.elsewhere == []


def test_the_overview_shows_all_of_it_in_short(seen):
    seen.go("/")
    assert f"{NODES} of {NODES} ready" in seen.page.inner_text(".figures")
    assert seen.page.locator("#domains tbody tr").count() == 12
    seen.page.get_by_role("link", name="All domains").click()
    seen.page.locator("#domains tbody tr").nth(200).wait_for()


def test_a_square_of_the_map_tells_its_node_and_leads_there(seen):
    seen.go("/nodes")
    page = seen.page
    tile = page.locator("svg[data-names]").nth(3)
    names = tile.get_attribute("data-names").split()
    tile.hover(position={"x": 15, "y": 4})
    assert page.inner_text(".tip").startswith(f"{names[1]}: ")
    tile.click(position={"x": 15, "y": 4})
    page.wait_for_url(f"**/nodes/{names[1]}")
    assert page.locator("#cpu").count() == 1


def test_a_rack_becomes_a_map_of_links(seen):
    seen.go("/nodes")
    page = seen.page
    page.locator(".tile > a").nth(5).click()
    page.wait_for_url(re.compile("domain="))
    assert page.locator("rect.cell").count() == 24


def test_a_rack_fails(seen):
    seen.go("/what-breaks")
    seen.page.locator(".chips a").first.click()
    seen.page.wait_for_url(re.compile("lose="))
    assert "workloads placed anew" in seen.page.inner_text(".verdict")


def test_a_manifest_finds_its_place(seen):
    seen.go("/what-if")
    seen.page.get_by_role("button", name="Example").click()
    seen.page.get_by_role("button", name="Does it fit?").click()
    seen.page.get_by_text("fits: 3 replicas").wait_for()


@pytest.mark.parametrize("path", ["/quotas", "/drives", "/balance", "/history"])
def test_the_other_pages_are_there(seen, path):
    seen.go(path)
    assert seen.page.locator("h1").count() == 1
