"""Batches under quotas: what runs at once, for whom others go, what is refused and why."""

import pytest

from builders import batch, cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import FitAnswer, fit
from ullage.model.cluster import Batch, Snapshot
from ullage.model.resources import GPU_MEMORY

MIG = "nvidia.com/mig-1g.10gb"


def seed(kind: str) -> Snapshot:
    """The example of nos: A uses its 40 GB, B borrows 30, C lends them all."""
    mins = {"A": "40", "B": "10", "C": "30"}
    quotas = [quota(name, {GPU_MEMORY: least}, kind=kind) for name, least in mins.items()]
    held = [pod(f"{team}/p{number}", {MIG: "1"}) for team in "AB" for number in range(4)]
    return cluster(node("n1", {MIG: "8"}).holding(*held), *quotas)


def judged(snapshot: Snapshot, *batches: Batch, **options) -> FitAnswer:
    return fit(Columns(snapshot), batches, **options)


@pytest.mark.parametrize(
    ("kind", "replicas", "evicted", "against"),
    [
        ("ElasticQuota", 1, ["B/p1"], ""),
        ("ElasticQuota", 2, ["B/p1"], "60 of nos.nebuly.com/gpu-memory where 55 is its own"),
        ("Quota", 2, ["B/p1", "B/p2"], ""),
        ("Quota", 3, ["B/p1", "B/p2"], "70 of nos.nebuly.com/gpu-memory where 64 is its own"),
    ],
)
def test_the_example_of_nos_in_both_modes(kind, replicas, evicted, against):
    (outcome,) = judged(seed(kind), batch(replicas, waiting("A/new", {MIG: "1"}))).outcomes
    assert [each.workload for each in outcome.evicted] == evicted
    assert outcome.placed == len(evicted)
    assert outcome.fewest_proven
    if against:
        assert against in outcome.refusal.reason
    else:
        assert outcome.refusal is None


def test_steps_evict_before_they_place():
    plan = judged(seed("Quota"), batch(1, waiting("A/new", {MIG: "1"}))).plan
    assert [(step.action, step.subject) for step in plan.steps] == [("evict", "B/p1"), ("place", "A/new")]
    assert plan.steps[0].evidence == "over-quota in quota B"


def test_all_or_none_evicts_nobody_where_not_all_can_run():
    (outcome,) = judged(seed("Quota"), batch(3, waiting("A/new", {MIG: "1"}), atomic=True)).outcomes
    assert (outcome.placed, outcome.evicted) == (0, ())


def test_no_victim_serves_two():
    asked = [batch(1, waiting(f"A/new{number}", {MIG: "1"})) for number in range(2)]
    first, second = judged(seed("Quota"), *asked).outcomes
    assert [each.workload for each in (*first.evicted, *second.evicted)] == ["B/p1", "B/p2"]


def test_what_a_quota_forbids_is_refused_although_nodes_have_room():
    bound = quota("a", {"cpu": "1"}, {"cpu": "3"})
    snapshot = cluster(node("n1", cpu="99"), bound)
    (outcome,) = judged(snapshot, batch(5, waiting("a/p", cpu="1"))).outcomes
    assert outcome.placed == 3
    assert outcome.refusal.reason.startswith("quota a would use more than its max, 1 of cpu beyond 3")
    assert outcome.certificate == "impossible"


def test_workloads_without_a_quota_are_judged_as_ever():
    (outcome,) = judged(seed("Quota"), batch(1, waiting("x/new", {MIG: "1"}, priority=9))).outcomes
    assert (outcome.placed, outcome.evicted) == (0, ())


@pytest.mark.parametrize(("grown", "placed"), [("3", 1), ("4", 0)])
def test_a_workload_that_grows_stays_within_its_quota(grown, placed):
    snapshot = cluster(node("n1", cpu="99").holding(pod("a/p", cpu="2")), quota("a", {}, {"cpu": "3"}))
    (outcome,) = judged(snapshot, batch(1, pod("a/p", cpu=grown))).outcomes
    assert (outcome.action, outcome.placed) == ("resize", placed)


