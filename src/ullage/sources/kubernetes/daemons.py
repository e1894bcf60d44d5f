"""How many pods a DaemonSet has: one for each node that it may run on.

The hard thing is what its controller adds: pods of a DaemonSet tolerate the taints that say that a node is
cordoned, under pressure or not ready. A node that is offline is not counted all the same: nothing runs there.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from ullage.engine.placement.node_rules import closed_by
from ullage.model.cluster import Node, Workload
from ullage.model.constraints import Toleration

_TAINTS: Final = "node.kubernetes.io/"
TOLERATIONS: Final = (
    Toleration(f"{_TAINTS}not-ready", "Exists", effect="NoExecute"),
    Toleration(f"{_TAINTS}unreachable", "Exists", effect="NoExecute"),
    *(
        Toleration(f"{_TAINTS}{taint}", "Exists", effect="NoSchedule")
        for taint in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
    ),
)


def as_daemon(workload: Workload) -> Workload:
    """Return a pod of a DaemonSet with the tolerations that its controller adds."""
    constraints = workload.constraints
    added = tuple(each for each in TOLERATIONS if each not in constraints.tolerations)
    tolerating = msgspec.structs.replace(constraints, tolerations=(*constraints.tolerations, *added))
    return msgspec.structs.replace(workload, constraints=tolerating)


def daemon_pods(workload: Workload, nodes: Iterable[Node]) -> int:
    """Return on how many nodes a DaemonSet's pod runs; cordoned nodes count, offline ones do not."""
    return sum(
        not closed_by(msgspec.structs.replace(node, state="ready"), workload)
        for node in nodes
        if node.state != "offline"
    )
