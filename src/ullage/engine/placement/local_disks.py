"""Volumes on the local disks of nodes: a workload goes only where all of them have their place.

The planner that a node's policy names is asked. Its answer depends on the kinds and sizes of the disks and on
what is held of them, so of nodes that are alike in that one is asked. A volume that goes with its workload
gives its space back when the workload goes; all others stay where they are.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

import msgspec
import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.ledger.naming import volume_of
from ullage.engine.placement.node_columns import Codes, Flags
from ullage.engine.placement.node_disks import Cost, Disks, growth_hold, without_volumes
from ullage.engine.placement.rules import Rows
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.volume_binding import OpenClaim
from ullage.engine.storage.capacities import (
    by_ledger_name,
    capacities_of,
    entries_by_node,
    holds_of,
    serves,
    serves_as_made,
)
from ullage.engine.storage.components import components_of, in_order
from ullage.engine.storage.disk_requests import Promised
from ullage.engine.storage.exact import PAIRS_MIN
from ullage.engine.storage.growth import Growth
from ullage.engine.storage.lattice import pairs_of
from ullage.engine.storage.planning import plan
from ullage.model.cluster import Node, Workload
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest, DiskWitness, NodeDisks
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import StorageMode
from ullage.model.ledger_entry import LedgerEntry

Alike = tuple[str, str, bytes]


class LocalDisks:
    """The disks of all nodes, with what placements of a trial hold of them."""

    def __init__(self, columns: Columns, nodes: Sequence[Node]) -> None:
        self._columns = columns
        self._nodes = nodes
        self._row_of = {node.name: row for row, node in enumerate(nodes)}
        self.are_known = any(node.drives or node.volume_groups for node in nodes)
        self._held: dict[int, list[tuple[DiskHold, ...]]] = {}
        self._freed: dict[int, list[tuple[PlacedVolume, ...]]] = {}
        self._added: dict[int, DiskCapacity] = {}
        self._entries = entries_by_node(columns.snapshot.reservations)
        self._rows_of_owner: dict[str, list[int]] = {}
        for row, node in enumerate(nodes):
            for owner in {entry.owner for entry in self._entries.get(node.name, ())}:
                self._rows_of_owner.setdefault(owner, []).append(row)
        self.carriers = {
            entry.claim: entry
            for entries in self._entries.values()
            for entry in entries
            if entry.claim and not entry.refers
        }
        owners = {(entry.claim, entry.owner) for entry in columns.snapshot.reservations if entry.claim}
        counted = Counter(claim for claim, _ in owners)
        self._of_several = {claim for claim, count in counted.items() if count > 1}
        self._served: Counter[tuple[str, int]] = Counter()
        self._kept: dict[str, frozenset[str]] = {}
        self._asking = ""
        self.keeping_for = ""
        self._kinds: dict[tuple[object, ...], int] = {}
        self._kind_of: Codes = np.full(len(nodes), -1, np.int32)
        self._costs: dict[tuple[tuple[DiskRequest, ...], int], Cost | None] = {}
        self._going: dict[tuple[int, Alike], list[tuple[PlacedVolume, ...]]] | None = None

    @cached_property
    def shared(self) -> frozenset[str]:
        """The nodes on which volumes share drives."""
        rules = {node.name: self._columns.rules_of(node) for node in self._nodes}
        return frozenset(name for name, each in rules.items() if each.storage_mode == "zos")

    def __len__(self) -> int:
        """Return how many nodes there are."""
        return len(self._nodes)

    def row_of(self, node: str) -> int:
        """Return the row of a node."""
        return self._row_of[node]

    def of(self, row: int) -> Disks:
        """Return a node's disks as they are in the trial."""
        node = self._nodes[row]
        rules = self._columns.rules_of(node)
        mode: StorageMode = rules.storage_mode
        freed = [volume for volumes in self._freed.get(row, ()) for volume in volumes]
        held = [hold for holds in self._held.get(row, ()) for hold in holds]
        as_it_is = without_volumes(node, freed) if freed else node
        capacities = capacities_of(as_it_is, shared=mode == "zos", rules=rules)
        entries = [each for each in self._entries.get(node.name, ()) if self._stands(each, row)]
        reserved = holds_of(entries, by_ledger_name(node, capacities)) if entries else ()
        added = self._added.get(row)
        return Disks(mode, capacities if added is None else (*capacities, added), (*reserved, *held))

    def _stands(self, entry: LedgerEntry, row: int) -> bool:
        """Whether an entry takes its room, and is not there for whoever asks or has been served instead."""
        is_free = entry.owner == self._asking or bool(self._served[entry.owner, row])
        if entry.claim and entry.claim in self._of_several:
            return True
        return not is_free or entry.reservation in self._kept.get(entry.owner, ())

    def reserved_for(self, owner: str, row: int) -> dict[str, list[LedgerEntry]]:
        """Return what is reserved for an owner on a node, by reservation."""
        found: dict[str, list[LedgerEntry]] = {}
        if row in self._rows_of_owner.get(owner, ()):
            for entry in self._entries[self._nodes[row].name]:
                if entry.owner == owner:
                    found.setdefault(entry.reservation, []).append(entry)
        return found

    def reserved_names(self, owner: str) -> frozenset[str]:
        """Return the requests for which anything is reserved for an owner, on any node."""
        rows = self._rows_of_owner.get(owner, ())
        of_rows = (self.reserved_for(owner, row).values() for row in rows)
        return frozenset(
            volume_of(entry.request) for found in of_rows for entries in found for entry in entries
        )

    def serves(self, entry: LedgerEntry, request: DiskRequest, row: int) -> bool:
        """Whether what an entry has of a node's disks is what a request would have there.

        An entry whose volume exists needs no room: its disk may be full.
        """
        node = self._nodes[row]
        if entry.state == "BOUND":
            return serves_as_made(entry, request, node)
        rules = self._columns.rules_of(node)
        capacities = capacities_of(node, shared=rules.storage_mode == "zos", rules=rules)
        disk = by_ledger_name(node, capacities).get(entry.capacity)
        return disk is not None and serves(entry, request, disk, rules.storage_mode)

    def keep(self, owner: str, reservations: frozenset[str]) -> None:
        """Leave these of an owner's reservations as they are: they are not there for what it asks for."""
        self._kept[owner] = reservations
        self._kind_of[self._rows_of_owner.get(owner, [])] = -1

    def serve(self, owner: str, row: int, count: int) -> None:
        """Take note that an owner has its disks on a node: what was reserved for it there is free again."""
        if owner in self._rows_of_owner:
            self._served[owner, row] += count
            self._kind_of[row] = -1

    @contextmanager
    def keeping(self, workload: str) -> Iterator[None]:
        """Let what is placed have the disks that are kept for it and what goes with it, and no others."""
        self.keeping_for = workload
        yield
        self.keeping_for = ""

    @contextmanager
    def asking(self, owner: str) -> Iterator[None]:
        """Look at the disks as an owner may: what is reserved for it is there for it."""
        rows = self._rows_of_owner.get(owner)
        if rows is None:
            yield
            return
        self._asking = owner
        self._kind_of[rows] = -1
        yield
        self._asking = ""
        self._kind_of[rows] = -1

    def allow(self, requests: tuple[DiskRequest, ...], rows: Rows) -> Flags:
        """Return which of these nodes have a place for every volume."""
        asked = np.arange(len(self._nodes))[rows]
        for row in asked[self._kind_of[asked] < 0].tolist():
            self._kind_of[row] = self._kinds.setdefault(self.of(row).signature(), len(self._kinds))
        kinds, first, inverse = np.unique(self._kind_of[asked], return_index=True, return_inverse=True)
        unknown = [
            (kind, int(asked[place]))
            for kind, place in zip(kinds.tolist(), first.tolist(), strict=True)
            if (requests, kind) not in self._costs
        ]
        self._ask(requests, unknown)
        answers = [self._costs[requests, kind] is not None for kind in kinds.tolist()]
        return np.array(answers, np.bool_)[inverse]

    def cheapest(self, requests: tuple[DiskRequest, ...], allowed: Flags) -> Flags:
        """Return which of the nodes that a rule allows serve the volumes at the least cost."""
        self.allow(requests, np.flatnonzero(allowed))
        kinds = self._kind_of[allowed]
        costs = {kind: self._costs[requests, kind] for kind in np.unique(kinds).tolist()}
        least = min(cost for cost in costs.values() if cost is not None)
        found = allowed.copy()
        found[allowed] = np.isin(kinds, [kind for kind, cost in costs.items() if cost == least])
        return found

    def _ask(self, requests: tuple[DiskRequest, ...], unknown: Iterable[tuple[int, int]]) -> None:
        """Ask the planners about one node of each kind, those of one mode together."""
        by_mode: dict[StorageMode, list[tuple[int, Disks, str]]] = {}
        for kind, row in unknown:
            disks = self.of(row)
            by_mode.setdefault(disks.mode, []).append((kind, disks, self._nodes[row].name))
        for mode, asked in by_mode.items():
            capacities = [each for _, disks, _ in asked for each in disks.capacities]
            holds = [each for _, disks, _ in asked for each in disks.holds]
            names = [name for _, _, name in asked]
            found = plan(mode, capacities, holds, requests, names, few_drives=False, explains=False)
            serving = {each.node: each for each in found.nodes}
            for kind, disks, name in asked:
                served = serving.get(name)
                self._costs[requests, kind] = None if served is None else disks.cost(served)

    def chosen(
        self, requests: tuple[DiskRequest, ...], row: int, growing: Sequence[Growth] = ()
    ) -> NodeDisks | DiskWitness:
        """Return which disks of a node would serve volumes beside those that grow, or why they cannot."""
        disks, name = self.of(row), self._nodes[row].name
        lacking = disks.lacking(growing) if growing else None
        if lacking is not None or not requests:
            return lacking or NodeDisks(name, {})
        holds = (*disks.holds, *(growth_hold(each) for each in growing))
        found = plan(disks.mode, disks.capacities, holds, requests, [name], few_drives=False)
        return found.nodes[0] if found.nodes else found.witnesses[0]

    # What changes

    def hold(self, row: int, holds: tuple[DiskHold, ...]) -> None:
        """Take note of what a placement holds."""
        self._held.setdefault(row, []).append(holds)
        self._kind_of[row] = -1

    def give_back(self, row: int, holds: tuple[DiskHold, ...]) -> None:
        """Take back what a placement held."""
        self._held[row].remove(holds)
        self._kind_of[row] = -1

    def leave(self, row: int, volumes: tuple[PlacedVolume, ...]) -> None:
        """Take note of volumes that have gone with their workload."""
        self._freed.setdefault(row, []).append(volumes)
        self._kind_of[row] = -1

    def freed_of(self, row: int, workload: str) -> tuple[PlacedVolume, ...]:
        """Return the volumes that have gone with a workload; none if they have not."""
        freed = self._freed.get(row, ())
        return next((volumes for volumes in freed if volumes and volumes[0].owner == workload), ())

    def come_back(self, row: int, volumes: tuple[PlacedVolume, ...]) -> None:
        """Put volumes back that had gone."""
        self._freed[row].remove(volumes)
        self._kind_of[row] = -1

    def add_drive(self, row: int, drive: DiskCapacity | None) -> None:
        """Suppose that a node had one more drive; None takes it away again."""
        if drive is None:
            del self._added[row]
        else:
            self._added[row] = drive
        self._kind_of[row] = -1

    def going_with(self, workload: Workload, row: int) -> list[tuple[PlacedVolume, ...]]:
        """Return the volumes that go with each running workload like this one on a node."""
        if self._going is None:
            self._going = self._find_going()
        return self._going.get((row, _alike(workload)), [])

    def _find_going(self) -> dict[tuple[int, Alike], list[tuple[PlacedVolume, ...]]]:
        found: dict[tuple[int, Alike], list[tuple[PlacedVolume, ...]]] = {}
        workloads = self._columns.snapshot.workloads
        for row, node in enumerate(self._nodes):
            of_owner: dict[str, list[PlacedVolume]] = {}
            for volume in node.placed_volumes:
                if volume.owner:
                    of_owner.setdefault(volume.owner, []).append(volume)
            for owner, volumes in of_owner.items():
                workload = workloads.get(owner)
                if workload is not None and workload.holds_capacity and workload.node == node.name:
                    found.setdefault((row, _alike(workload)), []).append(tuple(volumes))
        return found


