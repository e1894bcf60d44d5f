"""A person's morning with the page, in a real browser on a real server."""

import re
from pathlib import Path

import pytest

from page_browser import browser, until_read
from web_client import started

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    words = ("-c", "demo", "-c", f"shared={EXAMPLES / 'quotas.yaml'}", "--refresh", "0")
    with started(tmp_path_factory.mktemp("data"), *words) as server:
        until_read(server)
        yield server


@pytest.fixture
def seen(served):
    with browser(served.address) as watched:
        yield watched
        assert watched.complaints == []
        assert watched.elsewhere == []


def test_from_a_finding_to_the_arithmetic_behind_it(seen):
    seen.go("/")
    page = seen.page
    page.locator(".findings a", has_text="s1").first.click()
    page.wait_for_url("**/nodes/s1?cluster=demo")
    assert "over-committed by 1.25Gi" in page.inner_text("#memory")
    page.locator("#memory h3 a").click()
    page.wait_for_url("**/explain/resource/memory?cluster=demo")
    assert "54% committed" in page.inner_text(".verdict")


def test_nodes_are_found_by_typing_and_sorted_by_their_heads(seen):
    seen.go("/nodes")
    page = seen.page
    for _ in range(20):
        page.keyboard.press("/")
        if page.evaluate("document.activeElement.name") == "q":
            break
        page.wait_for_timeout(500)
    page.keyboard.type("g")
    page.wait_for_url(re.compile(r"q=g"))
    page.locator("#found h2", has_text="3 nodes").wait_for()
    page.locator("thead a", has_text="memory").click()
    page.wait_for_url(re.compile(r"sort=memory"))
    assert page.locator("#table tbody th").all_inner_texts() == ["g3", "g1", "g2"]


def test_a_rack_fails_and_everybody_sees_where_the_losers_go(seen):
    seen.go("/what-breaks")
    page = seen.page
    page.get_by_role("link", name="rack-3", exact=True).click()
    page.wait_for_url(re.compile("rack-3"))
    assert "12 of 12 workloads placed anew" in page.inner_text(".verdict")
    page.get_by_role("combobox", name="Fail").fill("domain/rack-1")
    page.get_by_role("button", name="Fail it too").click()
    page.get_by_text("Left without a place").wait_for()
    assert page.locator("rect.lost").count() == 8


def test_a_manifest_is_pasted_kept_committed_and_in_the_history(seen):
    seen.go("/what-if")
    page = seen.page
    page.get_by_role("button", name="Example").click()
    page.get_by_label("Namespace").fill("web")
    page.get_by_label("Manifest").press("Control+Enter")
    page.get_by_text("fits: 3 replicas").wait_for()
    page.get_by_role("button", name="Keep it as a plan").click()
    page.get_by_role("button", name="Commit it").click()
    page.get_by_text("the ledger holds the room").wait_for()
    page.get_by_role("link", name="All plans").click()
    page.wait_for_load_state("networkidle")
    assert "web/api" in page.inner_text("#plans")
    assert "commit plan" in page.inner_text("#commits")
    page.locator(".plot canvas").first.wait_for()


def test_a_dropped_file_fills_the_box(seen):
    seen.go("/what-if")
    page = seen.page
    page.set_input_files(
        "input[type=file]", {"name": "a.yaml", "mimeType": "text/yaml", "buffer": b"kind: ["}
    )
    page.get_by_text("a.yaml").wait_for()
    page.get_by_role("button", name="Does it fit?").click()
    page.get_by_role("alert").get_by_text("the manifest, line").wait_for()
    assert page.get_by_label("Manifest").input_value() == "kind: ["


def test_a_quota_that_borrows_leads_to_who_goes_first(seen):
    seen.go("/quotas")
    page = seen.page
    assert page.locator(".marks").count() == 9
    page.locator("#found .chips a", has_text="ml/notebook-4").click()
    page.wait_for_url("**/explain/pod/ml/notebook-4?cluster=demo")
    assert "Its risk" in page.inner_text("main")


def test_an_eviction_by_quota_is_previewed_by_name(seen):
    seen.go("/what-if?cluster=shared")
    page = seen.page
    page.get_by_label("Or a shape").fill("cpu=1,nvidia.com/gpu-10gb=2")
    page.get_by_label("Namespace").fill("team-c")
    page.get_by_role("button", name="Does it fit?").click()
    page.get_by_text("evicting").wait_for()
    page.locator("#answer table a", has_text="team-b/b3").click()
    page.wait_for_url("**/explain/pod/team-b/b3?cluster=shared")
    assert "Its risk" in page.inner_text("main")


def test_a_drive_is_clicked_and_fails(seen):
    seen.go("/drives")
    seen.page.get_by_label("fail n3-data of n3").click()
    seen.page.wait_for_url(re.compile("what-breaks"))
    assert "pvc-report-0" in seen.page.inner_text("main")


def test_moves_are_shown_and_the_plan_is_downloaded(seen):
    seen.go("/balance")
    with seen.page.expect_download() as told:
        seen.page.get_by_role("link", name="Download the plan").click()
    assert told.value.suggested_filename == "balance.json"
    assert "RebalanceReport" in told.value.path().read_text(encoding="utf-8")


def test_keys_lead_everywhere_and_the_theme_stays(seen):
    seen.go("/")
    page = seen.page
    for letter, path in (
        ("n", "/nodes"),
        ("b", "/what-breaks"),
        ("q", "/quotas"),
        ("u", "/usage"),
        ("h", "/history"),
        ("o", "/"),
    ):
        page.keyboard.press("g")
        page.keyboard.press(letter)
        page.wait_for_url(f"**{path}?cluster=demo")
        page.wait_for_load_state("networkidle")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    with page.expect_response(re.compile("/theme")):
        page.keyboard.press("t")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"


def test_without_scripts_forms_still_work(served):
    with browser(served.address, java_script_enabled=False) as watched:
        page = watched.page
        page.goto(f"{served.address}/nodes")
        page.get_by_role("searchbox").fill("s1")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(re.compile("q=s1"))
        assert page.locator("#table tbody th").all_inner_texts() == ["s1"]
        page.get_by_role("button", name=re.compile("Theme")).click()
        assert page.locator("html[data-theme=light]").count() == 1
