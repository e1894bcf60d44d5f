"""Which devices each workload holds: what nodes offer, what runs on them, and how every move is taken back.

Shares (GPU_MILLI) are cut from devices that are listed under that name. A node that offers shares and lists
devices under one other name offers the same devices twice: whole by that name, and in shares. Where it lists
none, each thousand of its capacity is a device.

The hard thing: no source says on which device a running share lies. So the running workloads of a node are
put on its devices by best fit, the largest first, then by name; those that do not fit so (a device is
over-committed, or a request spans several) take what is left, the emptiest devices first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.placement.device_shares import (
    DEVICES_MAX,
    WHOLE_MILLI,
    DeviceShares,
    Flags,
    devices_asked,
)
from ullage.model.cluster import Node, Workload
from ullage.model.resources import GPU_MILLI, Resources

Pieces = tuple[tuple[tuple[int, ...], int], ...]
"""What one workload holds: devices, and the thousandths of each of them."""


class Offer(NamedTuple):
    """How many devices a node has, and under which names; the last may be a part of one."""

    devices: int
    resources: tuple[str, ...]
    last_milli: int = WHOLE_MILLI


NO_OFFER: Final = Offer(0, ())


class Move(NamedTuple):
    """Something taken from the devices of a node, or given back, and how long the log was then.

    No pieces means that there was nobody to give anything back.
    """

    log_length: int
    row: int
    amount_milli: int
    pieces: Pieces | None
    is_given_back: bool


def offer_of(node: Node, *, only_shared: bool) -> Offer:
    """Return the devices of a node from which shares are cut, else those of the first name they have.

    With `only_shared`, a node that offers no shares offers nothing.
    """
    offered_milli = node.capacity.of(GPU_MILLI)
    if not offered_milli and (only_shared or not node.devices):
        return NO_OFFER
    names = [device.resource for device in node.devices]
    if GPU_MILLI in names:
        return Offer(min(names.count(GPU_MILLI), DEVICES_MAX), (GPU_MILLI,))
    distinct = sorted(set(names))
    if offered_milli and len(distinct) != 1:
        count = -(-offered_milli // WHOLE_MILLI)
        last = offered_milli - (count - 1) * WHOLE_MILLI if count <= DEVICES_MAX else WHOLE_MILLI
        return Offer(min(count, DEVICES_MAX), (GPU_MILLI,), last)
    count = min(names.count(distinct[0]), DEVICES_MAX)
    return Offer(count, (GPU_MILLI, distinct[0]) if offered_milli else (distinct[0],))


def offered_by(offers: Sequence[Offer]) -> dict[str, Flags]:
    """Return for each name which of the rows give devices under it, in order of names."""
    names = sorted({name for offer in set(offers) for name in offer.resources})
    return {name: np.array([name in offer.resources for offer in offers], np.bool_) for name in names}


def amounts_milli(requests: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    """Return what is asked for under each of these names of devices, in thousandths."""
    found = {name: requests.get(name, 0) for name in names}
    return {
        name: amount if name == GPU_MILLI else amount * WHOLE_MILLI
        for name, amount in found.items()
        if amount > 0
    }


class HeldDevices:
    """The devices of nodes, and what each workload has of them.

    Everything that is taken or given back can be undone, the last first.
    """

    def __init__(self, offers: Sequence[Offer], models: Sequence[str] = ()) -> None:
        self.shares = DeviceShares([each.devices for each in offers], models)
        self.offered = offered_by(offers)
        for row, offer in enumerate(offers):
            if offer.last_milli < WHOLE_MILLI:
                self.shares.take(row, [offer.devices - 1], WHOLE_MILLI - offer.last_milli)
        self._held: dict[tuple[int, int], list[Pieces]] = {}
        self._moves: list[Move] = []

    def put_running(
        self,
        workloads: Iterable[Workload],
        row_of: Mapping[str, int],
        taken: Callable[[Workload], Resources],
    ) -> None:
        """Put what runs on the devices of its node; none of this is ever undone."""
        found: list[tuple[int, str, int, int]] = []
        for workload in workloads:
            if not workload.holds_capacity or self.offered.keys().isdisjoint(workload.requests):
                continue
            row = row_of[workload.node]
            asked = amounts_milli(taken(workload), self.offered)
            found += [
                (-amount, workload.key, row, amount)
                for name, amount in asked.items()
                if self.offered[name][row]
            ]
        for _, _, row, amount in sorted(found):
            self._held.setdefault((row, amount), []).append(self._put(row, amount))

    def take(self, row: int, amount_milli: int, log_length: int = 0) -> None:
        """Take so much of the devices of a node for one workload, by best fit."""
        pieces = self._put(row, amount_milli)
        self._held.setdefault((row, amount_milli), []).append(pieces)
        self._moves.append(Move(log_length, row, amount_milli, pieces, is_given_back=False))

    def give_back(self, row: int, amount_milli: int, log_length: int = 0) -> None:
        """Give back what a workload of this size has on a node: the last one that came."""
        held = self._held.get((row, amount_milli))
        pieces = held.pop() if held else None
        self._release(row, pieces or ())
        self._moves.append(Move(log_length, row, amount_milli, pieces, is_given_back=True))

    def is_undone(self, log_length: int) -> bool:
        """Whether the last move is one that a log of this length no longer has."""
        return bool(self._moves) and self._moves[-1].log_length > log_length

    def undo(self) -> None:
        """Take back the last move: the same devices as before."""
        _, row, amount_milli, pieces, is_given_back = self._moves.pop()
        held = self._held.setdefault((row, amount_milli), [])
        if not is_given_back:
            held.pop()
            self._release(row, pieces or ())
        elif pieces is not None:
            held.append(pieces)
            for devices, milli in pieces:
                self.shares.take(row, devices, milli)

    def _put(self, row: int, amount_milli: int) -> Pieces:
        asked = devices_asked(amount_milli)
        shares = self.shares
        if asked is not None:
            count, milli = asked
            room = shares.largest_milli[row] >= milli if count == 1 else shares.empty_count[row] >= count
            if room:
                return ((shares.place(row, count, milli), milli),)
        pieces: list[tuple[tuple[int, ...], int]] = []
        left = amount_milli
        free: list[int] = shares.free_milli[row].tolist()
        for device in sorted(range(len(free)), key=lambda each: (-free[each], each)):
            milli = min(left, free[device])
            if not milli:
                break
            shares.take(row, [device], milli)
            pieces.append(((device,), milli))
            left -= milli
        return tuple(pieces)

    def _release(self, row: int, pieces: Pieces) -> None:
        for devices, milli in pieces:
            self.shares.release(row, devices, milli)
