"""A gang as one claim: what is decided, what it says of those who go, and what would let it run."""

from builders import batch, cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.as_one import Together, as_one
from ullage.engine.quota.claim_rooms import Wanted
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.judging import QuotaJudging
from ullage.engine.trial import Trial
from ullage.model.cluster import Snapshot, Workload
from ullage.model.resources import GPU_MEMORY

GPU = "nvidia.com/gpu"


def decided(snapshot: Snapshot, *asked: Workload, leaves: bool = True) -> tuple[Together, Claims]:
    columns = Columns(snapshot)
    trial = Trial(columns)
    claims = Claims(trial, Accounts(columns), [batch(1, each) for each in asked])
    judging = QuotaJudging(claims, snapshot.resource_types)
    start = claims.mark_both()
    found = as_one(judging, [Wanted(each, trial.shape_of(each), 1) for each in asked])
    if leaves:
        claims.undo_both(start)
    return found, claims


def crowd(least: str = "2", most: str = "9") -> Snapshot:
    held = [pod(f"b/p{number}", cpu="1", created_seconds=number) for number in range(4)]
    quotas = [quota("a", {"cpu": least}, {"cpu": most}), quota("b", {"cpu": "2"})]
    return cluster(node("n1", cpu="4").holding(*held), *quotas)


def test_members_of_several_sizes_run_on_what_one_set_of_victims_leaves():
    large, small = waiting("a/large", cpu="1500m"), waiting("a/small", cpu="500m")
    found, claims = decided(crowd(), large, small, leaves=False)
    assert found.nodes == (("n1",), ("n1",))
    assert [each.workload for each in found.evicted] == ["b/p2", "b/p3"]
    assert {each.label for each in found.evicted} == {"over-quota"}
    assert found.decision.proven
    assert claims.standing.used[claims.book.index["a"]] == [2000]
    assert claims.standing.used[claims.book.index["b"]] == [2000]


def test_what_is_refused_leaves_all_as_it_was_and_names_what_would_help():
    snapshot = crowd(most="2")
    found, claims = decided(
        snapshot, *(waiting(f"a/g{number}", cpu="1") for number in range(3)), leaves=False
    )
    assert (found.nodes, found.goes) == ((), ())
    assert claims.standing.used[claims.book.index["a"]] == [0]
    assert "more than its max" in found.refusal.reason


def test_the_change_that_is_named_is_enough_for_all_of_them():
    snapshot = cluster(node("n1", cpu="4"), quota("a", {"cpu": "1"}, {"cpu": "1"}), quota("b", {"cpu": "2"}))
    found, _ = decided(snapshot, *(waiting(f"a/g{number}", cpu="1") for number in range(3)))
    (remedy,) = found.refusal.remedies
    assert (remedy.bound, dict(remedy.bounds)) == ("max", {"cpu": 3000})


def test_where_gpus_differ_all_members_go_to_one_size_and_nothing_is_proven():
    nodes = [
        node("small", {GPU: "2"}).labelled({"nvidia.com/gpu.memory": "16384"}),
        node("large", {GPU: "2"})
        .labelled({"nvidia.com/gpu.memory": "81920"})
        .holding(pod("b/p", {GPU: "2"})),
    ]
    quotas = [quota("a", {GPU_MEMORY: "64"}), quota("b", {GPU_MEMORY: "64"})]
    asked = [waiting(f"a/g{number}", {GPU: "1"}) for number in range(2)]
    found, _ = decided(cluster(*nodes, *quotas), *asked)
    assert found.nodes == (("small",), ("small",))
    assert not found.decision.proven
