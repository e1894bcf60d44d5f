"""Quotas beside a trial: what a question adds, whom it evicts, and that it can all be taken back."""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import batch, cluster, node, pod, quota, waiting
from quota_worlds import NOW_SECONDS, crowded_cluster
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import FitAnswer, fit
from ullage.engine.placement.outcome import Outcome
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.claim_rooms import Wanted
from ullage.engine.quota.claims import STEPS, STEPS_A_SECOND, STEPS_MIN, Claims
from ullage.engine.quota.threats import Threats
from ullage.engine.trial import Trial
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import Affinity, Constraints, LabelSelector, PodAffinity, PodAffinityTerm
from ullage.model.delta import Delta, apply

HOST = "kubernetes.io/hostname"
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


def test_who_is_waited_for_and_who_is_brought_back_can_be_taken_back():
    held = [pod(f"b/p{number}", cpu="1", terminating=True) for number in range(2)]
    asked = waiting("a/new", cpu="1")
    claims, trial = claims_on(cluster(node("n1", cpu="2").holding(*held), *TEAMS), batch(1, asked))
    leaving, shape, start = claims.leaving(), trial.shape_of(asked), claims.mark_both()
    claims.let_go(leaving)
    assert claims.leaving() == []
    assert claims.place(asked, shape, 1) == {"n1": 1}
    mark = claims.mark_both()
    one = claims.accounts.member_of(asked)
    needed = [each for each in leaving if claims.is_in_the_way(each, one, {"n1": 1}, evicting=False)]
    assert [each.key for each in claims.leaving()] == ["b/p0"]
    assert [each.key for each in needed] == ["b/p1"]
    claims.undo_both(mark)
    assert claims.leaving() == []
    claims.undo_both(start)
    assert claims.leaving() == leaving
    assert claims.place(asked, shape, 1) == {}


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


def carried_out(snapshot: Snapshot, answer: FitAnswer, asked: Workload) -> Snapshot:
    """Return the cluster after the steps of a plan, with those gone that it waits for."""
    gone = [step.subject for step in answer.plan.steps if step.action in {"evict", "wait"}]
    started = [
        msgspec.structs.replace(
            asked, name=f"{asked.name}-{place}-{number}", state="ok", node=step.to_node, created_seconds=999
        )
        for place, step in enumerate(answer.plan.steps)
        if step.action == "place"
        for number in range(step.count)
    ]
    return apply(snapshot, Delta(workloads=tuple(started), dropped={"workloads": tuple(sorted(gone))}))


@given(
    seed=st.integers(0, 1 << 32),
    replicas=st.integers(1, 4),
    atomic=st.booleans(),
    one_by_one_max=st.sampled_from([0, 400]),
)
def test_a_preview_is_true(seed, replicas, atomic, one_by_one_max):
    """What a plan says is carried out, and counted anew: use, labels and room are those of the preview."""
    snapshot, asked = crowded_cluster(seed)
    wanted = batch(replicas, asked, atomic=atomic)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ullage.engine.quota.judging.ONE_BY_ONE_MAX", one_by_one_max)
        answer = fit(Columns(snapshot), [wanted], names_remedies=False)
    (outcome,) = answer.outcomes
    columns = Columns(carried_out(snapshot, answer, asked))
    after = Accounts(columns)
    claims, _ = claims_on(snapshot, wanted)
    before = claims.standing.own_used[claims.quota_of(asked)][:]
    then = Threats(claims.accounts, [outcome], {asked.key: asked}).standing
    assert after.standing.used == then.used
    assert after.leaving.keys() == Accounts(Columns(snapshot)).leaving.keys() - {
        each.workload for each in outcome.waits_for
    }
    labels = after.standing.labels(after.book.index[asked.namespace])
    new = [label for key, label in labels.items() if key.startswith(f"{asked.namespace}/new-")]
    assert (len(new), new.count("over-quota")) == (outcome.placed, outcome.over_quota)
    assert (columns.committed <= columns.limit).all()
    assert outcome.placed in ({0, replicas} if atomic else range(replicas + 1))
    assert (outcome.placed == replicas) == (outcome.refusal is None)
    assert_within_bounds(after, asked, before if outcome.placed == 0 else None)
    assert_only_those_go_that_may(snapshot, outcome)


def assert_within_bounds(after: Accounts, asked: Workload, unchanged: list[int] | None) -> None:
    """No bound of the quota is passed for what was placed; where nothing was, its use is as it was."""
    place = after.book.index[asked.namespace]
    if unchanged is not None:
        assert after.standing.own_used[place] == unchanged
        return
    one = after.member_of(asked).amounts
    passed = [each for each in after.rules.refusals(place, one) if each.short > one[each.resource]]
    assert not passed


