"""Who uses what: the same numbers for people and machines, against what was asked for."""

import json

import pytest

from ullage.engine.usage.decaying import status_with_prediction
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.render.json_text import to_json
from ullage.render.view import Table
from ullage.service import usage_show_page
from ullage.service.asked import Asked, read_cluster, read_to_hold
from ullage.service.held import Held, holding
from ullage.service.observed import read_usage
from ullage.service.questions import ask
from ullage.service.usage_observe import ObserveQuestion, usage_observe
from ullage.service.usage_show import ShowQuestion, usage_show
from ullage.sources.documents import documents_of
from ullage.sources.usage_documents import statuses_of
from usage_example import EXAMPLE

DEMO = Asked("demo")
USAGE = str(EXAMPLE)


def shown(asked=DEMO, **question):
    return usage_show(asked, ShowQuestion(USAGE, **question))


def items(answer):
    return {each["subject"]: each for each in answer.data()["items"]}


def test_nodes_and_workloads_are_shown_unless_others_are_asked_for():
    kinds = {subject.partition("/")[0] for subject in items(shown())}
    assert kinds == {"node", "workload"}
    assert {subject.partition("/")[0] for subject in items(shown(by="pod"))} == {"pod"}
    assert list(items(shown(subject="cluster"))) == ["cluster"]


def test_statuses_are_documents_of_the_resource_model_that_read_back():
    answer = shown(by="node")
    (document,) = documents_of(to_json(answer.data()).encode(), "answer.json")

    read = {status.subject: status for status, _, _ in statuses_of(document, ResourceTypes())}

    observed = read_usage(USAGE, DEMO, read_cluster(DEMO))
    assert read == {subject: status_with_prediction(observed, subject) for subject in read}
    assert len(read) == 12
    assert all(status.predicted for status in read.values())


@pytest.mark.parametrize("by", ["workload", "namespace", "pod", "node", "quota", "group", "cluster"])
def test_what_is_written_means_the_same_when_it_is_read_again(tmp_path, by):
    path = tmp_path / "usage.json"
    path.write_text(to_json(shown(by=by).data()), "utf-8")
    again = usage_show(DEMO, ShowQuestion(str(path), by=by))
    assert items(again) == items(shown(by=by))
    assert [each for each in again.page().blocks if isinstance(each, Table)] == [
        each for each in shown(by=by).page().blocks if isinstance(each, Table)
    ]


def test_requests_and_limits_stand_beside_what_is_used():
    api = items(shown())["workload/web/ReplicaSet/api"]
    assert api["requests"]["memory"] == "48Gi"
    assert api["limits"]["memory"] == "64Gi"
    metrics = items(shown())["workload/platform/StatefulSet/metrics"]
    assert "limits" not in metrics


def test_who_uses_more_than_it_asked_for_is_told():
    found = {each["subject"]: each for each in shown().data()["findings"]}
    assert found["workload/platform/StatefulSet/metrics"]["code"] == "usage-over-request"
    assert (
        "above request or limit: platform/StatefulSet/metrics, web/ReplicaSet/api"
        in shown().page().verdict.text
    )


def test_who_is_over_in_several_resources_is_named_once(tmp_path):
    table = tmp_path / "over.csv"
    amounts = (("cpu", "9000"), ("memory", "900Gi"))
    lines = [f"pod/web/web-0,{name},{300 * at},{amount}" for name, amount in amounts for at in range(9)]
    table.write_text("\n".join(["subject,resource,time,value", *lines]), encoding="utf-8")
    part = {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "namespace": "web"},
        "spec": {"containers": [part], "nodeName": "n"}, "status": {"phase": "Running"},
    }  # fmt: skip
    room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": room}}
    cluster = tmp_path / "one.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}), "utf-8")
    verdict = usage_show(Asked(str(cluster)), ShowQuestion(str(table), by="pod")).page().verdict.text
    assert verdict.endswith("; above request or limit: web/Pod/web-0")


def test_a_page_has_a_table_for_each_kind_and_marks_what_is_over():
    page = shown().page()
    titles = [block.title for block in page.blocks]
    assert titles == ["What is wrong with use", "Nodes", "Workloads"]
    assert page.main_table.title == "Nodes"
    rows = {(row[0].exact, row[1].text): row for row in page.blocks[2].rows}
    metrics = rows["workload/platform/StatefulSet/metrics", "memory"]
    assert metrics[9].text == "121%"
    assert {metrics[6].tone, metrics[8].tone, metrics[9].tone} == {"warn"}
    assert "5 of 17 pods were observed" in page.blocks[2].caption


