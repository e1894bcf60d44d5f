"""Volumes on a real control plane: reserved on the one chosen node, made there, and nothing left behind.

csi-baremetal is played by a small driver; what binds claims to volumes is the real kube-controller-manager.
"""

import signal
from collections.abc import Iterator

import pytest

from baremetal_driver import (
    RESERVATIONS,
    SELECTED,
    BaremetalDriver,
    claim,
    double_bookings,
    drives,
    kinds,
    mounted,
    storage_classes,
)
from kube_cluster import KubeCluster, pod, stays, until
from plane.settings import CONTROLLERS, KWOK

HAND_MADE = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "by-hand"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}
HIGH = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
}


@pytest.fixture
def kube_cluster(plane_program) -> Iterator[KubeCluster]:
    with KubeCluster(plane_program, (KWOK, CONTROLLERS)) as running:
        running.plane.create_many([*kinds(), *storage_classes(), HAND_MADE])
        running.namespaces("web")
        yield running


def reservations(cluster: KubeCluster) -> dict[str, dict]:
    return {each["metadata"]["name"]: each["spec"] for each in cluster.plane.items(RESERVATIONS)}


def selected(cluster: KubeCluster) -> dict[str, str]:
    """Return the nodes that claims name which have no volume."""
    return {
        each["metadata"]["name"]: each["metadata"]["annotations"][SELECTED]
        for each in cluster.plane.items("/api/v1/persistentvolumeclaims")
        if SELECTED in each["metadata"].get("annotations", {}) and not each["spec"].get("volumeName")
    }


def with_claims(cluster: KubeCluster, name: str, **claims: tuple[str, int]) -> str:
    """Create a pod and claims of its own, by class and gibibytes; return its key."""
    made = [claim(f"web/{name}-{each}", *asked) for each, asked in claims.items()]
    spec = mounted(*(f"{name}-{each}" for each in claims))
    cluster.plane.create_many([*made, pod(f"web/{name}", cpu="50m", spec=spec)])
    return f"web/{name}"


def settled(cluster: KubeCluster) -> None:
    """Return once nothing is held any more."""
    until(lambda: not reservations(cluster), "no reservation is left")
    assert double_bookings(cluster.plane) == []


def test_pods_that_come_at_once_share_no_byte_and_open_the_fewest_drives(kube_cluster):
    for name in kube_cluster.nodes(6):
        # wherever the others go, six HDDs stay free, hence on two nodes, and an SSD on one of these
        kube_cluster.plane.create_many(drives(name, HDD=[100] * 4, SSD=[100] * 6))
    kube_cluster.start("scheduler")
    shares = [(f"share{index}", ("hdd-group", 20)) for index in range(40)]
    whole = [(f"fast{index}", ("ssd", 90)) for index in range(10)]
    whole += [(f"slow{index}", ("hdd", 50)) for index in range(8)]
    asked = [each for pair in zip(shares, [*whole, *[None] * 22], strict=True) for each in pair if each]
    claims = [claim(f"web/{name}", *wanted) for name, wanted in asked]
    claims += [claim("web/both-0", "ssd", 10), claim("web/both-1", "hdd", 10)]
    pods = [pod(f"web/{name}", cpu="50m", spec=mounted(name)) for name, _ in asked]
    pods.append(pod("web/both", cpu="50m", spec=mounted("both-0", "both-1")))
    with BaremetalDriver(kube_cluster.plane) as driver:
        kube_cluster.plane.create_many(claims)
        kube_cluster.plane.create_many(pods)
        kube_cluster.wait_until_placed(*(f"web/{each['metadata']['name']}" for each in pods), seconds=180)
        settled(kube_cluster)
    assert driver.faults == []
    groups = kube_cluster.plane.items("/apis/csi-baremetal.dell.com/v1/logicalvolumegroups")
    assert len(groups) == 10, "four volumes of 20 GiB on each drive of 100"


def test_what_is_reserved_is_what_the_driver_looks_for_and_the_next_scheduler_goes_on_from_it(kube_cluster):
    kube_cluster.nodes(2)
    kube_cluster.plane.create_many([*drives("n0", HDD=[100]), *drives("n1", SSD=[50])])
    scheduler = kube_cluster.start("scheduler")
    key = with_claims(kube_cluster, "p", a=("hdd-group", 3), b=("hdd-group", 5))
    until(lambda: len(selected(kube_cluster)) == 2, "both claims name the node")
    assert selected(kube_cluster) == {"p-a": "n0", "p-b": "n0"}
    assert reservations(kube_cluster) == {
        "web-p": {
            "Namespace": "web",
            "Status": "RESERVED",
            "NodeRequests": {"Requested": ["n0"], "Reserved": ["n0"]},
            "ReservationRequests": [
                {
                    "CapacityRequest": {"Name": f"p-{name}", "StorageClass": "HDDLVG", "Size": size << 30},
                    "Reservations": ["ac-n0-hdd-0"],
                }
                for name, size in (("a", 3), ("b", 5))
            ],
        }
    }
    scheduler.signal(signal.SIGKILL)
    with BaremetalDriver(kube_cluster.plane) as driver:
        kube_cluster.start("scheduler", "--no-leader-elect")
        kube_cluster.wait_until_placed(key)
        settled(kube_cluster)
    assert driver.faults == []


