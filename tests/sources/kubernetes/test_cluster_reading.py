"""What objects say of each other: pods of nodes, metrics of nodes, and objects that are there twice."""

import json

import pytest

from sources.kubernetes.kube import TYPES, amounts, container, dumped, listed, node, pod, refused, thing
from ullage.engine.quota.validation import findings
from ullage.model.errors import InputError
from ullage.model.settings import rules_for
from ullage.sources.documents import documents_of
from ullage.sources.kubernetes.cluster_reading import ClusterReading
from ullage.sources.kubernetes.dump import read_dump
from ullage.sources.kubernetes.items import NODE, POD, Kind, items_of


def test_pods_on_nodes_that_are_not_there_are_left_out_and_told_in_one_line():
    stays = (node("n1"), pod("a", nodeName="n1"))
    found = dumped(*stays, pod("b", nodeName="gone"))
    assert list(found.workloads.keys()) == ["team/a"]
    assert found.unknowns == ("1 pod runs on a node that is not there (team/b on gone): left out",)
    found = dumped(*(pod(name, nodeName="x") for name in "edcb"), *stays, pod("f", nodeName="y"))
    assert list(found.workloads.keys()) == ["team/a"]
    assert found.unknowns == (
        "5 pods run on nodes that are not there (team/b on x, team/c on x, team/d on x and 2 more): left out",
    )


def test_what_only_lost_pods_name_is_not_missed():
    lost = pod("b", nodeName="gone", runtimeClassName="none", priorityClassName="none")
    (line,) = dumped(node("n1"), lost).unknowns
    assert line == "1 pod runs on a node that is not there (team/b on gone): left out"


def test_a_set_whose_pods_are_lost_does_not_wait_anew():
    template = {"spec": {"containers": [container()]}}
    owned = {"ownerReferences": [{"kind": "StatefulSet", "name": "db", "controller": True}]}
    sets = thing("apps/v1", "StatefulSet", "db", namespace="team", spec={"template": template})
    assert len(dumped(node("n1"), sets).workloads) == 1
    assert not dumped(node("n1"), sets, pod("db-0", metadata=owned, nodeName="gone")).workloads


def test_pods_without_any_node_are_one_line():
    assert refused(pod("a", nodeName="n1"), pod("b", nodeName="n2")) == (
        "standard input: 2 pods on nodes, but no node in the dump; "
        "dump both: kubectl get nodes,pods -A -o json"
    )


def test_a_reading_that_sees_all_nodes_may_see_none():
    reading = ClusterReading(TYPES, "")
    (document,) = documents_of(json.dumps(pod("a", nodeName="gone")).encode(), "x")
    for item in items_of(document):
        reading.take(item)
    found = reading.snapshot(sees_nodes=True)
    assert not found.workloads
    assert found.unknowns == ("1 pod runs on a node that is not there (team/a on gone): left out",)


def test_a_reading_says_which_kinds_it_reads():
    kinds = ClusterReading(TYPES, "").kinds
    assert {NODE, POD, Kind("", "PersistentVolumeClaim")} <= set(kinds)
    assert Kind("", "Secret") not in kinds


def test_waiting_pods_need_no_nodes():
    assert len(dumped(pod("a")).workloads) == 1


def test_a_pod_that_is_over_may_have_outlived_its_node():
    over = pod("a", nodeName="gone", status={"phase": "Failed"})
    for found in (dumped(over), dumped(node(), over)):
        assert (found.workloads["team/a"].node, found.workloads["team/a"].state) == ("", "deleted")
    assert (
        dumped(node(), pod("a", nodeName="n1", status={"phase": "Failed"})).workloads["team/a"].node == "n1"
    )


CLAIM = thing("v1", "PersistentVolumeClaim", "x", namespace="team")
QUOTA = thing("nos.nebuly.com/v1alpha1", "ElasticQuota", "x", namespace="team")
# Each row: an object, another of the same name, and how a second one is named.
TWICE = {
    "nodes": (node("x"), node("x"), "node named x"),
    "pods": (pod("x"), pod("x", priority=1), "pod named team/x"),
    "claims": (CLAIM, {**CLAIM, "status": {"phase": "Bound"}}, "claim named team/x"),
    "quotas": (QUOTA, {**QUOTA, "spec": {"min": {"cpu": "1"}}}, "ElasticQuota named team/x"),
}


def test_the_same_pod_claim_or_quota_again_is_no_second_one():
    found = dumped(pod("x"), CLAIM, QUOTA, QUOTA, pod("x"), CLAIM)
    assert (len(found.workloads), len(found.claims), len(found.quotas)) == (1, 1, 1)


@pytest.mark.parametrize("case", TWICE)
def test_two_of_one_name_are_an_error_that_names_both_places(case):
    item, other, named = TWICE[case]
    assert refused(thing("v1", "Secret"), item, thing("v1", "Secret"), other) == (
        f"standard input: items[3]: a second {named}, the first is at standard input: items[1]; keep one of "
        f"them"
    )


