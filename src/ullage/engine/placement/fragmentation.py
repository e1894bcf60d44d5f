"""Which node loses least by a placement: a score against fragmentation of devices.

What a node is worth to a shape of workload is the room for it there, in thousandths of devices: those of
devices with enough left for one, but no more than its processors and memory can serve. Shapes of a like
number of devices that a like part of the nodes can hold form a class. The supply of a class is that room over
all nodes and all shapes of the class, by how often each shape is asked for. A placement takes some supply
from every class, and what it takes counts the more, the less of that supply is left:

    score = sum over classes of (supply after - supply before on the node) * empty supply / supply now

The hard thing is speed: supplies change with every placement, so scores do too. What is cached for each shape
asked and node is the difference by class, which depends on the state of this node alone and is computed anew
only for nodes that were touched since; the few prices are multiplied in when asked. All of it is exact:
floating point holds whole numbers only (the room is rounded down), so equal nodes have equal scores.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.device_shares import WHOLE_MILLI, DeviceShares, Flags

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_ROOM: Final = -(1 << 62)
"""The score of a node on which the shape does not fit."""
MIX_MAX: Final = 1024
WEIGHT_SUM: Final = 1 << 16
PRICE_STEPS: Final = 1 << 12
SCARCITY_MAX: Final = 1 << 10
"""A class counts at most so many times what it counts in the empty cluster."""
BLOCK_CELLS: Final = 1 << 15
CACHE_CELLS: Final = 1 << 24
UNLIMITED: Final = 1 << 60


class Shape(NamedTuple):
    """What one workload asks for: resources in the order of the score's columns, devices, their models.

    `device_milli` is the share of each device, 1000 for whole ones; no `models` means any model.
    """

    requests: tuple[int, ...]
    device_count: int = 0
    device_milli: int = 0
    models: frozenset[str] = frozenset()


def typical_mix(shapes: Iterable[Shape]) -> dict[Shape, int]:
    """Return how often each shape occurs, of those that ask for devices the most frequent ones."""
    counted = Counter(shape for shape in shapes if shape.device_count)
    order = sorted(counted.items(), key=lambda item: (-item[1], item[0][:3], sorted(item[0].models)))
    return dict(order[:MIX_MAX])


class _Mix:
    """The typical shapes as arrays, and the room of node states for them."""

    def __init__(self, mix: Mapping[Shape, int], shares: DeviceShares, capacity: Integers) -> None:
        if len(mix) > MIX_MAX:
            raise ValueError(f"{len(mix)} typical shapes: give at most {MIX_MAX}")
        asking = [(shape, count) for shape, count in mix.items() if shape.device_count and count > 0]
        reached = [_reach(shape, shares, capacity) for shape, _ in asking]
        weighed = [item for item, reach in zip(asking, reached, strict=True) if reach]
        self.shapes = [shape for shape, _ in weighed]
        total = sum(count for _, count in weighed)
        devices = int(shares.device_count.sum())
        kinds = [
            _class_of(shape, devices // reach)
            for shape, reach in zip(self.shapes, filter(None, reached), strict=True)
        ]
        classes = sorted(set(kinds))
        self.classes = len(classes)
        self._weights: Floats = np.zeros((len(weighed), self.classes))
        for row, (kind, (_, count)) in enumerate(zip(kinds, weighed, strict=True)):
            self._weights[row, classes.index(kind)] = max(1, count * WEIGHT_SUM // total)
        sizes = sorted({shape.device_milli for shape in self.shapes})
        self._size_of = np.array([sizes.index(shape.device_milli) for shape in self.shapes], np.intp)
        milli = np.arange(WHOLE_MILLI + 1)[:, None]
        self.usable: Floats = np.where(milli >= np.array(sizes, np.int64), milli, 0).astype(np.float64)
        """What a device with so many thousandths free gives to shares of each size: all of it or nothing."""
        self._need: Floats = np.array([each.device_count * each.device_milli for each in self.shapes], float)
        columns = capacity.shape[1]
        requests = np.array([shape.requests for shape in self.shapes], np.float64).reshape(-1, columns)
        asked = requests > 0
        # One step up keeps a request that fills a node exactly from being rounded down to none.
        rate = np.nextafter(self._need[:, None] / np.where(asked, requests, 1), np.inf) * asked
        self._limits = [
            (column, rate[:, column], None if asked[:, column].all() else UNLIMITED * ~asked[:, column])
            for column in range(columns)
            if asked[:, column].any()
        ]

    def allowed(self, models: Sequence[str]) -> Floats | None:
        """Return which of the shapes (1 or 0) go to each of the models; None where none is restricted."""
        if not any(shape.models for shape in self.shapes):
            return None
        return np.array(
            [[not shape.models or model in shape.models for shape in self.shapes] for model in models],
            np.float64,
        )

    def room(self, free: Integers, held: Floats, allowed: Floats | None) -> Integers:
        """Return the supply [state, class] of node states: free resources, and what devices give by size."""
        room: Floats = held.take(self._size_of, axis=1)
        for column, rate, unasked in self._limits:
            served: Floats = np.multiply(free[:, column, None], rate)
            if unasked is not None:
                served += unasked
            np.minimum(room, served, out=room)
        room *= room >= self._need
        if allowed is not None:
            room *= allowed
        return (np.floor(room, out=room) @ self._weights).astype(np.int64)


class _Asked:
    """What is known of one asked shape: whether it fits and what it takes, by node with devices."""

    __slots__ = ("fits", "loss", "requests", "seen")

    def __init__(self, shape: Shape, classes: int, nodes: int) -> None:
        self.requests: Integers = np.array(shape.requests, np.int64)
        self.loss: Integers = np.zeros((classes, nodes), np.int64)
        self.fits: Flags = np.zeros(nodes, np.bool_)
        self.seen = -1


class FragmentationScore:
    """Scores of nodes for the shape that is to be placed; the highest is best, ties go to the lowest row.

    `free` and `capacity` are [node, resource] in the columns of the shapes' requests. `free` and `shares` are
    read where they are: whoever changes a node there says so by `touch` or `placed`.
    """

    def __init__(
        self, shares: DeviceShares, free: Integers, capacity: Integers, mix: Mapping[Shape, int]
    ) -> None:
        if not free.shape == capacity.shape == (len(shares.device_count), free.shape[1]):
            raise ValueError("free, capacity and shares are of different nodes")
        self._shares, self._free = shares, free
        self._mix = _Mix(mix, shares, capacity)
        self._rows = np.flatnonzero(shares.device_count)
        self._index = np.full(len(free), -1, np.int64)
        self._index[self._rows] = np.arange(len(self._rows))
        models = sorted(set(shares.models))
        self._allowed = self._mix.allowed(models)
        self._model = np.array([models.index(shares.models[row]) for row in self._rows.tolist()], np.intp)
        self._asked: dict[Shape, _Asked] = {}
        self._clock = 0
        self._stamp = np.zeros(len(self._rows), np.int64)
        self._moved: set[int] = set()
        every = np.arange(len(self._rows))
        whole = shares.device_count[self._rows, None] * self._mix.usable[WHOLE_MILLI]
        self._empty: list[int] = self._room(every, capacity[self._rows], whole).sum(axis=0).tolist()
        self._held = self._usable(self._rows)
        self._supply = self._room(every, free[self._rows], self._held)
        self._supplies = self._supply.sum(axis=0)

    def touch(self, *nodes: int) -> None:
        """Say that resources or devices of nodes changed."""
        self._clock += 1
        for node in nodes:
            index = int(self._index[node])
            if index >= 0:
                self._stamp[index] = self._clock
                self._moved.add(index)

    def placed(self, shape: Shape, node: int) -> None:
        """Say that one of a shape was placed on a node by `DeviceShares.place`: `touch`, only faster.

        What `score` found it would take need not be counted again.
        """
        index = int(self._index[node])
        asked = self._asked.get(shape)
        if index < 0 or asked is None or self._stamp[index] > asked.seen or not asked.fits[index]:
            self.touch(node)
            return
        self._clock += 1
        self._stamp[index] = self._clock
        self._held[index] = self._mix.usable.take(self._shares.free_milli[node], axis=0).sum(axis=0)
        loss = asked.loss[:, index]
        self._supply[index] += loss
        self._supplies += loss

    def score(self, shape: Shape) -> Integers:
        """Return the score of every node, NO_ROOM where the shape's resources or devices do not fit."""
        self._settle()
        asked = self._asked.pop(shape, None) or _Asked(shape, self._mix.classes, len(self._rows))
        self._asked[shape] = asked
        self._refresh(shape, asked)
        self._forget()
        scores = np.where(asked.fits, self._prices() @ asked.loss, NO_ROOM)
        if len(scores) == len(self._free):
            return scores
        if shape.device_count:
            every: Integers = np.full(len(self._free), NO_ROOM, np.int64)
        else:
            every = np.where((self._free >= asked.requests).all(axis=1), 0, NO_ROOM)
        every[self._rows] = scores
        return every

    def best(self, shape: Shape, candidates: Flags | None = None) -> int | None:
        """Return the node with the highest score among the candidates; None where it fits on none."""
        scores = self.score(shape)
        if candidates is not None:
            scores[~candidates] = NO_ROOM
        node = int(scores.argmax()) if len(scores) else -1
        return node if node >= 0 and scores[node] > NO_ROOM else None

    def _prices(self) -> Integers:
        """Return what a loss counts in each class: the scarcer its supply has become, the more."""
        return np.array(
            [
                empty * PRICE_STEPS // max(supply, empty // SCARCITY_MAX, 1)
                for empty, supply in zip(self._empty, self._supplies.tolist(), strict=True)
            ],
            np.int64,
        )

    def _settle(self) -> None:
        """Count the supply of touched nodes anew."""
        if not self._moved:
            return
        moved = np.array(sorted(self._moved), np.intp)
        self._moved.clear()
        rows = self._rows[moved]
        held = self._held[moved] = self._usable(rows)
        supply = self._room(moved, self._free[rows], held)
        self._supplies += (supply - self._supply[moved]).sum(axis=0)
        self._supply[moved] = supply

    def _refresh(self, shape: Shape, asked: _Asked) -> None:
        """Judge the nodes anew that were touched since the shape was last asked for."""
        stale = (self._stamp > asked.seen).nonzero()[0]
        asked.seen = self._clock
        if not len(stale):
            return
        rows = self._rows[stale]
        left = self._free[rows] - asked.requests
        fits = left.min(axis=1, initial=0) >= 0
        if shape.device_count:
            fits &= self._shares.fits(shape.device_count, shape.device_milli)[rows]
        if shape.models:
            fits &= self._shares.of_models(shape.models)[rows]
        asked.fits[stale] = fits
        fitting = stale[fits]
        if len(fitting):
            room = self._room(fitting, left[fits], self._held_after(shape, fitting))
            asked.loss[:, fitting] = (room - self._supply[fitting]).T

    def _usable(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Return what the devices of nodes give to each size of share."""
        found: Floats = self._mix.usable[self._shares.free_milli[rows]].sum(axis=1)
        return found

    def _held_after(self, shape: Shape, nodes: npt.NDArray[np.intp]) -> Floats:
        """Return what devices give to each size of share after the shape took those of its best fit."""
        held: Floats = self._held[nodes]
        if shape.device_milli == WHOLE_MILLI:
            held -= shape.device_count * self._mix.usable[WHOLE_MILLI]
        elif shape.device_count:
            devices = self._shares.free_milli[self._rows[nodes]]
            chosen = np.where(devices >= shape.device_milli, devices, WHOLE_MILLI).min(axis=1)
            held -= self._mix.usable[chosen]
            held += self._mix.usable[chosen - shape.device_milli]
        return held

    def _room(self, nodes: npt.NDArray[np.intp], free: Integers, held: Floats) -> Integers:
        """Return the supply by class of nodes in given states; of many nodes, each state is judged once."""
        step = max(1, BLOCK_CELLS // max(1, len(self._mix.shapes)))
        if len(nodes) <= step:
            allowed = None if self._allowed is None else self._allowed[self._model[nodes]]
            return self._mix.room(free, held, allowed)
        states = np.column_stack((free, held, self._model[nodes]))
        whole = states.view(np.dtype((np.void, states.strides[0]))).ravel()
        _, first, kind = np.unique(whole, return_index=True, return_inverse=True)
        parts = [first[start : start + step] for start in range(0, len(first), step)]
        return np.concatenate([self._room(nodes[part], free[part], held[part]) for part in parts])[kind]

    def _forget(self) -> None:
        """Drop the shapes asked for longest ago where the cache grows too large."""
        cells = max(1, len(self._rows) * (self._mix.classes + 1))
        while len(self._asked) > max(1, CACHE_CELLS // cells):
            del self._asked[next(iter(self._asked))]


def _reach(shape: Shape, shares: DeviceShares, capacity: Integers) -> int:
    """Return how many devices there are on the nodes that a shape fits on while they are empty."""
    fits = (capacity >= np.array(shape.requests, np.int64)).all(axis=1) & shares.of_models(shape.models)
    fits &= shares.device_count >= shape.device_count
    return int(shares.device_count[fits].sum())


def _class_of(shape: Shape, rarity: int) -> tuple[int, int]:
    """Return the class of a shape, in steps of two: its number of devices, and how few nodes can hold it.

    Shares of a device are apart from whole ones; `rarity` is all devices by those it can reach.
    """
    number = 0 if shape.device_milli < WHOLE_MILLI else 1 + (shape.device_count - 1).bit_length()
    return (number, rarity.bit_length())
