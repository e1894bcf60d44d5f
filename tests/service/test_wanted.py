"""What is asked for: shapes, sets and manifests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import BUILT_IN_TYPES, claim, cluster, node, pod, resources, waiting
from ullage.model.admission import PodGroup
from ullage.model.checks import REPLICAS_MAX
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceType, ResourceTypes
from ullage.service.wanted import (
    parse_shape,
    read_wanted,
    wanted_shape,
    wanted_waiting,
    with_objects,
    with_replicas,
)

SET = "apiVersion: ullage.dev/v1\nkind: WorkloadSet\n"


@pytest.fixture(scope="module")
def small_cluster():
    return cluster(node("a", cpu="4"), node("b", cpu="4"))


def test_a_shape_is_one_workload_that_waits():
    (batch,) = wanted_shape("cpu=4, memory=8Gi", BUILT_IN_TYPES).batches
    assert (batch.workload.requests, batch.workload.state) == (resources(cpu="4", memory="8Gi"), "init")


def test_a_shape_is_one_pod_where_pods_are_counted():
    (batch,) = wanted_shape("cpu=4", BUILT_IN_TYPES, pods=True).batches
    assert batch.workload.requests == resources(cpu="4", pods=1)
    (batch,) = wanted_shape("cpu=4,pods=3", BUILT_IN_TYPES, pods=True).batches
    assert batch.workload.requests == resources(cpu="4", pods=3)


def test_a_shape_tolerates_taints_named_after_its_devices():
    (batch,) = wanted_shape("cpu=4,nvidia.com/gpu=1,amd.com/gpu=0", BUILT_IN_TYPES).batches
    assert [each.key for each in batch.workload.constraints.tolerations] == ["nvidia.com/gpu"]


@given(st.text(max_size=20))
def test_any_text_is_a_shape_or_refused_with_its_place(text):
    refused = None
    try:
        parse_shape(text, BUILT_IN_TYPES)
    except InputError as error:
        refused = error
    assert refused is None or (refused.where.startswith("--shape") and refused.remedy)


def test_a_shape_has_a_limit():
    with pytest.raises(InputError, match="more than 100 resources"):
        parse_shape(",".join(["cpu=1"] * 101), BUILT_IN_TYPES)


def test_replicas_override_those_of_the_file():
    wanted = wanted_shape("cpu=1", BUILT_IN_TYPES)
    assert with_replicas(wanted, None) is wanted
    assert with_replicas(wanted, 7).batches[0].replicas == 7
    with pytest.raises(InputError, match="--replicas"):
        with_replicas(wanted, REPLICAS_MAX + 1)


def test_a_set_that_wants_all_or_none_says_so(tmp_path, small_cluster):
    path = tmp_path / "set.yaml"
    path.write_text(SET + "atomic: true\nworkloads: [{name: a, requests: {cpu: 1}}]\n")
    assert read_wanted([str(path)], small_cluster).atomic


def test_types_of_a_document_count_for_those_behind_it(tmp_path, small_cluster):
    path = tmp_path / "set.yaml"
    path.write_text(
        "apiVersion: ullage.dev/v1\nkind: ResourceTypes\n"
        "resourceTypes: [{name: example.com/licences, internalScaleExponent: 3}]\n---\n"
        + SET
        + "workloads: [{name: a, requests: {example.com/licences: 1.5}}]\n"
    )
    wanted = read_wanted([str(path)], small_cluster)
    assert wanted.batches[0].workload.requests == Resources({"example.com/licences": 1500})
    assert wanted.types["example.com/licences"].internal_scale_exponent == 3


def test_a_bare_requirement_is_a_workload(tmp_path, small_cluster):
    path = tmp_path / "bare.yaml"
    path.write_text("resourceRequirementSpec: [request: [cpu: 2.5]]\n")
    assert read_wanted([str(path)], small_cluster).batches[0].workload.requests == resources(cpu="2.5")


def test_a_namespace_is_that_of_objects_without_one(tmp_path, small_cluster):
    path = tmp_path / "pod.yaml"
    path.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n")
    assert read_wanted([str(path)], small_cluster, namespace="ml").batches[0].key == "ml/p"


def test_a_daemon_set_has_a_replica_for_each_node(tmp_path, small_cluster):
    path = tmp_path / "daemons.yaml"
    path.write_text(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\n"
        "spec: {template: {spec: {containers: [{name: c}]}}}\n"
    )
    assert read_wanted([str(path)], small_cluster).batches[0].replicas == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apiVersion: ullage.dev/v1\nkind: Snapshot\n", "write kind: WorkloadSet"),
        ("a: 1\n", "no apiVersion and no kind"),
        (SET + "workloads: [{name: a, replicas: -1}]\n", "replicas is -1"),
    ],
)
def test_what_asks_for_nothing_is_refused_with_its_file(tmp_path, small_cluster, text, message):
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_wanted([str(path)], small_cluster)
    assert "wrong.yaml" in str(caught.value)


def test_what_waits_is_wanted_by_priority_then_age():
    whole = cluster(
        node("a", cpu="4").holding(pod("web/runs", cpu="1")),
        waiting("web/young", cpu="1", created_seconds=20),
        waiting("web/old", cpu="1", created_seconds=10),
        waiting("ml/first", cpu="1", priority=5, created_seconds=30),
    )
    wanted = wanted_waiting(whole)
    assert [(each.key, each.replicas) for each in wanted.batches] == [
        ("ml/first", 1),
        ("web/old", 1),
        ("web/young", 1),
    ]
    assert [each.key for each in wanted_waiting(whole, "web").batches] == ["web/old", "web/young"]


def test_a_shape_is_quantized_and_filled_in_by_its_types():
    types = ResourceTypes(
        [
            ResourceType("example.com/licences", "licence", quantization=5),
            ResourceType("example.com/seats", "seat", default_request="2"),
        ]
    )
    (batch,) = wanted_shape("example.com/licences=3,hugepages-2Mi=3Mi", types).batches
    asked = batch.workload.requests.without_zeros()
    assert asked == Resources({"example.com/licences": 5, "example.com/seats": 2, "hugepages-2Mi": 4 << 20})


def test_a_pod_group_of_the_cluster_is_that_of_manifests_that_name_it(tmp_path):
    path = tmp_path / "pod.yaml"
    path.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: web\n"
        "  labels: {scheduling.x-k8s.io/pod-group: g}\n"
        "spec:\n  containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]\n"
    )
    snapshot = cluster(node("x", cpu="4"), pod_groups=[PodGroup("g", "web", 3)])
    for groups, least in ((snapshot, 3), (cluster(node("x", cpu="4")), 0)):
        (batch,) = read_wanted([str(path)], groups).batches
        assert (batch.workload.gang, batch.workload.gang_min) == ("g", least)


@pytest.mark.parametrize(
    ("comes", "size", "storage_class"),
    [
        (claim("web/data", "9Gi", storage_class="fast"), 9 << 30, "fast"),
        (claim("web/data", "0"), 1 << 30, "slow"),
        (claim("web/data", "1Gi", storage_class="slow"), 1 << 30, "slow"),
    ],
    ids=["changed", "says nothing", "the same"],
)
def test_a_claim_of_the_cluster_has_the_size_and_the_class_that_are_asked_for(comes, size, storage_class):
    known = claim("web/data", "1Gi", storage_class="slow", bound=True, volume="pv")
    found = with_objects(cluster(node("x"), known), Delta(claims=(comes,))).claims["web/data"]
    assert (found.size_bytes, found.storage_class) == (size, storage_class)
    assert (found.bound, found.volume) == (True, "pv")
