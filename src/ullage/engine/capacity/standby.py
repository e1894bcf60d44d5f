"""Memory that nodes hold free for failover: what they need if the node fails that they stand by for most.

Only one node is expected to fail at a time, so a node holds the largest sum over the nodes that it stands by
for, not the sum of all. It is no promise and no reserve of the system: the instances that it is for count
where they run. For an instance that is still to come it is held already, so that nobody is offered what it
needs from its first minute.
"""

from typing import Final

from ullage.model.cluster import Workload

MEMORY: Final = "memory"


def kept_for(workload: Workload) -> int:
    """Return the memory that the standby of a workload holds for it."""
    instance = workload.instance
    if instance is None:
        return workload.requests.of(MEMORY)
    return instance.memory_bytes if instance.reserves_memory else 0


class Standbys:
    """What nodes hold for others, by name: for each the sums by the node that may fail."""

    def __init__(self) -> None:
        self._peers: dict[str, dict[str, int]] = {}

    def count(self, workload: Workload, sign: int = 1) -> None:
        """Count a workload that holds capacity at its standby; the sign -1 takes it away again."""
        if not workload.standby or workload.standby == workload.node:
            return
        sums = self._peers.setdefault(workload.standby, {})
        sums[workload.node] = sums.get(workload.node, 0) + sign * kept_for(workload)

    def held(self, node: str) -> int:
        """Return what a node holds free for failover."""
        return max((0, *self._peers.get(node, {}).values()))

    def held_for(self, node: str) -> str:
        """Return the node whose failure would need all that a node holds, the first of equals by name."""
        sums = self._peers.get(node, {})
        most = self.held(node)
        return min((peer for peer, amount in sums.items() if amount == most), default="") if most else ""

    def nodes(self) -> list[str]:
        """Return the nodes that someone stands by on."""
        return list(self._peers)

    def copy(self) -> "Standbys":
        """Return sums of their own."""
        other = Standbys()
        other._peers = {node: dict(sums) for node, sums in self._peers.items()}
        return other
