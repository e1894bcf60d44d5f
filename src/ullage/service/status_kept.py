"""All numbers of a cluster, counted once for each state of it: they take a second on thousands of nodes.

They are kept for as long as the cluster is the same object, of the two that were asked about last. So this is
for those who hold clusters and are asked again and again.
"""

from typing import Final

from ullage.model.cluster import Snapshot
from ullage.service.status import Known, status_report

KEPT_MAX: Final = 2
_KEPT: Final[list[Known]] = []


def kept_report(snapshot: Snapshot) -> Known:
    """Return a cluster and its status, which is counted only where that was not done before."""
    for each in _KEPT:
        if each.snapshot is snapshot:
            return each
    found = Known(snapshot, status_report(snapshot, like=_KEPT[0] if _KEPT else None))
    _KEPT.insert(0, found)
    del _KEPT[KEPT_MAX:]
    return found


def is_kept(snapshot: Snapshot) -> bool:
    """Whether the status of a cluster is kept."""
    return any(each.snapshot is snapshot for each in _KEPT)