@pytest.mark.faults
def test_a_reservation_that_is_deleted_by_hand_is_made_again_and_the_pod_is_told_what_it_waits_for(
    kube_cluster,
):
    kube_cluster.nodes(1)
    kube_cluster.plane.create_many(drives("n0", HDD=[100]))
    kube_cluster.start("scheduler")
    key = with_claims(kube_cluster, "p", a=("hdd", 50))
    until(lambda: reservations(kube_cluster), "the disk is reserved")
    kube_cluster.plane.delete(f"{RESERVATIONS}/web-p")
    until(lambda: "waits for its volumes (claims p-a)" in kube_cluster.why(key), "the pod is told")
    with BaremetalDriver(kube_cluster.plane) as driver:
        kube_cluster.wait_until_placed(key, seconds=90)
        settled(kube_cluster)
    assert driver.faults == []


def gang_member(key: str, size: int, claimed: str = "", **spec: object) -> dict:
    spec |= mounted(claimed) if claimed else {}
    made = pod(key, labels={"kueue.x-k8s.io/pod-group-name": "g"}, cpu="800m", spec=spec)
    made["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": str(size)}
    return made


def test_nobody_of_a_gang_runs_while_a_volume_of_another_cannot_be_made(kube_cluster):
    for name in kube_cluster.nodes(2, cpu="1"):
        kube_cluster.plane.create_many(drives(name, HDD=[100]))
    kube_cluster.start("scheduler")
    keys = [f"web/g{index}" for index in range(2)]
    with BaremetalDriver(kube_cluster.plane) as driver:
        driver.refused.add("n1")
        kube_cluster.plane.create_many([claim(f"web/c{index}", "hdd", 50) for index in range(2)])
        kube_cluster.plane.create_many([gang_member(key, 2, f"c{index}") for index, key in enumerate(keys)])
        until(lambda: all(map(kube_cluster.why, keys)), "both are told why they are not bound")
        assert not kube_cluster.placed()
        told = sorted(map(kube_cluster.why, keys))
        assert any("others of its gang cannot be bound: web/g" in each for each in told), told
        driver.refused.clear()
        kube_cluster.wait_until_placed(*keys)
        settled(kube_cluster)
    assert driver.faults == []


@pytest.fixture
def gang_at_its_gate(kube_cluster) -> list[str]:
    """A gang of three, each on a node of its own: g0 waits for its volume, and the others for it."""
    for name in kube_cluster.nodes(3, cpu="1"):
        kube_cluster.plane.create_many(drives(name, HDD=[100]))
    kube_cluster.plane.create(HIGH)
    kube_cluster.start("scheduler")
    kube_cluster.plane.create(claim("web/c", "hdd", 50))
    kube_cluster.plane.create_many(
        [gang_member("web/g0", 3, "c", **on("n0"))]
        + [gang_member(f"web/g{index}", 3, **on(f"n{index}")) for index in (1, 2)]
    )
    until(lambda: selected(kube_cluster), "the claim names a node")
    return ["web/g0", "web/g1", "web/g2"]


def on(name: str) -> dict:
    return {"nodeSelector": {"kubernetes.io/hostname": name}}


def test_one_that_waits_for_its_gang_makes_way_for_a_more_important_pod_at_once(
    kube_cluster, gang_at_its_gate
):
    before = kube_cluster.events("web")  # of members that were created a moment before the others, too
    kube_cluster.plane.create(pod("web/high", cpu="800m", spec={"priorityClassName": "high", **on("n1")}))
    kube_cluster.wait_until_placed("web/high", seconds=10)
    assert kube_cluster.placed() == {"web/high": "n1"}
    until(lambda: not reservations(kube_cluster), "nothing is held for a gang that cannot run")
    until(lambda: all("of its gang" in kube_cluster.why(key) for key in gang_at_its_gate), "all are told why")
    notes = [each[2] for each in kube_cluster.events("web") if each not in before]
    assert not any("waits for its other members" in note for note in notes), "it was judged as a whole"
    kube_cluster.plane.delete("/api/v1/namespaces/web/pods/high")
    with BaremetalDriver(kube_cluster.plane) as driver:
        kube_cluster.wait_until_placed(*gang_at_its_gate)
        settled(kube_cluster)
    assert driver.faults == []