def test_nodes_are_held_against_what_they_have_and_not_against_promises():
    rows = {(row[0].exact, row[1].text): row for row in shown(by="node").page().main_table.rows}
    crowded, calm = rows["node/n3", "memory"], rows["node/n8", "memory"]
    assert crowded[8].tone == "bad"
    assert {each.tone for each in calm} == {"plain", "muted"}


def test_a_namespace_shows_what_is_its_own():
    assert {subject.split("/")[1] for subject in items(shown(Asked("demo", namespace="web")))} == {"web"}


def test_a_selector_shows_the_nodes_that_it_means():
    asked = Asked("demo", selector="ullage.dev/group=gpu")
    assert set(items(shown(asked, by="node"))) == {"node/g1", "node/g2", "node/g3"}


def test_what_was_not_observed_is_named_with_what_was():
    with pytest.raises(InputError, match=r"no observed subject 'node/n9'.*did you mean node/n"):
        shown(subject="node/n9")
    with pytest.raises(InputError, match="no kind 'planet'"):
        shown(by="planet")


def test_a_large_answer_is_shortened_on_a_terminal(monkeypatch):
    monkeypatch.setattr(usage_show_page, "ROWS_SHOWN", 5)
    answer = shown(by="pod")
    assert len(answer.shortened().main_table.rows) == 5
    assert len(answer.page().main_table.rows) == 28
    assert "the first 5 of 28 rows" in answer.shortened().main_table.caption


def test_over_http_it_is_what_the_ledger_has_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("ULLAGE_NOW", "1795000000")
    ledger = tmp_path / "ledger.db"
    usage_observe(Asked("demo", ledger=str(ledger)), ObserveQuestion(USAGE))
    held: Held = read_to_hold("production", DEMO)
    with holding([held]):
        answer = ask("usage/show", {"by": "node"}, cluster="production", ledger=str(ledger))
        assert len(answer.data()["items"]) == 12
        with pytest.raises(InputError, match="nothing was observed"):
            ask("usage/show", {}, cluster="production")


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(
            """usage: [memory: {mean: 33Gi, max: 40Gi, min: 28Gi, count: 168,
            percentiles: ["10": 29Gi, "50": 33Gi, "95": 39Gi, "99.9": 40Gi],
            windowSeconds: 1202400, droppedPoints: 0, confidence: 1}],
            maxusage: [memory: {max: 41Gi}], predicted: [memory: {percentiles: ["95": 40Gi]}]""",
            id="the example of the page about formats",
        ),
        pytest.param("maxusage: [memory: {max: 41Gi}]", id="only the most"),
        pytest.param(
            "usage: [cpu: {mean: 1}], maxusage: [cpu: {min: 0, count: 4294967296}]", id="many points"
        ),
        pytest.param("usage: [cpu: {count: 0, droppedPoints: 4294967296, confidence: 0}]", id="all dropped"),
    ],
)
def test_what_a_document_states_is_written_as_it_was_read(tmp_path, parts):
    path = tmp_path / "status.yaml"
    path.write_text(f"subject: node/n1\ntakenSeconds: 1768428000\nresourceStatus: [{parts}]\n", "utf-8")
    (document,) = documents_of(path.read_bytes(), "test")
    (stated,) = statuses_of(document, ResourceTypes())
    answer = usage_show(Asked("demo"), ShowQuestion(usage=str(path)))
    (written,) = documents_of(to_json(answer.data()).encode(), "test")
    assert [each[:2] for each in statuses_of(written, ResourceTypes())] == [stated[:2]]
    assert answer.page().blocks


def test_what_two_documents_state_of_a_subject_is_merged(tmp_path):
    path = tmp_path / "status.yaml"
    one = "kind: ResourceStatus\nsubject: node/n1\nresourceStatus: [usage: [cpu: {max: 1, count: 10}]]\n"
    path.write_text(f"{one}---\n{one}", "utf-8")
    (item,) = usage_show(Asked("demo"), ShowQuestion(usage=str(path))).data()["items"]
    assert item["resourceStatus"][0]["usage"][0]["cpu"]["count"] == 20