def assert_only_those_go_that_may(snapshot: Snapshot, outcome: Outcome) -> None:
    """Nobody goes who is on the way out already, or has run too shortly; only the former are waited for."""
    least = int(snapshot.policy.layers[0].cluster["quota-run-min"])
    for each in outcome.evicted:
        victim = snapshot.workloads[each.workload]
        assert not victim.terminating
        assert NOW_SECONDS - victim.started_seconds >= least
    for each in outcome.spared:
        assert 0 < each.left_seconds < least
        assert each.workload not in {victim.workload for victim in outcome.evicted}
    assert all(snapshot.workloads[each.workload].terminating for each in outcome.waits_for)


@given(seed=st.integers(0, 1 << 32), replicas=st.integers(1, 4))
def test_what_was_refused_has_no_place_after_the_plan_either(seed, replicas):
    """Without an eviction, and without anybody more to wait for."""
    snapshot, asked = crowded_cluster(seed)
    answer = fit(Columns(snapshot), [batch(replicas, asked)], names_remedies=False)
    if answer.fits:
        return
    again = fit(Columns(carried_out(snapshot, answer, asked)), [batch(1, asked)], names_remedies=False)
    (outcome,) = again.outcomes
    assert not outcome.placed or outcome.evicted or outcome.waits_for


def test_who_is_in_the_way_of_more_than_room_goes_though_another_is_preferred():
    near = PodAffinityTerm(HOST, LabelSelector({"app": "x"}), namespaces=("b",))
    apart = Constraints(affinity=Affinity(pod_anti_affinity=PodAffinity((near,))))
    held = [
        pod("b/p0", cpu="1", created_seconds=0, labels={"app": "x"}),
        pod("b/p1", cpu="1", created_seconds=1),
    ]
    quotas = (quota("a", {"cpu": "4"}), quota("b", {"cpu": "0"}))
    snapshot = cluster(node("n1", cpu="2").labelled({HOST: "n1"}).holding(*held), *quotas)
    (outcome,) = fit(Columns(snapshot), [batch(1, waiting("a/new", cpu="1", constraints=apart))]).outcomes
    assert [each.workload for each in outcome.evicted] == ["b/p0"]


def test_who_is_on_the_way_out_counts_in_the_label_order_of_a_gangs_victims():
    held = [
        pod("b/gone", cpu="2", created_seconds=0, terminating=True),
        *(pod(f"b/p{number}", cpu="1", created_seconds=number) for number in (1, 2)),
    ]
    quotas = [quota(name, {"cpu": "2"}, kind="ElasticQuota") for name in ("a", "b")]
    asked = waiting("a/new", cpu="1")
    snapshot = cluster(node("n1", cpu="4").holding(*held), *quotas)
    claims, trial = claims_on(snapshot, batch(2, asked))
    decision, found = claims.decide_together([Wanted(asked, trial.shape_of(asked), 2)])
    assert [each.key for each in decision.victims] == ["b/p1", "b/p2"]
    assert found.nodes == ("n1", "n1")


def test_the_steps_of_all_searches_of_a_question_are_bounded_and_grow_with_the_seconds():
    random = Random(7)  # noqa: S311 - the same cluster in every run
    held = [
        pod(
            f"b/p{number}", cpu=f"{random.randint(5, 12)}", memory=f"{random.randint(1, 60)}Gi",
            created_seconds=random.randint(0, 600), priority=random.choice((0, 1, 2)),
        )
        for number in range(60)
    ]  # fmt: skip
    least = {"cpu": "520", "memory": "2000Gi"}
    quotas = [quota("a", least, kind="ElasticQuota"), quota("b", {"cpu": "10"}, kind="ElasticQuota")]
    asked = waiting("a/new", cpu="120", memory="400Gi")
    snapshot = cluster(node("n1", cpu="520", memory="2000Gi").holding(*held), *quotas)

    def steps(seconds: int) -> list[int]:
        columns = Columns(snapshot)
        trial = Trial(columns)
        claims = Claims(trial, Accounts(columns), [batch(2, asked)], seconds)
        return [claims.decide(asked, trial.shape_of(asked)).steps for _ in range(2)]

    short, longer = steps(0), steps(1)
    slack = 2 * len(held)
    assert sum(short) <= STEPS + STEPS_MIN + slack
    assert sum(short) < sum(longer) <= STEPS + STEPS_A_SECOND + STEPS_MIN + slack
