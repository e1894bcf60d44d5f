"""The part of a fit page about quotas: who goes, and who may be evicted later."""

import pytest

from builders import batch, cluster, node, pod, quota, resources, waiting
from ullage.model.admission import DisruptionBudget, PriorityClass
from ullage.model.cluster import Quota
from ullage.model.constraints import LabelSelector
from ullage.model.policy import Layer, Policy
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
        "1 of 2 replicas would be over quota a, which would borrow 1 cpu; could claim it back: c (3 cpu)"
    ]
    assert "May be evicted later" not in blocks(1)


def test_a_budget_that_keeps_who_is_to_go_is_named():
    labels = {"app": "b"}
    snapshot = cluster(
        node("n1", cpu="2").holding(*(pod(f"b/p{number}", cpu="1", labels=labels) for number in range(2))),
        quota("a", {"cpu": "2"}),
        quota("b", {"cpu": "0"}),
        DisruptionBudget("keep", "b", LabelSelector(labels), "1", disruptions_allowed=1),
    )
    wanted = Wanted((batch(1, waiting("a/new", cpu="2")),), atomic=False, types=snapshot.resource_types)
    answer = fit_of(snapshot, wanted, Asked(cluster="x"))
    told = answer.page().verdict.text
    assert told.endswith("evicting b/p0, b/p1, which disruption budget b/keep does not allow now")
    kept = next(each for each in answer.page().blocks if each.title == "Kept by disruption budgets")
    assert [each.subject for each in kept.rows] == ["b/p1"]
    (outcome,) = answer.data()["outcomes"]
    assert [tuple(each.get("breaks", ())) for each in outcome["evicted"]] == [(), ("b/keep",)]


def test_the_report_carries_the_same_for_machines():
    (outcome,) = page(2).data()["outcomes"]
    assert [each["workload"] for each in outcome["evicted"]] == ["b/p0", "b/p1"]
    assert outcome["overQuota"] == 1
    assert list(outcome["laterClaims"]) == [{"claimants": ("c",), "couldClaim": {"cpu": "3"}}]


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
    ("queue", "evicted", "told"),
    [
        ("main", ["a/low"], "fits: 1 replica on 1 node, evicting a/low"),
        ("other", [], "does not fit: 0 of 1 placed, because queue a/other does not exist"),
        ("held", [], "does not fit: 0 of 1 placed"),
    ],
)
def test_what_is_for_a_queue_of_kueue_is_judged_under_its_quota(tmp_path, text, queue, evicted, told):
    """Its class makes it outrank what runs in its own quota."""
    share = Quota("x", min=resources(cpu="1"), queues=("a/held", "a/main"), stopped=("a/held",))
    machine = node("n1", cpu="1", pods="9").holding(pod("a/low", cpu="1", labels={QUEUE: "main"}, priority=8))
    snapshot = cluster(machine, share, PriorityClass("workloadpriorityclass/gold", 9))
    path = tmp_path / "asked.yaml"
    path.write_text(text % queue, encoding="utf-8")
    wanted = Choice((str(path),), "", None, "").wanted(snapshot, "")
    answer = fit_of(snapshot, wanted, Asked(cluster="x"))
    (outcome,) = answer.data()["outcomes"]
    assert [each["workload"] for each in outcome.get("evicted", ())] == evicted
    assert ("queue a/other does not exist" in str(outcome.get("refusal"))) == (queue == "other")
    assert ("queue a/held is stopped" in str(outcome.get("refusal"))) == (queue == "held")
    assert answer.page().verdict.text.endswith(told)


QUEUES = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: other, namespace: a}
spec: {clusterQueue: %s}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: y}
spec:
  namespaceSelector: {}
  resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: %s}]}]}]
