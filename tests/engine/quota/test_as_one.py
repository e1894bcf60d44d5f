"""A gang as one claim: what is decided, what it says of those who go, and what would let it run."""

from collections import Counter
from itertools import combinations, combinations_with_replacement
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quota_judge
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


def gpu_node(name: str, gpus: int, gigabytes: int) -> object:
    return node(name, {GPU: str(gpus)}).labelled({"nvidia.com/gpu.memory": str(1024 * gigabytes)})


def test_where_gpus_differ_members_go_to_the_size_for_which_nobody_has_to_go():
    nodes = [
        node("small", {GPU: "2"}).labelled({"nvidia.com/gpu.memory": "16384"}),
        node("large", {GPU: "2"})
        .labelled({"nvidia.com/gpu.memory": "81920"})
        .holding(pod("b/p", {GPU: "2"})),
    ]
    quotas = [quota("a", {GPU_MEMORY: "64"}), quota("b", {GPU_MEMORY: "64"})]
    asked = [waiting(f"a/g{number}", {GPU: "1"}) for number in range(2)]
    found, _ = decided(cluster(*nodes, *quotas), *asked)
    assert (found.nodes, found.goes) == ((("small",), ("small",)), ())
    assert found.decision.proven


@pytest.mark.parametrize("kind", ["ElasticQuota", "Quota"])
def test_a_gang_is_divided_among_sizes_of_gpus_where_no_size_has_room_for_all(kind):
    nodes = [gpu_node("n40", 1, 40), gpu_node("n80", 1, 80).holding(pod("b/p", {GPU: "1"}))]
    quotas = [quota("a", {GPU_MEMORY: "120"}, kind=kind), quota("b", {GPU_MEMORY: "0"}, kind=kind)]
    found, claims = decided(cluster(*nodes, *quotas), *gang_of(2), leaves=False)
    assert found.nodes == (("n40",), ("n80",))
    assert [each.key for each in found.goes] == ["b/p"]
    assert found.decision.proven
    assert claims.standing.used[claims.book.index["a"]] == [120]


def test_of_ways_for_which_as_many_go_the_one_is_taken_for_which_the_youngest_do():
    nodes = [
        gpu_node("n1", 1, 40),
        gpu_node("n2", 1, 40).holding(pod("b/old", {GPU: "1"}, created_seconds=1)),
        gpu_node("n3", 1, 80).holding(pod("b/young", {GPU: "1"}, created_seconds=9)),
    ]
    quotas = [quota("a", {GPU_MEMORY: "160"}), quota("b", {GPU_MEMORY: "0"})]
    found, _ = decided(cluster(*nodes, *quotas), *gang_of(2))
    assert (found.nodes, [each.key for each in found.goes]) == ((("n1",), ("n3",)), ["b/young"])


def test_a_gang_that_can_be_divided_in_too_many_ways_is_not_proven_to_have_no_place(monkeypatch):
    nodes = [gpu_node("n40", 1, 40), gpu_node("n80", 1, 80).holding(pod("b/p", {GPU: "1"}))]
    quotas = [quota("a", {GPU_MEMORY: "99"}), quota("b", {GPU_MEMORY: "120"})]
    snapshot = cluster(*nodes, *quotas)
    refused, _ = decided(snapshot, *gang_of(2))
    assert (refused.nodes, refused.decision.proven) == ((), True)
    monkeypatch.setattr("ullage.engine.quota.gpu_divisions.WAYS_MAX", 2)
    refused, _ = decided(snapshot, *gang_of(2))
    assert (refused.nodes, refused.decision.proven) == ((), False)


def gang_of(number: int) -> list[Workload]:
    return [waiting(f"a/g{place}", {GPU: "1"}) for place in range(number)]


def test_the_change_that_is_named_holds_for_a_gang_that_is_divided_among_sizes():
    nodes = [gpu_node("n40", 1, 40), gpu_node("n80", 1, 80)]
    quotas = [quota("a", {GPU_MEMORY: "10"}, {GPU_MEMORY: "100"}), quota("b", {GPU_MEMORY: "120"})]
    found, _ = decided(cluster(*nodes, *quotas), *gang_of(2))
    (remedy,) = found.refusal.remedies
    assert (remedy.bound, dict(remedy.bounds)) == ("max", {GPU_MEMORY: 120})


