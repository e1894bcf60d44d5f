"""On which nodes a DaemonSet runs."""

import pytest

from ullage.model.cluster import Node, Taint, Workload
from ullage.model.constraints import Constraints, Toleration
from ullage.sources.kubernetes.daemons import TOLERATIONS, as_daemon, daemon_pods

PRESSURE = Taint("node.kubernetes.io/memory-pressure")
CORDON = Taint("node.kubernetes.io/unschedulable")

# Each row: a node, and whether it has a pod.
NODES = {
    "ready": (Node("n"), 1),
    "cordoned": (Node("n", state="cordoned", taints=(CORDON,)), 1),
    "under pressure": (Node("n", taints=(PRESSURE,)), 1),
    "not ready": (Node("n", taints=(Taint("node.kubernetes.io/not-ready", effect="NoExecute"),)), 1),
    "unreachable": (Node("n", taints=(Taint("node.kubernetes.io/unreachable", effect="NoExecute"),)), 1),
    "offline": (Node("n", state="offline"), 0),
    "with a taint of its own": (Node("n", taints=(Taint("gpu"),)), 0),
    "with a taint that only warns": (Node("n", taints=(Taint("gpu", effect="PreferNoSchedule"),)), 1),
}


@pytest.mark.parametrize("case", NODES)
def test_a_node_has_a_pod_or_not(case):
    node, expected = NODES[case]
    assert daemon_pods(as_daemon(Workload("w")), [node]) == expected


def test_tolerations_are_added_once_behind_its_own():
    own = Toleration("gpu", "Exists")
    workload = Workload("w", constraints=Constraints(tolerations=(own, TOLERATIONS[0])))
    found = as_daemon(workload).constraints.tolerations
    assert found == (own, *TOLERATIONS)
    assert as_daemon(as_daemon(workload)) == as_daemon(workload)
