"""What Prometheus is shown is what answers say: by its own parser."""

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ullage import __version__
from ullage.service.asked import Asked
from ullage.service.figures import figures
from ullage.service.usage_records import Recorded, ResourceUse
from ullage.web.clusters import ObservedState
from ullage.web.events import Events
from ullage.web.figures import Known
from ullage.web.ledgers import Ledgers
from ullage.web.metrics import QUOTA_TERMS, TERMS, metrics_of
from ullage.web.routes import Route
from ullage.web.traffic import Traffic
from web.standing import InProcess

NOW = (ResourceUse("cpu", 2.5, 4.0, 8.0),)
OBSERVED = SimpleNamespace(
    state=ObservedState("metrics", 60, 50, 7, "it is gone"), recorded=Recorded(now=NOW)
)
SENT = SimpleNamespace(state=ObservedState(last_seconds=40, points=3), recorded=Recorded())
DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    async def story():
        pool, traffic = InProcess(demo="demo"), Traffic()
        traffic.add(Route("GET", "/v1/x/{y}", None, None, ""), "GET", 200, 0.25)
        traffic.add(None, "GET", 404, 0.5)
        known = {"demo": Known(figures(Asked("demo")), 1, 0, 1234.5)}
        server = SimpleNamespace(
            pool=pool,
            traffic=traffic,
            events=Events(),
            ledgers=Ledgers(tmp_path_factory.mktemp("state"), pool),
            figures=SimpleNamespace(all=lambda: known),
            observers=SimpleNamespace(all=lambda: {"demo": OBSERVED, "other": SENT}),
        )
        return metrics_of(server).exposition().decode()

    text = asyncio.run(story())
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(shown, name, **labels):
    return shown.get((name, *sorted(labels.items())))


def test_the_room_of_a_cluster_and_its_groups_is_shown_term_by_term(shown):
    told = figures(Asked("demo"))
    for row in told.total.resources:
        for term in TERMS:
            found = value(shown, f"ullage_cluster_{term}", cluster="demo", resource=row.resource)
            assert found == getattr(row, term)
    assert len(told.groups) >= 1
    for group in told.groups:
        for row in group.resources:
            labels = {"cluster": "demo", "group": group.group, "resource": row.resource}
            assert value(shown, "ullage_group_free", **labels) == row.free


def test_quotas_are_shown_and_what_they_do_not_bound_is_not(shown):
    told = figures(Asked("demo")).quotas
    assert told
    for row in told:
        for term in QUOTA_TERMS:
            labels = {"cluster": "demo", "quota": row.quota, "resource": row.resource}
            assert value(shown, f"ullage_quota_{term}", **labels) == getattr(row, term)


def test_counts_are_shown_by_what_they_are(shown):
    told = figures(Asked("demo"))
    assert value(shown, "ullage_cluster_nodes", cluster="demo", state="cordoned") == 1
    assert value(shown, "ullage_cluster_workloads", cluster="demo", state="init") == 2
    assert value(shown, "ullage_cluster_findings", cluster="demo", severity="error") == 1
    (first, *_) = told.devices
    labels = {"cluster": "demo", "model": first.model, "resource": first.resource}
    assert value(shown, "ullage_devices", **labels) == first.devices
    assert value(shown, "ullage_devices_free", **labels) == first.free
    assert value(shown, "ullage_device_starts", size="1", **labels) == first.starts["1"]
    assert value(shown, "ullage_drives_failing", cluster="demo", **{"class": "HDD"}) == 1
    drives = {row.drive_class: row for row in told.drives}
    labels = {"cluster": "demo", "class": "HDD", "kind": "free"}
    assert value(shown, "ullage_drive_bytes", **labels) == drives["HDD"].free_bytes


def test_sources_and_the_work_of_the_server_are_shown(shown):
    assert value(shown, "ullage_cluster_revision", cluster="demo") == 1
    assert value(shown, "ullage_cluster_read_timestamp_seconds", cluster="demo") == 1000
    assert value(shown, "ullage_cluster_source_failing", cluster="demo") == 0
    assert value(shown, "ullage_cluster_workers", cluster="demo") == 2
    assert value(shown, "ullage_cluster_figures_timestamp_seconds", cluster="demo") == 1234.5
    assert value(shown, "ullage_ledger_revision", cluster="demo") == 0
    assert value(shown, "ullage_ledger_opened_again_total", cluster="demo") == 0
    labels = {"method": "GET", "path": "/v1/x/{y}"}
    assert value(shown, "ullage_http_answers_total", status="200", **labels) == 1
    assert value(shown, "ullage_http_seconds_total", **labels) == 0.25
    assert value(shown, "ullage_http_answers_total", status="404", method="GET", path="") == 1
    assert value(shown, "ullage_events_listeners") == 0
    assert value(shown, "ullage_build_info", version=__version__) == 1


def test_use_is_shown_beside_what_is_promised_and_who_observes_it(shown):
    of_cpu = {"cluster": "demo", "resource": "cpu"}
    assert value(shown, "ullage_usage_used", **of_cpu) == 2.5
    assert value(shown, "ullage_usage_requested", **of_cpu) == 4
    assert value(shown, "ullage_usage_limit", **of_cpu) == 8
    assert value(shown, "ullage_usage_observer_failing", cluster="demo") == 1
    assert value(shown, "ullage_usage_read_timestamp_seconds", cluster="demo") == 60
    assert value(shown, "ullage_usage_observation_timestamp_seconds", cluster="demo") == 50
    assert value(shown, "ullage_usage_points_total", cluster="demo") == 7


def test_a_cluster_without_a_source_of_use_has_no_observer_that_could_fail(shown):
    assert value(shown, "ullage_usage_observation_timestamp_seconds", cluster="other") == 40
    assert value(shown, "ullage_usage_observer_failing", cluster="other") is None
    assert value(shown, "ullage_usage_read_timestamp_seconds", cluster="other") is None


@pytest.mark.parametrize("file", ["grafana/ullage.json", "prometheus/alerts.yml"])
def test_what_is_drawn_and_alerted_on_is_shown(shown, file):
    used = set(re.findall(r"ullage_[a-z_]+", (DEPLOY / file).read_text(encoding="utf-8")))
    assert len(used) > 9
    assert used <= {name for name, *_ in shown}


def test_every_panel_has_a_place_of_its_own():
    panels = json.loads((DEPLOY / "grafana/ullage.json").read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in panels
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(set(places)) == len(places)
    assert max(x for x, _ in places) < 24
