"""Rules of a workload by itself: nodes too small for it, however empty they are, and the node it names."""

from collections.abc import Iterator, Mapping

import numpy as np

from ullage.engine.capacity.bounds import CPU
from ullage.engine.columns import Columns
from ullage.engine.placement.room import Room
from ullage.engine.placement.rules import SIZE_REASON, Fixed
from ullage.engine.placement.shapes import Shape


def own_rules(shape: Shape, columns: Columns, room: Room, row_of: Mapping[str, int]) -> Iterator[Fixed]:
    """Yield what keeps a workload off nodes whatever else is there."""
    wanted = ((name, amount) for name, amount in shape.requests.items() if amount > 0)
    for name, amount in wanted:
        column = columns.resource_index.get(name)
        if column is None:
            yield Fixed(np.zeros(len(row_of), np.bool_), f"{SIZE_REASON} ({name})")
            continue
        if room.is_small(amount, column):
            continue
        too_large = room.too_large(amount, column, capped=name == CPU)
        if too_large.any():
            yield Fixed(~too_large, f"{SIZE_REASON} ({name})")
    workload = shape.workload
    if workload.node and workload.state == "init":
        named = np.zeros(len(row_of), np.bool_)
        if workload.node in row_of:
            named[row_of[workload.node]] = True
        yield Fixed(named, "another node is named")
