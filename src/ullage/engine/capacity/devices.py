"""GPUs by model: how many are free, and how many workloads of a size still start.

Free GPUs on different nodes cannot serve one workload: three nodes with two free GPUs each start no
workload of four. Hence the counts by size beside the plain number. A node with several models under one
resource name counts as a model of its own: which of them is free nobody knows.

Where shares of devices are handed out, a device of which a share is taken is not free: half a GPU here and
half there start no workload that asks for one. On which device a running share lies is assumed as everywhere
(placement/held_devices.py).
"""

from typing import Final, NamedTuple

from ullage.engine.capacity.summary import takes_workloads
from ullage.engine.columns import Columns
from ullage.engine.placement.device_shares import WHOLE_MILLI
from ullage.engine.placement.held_devices import HeldDevices, offer_of
from ullage.model.resources import GPU_MILLI

SIZES: Final = (8, 4, 2, 1)
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
    held = _held_devices(columns)
    found: dict[tuple[str, str], DeviceSummary] = {}
    for row, node in enumerate(columns.nodes):
        for resource in dict.fromkeys(device.resource for device in node.devices):
            models = [device.model or UNKNOWN_MODEL for device in node.devices if device.resource == resource]
            model = " + ".join(sorted(set(models)))
            column = columns.resource_index.get(resource)
            open_here = column is not None and takes_workloads(node)
            left = int(free[row, column]) if open_here else 0
            kept = int(columns.strict[row, 0]) if open_here else 0
            whole = WHOLE_MILLI if resource == GPU_MILLI else 1
            room, usable = left // whole, max(0, left - kept) // whole
            if resource in held.offered and held.offered[resource][row]:
                untouched = int(held.shares.empty_count[row])
                room, usable = min(room, untouched), min(usable, untouched)
            empty = DeviceSummary(model, resource, 0, 0, 0, dict.fromkeys(SIZES, 0))
            before = found.get((model, resource), empty)
            found[model, resource] = before._replace(
                nodes=before.nodes + 1,
                devices=before.devices + len(models),
                free=before.free + room,
                starts={size: count + usable // size for size, count in before.starts.items()},
            )
    return [found[key] for key in sorted(found)]


def _held_devices(columns: Columns) -> HeldDevices:
    """Return the devices of which shares are handed out, with what runs on them."""
    held = HeldDevices([offer_of(node, only_shared=True) for node in columns.nodes])
    if held.offered:
        held.put_running(columns.snapshot.workloads, columns.node_index, columns.taken)
    return held
