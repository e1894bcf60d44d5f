"""Sizes that shrink: all of a shape first, then the next for which there is room, down to the smallest."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, policy
from ullage.engine.columns import Columns
from ullage.engine.placement import tiers
from ullage.engine.placement.headroom import headroom
from ullage.engine.placement.tiers import STEPS, tiers_of
from ullage.model.admission import ResourceQuota
from ullage.model.cluster import Batch
from ullage.model.table import Table

MIB = 1 << 20


def sizes(snapshot, workload, **options):
    found = tiers_of(Columns(snapshot), workload, **options)
    return [(dict(each.requests), each.replicas) for each in found.tiers]


def wanted(**amounts):
    return pod("new", state="init", **amounts)


@pytest.mark.parametrize(
    ("asked", "steps"),
    [
        ({"cpu": "4"}, [(4000, 2), (2000, 1), (500, 1)]),
        ({"cpu": "2500m"}, [(2500, 4), (500, 1)]),
        ({"cpu": "12"}, [(10000, 1), (500, 1)]),
    ],
    ids=str,
)
def test_processors_go_down_by_one_and_below_one_by_tenths(asked, steps):
    snapshot = cluster(node("a", cpu="10500m"))
    assert [(size["cpu"], count) for size, count in sizes(snapshot, wanted(**asked))] == steps


def test_memory_and_disk_go_down_by_their_steps_and_never_to_nothing():
    snapshot = cluster(node("a", memory="1000Mi", ephemeral_storage="600Mi"))
    assert sizes(snapshot, wanted(memory="700Mi")) == [({"memory": 700 * MIB}, 1), ({"memory": 252 * MIB}, 1)]
    assert sizes(snapshot, wanted(ephemeral_storage="1Gi")) == [({"ephemeral-storage": 512 * MIB}, 1)]
    assert sizes(cluster(node("a", memory="60Mi")), wanted(memory="1Gi")) == []


def test_what_some_node_has_room_for_after_the_fewest_steps_is_next():
    snapshot = cluster(node("a", cpu="1", memory="8Gi"), node("b", cpu="8", memory="960Mi"))
    assert sizes(snapshot, wanted(cpu="4", memory="1Gi")) == [
        ({"cpu": 4000, "memory": 960 * MIB}, 1),
        ({"cpu": 1000, "memory": 960 * MIB}, 1),
    ]


def test_devices_do_not_shrink():
    snapshot = cluster(node("a", cpu="8").with_gpus(3))
    assert [count for _, count in sizes(snapshot, wanted(cpu="4", gpu=2))] == [1]
    assert sizes(snapshot, wanted(cpu="4", gpu=4)) == []


def test_no_workload_gets_more_processors_than_its_node_has():
    snapshot = cluster(node("a", cpu="2"), policy=policy(cpu_ratio="4"))
    assert sizes(snapshot, wanted(cpu="3"))[0][0]["cpu"] == 2000


def test_a_quota_ends_it_and_is_named():
    quota = ResourceQuota("q", "web", hard={"cpu": "5"})
    snapshot = cluster(node("a", cpu="32"), resource_quotas=Table([quota]))
    found = tiers_of(Columns(snapshot), pod("web/new", state="init", cpu="2"))
    assert [(each.requests["cpu"], each.replicas) for each in found.tiers] == [(2000, 2)]
    assert "q" in found.refusal


def test_what_takes_nothing_is_counted_to_an_end(monkeypatch):
    monkeypatch.setattr(tiers, "COUNT_MAX", 50)
    found = tiers_of(Columns(cluster(node("a", cpu="1"))), wanted(cpu="0"))
    assert ([each.replicas for each in found.tiers], found.bounded) == ([50], False)


def test_sizes_are_counted_to_an_end(monkeypatch):
    monkeypatch.setattr(tiers, "TIERS_MAX", 2)
    found = tiers_of(Columns(cluster(*(node(f"n{at}", cpu=at) for at in range(1, 6)))), wanted(cpu="5"))
    assert ([each.requests["cpu"] for each in found.tiers], found.bounded) == ([5000, 4000], False)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), min_size=1, max_size=5),
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
)
def test_nothing_that_is_asked_for_fits_once_all_sizes_are_placed(rooms, asked):
    """Also of the smallest size there is no room left for another, and sizes only go down."""
    snapshot = cluster(
        *(
            node(f"n{at}", cpu=f"{cpu * 100}m", memory=f"{memory * 64}Mi")
            for at, (cpu, memory) in enumerate(rooms)
        )
    )
    workload = wanted(cpu=f"{asked[0] * 100}m", memory=f"{asked[1] * 64}Mi")
    found = tiers_of(Columns(snapshot), workload)
    (first,) = headroom(Columns(snapshot), [Batch(workload)])
    largest = [each.replicas for each in found.tiers if each.requests == workload.requests]
    assert sum(largest) == first.replicas
    left = [[cpu * 100, memory * 64 * MIB] for cpu, memory in rooms]
    names = {f"n{at}": at for at in range(len(rooms))}
    before = workload.requests
    for tier in found.tiers:
        assert all(tier.requests[name] <= before[name] for name in before)
        before = tier.requests
        for name, count in tier.nodes:
            left[names[name]][0] -= count * tier.requests["cpu"]
            left[names[name]][1] -= count * tier.requests["memory"]
    assert all(cpu >= 0 and memory >= 0 for cpu, memory in left)
    assert not any(cpu >= STEPS["cpu"][-1] and memory >= STEPS["memory"][0] for cpu, memory in left)