class Sized(NamedTuple):
    """A cluster of GPUs of two sizes, and by node how many gigabytes one counts for."""

    snapshot: Snapshot
    world: quota_judge.World
    sizes: dict[str, int]


def sized(random: Random, mode: str) -> Sized:
    """Return nodes of GPUs of two sizes that are nearly full of two quotas' pods."""
    kind = "ElasticQuota" if mode == "nos" else "Quota"
    sizes = {f"n{number}": random.choice((1, 2, 3)) for number in range(3)}
    room = {name: random.randint(1, 2) for name in sizes}
    pods = []
    for name, gpus in room.items():
        for number in range(random.randint(max(0, gpus - 1), gpus)):
            key = f"p{name}{number}"
            pods.append(quota_judge.Pod(key, random.choice("ab"), {}, name, created=len(pods)))
    mins = {name: random.randint(0, 6) for name in "ab"}
    nodes = [
        gpu_node(name, room[name], size).holding(
            *(
                pod(f"{each.quota}/{each.key}", {GPU: "1"}, created_seconds=each.created)
                for each in pods
                if each.node == name
            )
        )
        for name, size in sizes.items()
    ]
    quotas = [quota(name, {GPU_MEMORY: str(least)}, kind=kind) for name, least in mins.items()]
    running = [each._replace(amounts={"gpu": 1, "memory": sizes[each.node]}) for each in pods]
    world = quota_judge.World(
        mode,
        {name: {"memory": least} for name, least in mins.items()},
        {},
        {name: {"gpu": number, "memory": 99} for name, number in room.items()},
        running,
        {},
    )
    return Sized(cluster(*nodes, *quotas), world, sizes)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_gang_on_gpus_of_several_sizes_has_the_best_victims_of_all_its_places(seed):
    random = Random(seed)  # noqa: S311 - nothing secret
    case = sized(random, "nos")
    number = random.randint(2, 3)
    found, _ = decided(case.snapshot, *gang_of(number))
    best = None
    for nodes in combinations_with_replacement(sorted(case.sizes), number):
        members = [
            quota_judge.Pod(f"g{place}", "a", {"gpu": 1, "memory": case.sizes[name]}, "", 0, 9)
            for place, name in enumerate(nodes)
        ]
        there = best_there(case.world, members, nodes)
        if there is not None and (best is None or there < best):
            best = there
    assert found.decision.proven
    if best is None:
        assert not found.nodes
    else:
        assert sorted(each.key.partition("/")[2] for each in found.goes) == list(best[-1])


def best_there(
    world: quota_judge.World, members: list[quota_judge.Pod], nodes: tuple[str, ...]
) -> tuple[object, ...] | None:
    """Return the cost and the names of the best victims for members on these nodes; none without a set."""
    whole = quota_judge.as_one(members)
    kind = quota_judge.right(world, quota_judge.used(world, world.running), whole)
    found = None
    for size in range(len(world.running) + 1):
        for victims in combinations(world.running, size):
            rest = [each for each in world.running if each not in victims]
            placed = [each._replace(node=name) for each, name in zip(members, nodes, strict=True)]
            room = Counter(each.node for each in [*rest, *placed])
            if (
                all(count <= world.nodes[name]["gpu"] for name, count in room.items())
                and quota_judge.may_run(world, quota_judge.used(world, rest), whole)
                and quota_judge.is_legal(world, whole, victims, kind)
                and not quota_judge.takes_turns(world, whole, victims, rest)
            ):
                names = tuple(sorted(each.key for each in victims))
                price = quota_judge.cost(world, whole, victims, rest)[:5] if victims else (0,) * 5
                created = sorted(-each.created for each in victims)
                found = min(found, (*price, created, names)) if found else (*price, created, names)
    return found
