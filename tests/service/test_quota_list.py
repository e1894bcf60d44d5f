"""The numbers of `quota list`."""

import msgspec
import pytest

from builders import cluster, node, pod, quota, resources
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.service.quota_list import accounts_of, quota_list_of, quota_list_report


def family():
    return cluster(
        node("n", cpu="10").holding(
            pod("one/a", cpu="3", created_seconds=1), pod("one/b", cpu="2", created_seconds=2)
        ),
        quota("research", {"cpu": "6"}, namespaces=()),
        quota("one", {"cpu": "2"}, {"cpu": "8"}, parent="research"),
        quota("two", {"cpu": "4"}, parent="research"),
        quota("abroad", {"cpu": "1"}),
        name="family",
    )


def test_every_figure_of_a_quota(small):
    found = {each.name: each for each in quota_list_report(accounts_of(small)).quotas}
    share = found["ml"]
    assert (share.kind, share.mode, share.parent, share.depth) == ("Quota", "fair", "", 0)
    assert (share.min, share.max) == (resources(cpu="4", gpu=2), resources(cpu="8"))
    assert share.used == resources(cpu="5", memory="20Gi", gpu=3)
    assert share.borrowed == resources(cpu="1", memory="20Gi", gpu=1)
    assert (share.workloads, share.over_quota) == (2, ("ml/train",))
    assert found["web"].borrowed == resources(cpu="2", memory="10Gi")


def test_a_tree_is_read_from_its_roots_and_sums_count_each_once():
    report = quota_list_report(accounts_of(family()))
    assert [(each.name, each.depth, each.parent) for each in report.quotas] == [
        ("abroad", 0, ""), ("research", 0, ""), ("one", 1, "research"), ("two", 1, "research"),
    ]  # fmt: skip
    totals = report.totals
    assert (totals.min, totals.used) == (resources(cpu="7"), resources(cpu="5"))
    assert (totals.borrowed, totals.lent) == (resources(cpu="3"), resources(cpu="3"))
    assert (totals.capacity, totals.workloads, totals.over_quota) == (resources(cpu="10"), 2, 2)
    lent = {each.name: each.lent.of("cpu") for each in report.quotas}
    assert lent == {"abroad": 0, "research": 0, "one": 0, "two": 3000}


def test_with_a_namespace_only_the_quotas_that_cover_it(small, asked):
    report = quota_list_report(accounts_of(small), "ml")
    assert [each.name for each in report.quotas] == ["ml"]
    with pytest.raises(InputError, match="no namespace 'mll'"):
        quota_list_of(small, msgspec.structs.replace(asked, namespace="mll"))


def test_a_cluster_without_quotas_is_told_how_to_get_them(asked):
    with pytest.raises(InputError, match="bare has no quotas; a dump needs elasticquotas"):
        quota_list_of(cluster(node("n", cpu="1"), name="bare"), asked)


def test_entitlements_have_what_some_min_names(small):
    found = {each.name: each for each in quota_list_report(accounts_of(small)).quotas}
    assert set(found["web"].entitlement) == {"cpu", "memory", "nvidia.com/gpu"}
    assert found["web"].lent == Resources({"cpu": 0, "memory": 0})


def test_nobody_is_entitled_to_more_than_its_max():
    world = cluster(
        node("n", cpu="8"),
        quota("a", {"cpu": "4"}, {"cpu": "5"}, kind="ElasticQuota"),
        quota("b", {"cpu": "4"}, kind="ElasticQuota"),
    )
    found = quota_list_report(accounts_of(world)).quotas
    assert [each.entitlement.of("cpu") for each in found] == [5000, 8000]


def test_what_is_wrong_with_quotas_is_said():
    world = cluster(
        node("n", cpu="4"),
        quota("a", {"cpu": "3"}, {"cpu": "2"}),
        quota("b", {"cpu": "3"}, namespaces=("a",), parent="nobody"),
    )
    report = quota_list_report(accounts_of(world))
    assert [(each.severity, each.code) for each in report.findings] == [
        ("error", "quota-min-above-max"),
        ("error", "quota-namespace-twice"),
        ("error", "quota-unknown-parent"),
        ("warning", "quota-above-cluster"),
    ]


def test_mins_are_compared_with_all_that_nodes_have_cordoned_or_not():
    """As `check` and the webhook do: mins are agreed on for longer than a cordon lasts."""
    closed = node("m", cpu="8").cordoned()
    report = quota_list_report(accounts_of(cluster(node("n", cpu="1"), closed, quota("a", {"cpu": "9"}))))
    assert (report.totals.capacity, report.findings) == (resources(cpu="9"), ())
