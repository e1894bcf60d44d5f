"""The terms of a node are its figures, and it is over-committed exactly where `check` finds it to be."""

import pytest
from hypothesis import given

from builders import cluster, node, pod, policy
from strategies import snapshots
from ullage.engine.capacity.findings import findings_of
from ullage.engine.capacity.node_terms import node_terms, over_limit
from ullage.engine.columns import Columns


def columns(**settings: str) -> Columns:
    machine = node("n1", cpu="4", memory="8Gi").holding(pod("a", cpu="5", memory="1Gi"))
    return Columns(cluster(machine, policy=policy(**settings)))


def test_each_term_is_a_map_by_resource():
    terms = node_terms(columns(cpu_ratio="3/2", memory_reserve="1Gi"), 0)
    assert dict(terms.reserve) == {"cpu": 0, "memory": 1 << 30}
    assert dict(terms.limit) == {"cpu": 6000, "memory": 7 << 30}
    assert dict(terms.committed) == {"cpu": 5000, "memory": 1 << 30}
    assert dict(terms.free) == {"cpu": 1000, "memory": 6 << 30}
    assert not terms.beyond()


def test_what_has_no_bound_has_no_limit_and_is_never_over():
    terms = node_terms(columns(cpu_ratio="unlimited"), 0)
    assert "cpu" not in terms.limit
    assert "cpu" not in terms.free
    assert not terms.beyond()


@pytest.mark.parametrize(
    ("using", "said"),
    [
        ({}, "5 of cpu promised, 1 over its limit 4"),
        ({"cpu": "7"}, "7 of cpu in use beyond the reserve, 3 over its limit 4"),
    ],
)
def test_what_is_over_is_told_with_its_numbers(using, said):
    machine = node("n1", cpu="4").holding(pod("a", cpu="5")).using(**using)
    found = Columns(cluster(machine, policy=policy(committed="actual")))
    terms = node_terms(found, 0)
    assert list(terms.beyond()) == ["cpu"]
    assert over_limit(terms, "cpu", found.snapshot.resource_types) == said


@given(snapshots())
def test_over_committed_is_what_check_finds(snapshot):
    found = Columns(snapshot)
    over = {
        (f"node/{each.name}", over_limit(terms, resource, snapshot.resource_types))
        for row, each in enumerate(found.nodes)
        for terms in (node_terms(found, row),)
        for resource in terms.beyond()
    }
    told = {
        (each.subject, each.message.partition(": ")[2])
        for each in findings_of(found, [], [])
        if each.code == "over-committed"
    }
    assert over == told
