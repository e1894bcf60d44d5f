"""Which node a series is about: by its label, its own name, its address, as the cluster calls it."""

import numpy as np
import pytest

from builders import cluster
from builders import node as a_node
from ullage.sources.usage import prometheus_nodes
from ullage.sources.usage.prometheus_answers import Labels, Series
from ullage.sources.usage.prometheus_nodes import NodeNames
from ullage.sources.usage.prometheus_parts import Window

UNAME = [
    Labels(instance="10.0.0.1:9100", nodename="alpha.example.com"),
    Labels(instance="10.0.0.9:9100", nodename="ip-10-0-0-9"),
]
INFO = [Labels(node="beta", internal_ip="10.0.0.9"), Labels(node="gamma", internal_ip="fd00::1")]


@pytest.fixture
def names(monkeypatch):
    def ask_range(_, query, *__):
        labels = UNAME if "node_uname_info" in query else INFO
        count = np.arange(len(labels))
        return Series(labels, count, count.astype(float), np.ones(len(labels)))

    monkeypatch.setattr(prometheus_nodes, "ask_range", ask_range)

    def made(*nodes):
        snapshot = cluster(*(a_node(each) for each in nodes)) if nodes else None
        there = frozenset({"node_uname_info", "kube_node_info"})
        return NodeNames(None, there, Window(0, 300, 300), snapshot)

    return made


def test_what_the_cluster_knows_goes_before_what_comes_first(names):
    known = names("alpha", "beta", "gamma")
    assert known.of(Labels(instance="10.0.0.1:9100")) == "alpha"
    assert known.of(Labels(instance="10.0.0.9:9100")) == "beta"
    assert known.of(Labels(instance="[fd00::1]:9100")) == "gamma"
    assert known.of(Labels(instance="10.0.0.1:9100", node="beta")) == "beta"
    assert known.of(Labels(instance="alpha:9100")) == "alpha"


def test_a_domain_may_stand_behind_the_name_on_either_side(names):
    assert names("alpha.other.org").of(Labels(instance="10.0.0.1:9100")) == "alpha.other.org"
    assert names("alpha.example.com", "alpha").of(Labels(instance="10.0.0.1:9100")) == "alpha.example.com"


def test_a_host_that_neither_the_cluster_nor_its_kubelets_know_is_left_out(names, monkeypatch):
    nas = Labels(instance="nas:9100")
    assert names("alpha").of(nas) == "", "kube_node_info tells which nodes there were"
    assert names("alpha").of(Labels(instance="10.0.0.9:9100")) == "ip-10-0-0-9", "it was one"
    assert names().of(nas) == "nas"
    monkeypatch.setattr(f"{__name__}.INFO", [])
    assert names("alpha").of(nas) == "nas", "nobody tells which nodes there were"


def test_without_a_cluster_the_label_goes_before_the_own_name_and_that_before_the_address(names):
    assert names().of(Labels(instance="10.0.0.1:9100", node="n")) == "n"
    assert names().of(Labels(instance="10.0.0.1:9100")) == "alpha.example.com"
    assert names().of(Labels(instance="10.0.0.77:9100")) == "10.0.0.77"
    assert names().of(Labels()) == ""