"""


@pytest.mark.parametrize(
    ("behind", "nominal", "told"),
    [
        ("y", "1", "fits: 1 replica on 1 node"),
        ("y", "0", "does not fit: 0 of 1 placed"),
        ("gone", "1", "does not fit: 0 of 1 placed, because queue a/other does not exist"),
    ],
)
def test_a_queue_that_comes_with_its_job_is_there(tmp_path, behind, nominal, told):
    share = Quota("x", min=resources(cpu="1"), queues=("a/main",))
    snapshot = cluster(node("n1", cpu="1", pods="9"), share)
    path = tmp_path / "asked.yaml"
    path.write_text(JOB % "other" + QUEUES % (behind, nominal), encoding="utf-8")
    wanted = Choice((str(path),), "", None, "").wanted(snapshot, "")
    assert fit_of(snapshot, wanted, Asked(cluster="x")).page().verdict.text.endswith(told)


def test_where_no_queue_is_known_the_verdict_depends_on_it(tmp_path):
    snapshot = cluster(node("n1", cpu="1", pods="9"))
    path = tmp_path / "asked.yaml"
    path.write_text(JOB % "other", encoding="utf-8")
    wanted = Choice((str(path),), "", None, "").wanted(snapshot, "")
    page = fit_of(snapshot, wanted, Asked(cluster="x")).page()
    assert page.verdict.text == "a/w fits: 1 replica on 1 node, if queue a/other exists"


def test_what_is_admitted_is_not_asked_for_again_and_stands_in_the_way_of_others():
    held = [waiting(f"b/{number}", cpu="2", admitted=True, created_seconds=number) for number in range(2)]
    snapshot = cluster(
        node("n1", cpu="8"), quota("top", {"cpu": "4"}, {"cpu": "4"}), *held,
        quota("a", {"cpu": "2"}, parent="top"), quota("b", {"cpu": "2"}, parent="top"),
    )  # fmt: skip

    def verdict(*batches):
        wanted = Wanted(batches, atomic=False, types=snapshot.resource_types)
        return fit_of(snapshot, wanted, Asked(cluster="x")).page().verdict.text

    assert verdict(*(batch(1, each) for each in held)) == "all 2 workloads fit: 2 replicas on 1 node"
    assert verdict(batch(1, waiting("a/new", cpu="2"))) == "a/new fits: 1 replica on 1 node, evicting b/1"


def later_of(*parts: object, replicas: int = 1, cpu: str = "4", **fields: object) -> list[str]:
    """Return what is said of a/new and what it does to others, in a cluster of four cpu."""
    snapshot = cluster(node("n", cpu="4"), *parts, **fields)
    asked = snapshot.workloads.get("a/new") or waiting("a/new", cpu=cpu)
    wanted = Wanted((batch(replicas, asked),), atomic=False, types=snapshot.resource_types)
    found = fit_of(snapshot, wanted, Asked(cluster="x")).page().blocks
    return [row.message for each in found if each.title == "May be evicted later" for row in each.rows]


def test_one_that_is_in_quota_by_its_label_may_be_claimed_back_all_the_same():
    told = "would be in-quota, but others could claim it back: b (4 cpu)"
    assert later_of(quota("a"), quota("b", {"cpu": "4"})) == [f"it {told}"]
    assert later_of(quota("a"), quota("b", {"cpu": "4"}), replicas=2, cpu="2") == [f"they {told}"]


def test_those_who_could_claim_only_together_are_named_together():
    kinds = [quota("a", {"cpu": "2"}, kind="ElasticQuota")]
    kinds += [quota(name, {"cpu": "1"}, {"cpu": "1"}, kind="ElasticQuota") for name in "bc"]
    (line,) = later_of(*kinds, replicas=3, cpu="1")
    who, claims = line.split("; ")
    assert who == "1 of 3 replicas would be over quota a, which would borrow 1 cpu"
    assert claims == "could claim it back: b, c together (2 cpu)"


def test_nobody_claims_it_back_before_it_has_run_for_the_minimum():
    policy = Policy(layers=(Layer("test", cluster={"quota-run-min": "60"}),))
    quotas = (quota("a"), quota("b", {"cpu": "4"}))
    (line,) = later_of(*quotas, policy=policy, taken_seconds=100)
    assert line.endswith("b (4 cpu); not before it has run for 60 s")
    (line,) = later_of(*quotas, policy=policy)
    assert line.endswith("b (4 cpu)")


def test_who_is_pushed_over_quota_by_an_older_one_is_named():
    quotas = [quota(name, {"cpu": "2"}, kind="ElasticQuota") for name in "ab"]
    runs = pod("a/run", cpu="2", node="n", created_seconds=20)
    older = waiting("a/new", cpu="2", created_seconds=10)
    assert later_of(*quotas, runs, older) == ["a/run would be over quota, and is not now"]
