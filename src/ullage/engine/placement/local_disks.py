"""Volumes on the local disks of nodes: a workload goes only where all of them have their place.

The planner that a node's policy names is asked. Its answer depends on the kinds and sizes of the disks and on
what is held of them, so of nodes that are alike in that one is asked. A volume that goes with its workload
gives its space back when the workload goes; all others stay where they are.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.placement.node_columns import Codes, Flags
from ullage.engine.placement.node_disks import Cost, Disks, without_volumes
from ullage.engine.placement.outcome import Served
from ullage.engine.placement.rules import Rows
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.volume_binding import OpenClaim
from ullage.engine.storage.capacities import by_ledger_name, capacities_of, entries_by_node, holds_of
from ullage.engine.storage.components import components_of, in_order
from ullage.engine.storage.exact import PAIRS_MIN
from ullage.engine.storage.lattice import pairs_of
from ullage.engine.storage.planning import plan
from ullage.model.cluster import Node, Workload
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest, DiskWitness, NodeDisks
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import StorageMode

Alike = tuple[str, str, bytes]


class LocalDisks:
    """The disks of all nodes, with what placements of a trial hold of them."""

    def __init__(self, columns: Columns, nodes: Sequence[Node]) -> None:
        self._columns = columns
        self._nodes = nodes
        self.are_known = any(node.drives or node.volume_groups for node in nodes)
        self._held: dict[int, list[tuple[DiskHold, ...]]] = {}
        self._freed: dict[int, list[tuple[PlacedVolume, ...]]] = {}
        self._added: dict[int, DiskCapacity] = {}
        self._entries = entries_by_node(columns.snapshot.reservations)
        self._rows_of_owner: dict[str, list[int]] = {}
        for row, node in enumerate(nodes):
            for owner in {entry.owner for entry in self._entries.get(node.name, ())}:
                self._rows_of_owner.setdefault(owner, []).append(row)
        self._served: Counter[tuple[str, int]] = Counter()
        self._asking = ""
        self._kinds: dict[tuple[object, ...], int] = {}
        self._kind_of: Codes = np.full(len(nodes), -1, np.int32)
        self._costs: dict[tuple[tuple[DiskRequest, ...], int], Cost | None] = {}
        self._going: dict[tuple[int, Alike], list[tuple[PlacedVolume, ...]]] | None = None

    def __len__(self) -> int:
        """Return how many nodes there are."""
        return len(self._nodes)

    def of(self, row: int) -> Disks:
        """Return a node's disks as they are in the trial."""
        node = self._nodes[row]
        rules = self._columns.rules_of(node)
        mode: StorageMode = rules.storage_mode
        freed = [volume for volumes in self._freed.get(row, ()) for volume in volumes]
        held = [hold for holds in self._held.get(row, ()) for hold in holds]
        as_it_is = without_volumes(node, freed) if freed else node
        capacities = capacities_of(as_it_is, shared=mode == "zos", rules=rules)
        entries = [
            each
            for each in self._entries.get(node.name, ())
            if each.owner != self._asking and not self._served[each.owner, row]
        ]
        reserved = holds_of(entries, by_ledger_name(node, capacities)) if entries else ()
        added = self._added.get(row)
        return Disks(mode, capacities if added is None else (*capacities, added), (*reserved, *held))

    def serve(self, owner: str, row: int, count: int) -> None:
        """Take note that an owner has its disks on a node: what was reserved for it there is free again."""
        if owner in self._rows_of_owner:
            self._served[owner, row] += count
            self._kind_of[row] = -1

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

    def chosen(self, requests: tuple[DiskRequest, ...], row: int) -> NodeDisks | DiskWitness:
        """Return which disks of a node would serve these volumes, or why they cannot."""
        disks, name = self.of(row), self._nodes[row].name
        found = plan(disks.mode, disks.capacities, disks.holds, requests, [name], few_drives=False)
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
    who come later take nothing for it. What is reserved for its `owner` is there for it.
    """

    local = True
    once = False

    def __init__(
        self,
        disks: LocalDisks,
        requests: Sequence[DiskRequest],
        claims: Mapping[str, OpenClaim],
        owner: str = "",
    ) -> None:
        self.disks = disks
        self.owner = owner
        self._requests = tuple(requests)
        self._claims = claims
        self.reason = f"local disks for {', '.join(each.name for each in requests)}"

    def wanted(self) -> tuple[DiskRequest, ...]:
        """Return the volumes that still need a place."""
        return tuple(
            each
            for each in self._requests
            if (claim := self._claims.get(each.name)) is None or claim.decided is None
        )

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
        if not wanted:
            return np.ones(len(self.disks), np.bool_)[rows]
        with self.disks.asking(self.owner):
            return self.disks.allow(wanted, rows)

    def chosen(self, row: int) -> NodeDisks | DiskWitness:
        """Return which disks of a node would serve the volumes, or why they cannot."""
        with self.disks.asking(self.owner):
            return self.disks.chosen(self.wanted(), row)

    def cheapest(self, allowed: Flags) -> Flags:
        """Return which of some nodes, on all of which it holds, serve the volumes at the least cost."""
        wanted = self.wanted()
        if not wanted or not allowed.any():
            return allowed
        with self.disks.asking(self.owner):
            return self.disks.cheapest(wanted, allowed)


class DiskHolder:
    """What workloads of one shape hold of disks, by node.

    A running workload that is taken off its node was not placed here: what goes with it is noted as gone, and
    is back when it comes back.
    """

    def __init__(self, rule: DiskRule, workload: Workload) -> None:
        self._rule = rule
        self._disks = rule.disks
        self._workload = workload
        self._placed: dict[int, list[tuple[NodeDisks, tuple[DiskHold, ...]]]] = {}
        self._gone: dict[int, list[tuple[PlacedVolume, ...]]] = {}

    def add(self, row: int, count: int) -> None:
        """Take note of so many more workloads on a node."""
        for _ in range(abs(count)):
            if count > 0:
                self._come(row)
            else:
                self._go(row)

    def _come(self, row: int) -> None:
        gone = self._gone.get(row)
        if gone:
            self._disks.come_back(row, gone.pop())
            return
        wanted = self._rule.wanted()
        chosen = self._rule.chosen(row)
        if isinstance(chosen, DiskWitness):
            chosen = NodeDisks(chosen.node, {})
        holds = tuple(_held(each, chosen) for each in wanted if each.name in chosen.chosen)
        self._disks.hold(row, holds)
        self._disks.serve(self._rule.owner, row, 1)
        self._placed.setdefault(row, []).append((chosen, holds))

    def _go(self, row: int) -> None:
        if self._placed.get(row):
            self._disks.give_back(row, self._placed[row].pop()[1])
            self._disks.serve(self._rule.owner, row, -1)
            return
        gone = self._gone.setdefault(row, [])
        running = self._disks.going_with(self._workload, row)
        volumes = running[len(gone)] if len(gone) < len(running) else ()
        gone.append(volumes)
        self._disks.leave(row, volumes)

    def served(self, row: int, count: int, before: int = 0) -> Iterator[Served]:
        """Yield the disks of the last so many workloads placed on a node, leaving out the very last ones."""
        found = self._placed.get(row, [])
        for chosen, holds in found[max(0, len(found) - before - count) : len(found) - before]:
            for hold in holds:
                fresh = hold.capacity in chosen.opened
                volume = hold.request, hold.node, hold.capacity, hold.storage_class, hold.size_bytes
                yield Served(*volume, fresh=fresh)


def rule_of(shape: Shape) -> DiskRule | None:
    """Return the rule about local disks that binds a shape."""
    return next((each for each in shape.local_rules if isinstance(each, DiskRule)), None)


def disks_are_decided(shape: Shape) -> bool:
    """Whether nodes that are closed to a shape for their disks are closed to it for sure."""
    return all(rule.is_decided for rule in shape.local_rules if isinstance(rule, DiskRule))


def served_on(shape: Shape, row: int, count: int, *, before: int = 0) -> list[Served]:
    """Return the disks of the last so many workloads of a shape on a node, but for those after them."""
    return [
        served
        for holder in shape.takes
        if isinstance(holder, DiskHolder)
        for served in holder.served(row, count, before)
    ]


def _held(request: DiskRequest, chosen: NodeDisks) -> DiskHold:
    """Return what a volume holds of the disk that was chosen for it."""
    place = chosen.chosen[request.name]
    return DiskHold("", request.name, chosen.node, place, request.storage_class, request.size_bytes)


def _alike(workload: Workload) -> Alike:
    return workload.namespace, workload.owner, msgspec.msgpack.encode(workload.volumes)
