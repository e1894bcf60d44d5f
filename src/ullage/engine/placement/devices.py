"""Devices in a trial: the rules of workloads that ask for them, who holds which, and where `pack` puts them.

A share lies on one device, and whole ones are empty before they are taken: hence a rule of its own beside the
sums of room.py. Names under which only whole devices are asked for need no such rule, except on nodes that
cut shares from the same devices.

The hard thing is `pack`: the node is chosen by what the placement takes from everyone who usually asks for
devices (fragmentation.py). Who that is (device_mix.py) is settled when the first shape with devices is seen.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.placement import fragmentation
from ullage.engine.placement.device_mix import DeviceMix
from ullage.engine.placement.device_shares import WHOLE_MILLI, devices_asked
from ullage.engine.placement.held_devices import HeldDevices, Offer, amounts_milli, offer_of, offered_by
from ullage.engine.placement.node_columns import Flags, NodeColumns
from ullage.engine.placement.preference_loads import Load
from ullage.engine.placement.room import STEPS, Room, RowArray
from ullage.engine.placement.rules import Fixed, Rows, Slotted
from ullage.engine.placement.shapes import Integers, Shape
from ullage.model.cluster import Batch
from ullage.model.resources import GPU_MILLI

if TYPE_CHECKING:
    from ullage.engine.trial import Placement

ASIDE: Final = 2 * STEPS
"""What a node without devices has ahead of any node with some, for workloads that ask for none."""


class DeviceRule(Slotted):
    """A node must have devices with enough left; rows that do not offer them so are judged by their sums."""

    local = True
    once = False

    def __init__(self, held: HeldDevices, judged: Flags, count: int, milli: int) -> None:
        self._shares = held.shares
        self._unjudged = ~judged
        self._count, self._milli = count, milli
        if milli < WHOLE_MILLI:
            self.reason = f"no device with {milli} thousandths free"
        else:
            self.reason = "no device free" if count == 1 else f"fewer than {count} devices free"

    def allows(self, rows: Rows) -> Flags:
        """Return the nodes with such devices."""
        if self._milli < WHOLE_MILLI:
            enough: Flags = self._shares.largest_milli[rows] >= self._milli
        else:
            enough = self._shares.empty_count[rows] >= self._count
        return enough | self._unjudged[rows]

    def slots(self, rows: RowArray, most: Integers) -> Integers:
        """Return how many such workloads the devices of nodes take one after the other, at most so many."""
        if self._milli < WHOLE_MILLI:
            slots: Integers = (self._shares.free_milli[rows] // self._milli).sum(axis=1, dtype=np.int64)
        else:
            slots = self._shares.empty_count[rows] // self._count
        return np.where(self._unjudged[rows], most, np.minimum(slots, most))


class DeviceClosed(Fixed):
    """Nodes whose devices never give what is asked for, however empty they are."""


class DeviceHolder:
    """What workloads of a shape hold of devices."""

    def __init__(self, devices: "Devices", shape: Shape, offered: Flags, amount_milli: int) -> None:
        self._devices = devices
        self._shape = shape
        self._offered = offered
        self._amount_milli = amount_milli

    def add(self, row: int, count: int) -> None:
        """Take devices for so many more workloads on a node, or give them back."""
        if self._offered[row]:
            self._devices.move(self._shape, row, self._amount_milli, count)


class Devices:
    """The devices of a trial, made when the first shape that asks for some is compiled."""

    def __init__(
        self,
        columns: Columns,
        nodes: NodeColumns,
        room: Room,
        log: Sequence["Placement"],
        *,
        weighs: bool,
    ) -> None:
        self._columns = columns
        self._nodes = nodes
        self._room = room
        self._log = log
        self._weighs = weighs
        self.expected: tuple[Batch, ...] = ()
        self._weighed: dict[Shape, fragmentation.Shape] = {}
        self._score: fragmentation.FragmentationScore | None = None
        self._seen = 0

    # What there is

    @cached_property
    def _offers(self) -> list[Offer]:
        return [offer_of(node, only_shared=not self._weighs) for node in self._nodes.nodes]

    @cached_property
    def _offered(self) -> dict[str, Flags]:
        return offered_by(self._offers)

    @cached_property
    def _shared(self) -> Flags:
        return self._offered.get(GPU_MILLI, np.zeros(len(self._offers), np.bool_))

    @cached_property
    def aside(self) -> Integers | None:
        """What nodes without devices have ahead for workloads that ask for none; None where all are alike."""
        if not self._weighs or not self._offered:
            return None
        return np.array([0 if offer.devices else ASIDE for offer in self._offers], np.int64)

    @property
    def weighs_all(self) -> bool:
        """Whether nodes are chosen by everybody who usually asks for devices, the expected ones too."""
        return self._weighs and bool(self._offered)

    def expect(self, batches: Iterable[Batch]) -> None:
        """Say what is going to be asked for, before the first of it is."""
        self.expected = tuple(batches)

    # What binds a shape

    def compile(self, shape: Shape) -> None:
        """Give a shape the rules that follow from the devices it asks for."""
        if self._offered.keys().isdisjoint(shape.requests):
            return
        asked = amounts_milli(shape.requests, self._offered)
        for name, amount_milli in asked.items():
            offered = self._offered[name]
            parts = devices_asked(amount_milli)
            if parts is None:
                shape.add_rule(DeviceClosed(np.zeros(len(offered), np.bool_), _spans(amount_milli)))
                continue
            judged = offered & self._shared
            if judged.any():
                shape.add_rule(DeviceRule(self._held, judged, *parts))
            shape.takes.append(DeviceHolder(self, shape, offered, amount_milli))
        same = [self._shared & self._offered[name] for name in asked if name != GPU_MILLI]
        if GPU_MILLI in asked and same:
            either = f"{GPU_MILLI} is of the same devices: ask for either"
            shape.add_rule(DeviceClosed(~np.logical_or.reduce(same), either))

    def slots(self, shape: Shape, rows: RowArray, slots: Integers) -> Integers:
        """Return how many of so many workloads of a shape the devices of nodes take too."""
        for rule in shape.local_rules:
            if isinstance(rule, DeviceRule):
                slots = rule.slots(rows, slots)
        return slots

    def lacking(self, shape: Shape, row: int, before: Shape) -> str:
        """Return why devices do not take a shape where one of another has just left; nothing if they do."""
        asked, left = (amounts_milli(each.requests, self._offered) for each in (shape, before))
        if asked == left:
            return ""
        rules = [rule for rule in shape.local_rules if isinstance(rule, DeviceRule | DeviceClosed)]
        rows = np.array([row])
        return next((rule.reason for rule in rules if not rule.allows(rows)[0]), "")

    def by_score(self, shape: Shape, rows: RowArray) -> RowArray:
        """Return the nodes among these that are chosen by their score alone: those without devices."""
        return rows if self.aside is None or not len(shape.columns) else rows[self.aside[rows] > 0]

    def goes_one_by_one(self, shape: Shape) -> bool:
        """Whether what a shape takes beside room must be looked at after each placement."""
        return not self.are_all_it_takes(shape) or (self._weighs and bool(shape.takes))

    def are_all_it_takes(self, shape: Shape) -> bool:
        """Whether a shape takes nothing beside room and devices, so that each node is filled for itself.

        What only weighs in scores takes nothing.
        """
        return all(isinstance(each, DeviceHolder | Load) for each in shape.takes)

    def free_on(self, row: int) -> bytes:
        """Return what is free on the devices of a node: equal for nodes with equal devices free."""
        return np.sort(self._held.shares.free_milli[row]).tobytes() if self._offered else b""

    # What changes

    @cached_property
    def _mix(self) -> DeviceMix:
        return DeviceMix(self._columns, self._nodes, self._offered, self.expected)

    @cached_property
    def _held(self) -> HeldDevices:
        held = HeldDevices(self._offers, self._mix.classes if self._weighs else ())
        row_of = {node.name: row for row, node in enumerate(self._nodes.nodes)}
        held.put_running(self._columns.snapshot.workloads, row_of, self._columns.taken)
        return held

    def move(self, shape: Shape, row: int, amount_milli: int, count: int) -> None:
        """Take devices of a node for so many workloads of a shape, give them back, or undo either."""
        length = len(self._log)
        held = self._held
        undone = held.is_undone(length)
        for _ in range(abs(count)):
            if undone:
                held.undo()
            elif count < 0:
                held.give_back(row, amount_milli, length)
            else:
                held.take(row, amount_milli, length)
        if self._score is None or undone or count != 1 or len(shape.takes) > 1:
            return
        if self._seen == self._room.changes - 1:
            self._score.placed(self._typical(shape), row)
            self._seen = self._room.changes

    def rewind(self, rows: RowArray, changes: int) -> None:
        """Take note that these nodes are again as they were after so many changes."""
        if self._score is not None and self._seen > changes:
            self._score.touch(*rows.tolist())
            self._seen = changes

    def forget(self) -> None:
        """Take note that changes are counted anew."""
        if self._score is not None:
            self._score.touch(*range(len(self._offers)))
            self._seen = 0

    # Where pack puts it

    def weighs(self, row: int) -> bool:
        """Whether a node has devices of which others should be left as much as possible."""
        return self.aside is not None and not self.aside[row]

    def pick(self, shape: Shape, scores: Integers) -> int:
        """Return the node on which a shape takes least from others, among those that score 0 or more.

        Where that is equal, the one with the highest score.
        """
        typical = self._typical(shape)
        if not self._mix.mix and not typical.device_count:
            return int(scores.argmax())
        worth = self._weighing(typical).score(typical)
        worth[scores < 0] = fragmentation.NO_ROOM
        best = worth.max()
        if best == fragmentation.NO_ROOM:
            return int(scores.argmax())
        return int(np.where(worth == best, scores, -1).argmax())

    def _typical(self, shape: Shape) -> fragmentation.Shape:
        found = self._weighed.get(shape)
        if found is None:
            asking = self._mix.asking(shape.requests, shape.workload.constraints)
            found = self._weighed[shape] = self._mix.shape_of(asking)
        return found

    def _weighing(self, first: fragmentation.Shape) -> fragmentation.FragmentationScore:
        """Return the score, brought up to date."""
        if self._score is None:
            mix = self._mix.mix or {first: 1}
            free, limit = self._room.free.T, self._room.limit.T
            self._score = fragmentation.FragmentationScore(self._held.shares, free, limit, mix)
        elif self._seen < self._room.changes:
            self._score.touch(*set(self._room.changed_since(self._seen).tolist()))
        self._seen = self._room.changes
        return self._score


def _spans(amount_milli: int) -> str:
    """Return why an amount is of no use, and which ones near it would be."""
    below = amount_milli // WHOLE_MILLI * WHOLE_MILLI
    return f"a share of {amount_milli} thousandths spans devices: ask for {below} or {below + WHOLE_MILLI}"
