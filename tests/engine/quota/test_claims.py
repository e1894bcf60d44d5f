"""Quotas beside a trial: what a question adds, whom it evicts, and that it can all be taken back."""

import msgspec
import pytest

from builders import batch, cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.claims import Claims
from ullage.engine.trial import Trial
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Snapshot
from ullage.model.constraints import LabelSelector
from ullage.model.delta import Delta, apply

TEAMS = (quota("a", {"cpu": "4"}), quota("b", {"cpu": "1"}))


def crowded(*parts, mode: str = "Quota") -> Snapshot:
    quotas = [msgspec.structs.replace(each, kind=mode) for each in TEAMS]
    held = [pod(f"b/p{number}", cpu="1", created_seconds=number) for number in range(5)]
    return cluster(node("n1", cpu="5").holding(*held), *quotas, *parts)


def claims_on(snapshot: Snapshot, *asked) -> tuple[Claims, Trial]:
    columns = Columns(snapshot)
    trial = Trial(columns)
    return Claims(trial, Accounts(columns), asked), trial


def test_the_youngest_over_quota_goes_and_is_gone_for_the_next():
    asked = waiting("a/new", cpu="1")
    claims, trial = claims_on(crowded(), batch(2, asked))
    shape = trial.shape_of(asked)
    taken = [[each.key for each in claims.decide(asked, shape).victims] for _ in range(2)]
    assert taken == [["b/p4"], ["b/p3"]]


def test_everything_can_be_taken_back():
    asked = waiting("a/new", cpu="1")
    claims, trial = claims_on(crowded(), batch(2, asked))
    before = [list(used) for used in claims.standing.used]
    mark, placed = claims.mark(), trial.mark()
    first = claims.decide(asked, trial.shape_of(asked)).victims
    claims.take(asked, 3)
    claims.undo(mark)
    trial.undo(placed)
    assert claims.standing.used == before
    assert claims.decide(asked, trial.shape_of(asked)).victims == first


def test_budgets_that_are_used_up_protect_the_next():
    guarded = DisruptionBudget("guard", "b", LabelSelector(), disruptions_allowed=1)
    asked = waiting("a/new", cpu="1")
    claims, trial = claims_on(crowded(guarded), batch(2, asked))
    costs = [claims.decide(asked, trial.shape_of(asked)).cost for _ in range(2)]
    assert [cost.budgets_broken for cost in costs] == [0, 1]


def test_how_many_quotas_let_in_as_things_stand():
    bound = quota("a", {"cpu": "4"}, {"cpu": "7"})
    claims, _ = claims_on(cluster(node("n1", cpu="99").holding(pod("a/p", cpu="2")), bound))
    assert claims.admits(waiting("a/new", cpu="1"), 99) == 5
    assert claims.admits(waiting("a/new", cpu="8"), 99) == 0
    assert claims.admits(waiting("x/new", cpu="8"), 99) == 99


def test_replicas_that_run_or_wait_already_are_not_asked_for_twice():
    there = [
        pod("a/web-1", cpu="1", owner="Deployment/web", node="n1"),
        waiting("a/web-2", cpu="1", owner="Deployment/web"),
    ]
    snapshot = cluster(node("n1", cpu="9"), *there, quota("a", {"cpu": "9"}))
    more = batch(3, waiting("a/web", kind="Deployment", cpu="1"))
    claims, _ = claims_on(snapshot, more)
    assert claims.rules.entitlements == ((3000,),)


@pytest.mark.parametrize("mode", ["Quota", "ElasticQuota"])
def test_a_preview_is_true(mode):
    """What a plan says is carried out, and counted anew: use and labels are those of the preview."""
    snapshot = crowded(mode=mode)
    answer = fit(Columns(snapshot), [batch(4, waiting("a/new", cpu="1"))])
    (outcome,) = answer.outcomes
    evicted = {step.subject for step in answer.plan.steps if step.action == "evict"}
    placed = [step for step in answer.plan.steps if step.action == "place"]
    assert evicted == {each.workload for each in outcome.evicted}
    names = (f"a/new-{number}" for number in range(outcome.placed))
    started = [
        msgspec.structs.replace(pod(next(names), cpu="1", created_seconds=99), node=step.to_node)
        for step in placed
        for _ in range(step.count)
    ]
    delta = Delta(workloads=tuple(started), dropped={"workloads": tuple(sorted(evicted))})
    after = Accounts(Columns(apply(snapshot, delta)))
    claims, _ = claims_on(snapshot)
    claims.apply(outcome, waiting("a/new", cpu="1"))
    assert after.standing.used == claims.standing.used
    labels = after.standing.labels(after.book.index["a"])
    assert list(labels.values()).count("over-quota") == outcome.over_quota
    columns = Columns(apply(snapshot, delta))
    assert (columns.free >= 0).all()
