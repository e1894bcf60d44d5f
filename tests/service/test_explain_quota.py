"""The terms of `explain quota/Q`."""

from fractions import Fraction

import pytest

from builders import cluster, node, pod, quota, resources, waiting
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.service.explain_quota import quota_explanation
from ullage.service.quota_list import accounts_of

SLICE = "nvidia.com/gpu-10gb"
GPU_MEMORY = "nos.nebuly.com/gpu-memory"


def gigabytes(amount):
    return Resources({GPU_MEMORY: amount})


def seed(kind="ElasticQuota", *more):
    pods = [
        pod(f"{name}/{number}", {SLICE: "1"}, created_seconds=number) for name in "AB" for number in range(4)
    ]
    quotas = [
        quota(name, {GPU_MEMORY: least}, kind=kind) for name, least in (("A", "40"), ("B", "10"), ("C", "30"))
    ]
    return cluster(node("n", {SLICE: "8"}).holding(*pods), *quotas, *more)


def explained(snapshot, name):
    return quota_explanation(accounts_of(snapshot), name)


@pytest.mark.parametrize("kind", ["ElasticQuota", "Quota"])
def test_the_formula_of_mode_nos_whichever_mode_applies(kind):
    nos = explained(seed(kind), "A").nos
    assert [each.amounts.of(GPU_MEMORY) for each in nos.mins] == [40, 10, 30]
    assert [each.amounts.of(GPU_MEMORY) for each in nos.unused] == [0, 0, 30]
    assert (nos.sum_of_min, nos.sum_of_unused) == (gigabytes(80), gigabytes(30))
    assert (nos.guaranteed, nos.entitlement) == (gigabytes(15), gigabytes(55))
    assert explained(seed(kind), "B").nos.guaranteed == gigabytes(3)


@pytest.mark.parametrize("kind", ["ElasticQuota", "Quota"])
def test_the_terms_of_mode_fair_whichever_mode_applies(kind):
    more = [waiting(f"A/new{number}", {SLICE: "1"}) for number in range(3)]
    fair = explained(seed(kind, *more), "A").fair
    assert (fair.capacity, fair.demand) == (gigabytes(80), gigabytes(70))
    assert [each.amounts.of(GPU_MEMORY) for each in fair.guaranteed] == [40, 10, 0]
    assert (fair.sum_of_guaranteed, fair.surplus) == (gigabytes(50), gigabytes(30))
    assert (fair.own_guaranteed, fair.own_surplus) == (gigabytes(40), gigabytes(24))
    assert fair.entitlement == gigabytes(64)


def test_members_in_label_order_with_their_sum_and_label():
    members = explained(seed(), "B").members
    assert [each.running_sum.of(GPU_MEMORY) for each in members] == [10, 20, 30, 40]
    assert [each.label for each in members] == ["in-quota", "over-quota", "over-quota", "over-quota"]
    assert [each.workload for each in members] == ["B/0", "B/1", "B/2", "B/3"]


def test_who_lends_and_who_borrows():
    assert [(each.quota, each.lent, each.borrowed) for each in explained(seed(), "A").lenders] == [
        ("B", Resources({}), gigabytes(30)),
        ("C", gigabytes(30), Resources({})),
    ]


def test_what_would_be_admitted():
    found = explained(seed(), "A").admissible
    assert (found.sum_of_min, found.nodes, found.admitted) == (gigabytes(0), gigabytes(0), gigabytes(0))
    assert (found.at_most, found.max) == (gigabytes(15), Resources({}))
    assert explained(seed("Quota"), "A").admissible.at_most == gigabytes(24)


def test_the_chain_of_parents_and_the_part_of_a_parents_own_workloads():
    tree = cluster(
        node("n", cpu="20").holding(pod("team/a", cpu="2"), pod("top/b", cpu="5")),
        quota("all", {"cpu": "10"}, namespaces=()),
        quota("top", {"cpu": "6"}, parent="all", weight=Fraction(2)),
        quota("team", {"cpu": "4"}, parent="top"),
    )
    found = explained(tree, "team")
    assert [each.name for each in found.parents] == ["top", "all"]
    assert [each.quota for each in found.fair.guaranteed] == ["team", "top itself"]
    assert found.fair.capacity == explained(tree, "top").fair.entitlement
    assert (
        sum(each.amounts.of("cpu") for each in found.fair.guaranteed) + found.fair.surplus.of("cpu") == 7000
    )
    top = explained(tree, "top")
    assert (top.own_min, top.quota.min) == (resources(cpu="2"), resources(cpu="6"))
    assert [(each.quota, each.weight) for each in top.fair.weights] == [("top", Fraction(2))]


def test_an_unknown_quota_names_the_nearest():
    with pytest.raises(InputError, match="no quota 'D'"):
        explained(seed(), "D")
