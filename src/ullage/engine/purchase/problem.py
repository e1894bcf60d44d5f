"""The question of what to buy in numbers: how many of each shape, what each place could take of them.

Places are the nodes that are there, which cost nothing, and the kinds of new nodes, of which there may be
many. A new node is judged as one that stands in the cluster, empty but for its daemons: so what keeps a shape
off it (labels, taints, size) is what would keep it off the real one. Offers that differ in nothing that a
shape sees are one kind.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.placement.exact_model import Model, Wanted
from ullage.engine.placement.reasons import reasons_of
from ullage.engine.purchase.offers import Market, Offer
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload

NODES_ALONE_MAX: Final = 4000
"""Unknowns up to which the nodes that are there are each taken by themselves."""


class Place(NamedTuple):
    """Equal nodes: their rows, how many of each shape one takes alone, and its room where it is bounded."""

    rows: tuple[int, ...]
    slots: tuple[int, ...]
    room: tuple[int | None, ...]


class Kind(NamedTuple):
    """Offers of one item that are equally good for every shape, and what a new node of them takes."""

    offers: tuple[Offer, ...]
    slots: tuple[int, ...]
    room: tuple[int | None, ...]

    @property
    def price_micro(self) -> int:
        """What one costs."""
        return self.offers[0].item.price_micro

    @property
    def name(self) -> str:
        """The item."""
        return self.offers[0].item.name

    @property
    def count_max(self) -> int | None:
        """How many of the item there are."""
        return self.offers[0].item.count_max


class Problem:
    """Shapes with how many are wanted, the places that are there, and the kinds that can be bought."""

    def __init__(self, market: Market, demand: Sequence[tuple[Workload, int]], placement: str) -> None:
        examples = market.nodes(market.offers)
        self.trial = Trial(Columns(market.with_nodes(examples)), placement)
        counts: dict[object, int] = {}
        wanted: list[Wanted] = []
        for workload, replicas in demand:
            if not replicas:
                continue
            shape = self.trial.shape_of(workload)
            place = counts.setdefault(shape, len(wanted))
            if place == len(wanted):
                wanted.append((shape, replicas))
            else:
                wanted[place] = shape, wanted[place][1] + replicas
        self.wanted = wanted
        self.demands = [replicas for _, replicas in wanted]
        self._model = Model(self.trial, wanted)
        taken = {column for shape, _ in wanted for column in shape.columns.tolist()}
        self.columns = sorted(taken)
        self.amounts = [[int(shape.vector[column]) for shape, _ in wanted] for column in self.columns]
        new_rows = [self.trial.row_of[node.name] for node in examples]
        self.new_rows = tuple(zip(market.offers, new_rows, strict=True))
        items = [offer.item.name for offer in market.offers]
        self._example_of = dict(zip(reversed(items), reversed(new_rows), strict=True))
        self.kinds = self._kinds(market.offers, new_rows)
        self.places = self._places(frozenset(new_rows)) if wanted else []

    def slots_on(self, row: int) -> tuple[int, ...]:
        """Return how many of each shape a node takes on its own."""
        return tuple(int(slots[row]) for slots in self._model.slots)

    def open_to(self, number: int) -> bytes:
        """Return which nodes take a shape at all, as something to compare."""
        return (self._model.slots[number] > 0).tobytes()

    def room_on(self, row: int) -> tuple[int | None, ...]:
        """Return what a node has free of each resource that is asked for; None where that is not bounded."""
        bounded = self.trial.room.bounded
        rows = np.array([row])
        return tuple(
            int(self._model.slack(column, rows)[0]) if bounded[column, row] else None
            for column in self.columns
        )

    def _kinds(self, offers: Sequence[Offer], rows: Sequence[int]) -> list[Kind]:
        found: dict[tuple[object, ...], list[Offer]] = {}
        for offer, row in zip(offers, rows, strict=True):
            key = (offer.item.name, self.slots_on(row), self.room_on(row))
            found.setdefault(key, []).append(offer)
        return [
            Kind(tuple(alike), slots, room)  # type: ignore[arg-type]  # the parts of the key above
            for (_, slots, room), alike in found.items()
            if any(slots)  # type: ignore[arg-type]  # likewise
        ]

    def _places(self, new_rows: frozenset[int]) -> list[Place]:
        """Return the nodes that are there and of use: each alone, or the equal ones together if many."""
        useful = np.flatnonzero(np.any([slots > 0 for slots in self._model.slots], axis=0)).tolist()
        rows = [row for row in useful if row not in new_rows]
        if len(rows) * len(self.wanted) <= NODES_ALONE_MAX:
            return [Place((row,), self.slots_on(row), self.room_on(row)) for row in rows]
        alike: dict[tuple[tuple[int, ...], tuple[int | None, ...]], list[int]] = {}
        for row in rows:
            alike.setdefault((self.slots_on(row), self.room_on(row)), []).append(row)
        return [Place(tuple(members), slots, room) for (slots, room), members in alike.items()]

    def without_a_place(self) -> list[int]:
        """Return the shapes of which not all fit, however many nodes of the catalog are bought."""
        return [
            number
            for number, wished in enumerate(self.demands)
            if not any(kind.slots[number] for kind in self.kinds)
            and sum(place.slots[number] * len(place.rows) for place in self.places) < wished
        ]

    def why_no_kind(self, number: int) -> str:
        """Return what keeps a shape off each item of the catalog."""
        shape, wished = self.wanted[number]
        reasons = reasons_of(self.trial, shape)
        by_reason: dict[str, list[str]] = {}
        for item, row in self._example_of.items():
            by_reason.setdefault(reasons.of(row) or "rules between workloads", []).append(item)
        listed = "; ".join(f"{', '.join(sorted(items))}: {why}" for why, items in sorted(by_reason.items()))
        there = sum(place.slots[number] * len(place.rows) for place in self.places)
        found = f"no item of the catalog takes {shape.workload.key}"
        if listed:
            found = f"{found} ({listed})"
        return f"{found}, and the nodes that are there take {there} of {wished}" if there else found
