"""GPUs of every node as devices with free thousandths: who fits, which device it gets, giving it back.

The hard thing: a share never spans devices. Half a GPU free here and half there start no workload that asks
for a whole one, so what is free is kept device by device, never as a sum. A share goes to the device with
the least room that is enough (best fit), whole ones are taken from the empty devices, the lowest index first.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Thousandths = npt.NDArray[np.int16]
Flags = npt.NDArray[np.bool_]

WHOLE_MILLI: Final = 1000
DEVICES_MAX: Final = 1024
"""Devices of one node; more than any machine has, and what keeps every sum of thousandths small."""


def devices_asked(amount_milli: int) -> tuple[int, int] | None:
    """Return (devices, thousandths of each) of an amount; None where no devices make it up.

    Up to 1000 is a share of one device; above, only whole devices: 1500 would have to span two.
    """
    if amount_milli <= 0:
        return (0, 0)
    if amount_milli <= WHOLE_MILLI:
        return (1, amount_milli)
    count, rest = divmod(amount_milli, WHOLE_MILLI)
    return None if rest else (count, WHOLE_MILLI)


class DeviceShares:
    """What is free on each device: `free_milli` [node, device], 0 where a node has no such device.

    `largest_milli` and `empty_count` are kept beside it for each node, so that asking who fits costs one
    comparison. All three are to be read only; they change by `place`, `take` and `release`.
    """

    __slots__ = ("_of_models", "device_count", "empty_count", "free_milli", "largest_milli", "models")

    def __init__(self, device_counts: Sequence[int], models: Sequence[str] = ()) -> None:
        if models and len(models) != len(device_counts):
            raise ValueError(f"{len(models)} models for {len(device_counts)} nodes: give one for each node")
        if any(not 0 <= count <= DEVICES_MAX for count in device_counts):
            raise ValueError(f"a node has between 0 and {DEVICES_MAX} devices")
        self.device_count = np.array(device_counts, np.int64)
        self.models = tuple(models) or ("",) * len(device_counts)
        width = max(device_counts, default=0)
        there = np.arange(width) < self.device_count[:, None]
        self.free_milli: Thousandths = np.where(there, WHOLE_MILLI, 0).astype(np.int16)
        self.largest_milli: Thousandths = np.where(self.device_count > 0, WHOLE_MILLI, 0).astype(np.int16)
        self.empty_count = self.device_count.copy()
        self._of_models: dict[frozenset[str], Flags] = {}

    def fits(self, count: int, milli: int) -> Flags:
        """Return which nodes have `count` devices with `milli` thousandths free each."""
        _check(count, milli)
        if count == 0:
            return np.ones(len(self.device_count), np.bool_)
        return self.largest_milli >= milli if milli < WHOLE_MILLI else self.empty_count >= count

    def of_models(self, models: frozenset[str]) -> Flags:
        """Return which nodes have devices of one of these models; of no models: all nodes."""
        found = self._of_models.get(models)
        if found is None:
            found = np.array([not models or model in models for model in self.models], np.bool_)
            self._of_models[models] = found
        return found

    def place(self, node: int, count: int, milli: int) -> tuple[int, ...]:
        """Take the devices that suit best and return their indices; the node must fit."""
        _check(count, milli)
        if count == 0:
            return ()
        free: list[int] = self.free_milli[node].tolist()
        if milli < WHOLE_MILLI:
            room = min((each for each in free if each >= milli), default=0)
            chosen: tuple[int, ...] = (free.index(room),) if room else ()
        else:
            empty = (device for device, each in enumerate(free) if each == WHOLE_MILLI)
            chosen = tuple(device for device, _ in zip(empty, range(count), strict=False))
        if len(chosen) < count:
            raise ValueError(f"node {node} has no room for {count} devices with {milli}/1000 each")
        for device in chosen:
            free[device] -= milli
        self._set(node, free)
        return chosen

    def take(self, node: int, devices: Sequence[int], milli: int) -> None:
        """Take `milli` of each of the named devices: what runs there already, or a release undone."""
        self._move(node, devices, -milli)

    def release(self, node: int, devices: Sequence[int], milli: int) -> None:
        """Give back `milli` of each of the devices: `place` undone."""
        self._move(node, devices, milli)

    def _move(self, node: int, devices: Sequence[int], milli: int) -> None:
        free: list[int] = self.free_milli[node].tolist()
        for device in devices:
            if not 0 <= device < self.device_count[node]:
                raise ValueError(f"node {node} has no device {device}")
            free[device] += milli
            if not 0 <= free[device] <= WHOLE_MILLI:
                raise ValueError(f"device {device} of node {node} would have {free[device]}/1000 free")
        self._set(node, free)

    def _set(self, node: int, free: list[int]) -> None:
        self.free_milli[node] = free
        self.largest_milli[node] = max(free, default=0)
        self.empty_count[node] = free.count(WHOLE_MILLI)


def _check(count: int, milli: int) -> None:
    """Refuse what no device can give: shares of several devices at once, or more than a whole one."""
    if count == 0 and milli == 0:
        return
    if count < 1 or not 0 < milli <= WHOLE_MILLI or (count > 1 and milli != WHOLE_MILLI):
        raise ValueError(f"{milli}/1000 of {count} devices: ask for a share of one, or for whole ones")
