"""A promise is kept by the workload that it was made for, and each workload keeps one."""

import pytest

from builders import cluster, entry, node, pod, waiting
from ullage.engine.ledger.matching import broken_promises, kept_promises, promises_on_nodes, workloads_of
from ullage.engine.ledger.naming import reservation_name

NODES = (node("n1", cpu="8"), node("n2", cpu="8"))


def held(number, where, kind="Deployment", owner="shop/web", **more):
    return entry(reservation_name(kind, owner, number), f"node/{where}", owner=owner, **{"cpu": "1", **more})


def replica(name, **more):
    return pod(f"shop/{name}", cpu="1", owner="ReplicaSet/web-5d", **more)


def kept_by(snapshot, *entries):
    found = kept_promises(snapshot, promises_on_nodes(entries))
    return {each.promise.reservation: each.workload.key if each.workload else "" for each in found}


def test_what_one_reservation_has_of_a_node_is_one_promise():
    both = (entry("r", "node/n1", request="a", cpu="1"), entry("r", "node/n1", request="b", cpu="2"))
    (found,) = promises_on_nodes(both)
    assert found.resources["cpu"] == 3000


@pytest.mark.parametrize(
    "other",
    [
        entry("r", "drive/n1/d", cpu="1"),
        entry("r", "quota/n1", cpu="1"),
        entry("r", "node/n1", cpu="1", state="WAITING"),
        entry("r", "node/n1", cpu="1", state="RELEASED"),
    ],
)
def test_disks_quotas_and_what_holds_nothing_are_no_promises_on_nodes(other):
    assert promises_on_nodes([other]) == []


def test_a_pod_keeps_the_promise_to_its_key():
    there = cluster(NODES[0].holding(pod("shop/a", cpu="1")), NODES[1])
    assert kept_by(there, entry("r-7", "node/n1", owner="shop/a", cpu="1")) == {"r-7": "shop/a"}
    assert kept_by(there, entry("r-7", "node/n2", owner="shop/a", cpu="1")) == {"r-7": ""}


def test_pods_of_a_set_keep_as_many_promises_as_they_are():
    there = cluster(NODES[0].holding(replica("web-5d-a")), NODES[1])
    found = kept_by(there, held(1, "n2"), held(2, "n1"), held(3, "n1"))
    assert found == {
        "Deployment/shop/web/1": "",
        "Deployment/shop/web/2": "shop/web-5d-a",
        "Deployment/shop/web/3": "",
    }


def test_what_is_in_use_may_run_elsewhere_and_what_is_not_may_not():
    there = cluster(NODES[0].holding(replica("web-5d-a")), NODES[1])
    assert kept_by(there, held(1, "n2", state="BOUND")) == {"Deployment/shop/web/1": "shop/web-5d-a"}
    assert kept_by(there, held(1, "n2")) == {"Deployment/shop/web/1": ""}


def test_those_that_wait_are_told_by_their_promise_where_to_go():
    there = cluster(*NODES, waiting("shop/web-5d-b", cpu="1", owner="ReplicaSet/web-5d"))
    assert kept_by(there, held(1, "n2"), held(2, "n1")) == {
        "Deployment/shop/web/1": "shop/web-5d-b",
        "Deployment/shop/web/2": "",
    }


@pytest.mark.parametrize(
    "other",
    [
        pod("shop/web", cpu="1"),
        pod("other/web-5d-a", cpu="1", owner="ReplicaSet/web-5d"),
        pod("shop/web-0", cpu="1", owner="StatefulSet/web"),
        pod("shop/web-5d-a", cpu="1", owner="ReplicaSet/web-5d", state="error"),
    ],
    ids=["its name alone", "another namespace", "another kind", "ended"],
)
def test_others_do_not_keep_the_promise_to_a_set(other):
    there = cluster(NODES[0].holding(other), NODES[1])
    assert kept_by(there, held(1, "n1")) == {"Deployment/shop/web/1": ""}


def test_the_workloads_of_an_owner_are_those_that_run():
    there = cluster(
        NODES[0].holding(replica("web-5d-a")),
        NODES[1],
        waiting("shop/web-5d-b", cpu="1", owner="ReplicaSet/web-5d"),
    )
    assert [each.key for each in workloads_of(there, "Deployment", "shop/web")] == ["shop/web-5d-a"]


def test_only_what_is_in_use_can_have_lost_its_owner():
    there = cluster(NODES[0].holding(replica("web-5d-a")), NODES[1])
    entries = [
        held(1, "n1", state="BOUND"),
        held(2, "n1", state="BOUND"),
        held(3, "n1"),
        entry("disk", "drive/n1/d", owner="shop/web-5d-a", state="BOUND"),
        entry("orphan", "drive/n1/e", owner="shop/gone", state="BOUND"),
        entry("cache/n1", "cache/n1", owner="node n1", state="BOUND"),
        entry("cache/n9", "cache/n9", owner="node n9", state="BOUND"),
    ]
    assert broken_promises(there, entries) == ("Deployment/shop/web/2", "cache/n9", "orphan")
