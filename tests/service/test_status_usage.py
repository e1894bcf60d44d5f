"""Status, check and explain with what is really used; without it every byte is as before."""

import json
from pathlib import Path

import pytest

from ullage.service.asked import Asked
from ullage.service.check import CheckQuestion, check
from ullage.service.explain import explain
from ullage.service.status import status

USAGE = str(Path(__file__).resolve().parents[2] / "examples" / "usage.csv")
DEMO = Asked("demo")


def data(answer):
    return json.loads(json.dumps(answer.data()))


def test_nodes_have_their_use_beside_what_is_committed():
    nodes = {each["name"]: each for each in data(status(DEMO, usage=USAGE))["nodes"]}
    memory = nodes["n3"]["usage"]["memory"]
    assert set(memory["percentiles"]) == {"10", "50", "90", "95", "99", "99.5", "99.9"}
    assert memory["count"] == 168


def test_listed_workloads_have_their_use_and_their_limits():
    listed = {each["name"]: each for each in data(status(DEMO, "workload", USAGE))["listed"]}
    assert listed["api-3"]["limits"] == {"cpu": "4", "memory": "8Gi"}
    assert listed["api-3"]["usage"]["memory"]["count"] == 42
    assert "usage" not in listed["shop-0"]


def test_findings_of_use_are_told_by_status_and_check():
    codes = {each["code"] for each in data(status(DEMO, usage=USAGE))["findings"]}
    assert {"usage-over-request", "usage-near-physical", "promise-hollow"} <= codes
    report = data(check(DEMO, CheckQuestion(nodes_lost=0, usage=USAGE)))
    use = next(each for each in report["checks"] if each["name"] == "use")
    assert {each["code"] for each in use["findings"]} == {"usage-over-request", "usage-near-physical"}
    assert use["passed"]


def test_a_node_is_explained_with_its_use_that_of_its_workloads_and_who_gets_what():
    report = data(explain(DEMO, "node/n3", usage=USAGE))
    assert set(report["usage"]) == {"cpu", "memory"}
    assert [each["workload"] for each in report["used"]] == ["batch/etl-2", "web/api-1", "web/api-5"]
    assert [each["resource"] for each in report["contention"]] == ["cpu", "memory"]
    only = data(explain(DEMO, "node/n3", "memory", USAGE))
    assert set(only["usage"]) == {"memory"}
    assert [each["resource"] for each in only["contention"]] == ["memory"]


def test_a_pod_is_explained_with_its_use():
    (used,) = data(explain(DEMO, "pod/web/api-3", usage=USAGE))["used"]
    assert used["requests"]["memory"] == "6Gi"
    assert used["usage"]["memory"]["max"]


@pytest.mark.parametrize(
    "answer",
    [
        lambda: status(DEMO, "workload"),
        lambda: check(DEMO, CheckQuestion()),
        lambda: explain(DEMO, "node/n3"),
        lambda: explain(DEMO, "pod/web/api-3"),
    ],
)
def test_without_usage_nothing_of_it_is_said(answer):
    text = json.dumps(answer().data())
    assert not [word for word in ('"usage"', '"contention"', '"use"', "usage-") if word in text]
