"""The part of a fit page about quotas: who goes, and who may be evicted later."""

import pytest

from builders import batch, cluster, node, pod, quota, resources, waiting
from ullage.model.admission import PriorityClass
from ullage.model.cluster import Quota
from ullage.service.asked import Asked
from ullage.service.fit import NO_QUESTION, FitQuestion, fit_of
from ullage.service.wanted import Choice, Wanted


def page(replicas: int = 1):
    held = [pod(f"b/p{number}", cpu="1") for number in range(4)]
    snapshot = cluster(
        node("n1", cpu="4").holding(*held),
        quota("a", {"cpu": "1"}),
        quota("b", {"cpu": "0"}),
        quota("c", {"cpu": "3"}),
    )
    wanted = Wanted(
        (batch(replicas, waiting("a/new", cpu="1")),), atomic=False, types=snapshot.resource_types
    )
    return fit_of(snapshot, wanted, Asked(cluster="x"))


def blocks(replicas: int = 1) -> dict[str, object]:
    return {block.title: block for block in page(replicas).page().blocks}


def test_a_verdict_names_who_is_evicted():
    assert page().page().verdict.text == "a/new fits: 1 replica on 1 node, evicting b/p0"


def test_the_evicted_are_listed_with_their_quota_label_and_what_they_free():
    table = blocks()["Evicted"]
    assert [cell.text for cell in table.rows[0]] == ["b/p0", "n1", "b", "over-quota", "1 cpu", "a/new"]
    assert table.caption == "no other choice costs less, proven"


def test_where_replicas_claim_in_turn_the_proof_speaks_of_each_turn():
    caption = "one claim after the other: in its turn no other choice costs one less, proven"
    assert blocks(2)["Evicted"].caption == caption
    (outcome,) = page(2).data()["outcomes"]
    assert outcome["evictingTurns"] == 2


def test_who_borrows_is_told_who_could_claim_it_back():
    later = blocks(2)["May be evicted later"]
    assert [each.message for each in later.rows] == [
        "1 of 2 replicas would be over quota; could claim it back: c (3 cpu)"
    ]
    assert "May be evicted later" not in blocks(1)


def test_the_report_carries_the_same_for_machines():
    (outcome,) = page(2).data()["outcomes"]
    assert [each["workload"] for each in outcome["evicted"]] == ["b/p0", "b/p1"]
    assert outcome["overQuota"] == 1
    assert list(outcome["laterClaims"]) == [{"quota": "c", "couldClaim": {"cpu": "3"}}]


def test_a_shape_is_judged_under_the_quota_of_the_namespace_that_is_named():
    held = [pod(f"b/p{number}", cpu="1") for number in range(4)]
    quotas = (quota("a", {"cpu": "1"}), quota("b", {"cpu": "0"}))
    snapshot = cluster(node("n1", cpu="4").holding(*held), *quotas)
    choice = Choice((), "cpu=1", None, "")
    answers = {
        namespace: fit_of(snapshot, choice.wanted(snapshot, namespace), Asked(cluster="x")).yes
        for namespace in ("", "a", "b")
    }
    assert answers == {"": False, "a": True, "b": False}


def asked(snapshot, question=NO_QUESTION):
    wanted = Wanted((batch(1, waiting("a/new", cpu="1")),), atomic=False, types=snapshot.resource_types)
    return fit_of(snapshot, wanted, Asked(cluster="x"), question)


def teams(*held, **fields):
    quotas = (quota("a", {"cpu": "4"}), quota("b", {"cpu": "0"}))
    return cluster(node("n1", cpu="2").holding(*held), *quotas, **fields)


