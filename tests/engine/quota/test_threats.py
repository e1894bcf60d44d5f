"""Who could claim back what was placed: judged by applying the answer and really claiming."""

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.quota import threats
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.risk import risks
from ullage.model.delta import Delta, apply

GPU = "nvidia.com/gpu"
CLAIMS_MAX = 12


def asked_for(snapshot, namespace, replicas, size=1):
    wanted = batch(replicas, waiting(f"{namespace}/new", {GPU: str(size)}))
    return fit(Columns(snapshot), [wanted], names_remedies=False).outcomes[0]


def applied(snapshot, outcome, name, size, created):
    """Return the cluster after an answer: what was placed runs, those who went for it wait again."""
    namespace = outcome.subject.partition("/")[0]
    nodes = [where for where, count in outcome.nodes for _ in range(count)]
    placed = tuple(
        pod(f"{namespace}/{name}{number}", {GPU: str(size)}, node=where, created_seconds=created)
        for number, where in enumerate(nodes)
    )
    gone = (snapshot.workloads[each.workload] for each in outcome.evicted)
    waits = tuple(msgspec.structs.replace(each, node="", state="init") for each in gone)
    return apply(snapshot, Delta(workloads=(*placed, *waits)))


def threats_of(snapshot, namespace, replicas):
    outcome = asked_for(snapshot, namespace, replicas)
    return {" and ".join(each.claimants): each.could_claim.of(GPU) for each in outcome.threats}


def quotas(kind, **mins):
    return [quota(name, {GPU: str(least)}, kind=kind) for name, least in mins.items()]


def test_in_mode_fair_shares_are_claimed_back():
    snapshot = cluster(node("n", {GPU: "8"}), *(quota(name, {GPU: "0"}, weight=1) for name in "ab"))
    assert threats_of(snapshot, "b", 8) == {"a": 4}
    assert threats_of(snapshot, "b", 4) == {}


def test_in_mode_nos_so_is_what_is_guaranteed_beyond_min():
    held = [pod(f"a/{number}", {GPU: "1"}) for number in range(4)]
    snapshot = cluster(node("n", {GPU: "8"}).holding(*held), *quotas("ElasticQuota", a=4, b=1, c=3))
    assert threats_of(snapshot, "b", 4) == {"a": 1, "c": 4}


def test_nobody_while_nothing_is_borrowed():
    snapshot = cluster(node("n", {GPU: "8"}), *quotas("ElasticQuota", a=4, b=4))
    assert threats_of(snapshot, "b", 4) == {}


def test_nobody_claims_what_is_free_already():
    snapshot = cluster(node("n", {GPU: "12"}), *quotas("Quota", a=4, b=4))
    assert threats_of(snapshot, "b", 6) == {}
    assert threats_of(snapshot, "b", 7) == {"a": 6}


def test_who_goes_for_it_is_gone_and_what_else_was_placed_runs():
    held = [pod(f"b/{number}", {GPU: "1"}, created_seconds=number) for number in range(4)]
    snapshot = cluster(node("n", {GPU: "4"}).holding(*held), *quotas("Quota", a=2, b=1, c=1))
    first, second = fit(
        Columns(snapshot),
        [batch(1, waiting("a/new", {GPU: "1"})), batch(1, waiting("c/new", {GPU: "1"}))],
    ).outcomes
    assert {each.workload for each in (*first.evicted, *second.evicted)} == {"b/3", "b/2"}
    assert (first.threats, second.threats) == ((), ())


def test_what_they_leave_beside_it_is_free_for_claims():
    bounds = {"a": ("1", ""), "b": ("0", ""), "c": ("2", "2"), "d": ("2", "2")}
    elastic = [
        quota(name, {GPU: least}, {GPU: most} if most else {}, kind="ElasticQuota")
        for name, (least, most) in bounds.items()
    ]
    snapshot = cluster(node("n", {GPU: "4"}).holding(pod("b/0", {GPU: "4"})), *elastic)
    outcome = asked_for(snapshot, "a", 2)
    assert ([each.workload for each in outcome.evicted], outcome.over_quota) == (["b/0"], 1)
    assert [each.claimants for each in outcome.threats] == [("c", "d")]


def test_who_went_for_it_may_come_back_by_what_it_is_guaranteed_then():
    snapshot = cluster(
        node("n", {GPU: "4"}).holding(pod("b/0", {GPU: "4"})), *quotas("ElasticQuota", a=1, b=2, c=1)
    )
    assert threats_of(snapshot, "a", 2) == {"b": 3}


def test_of_many_replicas_the_first_are_looked_at(monkeypatch):
    monkeypatch.setattr(threats, "REPLICAS_MAX", 2)
    snapshot = cluster(node("n", {GPU: "8"}), *quotas("ElasticQuota", a=4, b=4))
    assert threats_of(snapshot, "b", 8) == {"a": 6}


