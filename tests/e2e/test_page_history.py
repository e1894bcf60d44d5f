"""The plots of the history can be read, however wide they are, and very long names do not fill it."""

import pytest

from page_browser import browser, until_read
from web_client import started

pytestmark = [pytest.mark.slow, pytest.mark.browser]
LONG = "a" * 60
MANIFEST = f"""
apiVersion: v1
kind: Pod
metadata: {{name: {LONG}.{LONG}.{LONG}, namespace: web}}
spec: {{containers: [{{name: c, image: i}}]}}
"""
RECORDING = """(() => {
  const draw = CanvasRenderingContext2D.prototype.fillText;
  window.drawn = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const wide = this.measureText(text).width;
    window.drawn.push({ text, y, left: x - wide / 2, right: x + wide / 2 });
    return draw.apply(this, arguments);
  };
})()"""
OVERLAPPING = """() => {
  const dates = window.drawn.filter((each) => /^(\\d{4}-)?\\d\\d[-:]\\d\\d$/.test(each.text));
  const found = [];
  for (const one of dates) for (const other of dates) {
    const isBeside = other.y === one.y && other.left > one.left + 1;
    if (isBeside && other.left < one.right + 4) found.push([one.text, other.text]);
  }
  return { found, count: dates.length };
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", "demo", "--refresh", "0") as server:
        until_read(server)
        kind = {"Content-Type": "application/yaml"}
        made = server.ask("POST", "/v1/clusters/demo/plans", kind, MANIFEST.encode())
        assert made.status == 201
        assert server.ask("POST", f"{made.headers['location']}/commit").status == 200
        yield server


@pytest.mark.parametrize("wide", [1900, 1400, 1000, 390])
@pytest.mark.parametrize("span", ["hour", "day", "week", "month", "year"])
def test_dates_below_a_plot_do_not_overlap_and_the_last_values_are_told(served, wide, span):
    with browser(served.address, viewport={"width": wide, "height": 900}) as watched:
        watched.page.add_init_script(RECORDING)
        watched.go(f"/history?span={span}")
        watched.page.locator(".plot canvas").first.wait_for()
        told = watched.page.evaluate(OVERLAPPING)
        assert told["count"]
        assert told["found"] == []
        assert "committed153" in watched.page.inner_text(".plot .u-legend >> nth=0")


def test_a_very_long_name_is_clipped_and_can_be_read_whole(served):
    with browser(served.address, viewport={"width": 1400, "height": 900}) as watched:
        watched.go("/history")
        name = watched.page.locator("#plans .clip", has_text=LONG).first
        assert LONG in name.get_attribute("title")
        assert name.evaluate("each => each.getBoundingClientRect().height") < 60


@pytest.mark.parametrize("wide", [1440, 390])
def test_a_revision_is_in_sight_and_leads_to_its_step_and_that_to_its_plan(served, wide):
    with browser(served.address, viewport={"width": wide, "height": 900}) as watched:
        watched.go("/history")
        revision = watched.page.locator("#commits a.number").first
        box = revision.bounding_box()
        assert box["x"] + box["width"] < wide
        revision.click()
        watched.page.wait_for_url("**/history/steps/*")
        words = watched.page.inner_text("main")
        assert "Entries" in words
        assert "held before" in words
        watched.page.locator("main a", has_text="commit plan").click()
        watched.page.wait_for_url("**/plans/*")
        watched.page.locator("main a", has_text="of the ledger").click()
        watched.page.wait_for_url("**/history/steps/*")
