"""The score: each term by hand, and the order in which it is added up."""

from math import sqrt

import pytest
from hypothesis import given, settings

from fleet_strategies import fleets, rare_kinds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.score import (
    TERMS,
    WEIGHTS,
    optimum_of,
    score_of,
    statistics,
    value_of,
    values_of,
    weighted,
    with_weights,
)
from ullage.model.ganeti import GanetiNode


def values(nodes: list[GanetiNode], *instances, tags: tuple[str, ...] = ()) -> dict[str, float]:
    fleet = Fleet(ganeti_cluster(nodes, *instances, tags=tags))
    found = values_of(fleet.hosts, fleet.states)
    return {term.name: value for term, value in zip(TERMS, found, strict=True)}


A, B, OFFLINE = ganeti_node("a"), ganeti_node("b"), ganeti_node("c", offline=True)
TAGGED = {"tags": ("service:web",)}
EXCLUSION = ("htools:iextags:service",)


@pytest.mark.parametrize(
    ("name", "instances", "expected"),
    [
        pytest.param("free_mem_cv", [instance("i", "a")], 0.05, id="0.9 and 1.0 free"),
        pytest.param("free_disk_cv", [instance("i", "a", template="plain")], 0.005, id="0.99 and 1.0"),
        pytest.param("reserved_mem_cv", [instance("i", "a", "b")], 0.05, id="0 and 0.1 reserved"),
        pytest.param("reserved_mem_rtotal", [instance("i", "a", "b")], 0.1, id="0.1 in all"),
        pytest.param("vcpu_ratio_cv", [instance("i", "a")], 1 / 128, id="one of 64 processors"),
        pytest.param("cpu_load_cv", [instance("i", "a")], 0.5, id="a load of 1 unless told"),
        pytest.param("disk_load_cv", [instance("i", "a", "b")], 0.0, id="disks are written on both hosts"),
        pytest.param("net_load_cv", [instance("i", "a", "b")], 0.5, id="the net on one"),
        pytest.param("spindles_cv", [instance("i", "a", template="plain")], 1 / 64, id="one of 32"),
        pytest.param("n1_cnt", [instance("i", "a", "b", memory=1000)], 2.0, id="neither could take it"),
        pytest.param("n1_cnt", [instance("i", "a", "b", memory=999)], 0.0, id="a byte less is well"),
        pytest.param("offline_all_cnt", [instance("i", "a", "c")], 1.0, id="a standby on an offline host"),
        pytest.param("offline_pri_cnt", [instance("i", "c", "a")], 1.0, id="a primary on an offline host"),
        pytest.param(
            "pri_tags_score",
            [instance(name, "a", **TAGGED) for name in "ijk"],
            2.0,
            id="two beyond the first",
        ),
    ],
)
def test_a_term_is_a_deviation_or_a_sum_over_hosts(name, instances, expected):
    assert values([A, B, OFFLINE], *instances, tags=EXCLUSION)[name] == pytest.approx(expected, abs=1e-12)


def test_a_host_that_is_offline_has_no_part_in_what_is_counted_online():
    with_it = values([A, B, OFFLINE], instance("i", "a"))
    without = values([A, B], instance("i", "a"))
    assert with_it == without


def test_a_cluster_without_any_host_online_has_no_score():
    fleet = Fleet(ganeti_cluster([OFFLINE], instance("i", "c")))
    assert fleet.score() == 0.0


def test_failure_domains_shared_by_two_hosts_or_by_two_of_a_kind_count():
    nodes = [ganeti_node("a", tags=("rack:1",)), ganeti_node("b", tags=("rack:1",)), ganeti_node("c")]
    instances = [
        instance("i", "a", "b", tags=("service:web",)),
        instance("j", "b", tags=("service:web", "rack:2")),
    ]
    tags = (*EXCLUSION, "htools:nlocation:rack", "htools:desiredlocation:rack")
    found = values(nodes, *instances, tags=tags)
    assert found["location_score"] == 2.0
    assert found["location_exclusion_score"] == 1.0


def test_weights_of_the_users_own_replace_those_of_the_table():
    terms = with_weights({"n1_cnt": 7.0})
    assert {term.name: term.weight for term in terms} == {**WEIGHTS, "n1_cnt": 7.0}
    assert weighted([1.0] * len(terms), terms) == pytest.approx(sum(WEIGHTS.values()) + 6.0)


def test_the_optimum_is_what_one_lost_host_needs_of_the_others():
    fleet = Fleet(ganeti_cluster([A, B, ganeti_node("c", memory=2000)], instance("i", "a", "b")))
    assert optimum_of(fleet.hosts, fleet.states) == 0.25 * (100 / 2000 - 100 / 4000)
    assert optimum_of(fleet.hosts[:1], fleet.states[:1]) == 0.0


@given(fleets(rare_kinds))
@settings(max_examples=40)
def test_the_score_is_the_weighted_sum_of_two_pass_deviations(fleet):
    hosts = [fleet.hosts[number] for number in fleet.scope]
    states = [fleet.states[number] for number in fleet.scope]
    online = [(host, state) for host, state in zip(hosts, states, strict=True) if not host.offline]
    total = 0.0
    for term, found in zip(TERMS, statistics(hosts, states), strict=True):
        if term.kind == "deviation" and online:
            column = [term.value(host, state) for host, state in online]
            mean = sum(column) / len(column)
            expected = sqrt(sum((each - mean) ** 2 for each in column) / len(column))
            assert value_of(term, found) == pytest.approx(expected, abs=1e-9)
        total += term.weight * value_of(term, found)
    assert score_of(hosts, states) == total