def test_who_is_on_the_way_out_is_waited_for_by_name_and_node():
    answer = asked(teams(pod("b/p0", cpu="1"), pod("b/p1", cpu="1", terminating=True)))
    page = answer.page()
    assert page.verdict.text == "a/new fits: 1 replica on 1 node, once b/p1 is gone"
    (table,) = [block for block in page.blocks if block.title == "Waited for"]
    assert [cell.text for cell in table.rows[0]] == ["b/p1", "n1", "b", "1 cpu", "a/new"]
    assert all(block.title != "Evicted" for block in page.blocks)
    data = answer.data()
    (outcome,) = data["outcomes"]
    assert [each["workload"] for each in outcome["waitsFor"]] == ["b/p1"]
    assert [(step["action"], step["subject"]) for step in data["plan"]["steps"]] == [
        ("wait", "b/p1"),
        ("place", "a/new"),
    ]


def young(**fields):
    held = [
        pod(f"b/p{number}", cpu="1", started_seconds=number * 100, created_seconds=number)
        for number in range(2)
    ]
    return teams(*held, **fields)


def test_a_minimum_run_time_spares_and_says_whom():
    answer = asked(young(taken_seconds=150), FitQuestion(run_min_seconds=120))
    page = answer.page()
    assert page.verdict.text == "a/new fits: 1 replica on 1 node, evicting b/p0"
    (table,) = [block for block in page.blocks if block.title == "Spared"]
    assert [cell.text for cell in table.rows[0]] == ["b/p1", "n1", "b", "70 s", "a/new"]
    (outcome,) = answer.data()["outcomes"]
    assert list(outcome["spared"]) == [
        {"workload": "b/p1", "node": "n1", "quota": "b", "leftSeconds": 70},
    ]


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({}, "who ran for less than 120 s: the source does not say when it was taken"),
        ({"taken_seconds": 150}, ""),
    ],
)
def test_what_is_not_known_about_run_times_is_said(fields, note):
    notes = asked(young(**fields), FitQuestion(run_min_seconds=120)).page().not_simulated
    assert [line for line in notes if "ran for less" in line] == ([note] if note else [])


def test_workloads_without_a_start_are_counted():
    snapshot = teams(pod("b/p0", cpu="2"), taken_seconds=150)
    (line,) = asked(snapshot, FitQuestion(run_min_seconds=120)).page().not_simulated
    assert line == "who ran for less than 120 s: for 1 workload the start is not known"
    assert not asked(snapshot, FitQuestion(run_min_seconds=0)).page().not_simulated


QUEUE = "kueue.x-k8s.io/queue-name"
WORKLOAD = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: w, namespace: a}
spec:
  queueName: %s
  priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: gold}
  podSets:
  - template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: w
  namespace: a
  labels: {kueue.x-k8s.io/queue-name: %s, kueue.x-k8s.io/priority-class: gold}
spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
"""


@pytest.mark.parametrize("text", [WORKLOAD, JOB], ids=["Workload", "Job"])
@pytest.mark.parametrize(
    ("queue", "evicted", "note"),
    [
        ("main", ["a/low"], ""),
        ("other", [], "queues that are not known, judged as no quota: other"),
    ],
)
def test_what_is_for_a_queue_of_kueue_is_judged_under_its_quota(tmp_path, text, queue, evicted, note):
    """Its class makes it outrank what runs in its own quota."""
    share = Quota("x", min=resources(cpu="1"), queues=("a/main",))
    machine = node("n1", cpu="1", pods="9").holding(pod("a/low", cpu="1", labels={QUEUE: "main"}, priority=8))
    snapshot = cluster(machine, share, PriorityClass("workloadpriorityclass/gold", 9))
    path = tmp_path / "asked.yaml"
    path.write_text(text % queue, encoding="utf-8")
    wanted = Choice((str(path),), "", None, "").wanted(snapshot, "")
    data = fit_of(snapshot, wanted, Asked(cluster="x")).data()
    (outcome,) = data["outcomes"]
    assert [each["workload"] for each in outcome.get("evicted", ())] == evicted
    assert [line for line in data["notSimulated"] if "queues" in line] == ([note] if note else [])
