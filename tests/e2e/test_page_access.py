"""Every page is usable by everybody: axe finds nothing serious, and nothing sticks out of a narrow screen."""

import pytest

from page_browser import browser, until_read
from web_client import started

pytestmark = [pytest.mark.slow, pytest.mark.browser]
PATHS = (
    "/",
    "/nodes",
    "/nodes/s1",
    "/what-if?waiting=1",
    "/what-breaks?lose=domain/rack-3",
    "/quotas",
    "/drives",
    "/balance",
    "/usage",
    "/history",
    "/explain/quota/ml",
    "/explain/resource/memory",
    "/explain/pod/ml/finetune-0",
    "/login",
    "/nodes/nothing",
    "/nothing",
    "/docs",
    "/quotas?sort=used&order=down",
    "/drives?sort=free&order=down",
)
MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: web}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
"""
SERIOUS = {"serious", "critical"}
LOOKS = {
    "light, wide": {"color_scheme": "light", "viewport": {"width": 1400, "height": 900}},
    "dark, narrow": {"color_scheme": "dark", "viewport": {"width": 360, "height": 800}},
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", "demo", "--refresh", "0") as server:
        until_read(server)
        yield server


@pytest.fixture(scope="module")
def plan(served):
    """The page of a plan that is kept."""
    kind = {"Content-Type": "application/yaml"}
    made = served.ask("POST", "/v1/clusters/demo/plans", kind, MANIFEST.encode())
    assert made.status == 201
    return f"/plans/{made.data['id']}"


@pytest.fixture(scope="module")
def step(served, plan):
    """The page of the step that has committed the plan."""
    assert served.ask("POST", f"/v1/clusters/demo{plan}/commit").status == 200
    return "/history/steps/1"


def test_what_programs_may_ask_is_linked_from_every_page(served):
    for path in PATHS:
        page = served.ask("GET", path, {"Accept": "text/html"}).body
        assert (b'href="/docs"' in page) == (path != "/login"), path


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_serious_stands_in_the_way(served, plan, step, look):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = []
    with browser(served.address, **LOOKS[look]) as watched:
        for path in (*PATHS, plan, step):
            watched.go(path)
            told = axe.run(watched.page).response
            assert told["passes"], path
            found += [
                (path, each["id"], each["nodes"][0]["html"])
                for each in told["violations"]
                if each["impact"] in SERIOUS
            ]
            wide = watched.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            found += [(path, "sticks out", wide)] if wide > 0 else []
        assert watched.elsewhere == []
    assert found == []
