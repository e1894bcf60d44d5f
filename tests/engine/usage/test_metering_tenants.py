"""Whose use is whose, and nothing counts twice."""

import pytest

from builders import cluster, node, pod, quota
from ullage.engine.usage.metering_prices import What
from ullage.engine.usage.metering_tenants import (
    NO_LABEL,
    NO_QUOTA,
    Tenancy,
    capacity_now,
    promised_now,
    streams_by_tenant,
)
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from usage_builders import book

GPU = "nvidia.com/gpu"
SEEN = [(0, 1)]
CLUSTER = cluster(
    node("n1", cpu=8)
    .with_gpus(4, "A100")
    .holding(
        pod("a/p1", cpu=1, owner="Deployment/web", labels={"team": "blue"}),
        pod("a/p2", cpu=2, owner="Deployment/web", labels={"team": "blue"}),
        pod("b/q1", {GPU: "2"}, cpu=1, owner="Job/train", labels={"team": "red"}),
        pod("b/q2", cpu=1, owner="Job/train", labels={"team": "blue"}),
    ),
    node("n2").with_gpus(1, "L4").holding(pod("c/r", {GPU: "1"})),
    pod("a/waits", cpu=4, state="init"),
    quota("shared", namespaces=("a", "b")),
)


def found(by, *subjects, label="team"):
    streams = streams_by_tenant(
        book({(each, "cpu"): SEEN for each in subjects}), "usage", Tenancy(by, label, CLUSTER)
    )
    return {
        tenant: [stream.subject for stream in resources["cpu"]]
        for tenant, resources in sorted(streams.items())
    }


@pytest.mark.parametrize(
    ("subjects", "counted"),
    [
        pytest.param(["pod/a/p1", "pod/a/p2"], {"a": ["pod/a/p1", "pod/a/p2"]}, id="its pods"),
        pytest.param(
            ["pod/a/p1", "workload/a/Deployment/web"],
            {"a": ["workload/a/Deployment/web"]},
            id="workloads go before pods",
        ),
        pytest.param(
            ["pod/a/p1", "workload/a/Deployment/web", "namespace/a"],
            {"a": ["namespace/a"]},
            id="the whole goes before workloads",
        ),
        pytest.param(
            ["namespace/a", "pod/b/q1"], {"a": ["namespace/a"], "b": ["pod/b/q1"]}, id="each on its own"
        ),
        pytest.param(["node/n1", "cluster", "quota/shared"], {}, id="nodes and quotas are nobody's"),
    ],
)
def test_a_namespace_has_what_is_known_of_it_as_a_whole_or_its_parts(subjects, counted):
    assert found("namespace", *subjects) == counted


def test_resources_are_looked_up_one_by_one():
    seen = book({("namespace/a", "memory"): SEEN, ("pod/a/p1", "memory"): SEEN, ("pod/a/p1", "cpu"): SEEN})
    streams = streams_by_tenant(seen, "usage", Tenancy())
    assert [each.subject for each in streams["a"]["memory"]] == ["namespace/a"]
    assert [each.subject for each in streams["a"]["cpu"]] == ["pod/a/p1"]


def test_measures_are_apart():
    seen = book({("namespace/a", "cpu", "committed"): SEEN})
    assert streams_by_tenant(seen, "usage", Tenancy()) == {}
    assert set(streams_by_tenant(seen, "committed", Tenancy())) == {"a"}


@pytest.mark.parametrize(
    ("subjects", "counted"),
    [
        pytest.param(["quota/shared", "namespace/a"], {"shared": ["quota/shared"]}, id="as a whole"),
        pytest.param(
            ["namespace/a", "pod/b/q1"], {"shared": ["namespace/a", "pod/b/q1"]}, id="its namespaces"
        ),
        pytest.param(["namespace/c"], {NO_QUOTA: ["namespace/c"]}, id="a namespace of no quota"),
    ],
)
def test_a_quota_has_what_its_namespaces_have(subjects, counted):
    assert found("quota", *subjects) == counted


@pytest.mark.parametrize(
    ("subjects", "counted"),
    [
        pytest.param(
            ["pod/a/p1", "pod/b/q1"], {"blue": ["pod/a/p1"], "red": ["pod/b/q1"]}, id="pods by their label"
        ),
        pytest.param(
            ["workload/a/Deployment/web", "pod/a/p1"],
            {"blue": ["workload/a/Deployment/web"]},
            id="a workload by that of its pods",
        ),
        pytest.param(
            ["workload/b/Job/train", "pod/b/q1", "pod/b/q2"],
            {"blue": ["pod/b/q2"], "red": ["pod/b/q1"]},
            id="pods where those of a workload differ",
        ),
        pytest.param(["pod/b/gone"], {NO_LABEL: ["pod/b/gone"]}, id="a pod that is gone"),
        pytest.param(
            ["workload/a/Deployment/web", "pod/a/gone"],
            {"blue": ["workload/a/Deployment/web"]},
            id="one that is gone is in its workload",
        ),
        pytest.param(["pod/c/r"], {NO_LABEL: ["pod/c/r"]}, id="a pod without the label"),
    ],
)
def test_a_label_has_the_pods_that_bear_it(subjects, counted):
    assert found("label", *subjects) == counted


def test_labels_are_known_of_clusters_alone():
    with pytest.raises(InputError, match="labels are known of clusters"):
        streams_by_tenant(book({}), "usage", Tenancy("label", "team"))


def test_what_is_promised_now_is_asked_for_on_nodes_and_devices_have_models():
    assert promised_now(Tenancy("namespace", "", CLUSTER)) == {
        "a": {What("cpu"): 3000},
        "b": {What("cpu"): 2000, What(GPU, "A100"): 2},
        "c": {What(GPU, "L4"): 1},
    }
    assert promised_now(Tenancy("quota", "", CLUSTER))["shared"][What("cpu")] == 5000
    assert promised_now(Tenancy("label", "team", CLUSTER))["blue"] == {What("cpu"): 4000}
    assert promised_now(Tenancy()) == {}


def test_the_capacity_is_that_of_all_nodes_by_model():
    allocatable = [Resources({"cpu": 7000, GPU: 4}), Resources({GPU: 1})]
    assert capacity_now(CLUSTER, allocatable) == {
        What("cpu"): 7000,
        What(GPU, "A100"): 4,
        What(GPU, "L4"): 1,
    }