def crowd(seed, kind):
    """Quotas that lend and borrow on one node that is nearly full, and room for some more."""
    random = Random(seed)  # noqa: S311 - nothing secret
    sizes = [random.randint(1, 3) for _ in range(random.randint(0, 4))]
    held = [
        pod(
            f"{random.choice('abc')}/{number}",
            {GPU: str(size)},
            created_seconds=number,
            priority=random.choice((0, 0, 5)),
        )
        for number, size in enumerate(sizes)
    ]
    free = random.randint(1, 5)
    names = "abc" if random.random() < 0.5 else "abcd"
    mins = {name: random.randint(0, 4) for name in names}
    mins["a"] += max(0, sum(sizes) + free - sum(mins.values()))
    return cluster(node("n", {GPU: str(sum(sizes) + free)}).holding(*held), *quotas(kind, **mins))


def really_evicts(snapshot, name, newcomers):
    """Whether claims of a quota take one of these: one claim of any size, or one unit after the other."""
    for size in range(1, CLAIMS_MAX):
        if newcomers & {each.workload for each in asked_for(snapshot, name, 1, size).evicted}:
            return True
    for number in range(CLAIMS_MAX):
        outcome = asked_for(snapshot, name, 1)
        if newcomers & {each.workload for each in outcome.evicted}:
            return True
        snapshot = applied(snapshot, outcome, f"later{number}-", 1, 200 + number)
    return False


def is_alone(outcome):
    return {each.claimants[0] for each in outcome.threats if len(each.claimants) == 1}


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(("ElasticQuota", "Quota")), st.integers(1, 3), st.integers(1, 3)
)
def test_those_named_can_evict_it_and_no_others_can(seed, kind, replicas, size):
    snapshot = crowd(seed, kind)
    outcome = asked_for(snapshot, "b", replicas, size)
    after = applied(snapshot, outcome, "new", size, 100)
    newcomers = {f"b/new{number}" for number in range(outcome.placed)}
    others = {each.name for each in snapshot.quotas} - {"b"}
    by_one = {name for name in others if really_evicts(after, name, newcomers)}
    assert by_one <= is_alone(outcome)
    for name in is_alone(outcome) - by_one:  # then it goes where more of that quota waits
        assert newcomers & taken_together(after, [name])


def taken_together(snapshot, names):
    """Return who goes when quotas claim one unit after the other, each until it is refused, and all ask."""
    gone = set()
    for name in names:
        for number in range(CLAIMS_MAX):
            outcome = asked_for(with_demand(snapshot, names), name, 1)
            gone |= {each.workload for each in outcome.evicted}
            snapshot = applied(snapshot, outcome, f"later{number}-", 1, 200 + number)
    return gone


def with_demand(snapshot, names):
    more = tuple(waiting(f"{name}/more", {GPU: str(10 * CLAIMS_MAX)}) for name in names)
    return apply(snapshot, Delta(workloads=more))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(("ElasticQuota", "Quota")), st.integers(1, 3))
def test_several_that_are_named_together_can_evict_it_together(seed, kind, size):
    snapshot = crowd(seed, kind)
    outcome = asked_for(snapshot, "b", 1, size)
    after = applied(snapshot, outcome, "new", size, 100)
    for each in outcome.threats:
        if len(each.claimants) > 1:
            assert "b/new0" in taken_together(after, each.claimants)