def test_nobody_of_a_gang_is_bound_after_one_that_waited_for_it_was_deleted(kube_cluster, gang_at_its_gate):
    kube_cluster.plane.delete("/api/v1/namespaces/web/pods/g1")
    with BaremetalDriver(kube_cluster.plane) as driver:
        told = "its gang g waits for its other members: 2 of 3 are there"
        until(lambda: all(told in kube_cluster.why(f"web/g{index}") for index in (0, 2)), "both are told")
        stays(lambda: not kube_cluster.placed(), "nobody is bound", 3)
        kube_cluster.plane.create(gang_member("web/g1", 3, **on("n1")))
        kube_cluster.wait_until_placed(*gang_at_its_gate)
        settled(kube_cluster)
    assert driver.faults == []


def test_nobody_of_a_gang_is_bound_to_a_node_that_is_gone(kube_cluster, gang_at_its_gate):
    kube_cluster.plane.delete("/api/v1/nodes/n1")
    with BaremetalDriver(kube_cluster.plane) as driver:
        until(lambda: all(map(kube_cluster.why, gang_at_its_gate)), "all are told why they have no place")
        stays(lambda: not kube_cluster.placed(), "nobody is bound", 3)
    assert driver.faults == []


def test_pods_without_volumes_pass_those_that_wait_for_theirs(kube_cluster):
    kube_cluster.nodes(1)
    kube_cluster.plane.create_many(drives("n0", HDD=[100] * 2))
    kube_cluster.start("scheduler")
    waiting = [with_claims(kube_cluster, f"w{index}", a=("hdd-group", 1)) for index in range(60)]
    until(lambda: len(selected(kube_cluster)) == len(waiting), "all claims name the node")
    kube_cluster.plane.create(pod("web/plain", cpu="50m"))
    kube_cluster.wait_until_placed("web/plain")
    assert set(kube_cluster.placed()) == {"web/plain"}
    with BaremetalDriver(kube_cluster.plane):
        kube_cluster.wait_until_placed(*waiting)
        settled(kube_cluster)


def test_whatever_ends_while_volumes_are_made_gives_back_what_was_held(kube_cluster):
    kube_cluster.nodes(2)
    for name in ("n0", "n1"):
        kube_cluster.plane.create_many(drives(name, HDD=[100]))
    kube_cluster.start("scheduler")
    kube_cluster.start("operator")
    first, second = (with_claims(kube_cluster, name, a=("hdd", 60)) for name in ("first", "second"))
    until(lambda: len(selected(kube_cluster)) == 2, "both claims name a node")
    nodes = selected(kube_cluster)
    assert set(nodes.values()) == {"n0", "n1"}
    kube_cluster.plane.delete(f"/api/v1/namespaces/web/pods/{first.partition('/')[2]}")
    until(lambda: set(reservations(kube_cluster)) == {"web-second"}, "who is deleted holds nothing")
    until(lambda: "first-a" not in selected(kube_cluster), "its claim names no node")
    kube_cluster.plane.delete(f"/api/v1/nodes/{nodes['second-a']}")
    until(
        lambda: selected(kube_cluster) == {"second-a": nodes["first-a"]},
        "who loses its node has the other one",
    )
    with BaremetalDriver(kube_cluster.plane) as driver:
        kube_cluster.wait_until_placed(second)
        settled(kube_cluster)
    assert driver.faults == []


def test_a_node_where_no_volume_can_be_made_is_given_back_and_tried_again(kube_cluster):
    kube_cluster.nodes(1)
    kube_cluster.plane.create_many(drives("n0", HDD=[100]))
    kube_cluster.start("scheduler")
    with BaremetalDriver(kube_cluster.plane) as driver:
        driver.refused.add("n0")
        key = with_claims(kube_cluster, "p", a=("hdd-group", 60))
        until(
            lambda: any("no volume can be made" in note for _, _, note in kube_cluster.events("web")),
            "an event says that the driver has refused",
        )
        driver.refused.clear()
        kube_cluster.wait_until_placed(key)
        settled(kube_cluster)


