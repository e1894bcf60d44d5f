"""The page of five thousand nodes: a person's morning, as on the demo's twelve."""

import re

import pytest

from page_browser import browser, until_read
from web_client import started

pytestmark = [pytest.mark.slow, pytest.mark.browser]
NODES = 5000
PATIENCE_SECONDS = 400
TALL_PIXELS_MAX = 9000
LENDER = "team-002"
"""A quota that lends GPUs: no node has three of them free, so that somebody has to go for its owner."""
BORROWER = "team-000"
"""A quota that uses more than its min: its owner is told who could claim it back."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    words = ("-c", f"large=synthetic:nodes={NODES},seed=1", "--refresh", "0")
    with started(tmp_path_factory.mktemp("data"), *words) as server:
        until_read(server)
        with browser(server.address, viewport={"width": 1400, "height": 900}) as watched:
            watched.page.set_default_timeout(PATIENCE_SECONDS * 1000)
            yield watched
            assert watched.complaints == []
            assert watched.elsewhere == []


def height(page):
    return page.evaluate("document.documentElement.scrollHeight")


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


def test_a_rack_fails_and_its_losers_have_another_place(seen):
    seen.go("/what-breaks")
    page = seen.page
    page.locator(".chips a").first.click()
    page.wait_for_url(re.compile("lose="))
    assert "workloads placed anew" in page.inner_text(".verdict")
    page.get_by_role("heading", name="Start again elsewhere").wait_for()
    page.locator("main table a[href*='/explain/pod/']").first.wait_for()


@pytest.mark.parametrize("team", [LENDER, BORROWER])
def test_a_manifest_is_pasted_kept_committed_and_in_the_history(seen, team):
    seen.go("/what-if")
    page = seen.page
    page.get_by_role("button", name="Example").click()
    page.get_by_label("Namespace").fill(team)
    page.get_by_role("button", name="Does it fit?").click()
    page.get_by_text("fits: 3 replicas").wait_for()
    page.get_by_role("button", name="Keep it as a plan").click()
    page.get_by_role("button", name="Commit it").click()
    page.get_by_text("the ledger holds the room").wait_for()
    page.get_by_role("link", name="All plans").click()
    page.wait_for_url(re.compile("/history"))
    assert f"{team}/api" in page.inner_text("#plans")
    assert "commit plan" in page.inner_text("#commits")
    page.locator(".plot canvas").first.wait_for()


def test_an_eviction_by_quota_is_previewed_by_name(seen):
    seen.go("/what-if")
    page = seen.page
    page.get_by_label("Or a shape").fill("cpu=1,nvidia.com/gpu=3")
    page.get_by_label("Namespace").fill(LENDER)
    page.get_by_role("button", name="Does it fit?").click()
    page.get_by_text("evicting").first.wait_for()
    page.locator("#answer table a[href*='/explain/pod/']").first.wait_for()


def test_moves_are_looked_for_and_shown(seen):
    seen.go("/balance")
    page = seen.page
    page.get_by_label("At most so many moves").fill("5")
    page.get_by_role("button", name="Look for moves").click()
    page.locator("#moves table tbody tr").nth(4).wait_for()
    assert "bring the score" in page.inner_text("#answer .verdict")
    assert page.locator("#answer .marks").count() > 2
    assert page.locator("[data-trouble] .notice").count() == 0


def test_quotas_are_shown_in_parts_filtered_and_sorted(seen):
    seen.go("/quotas")
    page = seen.page
    assert "1 to 20 of 200" in page.inner_text("#found")
    assert height(page) < TALL_PIXELS_MAX
    page.get_by_role("link", name="Last").click()
    page.locator("#found", has_text="181 to 200 of 200").wait_for()
    page.get_by_label("Which").select_option("lends")
    page.wait_for_url(re.compile("standing=lends"))
    page.locator("thead a", has_text="used, of min").click()
    page.wait_for_url(re.compile(r"standing=lends.*sort=used"))
    assert page.locator("#found thead [aria-sort=descending]").count() == 1


def test_every_drive_can_be_reached_by_pages_filters_and_order(seen):
    seen.go("/drives")
    page = seen.page
    whole = int(re.search(r"1 to 60 of (\d+)", page.inner_text("#found"))[1])
    assert whole > NODES
    assert height(page) < TALL_PIXELS_MAX
    page.get_by_role("link", name="Next").click()
    page.locator("#found", has_text=f"61 to 120 of {whole}").wait_for()
    page.get_by_label("Sort").select_option("free")
    page.wait_for_url(re.compile("sort=free"))
    page.get_by_role("searchbox").fill("compute-0042")
    page.wait_for_url(re.compile("q=compute-0042"))
    assert int(re.search(r"of (\d+)", page.inner_text("#found h2"))[1]) < whole


def test_the_history_is_there(seen):
    seen.go("/history")
    seen.page.locator(".plot canvas").first.wait_for()