def run(snapshot, outcomes):
    """Return the cluster in which all who have a place run, and those who went for them wait again."""
    went = [snapshot.workloads[each.workload] for outcome in outcomes for each in outcome.evicted]
    runs = [
        msgspec.structs.replace(snapshot.workloads[outcome.subject], node=outcome.nodes[0][0], state="ok")
        for outcome in outcomes
        if outcome.placed
    ]
    waits = [msgspec.structs.replace(each, node="", state="init") for each in went]
    return apply(snapshot, Delta(workloads=(*runs, *waits)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(("ElasticQuota", "Quota")), st.booleans(), st.booleans())
def test_what_is_said_of_those_placed_is_what_risks_say_after_it(seed, kind, names_no_min, in_gangs):
    random = Random(seed)  # noqa: S311 - nothing secret
    snapshot = crowd(seed, kind)
    gang = {"gang": "g", "gang_min": random.randint(0, 2)} if in_gangs else {}
    held = tuple(msgspec.structs.replace(each, **gang) for each in snapshot.workloads)
    snapshot = apply(snapshot, Delta(workloads=held))
    asking = [
        waiting(
            f"{random.choice('abc')}/w{number}",
            {GPU: str(random.randint(1, 2))},
            created_seconds=random.randint(0, 9),
            priority=random.choice((0, 5)),
            **gang,
        )
        for number in range(random.randint(1, 3))
    ]
    free = tuple(quota("c", {}, kind=kind) for _ in range(names_no_min))
    snapshot = apply(snapshot, Delta(workloads=tuple(asking), quotas=free))
    outcomes = fit(Columns(snapshot), [batch(1, each) for each in asking], names_remedies=False).outcomes
    accounts = Accounts(Columns(run(snapshot, outcomes)))
    book = accounts.book
    found = {each.member.key: each for each in risks(accounts).pods}
    before = Accounts(Columns(snapshot)).standing
    for outcome in outcomes:
        if not outcome.placed:
            continue
        quota_place = book.place_of(outcome.subject.partition("/")[0], {})
        labels = accounts.standing.labels(quota_place)
        assert outcome.over_quota == (labels[outcome.subject] == "over-quota")
        said = found.get(outcome.subject)
        places = said.goes if said else ()
        alone = {book.quotas[each].name for one in places if one.way != "together" for each in one.claimants}
        together = {
            tuple(book.quotas[each].name for each in one.claimants) for one in places if one.way == "together"
        }
        assert is_alone(outcome) == alone | {each[0] for each in together if len(each) == 1}
        assert {each.claimants for each in outcome.threats} >= together
        old = before.labels(quota_place)
        newly = {key for key in old if labels.get(key) == "over-quota" and old[key] == "in-quota"}
        assert set(outcome.pushed) == newly


@pytest.mark.parametrize("kind", ["ElasticQuota", "Quota"])
def test_a_gang_that_was_placed_is_claimed_back_as_one(kind):
    gang = [waiting(f"b/g{number}", {GPU: "1"}, gang="g", gang_min=3) for number in range(3)]
    snapshot = cluster(node("n", {GPU: "3"}), *quotas(kind, a=2, b=1))
    outcomes = fit(Columns(snapshot), [batch(1, each) for each in gang]).outcomes
    assert sum(each.over_quota for each in outcomes) == 2
    assert [is_alone(each) for each in outcomes] == [{"a"}] * 3


def test_who_waited_for_longer_comes_first_in_label_order():
    waits = [waiting(f"b/{name}", {GPU: "1"}, created_seconds=at) for name, at in (("old", 10), ("new", 20))]
    snapshot = cluster(node("n", {GPU: "2"}), *quotas("ElasticQuota", a=1, b=1), *waits)
    batches = [batch(1, each) for each in reversed(waits)]
    found = {each.subject: each for each in fit(Columns(snapshot), batches).outcomes}
    assert (found["b/old"].over_quota, found["b/old"].threats) == (0, ())
    assert (found["b/new"].over_quota, [each.claimants for each in found["b/new"].threats]) == (1, [("a",)])


def test_who_runs_may_be_pushed_over_quota_by_one_that_is_older():
    waits = waiting("b/first", {GPU: "1"}, created_seconds=10)
    held = pod("b/run", {GPU: "1"}, created_seconds=20)
    snapshot = cluster(node("n", {GPU: "2"}).holding(held), *quotas("ElasticQuota", a=1, b=1), waits)
    (outcome,) = fit(Columns(snapshot), [batch(1, waits)]).outcomes
    assert (outcome.over_quota, outcome.threats, outcome.pushed) == (0, (), ("b/run",))


def test_one_that_waits_and_is_refused_waits_on_and_its_demand_counts():
    nodes = [
        node("n0", {GPU: "2"}).holding(pod("b/run", {GPU: "1"}, priority=5)),
        node("n1", {GPU: "3"}).holding(pod("c/run", {GPU: "3"})),
    ]
    waits = [waiting("a/w", {GPU: "1"}, created_seconds=2), waiting("c/w", {GPU: "2"}, created_seconds=1)]
    shares = [quota("a", {GPU: "0"}), quota("b", {GPU: "1"}), quota("c", {GPU: "4"}, weight=3)]
    snapshot = cluster(*nodes, *shares, *waits)
    found = fit(Columns(snapshot), [batch(1, each) for each in waits], names_remedies=False).outcomes
    placed = {each.subject: each for each in found}
    assert (placed["a/w"].placed, placed["c/w"].placed) == (1, 0)
    assert is_alone(placed["a/w"]) == {"c"}


@pytest.mark.parametrize("mins", [{"a": {}, "b": {GPU: "4"}}, {"a": {GPU: "4"}, "b": {GPU: "4"}}])
def test_in_mode_fair_one_that_is_in_quota_can_be_claimed(mins):
    snapshot = cluster(node("n", {GPU: "4"}), *(quota(name, least) for name, least in mins.items()))
    outcome = asked_for(snapshot, "a", 4)
    assert (outcome.over_quota, is_alone(outcome)) == (0, {"b"})


def test_of_many_replicas_those_beyond_the_first_are_counted_too(monkeypatch):
    monkeypatch.setattr(threats, "REPLICAS_MAX", 2)
    snapshot = cluster(node("n", {GPU: "8"}), *quotas("ElasticQuota", a=5, b=3))
    assert [asked_for(snapshot, "b", count).over_quota for count in (2, 3, 4, 6, 8)] == [0, 0, 1, 3, 5]
