"""Use that is of another cluster, or no use at all, is told instead of passing for nothing wrong."""

import pytest

from builders import cluster, node, pod
from ullage.engine.columns import Columns
from ullage.engine.usage.strangers import stranger_findings
from usage_builders import DAY, book

HERE = Columns(cluster(node("n1").holding(pod("web-0", namespace="shop"), pod("vm"))))


def told(*streams, amount=5):
    found = stranger_findings(HERE, book({(each, "memory"): [(98 * DAY, amount)] for each in streams}))
    return [each.message.partition(",")[0] for each in found]


@pytest.mark.parametrize("subject", ["node/n1", "pod/shop/web-0", "container/shop/web-0/app", "pod/-/vm"])
def test_one_of_this_cluster_is_enough(subject):
    assert told(subject, "pod/other/p", "node/other") == []


def test_only_strangers_are_told():
    found = told("pod/other/web-0", "container/other/p/app", "node/n2", "cluster", "namespace/shop")
    assert found == ["nothing that was observed is of a node or a pod of this cluster"]


def test_points_that_were_dropped_are_nothing():
    assert told("pod/shop/web-0", amount=None) == ["nothing usable was observed: all points were dropped"]
