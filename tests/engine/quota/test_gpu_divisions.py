"""The ways to divide a gang among sizes of GPUs: all of them, or some where there are too many."""

import pytest

from builders import batch, cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.claim_rooms import Wanted
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.gpu_divisions import Divisions, divisions
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch
from ullage.model.resources import GPU_MEMORY

GPU = "nvidia.com/gpu"


def divided(sizes: int, *asked: Batch) -> Divisions:
    """Return the ways to divide batches among nodes with GPUs of 10, 20 and so on gigabytes."""
    nodes = [
        node(f"n{size}", {GPU: "4"}).labelled({"nvidia.com/gpu.memory": str(10240 * size)})
        for size in range(1, sizes + 1)
    ]
    columns = Columns(cluster(*nodes, quota("a", {GPU_MEMORY: "9"})))
    trial = Trial(columns)
    claims = Claims(trial, Accounts(columns), asked)
    return divisions(
        claims, [Wanted(each.workload, trial.shape_of(each.workload), each.replicas) for each in asked]
    )


def counts(found: Divisions) -> list[list[list[tuple[int, int]]]]:
    """Return for each way and each of those wanted the gigabytes of a GPU and how many have it."""
    return [
        [[(part.workload.requests.of(GPU_MEMORY), part.replicas) for part in parts] for parts in way]
        for way in found.all
    ]


def test_replicas_are_divided_in_every_way():
    found = divided(2, batch(2, waiting("a/p", {GPU: "1"})))
    assert counts(found) == [[[(10, 2)]], [[(10, 1), (20, 1)]], [[(20, 2)]]]
    assert found.complete
    assert len(divided(3, batch(4, waiting("a/p", {GPU: "1"}))).all) == 15


def test_members_that_differ_only_in_name_are_divided_by_number():
    found = divided(2, *(batch(1, waiting(f"a/p{number}", {GPU: "1"})) for number in range(2)))
    assert counts(found) == [[[(10, 1)], [(10, 1)]], [[(10, 1)], [(20, 1)]], [[(20, 1)], [(20, 1)]]]


def test_members_that_differ_are_divided_each_for_itself():
    asked = [batch(1, waiting("a/p", {GPU: "1"})), batch(1, waiting("a/q", {GPU: "2"}))]
    assert len(divided(2, *asked).all) == 4
    plain = batch(3, waiting("a/r", cpu="1"))
    assert counts(divided(2, asked[0], plain)) == [[[(10, 1)], [(0, 3)]], [[(20, 1)], [(0, 3)]]]


@pytest.mark.parametrize(("sizes", "replicas"), [(2, 64), (3, 20), (9, 3)])
def test_of_too_many_ways_some_are_tried_all_on_one_size_among_them(sizes, replicas):
    found = divided(sizes, batch(replicas, waiting("a/p", {GPU: "1"})))
    assert not found.complete
    assert len(found.all) <= 64
    alone = [[[(10 * size, replicas)]] for size in range(1, sizes + 1)]
    assert [each for each in alone if each not in counts(found)] == []
    assert all(sum(part.replicas for part in way[0]) == replicas for way in found.all)
    assert any(len(way[0]) == 2 for way in found.all)


def test_members_of_too_many_kinds_are_divided_alike_and_all_have_a_part():
    asked = [batch(2, waiting(f"a/p{number}", {GPU: "1"}, cpu=str(number))) for number in range(9)]
    asked.append(batch(1, waiting("a/plain", cpu="1")))
    found = divided(2, *asked)
    assert not found.complete
    for way in found.all:
        assert [sum(part.replicas for part in parts) for parts in way] == [2] * 9 + [1]


def test_where_many_could_be_evicted_fewer_ways_are_tried(monkeypatch):
    monkeypatch.setattr("ullage.engine.quota.gpu_divisions.MANY", 0)
    nodes = [
        node(f"n{size}", {GPU: "4"}, cpu="4").labelled({"nvidia.com/gpu.memory": str(10240 * size)})
        for size in (1, 2)
    ]
    columns = Columns(
        cluster(nodes[0].holding(pod("a/old", cpu="1")), nodes[1], quota("a", {GPU_MEMORY: "9"}))
    )
    trial = Trial(columns)
    asked = waiting("a/p", {GPU: "1"})
    claims = Claims(trial, Accounts(columns), [batch(20, asked)])
    found = divisions(claims, [Wanted(asked, trial.shape_of(asked), 20)])
    assert (len(found.all), found.complete) == (8, False)
