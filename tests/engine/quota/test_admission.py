"""How many run under elastic quotas without an eviction; `headroom` goes by it."""

import pytest

from builders import batch, cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.headroom import headroom, headroom_of_sets

ROOMY = node("n1", cpu="99").holding(pod("a/old", cpu="1"))


def more(*quotas, name="a/new"):
    (found,) = headroom(Columns(cluster(ROOMY, *quotas)), [batch(1, waiting(name, cpu="2"))])
    return found.replicas, found.refusal


@pytest.mark.parametrize(
    ("quotas", "count", "reason"),
    [
        ([quota("a", {}, {"cpu": "8"})], 3, "quota a would use more than its max, 1 of cpu beyond 8"),
        ([quota("a", {"cpu": "1"})], 49, ""),
        (
            [quota("a", {"cpu": "4"}, kind="ElasticQuota"), quota("b", {"cpu": "2"}, kind="ElasticQuota")],
            2,
            "all quotas together would use more than their mins, 1 of cpu beyond 6",
        ),
    ],
)
def test_a_quota_binds_before_the_nodes_are_full(quotas, count, reason):
    assert more(*quotas) == (count, reason)


def test_who_has_no_quota_is_bound_by_nodes_alone():
    assert more(quota("a", {}, {"cpu": "8"}), name="x/new") == (49, "")


def test_sets_count_against_the_quotas_of_all_their_workloads():
    snapshot = cluster(ROOMY, quota("a", {}, {"cpu": "9"}))
    asked = [batch(1, waiting("a/one", cpu="1")), batch(1, waiting("a/two", cpu="2"))]
    found = headroom_of_sets(Columns(snapshot), asked)
    assert (found.sets, found.missing[0]) == (2, "a/one")
    assert "more than its max" in found.missing[1]
