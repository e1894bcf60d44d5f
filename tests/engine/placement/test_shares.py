"""Gangs under quotas: decided as one claim, in whatever form they are asked for."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quota_judge
from builders import batch, cluster, node, pod, quota, waiting
from quota_judge import Pod, World
from quota_worlds import asking, cluster_of, gang_in
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import FitAnswer, fit
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.claims import Claims
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch, Snapshot
from ullage.model.constraints import Affinity, Constraints, LabelSelector, PodAffinity, PodAffinityTerm

HOST = "kubernetes.io/hostname"


def forms(members: list[Pod]) -> list[tuple[list[Batch], dict[str, object]]]:
    """Return every way to ask for members together: as a gang, all at once, and as replicas of a batch."""
    named = [batch(1, asking(each, gang="g", gang_min=len(members))) for each in members]
    unnamed = [batch(1, asking(each)) for each in members]
    found: list[tuple[list[Batch], dict[str, object]]] = [(named, {}), (unnamed, {"atomic": True})]
    if all(each.amounts == members[0].amounts for each in members):
        one = asking(members[0])
        found += [
            ([batch(len(members), one, atomic=True)], {}),
            ([batch(len(members), one)], {"atomic": True}),
        ]
    return found


def with_entitlements(world: World, snapshot: Snapshot, batches: list[Batch]) -> World:
    columns = Columns(snapshot)
    claims = Claims(Trial(columns), Accounts(columns), batches)
    return world._replace(
        entitlements={
            each.name: dict(claims.book.readable(terms))
            for each, terms in zip(claims.book.quotas, claims.rules.entitlements, strict=True)
        }
    )


def evicted(answer: FitAnswer) -> tuple[str, ...]:
    return tuple(sorted(each.workload.split("/")[1] for one in answer.outcomes for each in one.evicted))


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 1 << 40), st.sampled_from(range(4)), st.sampled_from((0, 2)))
def test_a_gang_takes_the_best_of_all_sets_in_every_form(seed, form, exact_seconds):
    world, members = gang_in(seed)
    ways = forms(members)
    batches, options = ways[form % len(ways)]
    snapshot = cluster_of(world)
    world = with_entitlements(world, snapshot, batches)
    answer = fit(Columns(snapshot), batches, exact_seconds=exact_seconds, **options)
    if quota_judge.runs_now(world, members):
        assert (answer.fits, evicted(answer)) == (True, ())
        return
    expected = quota_judge.best_of_gang(world, members)
    assert answer.fits == (expected is not None)
    assert evicted(answer) == (expected or ())
    assert all(outcome.fewest_proven for outcome in answer.outcomes)
    if expected is None:
        assert not any(outcome.placed for outcome in answer.outcomes)


def pod_group(*names: str, least: int, quota_name: str = "b", **amounts: str) -> list[Batch]:
    return [batch(1, waiting(f"{quota_name}/{name}", gang="g", gang_min=least, **amounts)) for name in names]


def test_one_large_victim_rather_than_one_for_each_member():
    held = [
        pod("c/small", cpu="1", created_seconds=40),
        pod("a/big", cpu="2", created_seconds=20),
    ]
    quotas = [quota(name, {"cpu": least}, weight=1) for name, least in (("a", "0"), ("b", "2"), ("c", "0"))]
    snapshot = cluster(node("n0", cpu="3").holding(*held), *quotas)
    answer = fit(Columns(snapshot), pod_group("g0", "g1", least=2, cpu="1"))
    assert (answer.fits, evicted(answer)) == (True, ("big",))


def borrowing() -> Snapshot:
    """A lender within its entitlement for one more, and not for two."""
    first = node("n0", cpu="4").holding(pod("a/r0", cpu="3"), pod("a/r1", cpu="1"))
    second = node("n1", cpu="2").holding(pod("a/r2", cpu="1"), pod("b/r4", cpu="1"))
    return cluster(
        first,
        second,
        quota("a", {}, {"cpu": "3"}, weight=0),
        quota("b", {"cpu": "1"}, {"cpu": "2"}, weight=1),
    )


@pytest.mark.parametrize("atomic", [True, False])
def test_the_right_is_judged_on_what_all_ask_for(atomic):
    batches = pod_group("g0", "g1", least=2, cpu="1")
    answer = fit(Columns(borrowing()), batches, atomic=atomic)
    assert (answer.fits, evicted(answer)) == (False, ())
    assert all("3 of cpu where 2 is its own" in outcome.refusal.reason for outcome in answer.outcomes)


def crowd(running: int = 4) -> Snapshot:
    held = [pod(f"b/p{number}", cpu="1", created_seconds=number) for number in range(running)]
    return cluster(node("n1", cpu="4").holding(*held), quota("a", {"cpu": "2"}), quota("b", {"cpu": "2"}))


def test_of_a_gang_the_minimum_is_one_claim_and_each_beyond_it_one_by_itself():
    answer = fit(Columns(crowd()), pod_group("g0", "g1", "g2", least=2, quota_name="a", cpu="1"))
    assert [outcome.placed for outcome in answer.outcomes] == [1, 1, 0]
    assert evicted(answer) == ("p2", "p3")
    refused = fit(Columns(crowd()), pod_group("g0", "g1", "g2", least=3, quota_name="a", cpu="1"))
    assert [outcome.placed for outcome in refused.outcomes] == [0, 0, 0]
    assert evicted(refused) == ()


def test_of_a_gang_of_several_sizes_the_smallest_make_up_the_minimum_where_the_first_do_not():
    batches = [
        batch(1, waiting("a/large", gang="g", gang_min=2, cpu="3")),
        *pod_group("g0", "g1", least=2, quota_name="a", cpu="1"),
    ]
    answer = fit(Columns(crowd()), batches)
    placed = {outcome.subject: outcome.placed for outcome in answer.outcomes}
    assert placed == {"a/large": 0, "a/g0": 1, "a/g1": 1}


def test_members_that_run_already_count_for_the_minimum():
    runs = pod("a/g9", cpu="1", gang="g", gang_min=2)
    snapshot = cluster(
        node("n1", cpu="4").holding(runs, *(pod(f"b/p{number}", cpu="1") for number in range(3))),
        quota("a", {"cpu": "2"}),
        quota("b", {"cpu": "2"}),
    )
    answer = fit(Columns(snapshot), pod_group("g0", least=2, quota_name="a", cpu="1"))
    assert (answer.fits, len(evicted(answer))) == (True, 1)


def test_what_was_asked_for_at_once_under_several_quotas_is_one_claim_for_each():
    snapshot = cluster(
        node("n1", cpu="4").holding(
            *(pod(f"b/p{number}", cpu="1", created_seconds=number) for number in range(4))
        ),
        *(quota(name, {"cpu": least}) for name, least in (("a", "2"), ("b", "1"), ("c", "1"))),
    )
    batches = [batch(2, waiting("a/new", cpu="1")), batch(1, waiting("c/new", cpu="1"))]
    answer = fit(Columns(snapshot), batches, atomic=True)
    assert (answer.fits, evicted(answer)) == (True, ("p1", "p2", "p3"))
    assert not all(outcome.fewest_proven for outcome in answer.outcomes)
    none = fit(Columns(snapshot), [*batches, batch(1, waiting("c/more", cpu="1"))], atomic=True)
    assert (none.fits, evicted(none), [each.placed for each in none.outcomes]) == (False, (), [0, 0, 0])


def test_members_that_keep_apart_have_room_made_on_several_nodes():
    term = PodAffinityTerm(HOST, LabelSelector({"app": "g"}))
    apart = Constraints(affinity=Affinity(pod_anti_affinity=PodAffinity((term,))))
    nodes = [
        node(f"n{number}", cpu="2").labelled({HOST: f"n{number}"}).holding(pod(f"b/p{number}", cpu="2"))
        for number in range(2)
    ]
    quotas = [quota(name, {"cpu": least}, kind="ElasticQuota") for name, least in (("a", "4"), ("b", "0"))]
    snapshot = cluster(*nodes, *quotas)
    batches = [
        batch(
            1, waiting(f"a/g{number}", gang="g", gang_min=2, cpu="1", labels={"app": "g"}, constraints=apart)
        )
        for number in range(2)
    ]
    answer = fit(Columns(snapshot), batches)
    assert (answer.fits, evicted(answer)) == (True, ("p0", "p1"))
    assert {node for outcome in answer.outcomes for node, _ in outcome.nodes} == {"n0", "n1"}
    assert not answer.outcomes[0].fewest_proven


def test_of_two_alike_the_one_goes_that_is_over_quota_when_its_turn_comes():
    held = [
        pod("b/q0", cpu="1", created_seconds=0, priority=9),
        pod("b/x", cpu="2", created_seconds=1, priority=0),
        *(pod(f"b/p{number}", cpu="1", created_seconds=2, priority=5) for number in (1, 2)),
    ]
    quotas = [quota(name, {"cpu": least}, kind="ElasticQuota") for name, least in (("a", "3"), ("b", "2"))]
    snapshot = cluster(node("n1", cpu="5").holding(*held), *quotas)
    answer = fit(Columns(snapshot), [batch(3, waiting("a/new", cpu="1"), atomic=True)])
    assert evicted(answer) == ("p2", "x")


def test_who_is_on_the_way_out_is_waited_for_by_a_gang_too():
    held = [pod(f"b/p{number}", cpu="1", created_seconds=number) for number in range(3)]
    leaving = msgspec.structs.replace(pod("b/gone", cpu="1"), terminating=True)
    snapshot = cluster(
        node("n1", cpu="4").holding(*held, leaving), quota("a", {"cpu": "2"}), quota("b", {"cpu": "2"})
    )
    answer = fit(Columns(snapshot), [batch(2, waiting("a/new", cpu="1"), atomic=True)])
    (outcome,) = answer.outcomes
    assert [each.workload for each in outcome.waits_for] == ["b/gone"]
    assert evicted(answer) == ("p2",)


@pytest.mark.parametrize("amount", ["0", "1"])
@pytest.mark.parametrize("least", [{}, {"cpu": "0"}, {"memory": "1"}])
@pytest.mark.parametrize("nodes", [0, 1])
@pytest.mark.parametrize("kind", ["ElasticQuota", "Quota"])
@pytest.mark.parametrize("namespace", ["a", "c"])
def test_a_gang_is_judged_where_quotas_or_nodes_say_nothing(amount, least, nodes, kind, namespace):
    parts = [node(f"n{number}", cpu="2").holding(pod("a/r0", cpu="2")) for number in range(nodes)]
    snapshot = cluster(*parts, quota("a", least, kind=kind), quota("b", {}, kind=kind))
    asked = waiting(f"{namespace}/new", cpu=amount, priority=5)
    answer = fit(Columns(snapshot), [batch(2, asked, atomic=True)])
    (outcome,) = answer.outcomes
    assert outcome.placed in (0, 2)