class DiskRule:
    """Every volume of a workload that wants a local disk must have its place on the node.

    A claim that several workloads share is in `claims` by the name of its request: once it is decided, those
    who come later take nothing for it. What is reserved for its `owner` is there for it. Volumes that exist
    and are to be larger are `growing`, each on its own node and disk; those that others have been `promised`
    take nothing more.
    """

    local = True
    once = False

    def __init__(
        self,
        disks: LocalDisks,
        requests: Sequence[DiskRequest],
        claims: Mapping[str, OpenClaim],
        owner: str = "",
        growing: Sequence[Growth] = (),
        *,
        promised: Sequence[Promised] = (),
    ) -> None:
        self.disks = disks
        self.owner = owner
        self._requests = tuple(requests)
        self._claims = claims
        self.promised = tuple(promised)
        self._growing: dict[int, list[Growth]] = {}
        for each in growing:
            self._growing.setdefault(disks.row_of(each.node), []).append(each)
        names = [each.name for each in requests] + [each.request for each in growing]
        names += (each.request.name for each in promised if each.request.name not in names)
        self.reason = f"local disks for {', '.join(names)}"

    def wanted(self) -> tuple[DiskRequest, ...]:
        """Return the volumes that still need a place."""
        return tuple(each for each in self._requests if self._is_open(each))

    def promised_now(self) -> tuple[Promised, ...]:
        """Return the volumes that others have been promised and that nobody has been placed with yet."""
        return tuple(each for each in self.promised if self._is_open(each.request))

    def _is_open(self, request: DiskRequest) -> bool:
        claim = self._claims.get(request.name)
        return claim is None or claim.decided is None

    @property
    def requests(self) -> tuple[DiskRequest, ...]:
        """The volumes that need a place, or needed one before somebody who shares them was placed."""
        return self._requests

    def growing(self, row: int) -> tuple[Growth, ...]:
        """Return the volumes on a node that are to be larger."""
        return tuple(self._growing.get(row, ()))

    @property
    def shared_names(self) -> frozenset[str]:
        """The requests that several workloads may share: one of them has it for all."""
        return frozenset(self._claims)

    def resize(self, name: str, size_bytes: int) -> None:
        """Suppose that one of the volumes had another size; nothing may have been placed by it yet."""
        self._requests = tuple(
            msgspec.structs.replace(each, size_bytes=size_bytes) if each.name == name else each
            for each in self._requests
        )

    @property
    def is_decided(self) -> bool:
        """Whether a no of the planner is one for sure: of very many volumes it may have looked at a part."""
        return all(
            pairs_of(each.share_counts, each.whole_counts) <= PAIRS_MIN
            for each in components_of(in_order(self._requests))
        )

    def allows(self, rows: Rows) -> Flags:
        """Return which of these nodes have a place for every volume."""
        wanted = self.wanted()
        asked = np.arange(len(self.disks))[rows]
        with self.disks.asking(self.owner):
            found = self.disks.allow(wanted, rows) if wanted else np.ones(len(asked), np.bool_)
        for row in self._growing:
            found[asked == row] = not isinstance(self.chosen(row), DiskWitness)
        return found

    def chosen(self, row: int) -> NodeDisks | DiskWitness:
        """Return which disks of a node would serve the volumes, or why they cannot."""
        with self.disks.asking(self.owner):
            return self.disks.chosen(self.wanted(), row, self.growing(row))

    def cheapest(self, allowed: Flags) -> Flags:
        """Return which of some nodes, on all of which it holds, serve the volumes at the least cost."""
        wanted = self.wanted()
        if not wanted or not allowed.any():
            return allowed
        with self.disks.asking(self.owner):
            return self.disks.cheapest(wanted, allowed)


def rule_of(shape: Shape) -> DiskRule | None:
    """Return the rule about local disks that binds a shape."""
    return next((each for each in shape.local_rules if isinstance(each, DiskRule)), None)


def disks_are_decided(shape: Shape) -> bool:
    """Whether nodes that are closed to a shape for their disks are closed to it for sure."""
    return all(rule.is_decided for rule in shape.local_rules if isinstance(rule, DiskRule))


def _alike(workload: Workload) -> Alike:
    return workload.namespace, workload.owner, msgspec.msgpack.encode(workload.volumes)
