"""GPUs by model: how many are free, and how many workloads of a size still start.

Free GPUs on different nodes cannot serve one workload: three nodes with two free GPUs each start no
workload of four. Hence the counts by size beside the plain number. A node with several models under one
resource name counts as a model of its own: which of them is free nobody knows.
"""

from typing import Final, NamedTuple

from ullage.engine.capacity.summary import takes_workloads
from ullage.engine.columns import Columns
from ullage.model.resources import GPU_MILLI

SIZES: Final = (8, 4, 2, 1)
SHARES_OF_DEVICE: Final = 1000
"""Thousandths that make one device where shares are handed out; only whole ones are counted here."""
UNKNOWN_MODEL: Final = "unknown model"


class DeviceSummary(NamedTuple):
    """Devices of one model over all nodes: in all, free, and how many workloads of each size start."""

    model: str
    resource: str
    nodes: int
    devices: int
    free: int
    starts: dict[int, int]


def summarise_devices(columns: Columns) -> list[DeviceSummary]:
    """Return every model of device with its free room, by name."""
    free = columns.free
    found: dict[tuple[str, str], DeviceSummary] = {}
    for row, node in enumerate(columns.nodes):
        for resource in dict.fromkeys(device.resource for device in node.devices):
            models = [device.model or UNKNOWN_MODEL for device in node.devices if device.resource == resource]
            model = " + ".join(sorted(set(models)))
            column = columns.resource_index.get(resource)
            open_here = column is not None and takes_workloads(node)
            share = SHARES_OF_DEVICE if resource == GPU_MILLI else 1
            room = int(free[row, column]) // share if open_here else 0
            usable = max(0, room - int(columns.strict[row, 0]))
            empty = DeviceSummary(model, resource, 0, 0, 0, dict.fromkeys(SIZES, 0))
            before = found.get((model, resource), empty)
            found[model, resource] = before._replace(
                nodes=before.nodes + 1,
                devices=before.devices + len(models),
                free=before.free + room,
                starts={size: count + usable // size for size, count in before.starts.items()},
            )
    return [found[key] for key in sorted(found)]
