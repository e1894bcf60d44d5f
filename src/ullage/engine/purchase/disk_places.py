"""Where volumes on local disks could go: wishes that are alike, and nodes that are alike, old or for sale.

Shapes that ask the same of every node, its disks included, are one wish, so that the pods of a StatefulSet
are counted and not told apart. Pods that share a claim are one wish too, because all of them have to be where
its one volume is. Nodes that no wish tells apart are one place, whichever of them gets a drive. Every number
here is a bound that no placement goes beyond.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.local_disks import rule_of
from ullage.engine.placement.node_disks import Disks
from ullage.engine.purchase.catalog import DriveItem, Item
from ullage.engine.purchase.offers import Market, Offer
from ullage.engine.purchase.problem import Problem
from ullage.model.disk_plan import DiskRequest

DRIVES_MAX: Final = 24
"""Drives that are bought for one node."""


class Wish(NamedTuple):
    """Shapes that ask for the same: how many in all, and the volumes that each puts on local disks.

    Those that share claims are one wish `together`, with all that they ask for. One is not `counted` wholly
    where a claim of it may be served by a volume that several nodes reach: it is then left out.
    """

    shapes: tuple[int, ...]
    demand: int
    requests: tuple[DiskRequest, ...]
    amounts: tuple[int, ...]
    together: bool = False
    counted: bool = True

    def slots(self, by_shape: Sequence[int], demands: Sequence[int]) -> int:
        """Return how many a node takes that takes so many of each shape, of which so many are wanted."""
        if self.together:
            return int(all(by_shape[each] >= demands[each] for each in self.shapes))
        return sum(by_shape[each] for each in self.shapes)


class _Asked(NamedTuple):
    """What one of a shape asks of local disks: volumes of its own, and claims that are shared by key."""

    own: tuple[DiskRequest, ...]
    shared: dict[str, DiskRequest]
    counted: bool = True


class DiskPlace(NamedTuple):
    """Nodes that are alike: those that are there by `names`, or those that can be bought by `offers`.

    `slots` says how many of each wish one node takes, its disks apart, and `room` what it has of resources.
    `drives` are those that it can take, with how many of each.
    """

    names: tuple[str, ...]
    offers: tuple[Offer, ...]
    slots: tuple[int, ...]
    room: tuple[int | None, ...]
    disks: Disks
    drives: tuple[tuple[DriveItem, int], ...]

    @property
    def item(self) -> Item | None:
        """The item of the catalog that it is; None for nodes that are there."""
        return self.offers[0].item if self.offers else None


def wishes_of(problem: Problem) -> list[Wish]:
    """Return what is asked for, those that want local disks first."""
    asked = [_asked(problem, number) for number in range(len(problem.wanted))]
    found: dict[tuple[object, ...], Wish] = {}
    for members in _sharing([each.shared for each in asked]):
        number = members[0]
        demand = problem.demands[number]
        own, shared, counted = asked[number]
        if len(members) > 1 or (shared and demand > 1):
            found[members] = _together(problem, members, asked)
            continue
        requests = (*own, *shared.values())
        amounts = tuple(row[number] for row in problem.amounts)
        alike = tuple(sorted(msgspec.structs.astuple(each)[1:-1] for each in requests))
        key = (alike, amounts, problem.open_to(number), counted)
        known = found.get(key, Wish((), 0, requests, amounts, counted=counted))
        found[key] = known._replace(shapes=(*known.shapes, number), demand=known.demand + demand)
    return sorted(found.values(), key=lambda each: (not each.requests, each.shapes))


def _together(problem: Problem, members: tuple[int, ...], asked: Sequence[_Asked]) -> Wish:
    """Return the one wish of shapes that share claims: all of them on one node, and each claim once."""
    shared = {key: request for number in members for key, request in asked[number].shared.items()}
    own = [
        request for number in members for request in asked[number].own for _ in range(problem.demands[number])
    ]
    amounts = tuple(sum(row[each] * problem.demands[each] for each in members) for row in problem.amounts)
    counted = all(asked[number].counted for number in members)
    return Wish(members, 1, (*shared.values(), *own), amounts, together=True, counted=counted)


def _asked(problem: Problem, number: int) -> _Asked:
    """Return what a shape asks of local disks."""
    shape, _ = problem.wanted[number]
    rule = rule_of(shape)
    if rule is None:
        return _Asked((), {})
    own, shared, counted = [], {}, True
    namespace = shape.workload.namespace
    for request in rule.wanted():
        if request.name not in rule.shared_names:
            own.append(request)
            continue
        key = f"{namespace}/{request.name}" if namespace else request.name
        offer = problem.trial.volumes.open_claims[key].offer
        if offer.pool is None and offer.meant is None:
            shared[key] = request
        else:
            counted = False
    return _Asked(tuple(own), shared, counted)


def _sharing(claims: Sequence[Iterable[str]]) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of those that share a claim with one another, also by way of others."""
    users: dict[str, list[int]] = {}
    for number, keys in enumerate(claims):
        for key in keys:
            users.setdefault(key, []).append(number)
    seen: set[int] = set()
    for first in range(len(claims)):
        if first in seen:
            continue
        seen.add(first)
        members = [first]
        for member in members:
            new = {each for key in claims[member] for each in users[key]} - seen
            seen |= new
            members += sorted(new)
        yield tuple(sorted(members))


def places_of(problem: Problem, market: Market, wishes: Sequence[Wish]) -> list[DiskPlace]:
    """Return the nodes that are of use, the equal ones together: first those that are there."""
    trial = problem.trial
    labels = [trial.node_columns.topology(label) for label in sorted(trial.rules.labels)]
    codes = [topology.codes.tolist() for topology in labels if not topology.is_by_node]
    new = {row: offer for offer, row in problem.new_rows}
    found: dict[tuple[object, ...], list[int]] = {}
    parts: dict[tuple[object, ...], DiskPlace] = {}
    for row, node in enumerate(trial.nodes):
        by_shape = problem.slots_on(row)
        if not any(by_shape):
            continue
        slots = tuple(wish.slots(by_shape, problem.demands) for wish in wishes)
        disks = trial.volumes.disks.of(row)
        drives = tuple(
            (each, most)
            for each in market.catalog.drives
            if each.suits(node) and (most := _most(each)) and not (each.nodes and row in new)
        )
        item = new[row].item.name if row in new else ""
        room = problem.room_on(row)
        zones = tuple(column[row] for column in codes)
        names = tuple(each.name for each, _ in drives)
        key = (row in new, item, slots, room, disks.signature(), names, zones)
        found.setdefault(key, []).append(row)
        parts.setdefault(key, DiskPlace((), (), slots, room, disks, drives))
    listed = [
        parts[key]._replace(
            names=tuple(sorted(trial.nodes[row].name for row in rows if row not in new)),
            offers=tuple(new[row] for row in rows if row in new),
        )
        for key, rows in found.items()
    ]
    return sorted(listed, key=lambda each: (bool(each.offers), each.names, each.offers[:1]))


def _most(drive: DriveItem) -> int:
    """Return how many of a drive one node takes."""
    limits = [each for each in (drive.per_node_max, drive.count_max) if each is not None]
    return min(limits, default=DRIVES_MAX)
