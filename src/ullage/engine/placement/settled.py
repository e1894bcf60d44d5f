"""A cluster as it will be once those have their places for whom others go: they run, and the others are gone.

What would help whoever found no place beside them is looked for here. While the others are still leaving, one
pod alone seems to have their room, so that nothing would be told to it. The hard thing is what is not known
yet: which disks and volumes those will have is decided when they are bound.
"""

from collections.abc import Sequence

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.scheduling import Nominated
from ullage.model.cluster import Workload


def settled(columns: Columns, nominated: Sequence[Nominated]) -> Columns:
    """Return the cluster, on its own arrays, in which those who are nominated have their places."""
    workloads = columns.snapshot.workloads
    run = [
        msgspec.structs.replace(found, node=each.node, state="ok")
        for each in nominated
        if (found := _waits(columns, each)) is not None
    ]
    if not run:
        return columns
    gone = {key for each in nominated for key in (*(one.workload for one in each.evicted), *each.waits_for)}
    rows = {row.key: row for row in run}
    dropped = [key for key in sorted(gone) if key in workloads and key not in rows]
    return columns.after(msgspec.structs.replace(columns.snapshot, workloads=workloads.changed(run, dropped)))


def _waits(columns: Columns, nominated: Nominated) -> Workload | None:
    found = columns.snapshot.workloads.get(nominated.workload)
    return found if found is not None and not found.node and nominated.node in columns.node_index else None
