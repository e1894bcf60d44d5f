"""What is really used, on pages: bars, who wastes, who is at risk, points over time, advice and patches."""

from pathlib import Path

import msgspec
import pytest

from ullage.model.resources import Amount, Resources, ResourceTypes
from ullage.model.usage import UsageSummary
from ullage.service.asked import Asked, read_to_hold
from ullage.service.held import holding
from ullage.service.usage_recording import BODY, record_sent
from ullage.sources.given import giving
from ullage.web.pages.observed import marks_of
from ullage.web.pages.shell import Shell
from ullage.web.work import Work
from ullage.web.worker import answer

SAMPLES = Path(__file__).resolve().parents[3] / "examples" / "usage.csv"


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """Draw a page of the demo cluster, of which use was recorded."""
    cluster = read_to_hold("cluster", Asked("demo"))
    file = tmp_path_factory.mktemp("ledger") / "ledger.db"
    with holding([cluster]), giving({BODY: SAMPLES.read_bytes()}):
        assert record_sent(Asked("cluster", observed=str(file))).points == 4200

    def page(name, **parameters):
        shell = msgspec.json.encode(Shell(cluster="cluster", clusters=("cluster",), origin="http://here"))
        work = Work(f"page/{name}", {**parameters, "shell": shell.decode()}, observed=str(file))
        done = answer(work, cluster)
        assert done.status == 200, done.body
        return done.body.decode()

    return page


def summary(most, lasting):
    return {"memory": UsageSummary(max=Amount("memory", most), percentiles={"95": Amount("memory", lasting)})}


def test_a_bar_is_measured_by_the_largest_of_use_request_and_limit():
    request, limit = Resources({"memory": 50}), Resources({"memory": 200})
    (found,) = marks_of(summary(100, 80), request, limit, ResourceTypes())
    assert (found.used_at, found.most_at, found.request_at, found.limit_at) == (40, 50, 25, 100)
    assert (found.share, found.is_over) == ("160%", False)


def test_use_above_the_limit_is_marked_and_what_has_no_bound_has_no_mark():
    (over,) = marks_of(summary(100, 80), Resources(), Resources({"memory": 99}), ResourceTypes())
    assert over.is_over
    assert over.request_at is None
    (free,) = marks_of(summary(100, 80), Resources(), Resources(), ResourceTypes())
    assert (free.limit, free.limit_at, free.is_over) == ("-", None, False)


def test_who_wastes_and_who_is_at_risk_are_told_and_lead_to_what_is_known_of_them(observed):
    html = observed("usage")
    waste, risk = html.index('id="waste"'), html.index('id="risk"')
    assert "batch/<wbr>Job/<wbr>etl" in html[waste:risk] or "batch/Job/etl" in html[waste:risk]
    assert "metrics" in html[risk:]
    assert "/usage?subject=workload%2Fplatform%2FStatefulSet%2Fmetrics" in html[risk:]
    assert 'aria-label="memory: 804Gi used' in html


@pytest.mark.parametrize(
    ("view", "told"),
    [("forecast", "When it runs out"), ("ratio", "highest"), ("requests", "Ready patches")],
)
def test_each_view_has_its_answer_and_the_request_that_asks_the_same(observed, view, told):
    html = observed("usage", show=view)
    assert told.lower() in html.lower()
    assert "curl -s http://here/v1/clusters/cluster/" in html
    assert 'aria-current="true"' in html


def test_advice_on_requests_has_the_patch_that_kubectl_takes(observed):
    html = observed("usage", show="requests")
    patches = html[html.index('id="patches"') :]
    assert "kind: StatefulSet" in patches
    assert "/usage?subject=workload%2Fplatform%2FStatefulSet%2Fmetrics" in patches


def test_a_forecast_is_drawn_with_its_band(observed):
    assert "chart-band" in observed("usage", show="forecast")


def test_a_subject_is_drawn_over_time_with_request_and_limit(observed):
    html = observed("usage", subject="workload/web/ReplicaSet/api")
    assert "request 48Gi" in html
    assert "limit 64Gi" in html


def test_a_subject_that_nobody_observed_is_said_to_be_none(observed):
    assert "no observed subject" in observed("usage", subject="node/nothing")


def test_the_pages_of_nodes_and_workloads_tell_their_use(observed):
    node = observed("node", node="n3")
    assert "What it uses" in node
    assert "Use of its workloads" in node
    assert "What it uses" in observed("explain", subject="pod/web/api-0")


def test_without_observations_a_page_says_how_to_get_some(draws):
    words = draws("usage").words
    assert "ullage serve" in words
    assert "/usage/samples" in words
    assert "What it uses" not in draws("node", node="n3").words


def test_what_a_view_tells_is_read_and_not_all_that_is_recorded(observed, monkeypatch):
    monkeypatch.setattr("ullage.stores.usage.read_book", None)
    monkeypatch.setattr("ullage.web.pages.kept_views._KEPT", [])
    assert "Most waste" in observed("usage")
    assert "When it runs out" in observed("usage", show="forecast")
    assert "request 48Gi" in observed("usage", subject="workload/web/ReplicaSet/api")