def test_pods_whose_reservations_are_called_the_same_run_one_after_the_other(kube_cluster):
    kube_cluster.namespaces("a", "a-b")
    kube_cluster.nodes(2)
    for name in ("n0", "n1"):
        kube_cluster.plane.create_many(drives(name, HDD=[100]))
    scheduler = kube_cluster.start("scheduler")
    keys = {"a/b-c", "a-b/c"}
    kube_cluster.plane.create_many([claim("a/data", "hdd", 50), claim("a-b/data", "hdd", 50)])
    scheduler.signal(signal.SIGSTOP)
    kube_cluster.plane.create_many([pod(key, cpu="50m", spec=mounted("data")) for key in sorted(keys)])
    scheduler.signal(signal.SIGCONT)
    until(lambda: any(kube_cluster.without_node(*keys).values()), "one of them is told what it waits for")
    (second,) = (key for key, why in kube_cluster.without_node(*keys).items() if why)
    (first,) = keys - {second}
    assert f"reservation a-b-c is that of pod {first}" in kube_cluster.why(second)
    until(
        lambda: any(
            reason == "FailedBinding" for reason, _, _ in kube_cluster.events(second.partition("/")[0])
        ),
        "an event says so",
    )
    assert {each["Namespace"] for each in reservations(kube_cluster).values()} == {first.partition("/")[0]}
    with BaremetalDriver(kube_cluster.plane) as driver:
        kube_cluster.wait_until_placed(*keys)
        settled(kube_cluster)
    assert driver.faults == []


def test_claims_that_come_with_their_pod_are_waited_for(kube_cluster):
    kube_cluster.nodes(1)
    kube_cluster.plane.create_many(drives("n0", HDD=[100]))
    kube_cluster.start("scheduler")
    template = {"spec": claim("web/x", "hdd-group", 7)["spec"]}
    volume = {"name": "own", "ephemeral": {"volumeClaimTemplate": template}}
    with BaremetalDriver(kube_cluster.plane) as driver:
        kube_cluster.plane.create(pod("web/p", cpu="50m", spec={"volumes": [volume]}))
        kube_cluster.wait_until_placed("web/p")
        settled(kube_cluster)
    assert driver.faults == []


def test_a_claim_that_only_has_the_name_of_a_pod_s_own_is_not_taken(kube_cluster):
    kube_cluster.nodes(1)
    kube_cluster.plane.create_many([hand_made("disk", "n0"), claim("web/p-own", "by-hand", 5)])
    kube_cluster.start("scheduler")
    volume = {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": claim("x", "by-hand", 5)["spec"]}}}
    kube_cluster.plane.create(pod("web/p", cpu="50m", spec={"volumes": [volume]}))
    kube_cluster.wait_until_told("web/p", "claim p-own was not created for it")
    kube_cluster.plane.delete("/api/v1/namespaces/web/persistentvolumeclaims/p-own")
    kube_cluster.wait_until_placed("web/p")


def test_each_claim_has_the_free_volume_of_its_node(kube_cluster):
    names = kube_cluster.nodes(3)
    kube_cluster.plane.create_many([hand_made(f"disk-{name}", name) for name in names])
    kube_cluster.start("scheduler")
    keys = [with_claims(kube_cluster, f"p{index}", a=("by-hand", 5)) for index in range(3)]
    placed = kube_cluster.wait_until_placed(*keys)
    claims = kube_cluster.plane.items("/api/v1/persistentvolumeclaims")
    has = {each["metadata"]["name"]: each["spec"]["volumeName"] for each in claims}
    assert has == {f"p{index}-a": f"disk-{placed[key]}" for index, key in enumerate(keys)}
    assert selected(kube_cluster) == {}
    fourth = with_claims(kube_cluster, "fourth", a=("by-hand", 5))
    kube_cluster.wait_until_told(fourth, "no volume for claim fourth-a")


def test_reservations_that_nobody_needs_are_deleted(kube_cluster):
    kube_cluster.nodes(1)
    kube_cluster.plane.create_many(drives("n0", HDD=[100]))
    for name in ("web-nobody", "web-p"):
        request = {"CapacityRequest": {"Name": "p-a", "StorageClass": "HDDLVG", "Size": 1 << 30}}
        spec = {"Namespace": "web", "Status": "RESERVED"}
        kube_cluster.plane.create(
            {
                "apiVersion": "csi-baremetal.dell.com/v1",
                "kind": "AvailableCapacityReservation",
                "metadata": {"name": name},
                "spec": {**spec, "ReservationRequests": [{**request, "Reservations": ["ac-n0-hdd-0"]}]},
            }
        )
    kube_cluster.plane.create(claim("web/p-a", "hdd-group", 1))
    kube_cluster.plane.create(pod("web/p", "nobody", cpu="50m", spec=mounted("p-a")))
    kube_cluster.start("operator")
    until(lambda: set(reservations(kube_cluster)) == {"web-p"}, "a reservation for no pod is deleted")
    kube_cluster.start("scheduler", "--scheduler-name", "nobody")
    with BaremetalDriver(kube_cluster.plane):
        kube_cluster.wait_until_placed("web/p")
        settled(kube_cluster)


def hand_made(name: str, node: str) -> dict:
    host = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "10Gi"},
            "storageClassName": "by-hand",
            "local": {"path": "/mnt/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}},
        },
    }
