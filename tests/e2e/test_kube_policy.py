"""A CapacityPolicy on a real control plane: the scheduler promises more than there is, or keeps some."""

from kube_cluster import pod, stays


def policy(**cluster: object) -> dict:
    return {
        "apiVersion": "ullage.dev/v1",
        "kind": "CapacityPolicy",
        "metadata": {"name": "ours"},
        "spec": {"inherits": "kubernetes", "cluster": cluster},
    }


def test_what_a_failed_node_would_need_is_not_promised_until_the_policy_lets_go_of_it(kube_cluster):
    kube_cluster.nodes(3, cpu="4")
    kube_cluster.namespaces("team")
    kube_cluster.plane.create(policy(**{"spare-nodes": 1}))
    kube_cluster.start("scheduler")
    keys = [f"team/p{number}" for number in range(4)]
    kube_cluster.plane.create_many([pod(key, cpu="2") for key in keys])
    kube_cluster.wait_until_placed(*keys)
    kube_cluster.plane.create(pod("team/last", cpu="2"))
    told = kube_cluster.wait_until_told("team/last", "room kept for failover")
    assert "group default has 4 of cpu left and keeps 4 for 1 node to fail: 2 short" in told
    stays(lambda: "team/last" not in kube_cluster.placed(), "it is not bound")
    kube_cluster.plane.patch(
        "/apis/ullage.dev/v1/capacitypolicies/ours", {"spec": {"cluster": {"spare-nodes": 0}}}
    )
    kube_cluster.wait_until_placed("team/last")


def test_processors_are_promised_more_than_once_where_the_policy_says_so(kube_cluster):
    kube_cluster.nodes(1, cpu="4")
    kube_cluster.namespaces("team")
    kube_cluster.plane.create(policy(**{"cpu-ratio": "2"}))
    kube_cluster.start("scheduler")
    keys = [f"team/p{number}" for number in range(4)]
    kube_cluster.plane.create_many([pod(key, cpu="2") for key in keys])
    kube_cluster.wait_until_placed(*keys)
    kube_cluster.plane.create(pod("team/last", cpu="1"))
    kube_cluster.wait_until_told("team/last", "cpu short")