def test_both_places_are_named_across_files_and_documents(tmp_path):
    for name, copies in (("a.json", 1), ("b.json", 2)):
        (tmp_path / name).write_text(json.dumps(listed(node(name[:copies]))) * copies, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_dump([str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    assert str(caught.value) == (
        f"{tmp_path}/b.json: document 2: items[0]: a second node named b., the first is at "
        f"{tmp_path}/b.json: "
        "items[0]; keep one of them"
    )
    with pytest.raises(InputError) as caught:
        read_dump([str(tmp_path / "a.json"), str(tmp_path / "a.json")])
    assert str(caught.value).endswith("a.json: items[0]; keep one of them")


def test_pods_of_one_name_may_live_in_two_namespaces():
    assert len(dumped(pod("x", namespace="a"), pod("x", namespace="b")).workloads) == 2


def test_metrics_are_what_a_node_really_uses():
    found = dumped(
        thing("metrics.k8s.io/v1beta1", "NodeMetrics", "n1", usage={"cpu": "123456789n", "memory": "2048Ki"}),
        thing("metrics.k8s.io/v1beta1", "NodeMetrics", "gone", usage={"cpu": "1"}),
        node("n1"),
        node("n2"),
    )
    assert found.nodes["n1"].actual == amounts(cpu="124m", memory="2Mi")
    assert found.nodes["n2"].actual is None
    assert found.unknowns == ("not used: metrics of unknown nodes: gone",)


def test_other_kinds_are_counted_and_named():
    found = dumped(
        thing("v1", "Secret", "a"),
        thing("v1", "Secret", "b"),
        thing("apps/v1", "Deployment"),
        thing("v1", "Binding"),
    )
    assert found.unknowns == ("not read: 1 Binding", "not read: 1 Deployment", "not read: 2 Secret")


def test_a_pod_that_is_filed_under_apps_is_read_and_told():
    found = dumped({**pod("a"), "apiVersion": "apps/v1"})
    assert list(found.workloads.keys()) == ["team/a"]
    assert found.unknowns == ("standard input: items[0]: apiVersion apps/v1 has no Pod; read as v1",)


def test_resources_of_the_reserved_domain_are_left_out_and_told():
    asked = container("main", {"cpu": "1", "kubernetes.io/batch-cpu": "1000"})
    found = dumped(
        node("n1", {"cpu": "4", "kubernetes.io/batch-cpu": "4000"}), pod("a", asked, nodeName="n1")
    )
    assert found.workloads["team/a"].requests == amounts(cpu="1", pods="1")
    assert found.nodes["n1"].capacity == amounts(cpu="4")
    assert found.unknowns == ("not read: resources of the reserved domain: kubernetes.io/batch-cpu",)


def test_a_cluster_whose_quotas_are_wrong_is_read_all_the_same():
    found = dumped(
        node(),
        thing("nos.nebuly.com/v1alpha1", "ElasticQuota", "q", namespace="a", spec={"max": {"cpu": "-1"}}),
        thing("nos.nebuly.com/v1alpha1", "CompositeElasticQuota", "c", namespace="a", spec={}),
        thing("ullage.dev/v1", "Quota", "child", spec={"parent": "gone", "namespaces": ["a"]}),
    )
    assert [each.code for each in findings(found.quotas, None)] == [
        "quota-namespace-twice",
        "quota-negative",
        "quota-unknown-parent",
        "quota-without-namespaces",
    ]


def test_wrong_usage_is_named_with_its_path():
    assert refused(thing("metrics.k8s.io/v1beta1", "NodeMetrics", "n1", usage={"cpu": "x"})).startswith(
        "standard input: items[0].usage.cpu: quantity 'x'"
    )


CREATED, STARTED, BEAT = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z", "2026-01-02T03:04:07Z"


@pytest.mark.parametrize(
    ("created", "started", "beat", "taken"),
    [
        (None, None, None, None),
        (CREATED, None, None, 1767323045),
        (CREATED, STARTED, None, 1767323046),
        (CREATED, STARTED, BEAT, 1767323047),
        (BEAT, CREATED, STARTED, 1767323047),
    ],
)
def test_a_dump_was_taken_no_earlier_than_the_newest_moment_in_it(created, started, beat, taken):
    conditions = [{"type": "Ready", "status": "True", "lastHeartbeatTime": beat}]
    held = pod("p", metadata={"creationTimestamp": created}, status={"startTime": started}, nodeName="n1")
    assert dumped(node("n1", conditions=conditions), held).taken_seconds == taken


def own_policy(name: str, **settings: str) -> dict:
    return thing("ullage.dev/v1", "CapacityPolicy", name, spec={"cluster": settings})


def test_a_cluster_is_under_its_own_policies_and_what_its_processes_were_started_with():
    labels = {"app.kubernetes.io/name": "ullage"}
    template = {"spec": {"containers": [container(args=["kube", "operator", "--gpu-memory-gb=10"])]}}
    deployed = thing(
        "apps/v1",
        "Deployment",
        "ullage-operator",
        namespace="here",
        spec={"replicas": 0, "template": template},
    )
    deployed["metadata"]["labels"] = labels
    assert not dumped(node()).policy.layers
    found = dumped(node(), own_policy("b", **{"spare-nodes": "2"}), deployed, own_policy("a")).policy
    origins = [layer.origin for layer in found.layers if not layer.built_in]
    assert origins == ["Deployment here/ullage-operator", "CapacityPolicy a", "CapacityPolicy b"]
    rules = rules_for(found, TYPES)
    assert (rules.spare_nodes, rules.gpu_memory_gigabytes) == (2, 10)


def test_a_policy_that_is_wrong_is_not_used_and_named():
    found = dumped(node(), own_policy("odd", **{"memory-ratio": "much"}))
    assert not found.policy.layers
    (line,) = found.unknowns
    assert line.startswith("not used: CapacityPolicy odd: ")
    assert "memory-ratio" in line


def test_a_second_policy_of_a_name_is_refused_unless_it_is_the_same():
    once = own_policy("a", **{"spare-nodes": "1"})
    assert dumped(node(), once, once).policy.layers
    assert "a second CapacityPolicy named a" in refused(node(), once, own_policy("a", **{"spare-nodes": "2"}))
