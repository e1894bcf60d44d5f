"""Where what a pod uses counts too, also when the pod is gone."""

from builders import cluster, node, pod, quota
from ullage.engine.usage.homes import Homes, pod_subject, workload_subject
from ullage.engine.usage.owners import owner_of

WEB = pod(
    "shop/web-5d4f8c7b9-x7k2p",
    owner="ReplicaSet/web-5d4f8c7b9",
    labels={"pod-template-hash": "5d4f8c7b9"},
    cpu="1",
)
SNAPSHOT = cluster(
    node("n1", cpu="4").in_group("red").holding(WEB),
    node("n2", cpu="4").holding(pod("lab/alone", cpu="1")),
    quota("team", namespaces=("shop",)),
)


def test_a_pod_counts_in_its_workload_namespace_quota_node_group_and_the_cluster():
    assert Homes(SNAPSHOT).of("pod/shop/web-5d4f8c7b9-x7k2p") == (
        "workload/shop/Deployment/web",
        "namespace/shop",
        "quota/team",
        "node/n1",
        "group/red",
        "cluster",
    )


def test_a_pod_that_is_gone_counts_where_its_name_says_but_on_no_node():
    assert Homes(SNAPSHOT).of("pod/shop/web-6c9d7b5f44-bcdfg") == (
        "workload/shop/Deployment/web",
        "namespace/shop",
        "quota/team",
        "cluster",
    )


def test_a_pod_of_nobody_known_counts_in_its_namespace():
    assert Homes(SNAPSHOT).of("pod/elsewhere/thing-1") == ("namespace/elsewhere", "cluster")


def test_a_pod_that_nobody_made_is_a_workload_of_its_own():
    assert Homes(SNAPSHOT).of("pod/lab/alone")[0] == "workload/lab/Pod/alone"


def test_a_node_counts_in_its_group_and_the_cluster():
    homes = Homes(SNAPSHOT)
    assert homes.of("node/n1") == ("group/red", "cluster")
    assert homes.of("node/unknown") == ("cluster",)


def test_others_count_for_themselves():
    homes = Homes(SNAPSHOT)
    for subject in ("cluster", "container/shop/web-1/main", "workload/shop/Job/x", "quota/team"):
        assert homes.of(subject) == ()


def test_virtual_machines_have_no_namespace():
    machines = cluster(node("n1", cpu="4").holding(pod("vm", cpu="1")))
    (machine,) = machines.workloads
    assert pod_subject(machine) == "pod/-/vm"
    assert workload_subject(owner_of(machine)) == "workload/-/Pod/vm"
    assert Homes(machines).of("pod/-/vm")[:2] == ("workload/-/Pod/vm", "node/n1")
