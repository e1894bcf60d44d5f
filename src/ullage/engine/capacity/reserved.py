"""What the ledger holds of nodes for workloads that do not run yet: a part of what is promised there.

It is kept beside the sums of all promises only to be told: who is refused because of it should know.
"""

from ullage.model.cluster import Workload
from ullage.model.resources import NOTHING, Resources


class Reserved:
    """What is held of each node, by name; only those are in it of which something is."""

    def __init__(self) -> None:
        self._held: dict[str, Resources] = {}

    def count(self, workload: Workload, taken: Resources, sign: int = 1) -> None:
        """Count what a workload takes that holds capacity, if it is promised; -1 takes it away again."""
        if workload.promised:
            held = (self.of(workload.node) + taken * sign).without_zeros()
            if held:
                self._held[workload.node] = held
            else:
                del self._held[workload.node]

    def of(self, node: str) -> Resources:
        """Return what is held of a node."""
        return self._held.get(node, NOTHING)

    def nodes(self) -> list[str]:
        """Return the nodes of which something is held."""
        return list(self._held)

    def copy(self) -> "Reserved":
        """Return sums of their own."""
        other = Reserved()
        other._held = dict(self._held)
        return other
