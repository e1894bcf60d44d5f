"""Where volumes on local disks could go: wishes that are alike, and nodes that are alike, old or for sale.

Shapes that ask the same of every node, its disks included, are one wish, so that the pods of a StatefulSet
are counted and not told apart. Nodes that no wish tells apart are one place, whichever of them gets a drive.
Every number here is a bound that no placement goes beyond: a claim that several pods share is left out.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.local_disks import rule_of
from ullage.engine.placement.node_disks import Disks
from ullage.engine.purchase.catalog import DriveItem, Item
from ullage.engine.purchase.offers import Market, Offer
from ullage.engine.purchase.problem import Problem
from ullage.model.cluster import Workload
from ullage.model.disk_plan import DiskRequest

DRIVES_MAX: Final = 24
"""Drives that are bought for one node."""


class Wish(NamedTuple):
    """Shapes that ask for the same: how many in all, and the volumes that each puts on local disks."""

    shapes: tuple[int, ...]
    demand: int
    requests: tuple[DiskRequest, ...]
    amounts: tuple[int, ...]


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
    users = Counter(claim for shape, _ in problem.wanted for claim in _claims(shape.workload))
    found: dict[tuple[object, ...], list[int]] = {}
    parts: dict[tuple[object, ...], tuple[tuple[DiskRequest, ...], tuple[int, ...]]] = {}
    for number, (shape, _) in enumerate(problem.wanted):
        rule = rule_of(shape)
        wanted = rule.wanted() if rule is not None else ()
        shared = _shared(problem, number, users)
        requests = tuple(each for each in wanted if each.name not in shared)
        amounts = tuple(row[number] for row in problem.amounts)
        alike = tuple(sorted(msgspec.structs.astuple(each)[1:] for each in requests))
        key = (alike, amounts, problem.open_to(number))
        found.setdefault(key, []).append(number)
        parts.setdefault(key, (requests, amounts))
    wishes = [
        Wish(tuple(members), sum(problem.demands[each] for each in members), *parts[key])
        for key, members in found.items()
    ]
    return sorted(wishes, key=lambda each: (not each.requests, each.shapes))


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
        slots = tuple(sum(by_shape[each] for each in wish.shapes) for wish in wishes)
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


def _shared(problem: Problem, number: int, users: Counter[str]) -> set[str]:
    """Return the claims of a shape that others have too, or that all of its replicas share."""
    shape, replicas = problem.wanted[number]
    workload = shape.workload
    claims = problem.trial.columns.snapshot.claims
    return {
        key.rpartition("/")[2]
        for key in _claims(workload)
        if users[key] > 1 or (replicas > 1 and (workload.kind != "StatefulSet" or key in claims))
    }


def _claims(workload: Workload) -> set[str]:
    """Return the keys of claims that do not go with their workload."""
    prefix = f"{workload.namespace}/" if workload.namespace else ""
    return {f"{prefix}{each.claim}" for each in workload.volumes if each.claim and not each.inline}
