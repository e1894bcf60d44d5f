"""The scheduler as a process: it lets go of its Lease when it ends, and who takes over looks anew at pods."""

import re
import urllib.request

from kube_cluster import KubeCluster, free_port_numbers, pod

LEADS = '"leads"'


def lists(port: int) -> int:
    """Return how often a process has listed a kind of objects."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        found = re.search(r"^ullage_lists_total (\d+)", answer.read().decode(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_who_takes_over_lists_pods_anew_and_goes_on(kube_cluster: KubeCluster):
    kube_cluster.nodes(1)
    ports = free_port_numbers(2)
    first = kube_cluster.start("scheduler", "--port", str(ports[0]), ready=LEADS)
    second = kube_cluster.start("scheduler", "--port", str(ports[1]))
    before = lists(ports[1])
    assert lists(ports[0]) == before
    kube_cluster.plane.create(pod("default/before"))
    kube_cluster.wait_until_placed("default/before")
    assert not second.said(LEADS)
    first.stop()
    assert first.process.returncode == 0
    second.wait_until_it_says(LEADS)
    kube_cluster.plane.create(pod("default/after"))
    kube_cluster.wait_until_placed("default/after")
    assert lists(ports[1]) == before + 1


def test_only_pods_that_name_one_of_its_names_are_placed(kube_cluster: KubeCluster):
    kube_cluster.nodes(1)
    kube_cluster.plane.create(pod("default/theirs", "ullage"))
    kube_cluster.start("scheduler", "--scheduler-name", "one", "--scheduler-name", "two")
    kube_cluster.plane.create_many([pod("default/one", "one"), pod("default/two", "two")])
    placed = kube_cluster.wait_until_placed("default/one", "default/two")
    assert placed.keys() == {"default/one", "default/two"}
