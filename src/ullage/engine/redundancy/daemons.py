"""Workloads that belong to their node: daemons of it, and parts of the node itself."""

from typing import Final

from ullage.model.cluster import Workload

DAEMONS: Final = ("DaemonSet/", "Node/")


def is_daemon(workload: Workload) -> bool:
    """Whether a workload belongs to its node and is started on no other."""
    return workload.owner.startswith(DAEMONS)