def test_replicas_that_run_already_are_not_counted_twice():
    held = pod("a/web-1", cpu="2", owner="Deployment/web")
    snapshot = cluster(node("n1", cpu="99").holding(held), quota("a", {}, {"cpu": "4"}))
    (outcome,) = judged(snapshot, batch(2, waiting("a/web", kind="Deployment", cpu="2"))).outcomes
    assert outcome.placed == 2


def test_who_borrows_is_told_who_could_claim_it_back():
    (outcome,) = judged(seed("Quota"), batch(2, waiting("A/new", {MIG: "1"}))).outcomes
    assert outcome.over_quota == 2
    assert [(each.quota, dict(each.could_claim)) for each in outcome.threats] == [("C", {GPU_MEMORY: 30})]


def test_who_stays_within_min_has_nobody_to_fear():
    snapshot = cluster(node("n1", cpu="9"), quota("a", {"cpu": "4"}), quota("b", {"cpu": "4"}))
    (outcome,) = judged(snapshot, batch(4, waiting("a/p", cpu="1"))).outcomes
    assert (outcome.over_quota, outcome.threats) == (0, ())
    (more,) = judged(snapshot, batch(5, waiting("a/p", cpu="1"))).outcomes
    assert more.over_quota == 1


def crowd(running: int, asking: int) -> FitAnswer:
    """Return what becomes of replicas of a that ask for the place of those of b, which is guaranteed half."""
    held = [pod(f"b/p{number:03}", cpu="1", created_seconds=number) for number in range(running)]
    snapshot = cluster(
        node("n1", cpu=str(running)).holding(*held),
        quota("a", {"cpu": str(running // 2)}),
        quota("b", {"cpu": str(running // 2)}),
    )
    return judged(snapshot, batch(asking, waiting("a/p", cpu="1")), names_remedies=False)


def test_evicting_stops_after_a_stated_number_of_replicas(monkeypatch):
    monkeypatch.setattr("ullage.engine.quota.judging.EVICTING_MAX", 3)
    (outcome,) = crowd(10, 5).outcomes
    assert outcome.placed == 3
    assert "victims were looked for only for 3 replicas" in outcome.refusal.reason


@pytest.mark.parametrize("asking", [1, 4, 5, 6, 9])
def test_for_many_at_once_as_many_go_as_for_one_after_the_other(monkeypatch, asking):
    (one_by_one,) = crowd(10, asking).outcomes
    monkeypatch.setattr("ullage.engine.quota.judging.ONE_BY_ONE_MAX", 1)
    (at_once,) = crowd(10, asking).outcomes
    assert at_once.placed == one_by_one.placed == min(asking, 5)
    assert sorted(each.workload for each in at_once.evicted) == sorted(
        each.workload for each in one_by_one.evicted
    )


def test_a_gang_is_judged_on_its_sum():
    held = [pod(f"b/p{number}", cpu="1") for number in range(4)]
    snapshot = cluster(
        node("n1", cpu="2").holding(*held[:2]),
        node("n2", cpu="2").holding(*held[2:]),
        quota("a", {"cpu": "3"}),
        quota("b", {"cpu": "1"}),
    )
    asked = waiting("a/p", cpu="1")
    (whole,) = judged(snapshot, batch(3, asked, atomic=True)).outcomes
    assert (whole.placed, len(whole.evicted), whole.fewest_proven) == (3, 3, True)
    (too_many,) = judged(snapshot, batch(4, asked, atomic=True)).outcomes
    assert (too_many.placed, too_many.evicted) == (0, ())
    assert "quota a would pass its entitlement, 4 of cpu where 3 is its own" in too_many.refusal.reason


def test_under_several_quotas_the_one_that_has_least_has_the_next_turn():
    snapshot = cluster(node("n1", cpu="3"), quota("a", {"cpu": "2"}), quota("b", {"cpu": "2"}))
    asked = [batch(1, waiting(f"{team}/p{number}", cpu="1")) for team in "ba" for number in range(3)]
    found = judged(snapshot, *asked).outcomes
    assert [each.subject for each in found] == ["a/p0", "b/p0", "a/p1", "b/p1", "a/p2", "b/p2"]
    assert [each.placed for each in found] == [1, 1, 1, 0, 0, 0]
