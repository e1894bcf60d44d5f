"""Nodes that would help if there were more of them: like those there are, or like them but large enough.

Kinds of nodes are told apart by what they have and by the labels that the rules of the workload look at, such
as its zone: where rules look at a label, a remedy names it. All nodes of one remedy are alike. What helps is
found by placing only what is left over (spare_nodes.py); what is told was tried with all replicas.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.local_disks import rule_of
from ullage.engine.placement.new_drives import drive_words, with_drives_for
from ullage.engine.placement.node_rules import NAME_FIELD
from ullage.engine.placement.refused_batch import PODS, RefusedBatch
from ullage.engine.placement.rules import Away
from ullage.engine.placement.shapes import SIZE_STEPS, Shape
from ullage.engine.placement.spare_nodes import SpareNodes, Spares
from ullage.engine.placement.volume_places import ZONE_LABELS
from ullage.engine.redundancy.daemons import daemons_of, daemons_on
from ullage.engine.trial import Trial
from ullage.model.cluster import Node, Workload
from ullage.model.disk_plan import DiskRequest
from ullage.model.plan import Remedy
from ullage.model.resources import Resources

KINDS_MAX: Final = 16
"""Kinds of nodes of which there are spare ones at the same time."""
TRIED_MAX: Final = 6
"""Kinds of nodes that are tried for one batch."""
LARGER_MAX: Final = 4
"""Kinds of nodes that are tried for one batch where none that there is takes a replica."""
BUILT_MAX: Final = 12
"""Trials with spare nodes that are made for one question: each costs as much as the cluster is large."""

Kind = tuple[object, ...]


class Market:
    """The nodes that could be added to the cluster of one trial, shared by all batches of a question."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self._built = 0
        self._labels: frozenset[str] = frozenset()
        self._like_those: SpareNodes | None = None
        self._larger: SpareNodes | None = None

    @cached_property
    def daemons(self) -> list[Workload]:
        """One pod of each set of daemons."""
        return daemons_of(self.trial.columns.snapshot)

    def like_those(self, models: list[Node], labels: frozenset[str]) -> SpareNodes | None:
        """Return spare nodes of some kinds at least; of all that there are, where these are not too many."""
        known = self._like_those
        if known is not None and {each.name for each in models} <= {each.model.name for each in known.kinds}:
            return known
        self._labels |= labels
        every = list(kinds_of(self.trial.nodes, self._labels).values())
        names = {each.name for each in every}
        wanted = {each.name: each for each in (*every, *models)}
        enough = len(wanted) <= KINDS_MAX and names
        self._like_those = self._build(list(wanted.values()) if enough else models) or known
        return self._like_those

    def larger(self, models: list[Node]) -> SpareNodes | None:
        """Return spare nodes of kinds that are made to measure."""
        known = self._larger
        if known is None or [each.model for each in known.kinds] != models:
            self._larger = self._build(models)
        return self._larger

    def _build(self, models: list[Node]) -> SpareNodes | None:
        if self._built == BUILT_MAX or not models:
            return None
        self._built += 1
        return SpareNodes(self.trial, models, self.daemons)


class AddedNodes:
    """What nodes would help a batch, on a trial as it was before the batch."""

    def __init__(self, batch: RefusedBatch, market: Market) -> None:
        self._batch = batch
        self._market = market
        self._labels = labels_looked_at(batch.workload, batch.shape)

    def find(self, models: list[Node]) -> Iterator[Remedy]:
        """Yield the fewest nodes that help, of the first kind of which some do."""
        spares = self._market.like_those(models, self._labels)
        found, any_takes = self._of(spares, TRIED_MAX) if spares is not None else (None, False)
        if found is None and not any_takes:
            larger = self._market.larger([self._large_enough(node) for node in self._bases(models)])
            found, _ = self._of(larger, LARGER_MAX) if larger is not None else (None, False)
        if found is not None:
            yield found

    def models(self) -> list[Node]:
        """Return one node of each kind, where rules would let one more first, then the smallest first.

        To be asked with all replicas placed that fit.
        """
        trial, shape = self._batch.trial, self._batch.shape
        wide = trial.wide_open(shape)
        kinds: dict[Kind, tuple[bool, bool, int, str]] = {}
        nodes: dict[str, Node] = {}
        for row in range(len(trial.nodes)):
            node = trial.nodes[row]
            kind = kind_of(node, self._labels)
            if kind not in kinds:
                kept_off = wide is not None and not bool(wide[row])
                kinds[kind] = (not bool(shape.open[row]), kept_off, self._size(node), node.name)
                nodes[node.name] = node
        return [nodes[name] for *_, name in sorted(kinds.values())[:KINDS_MAX]]

    def _size(self, node: Node) -> int:
        wholes = self._wholes
        return max(
            ((amount * SIZE_STEPS) // wholes.get(name, 1) for name, amount in node.capacity.items()),
            default=0,
        )

    @cached_property
    def _volumes(self) -> tuple[DiskRequest, ...]:
        """The volumes on local disks that each replica asks for."""
        rule = rule_of(self._batch.shape)
        return rule.wanted() if rule is not None else ()

    @cached_property
    def _wholes(self) -> dict[str, int]:
        trial = self._batch.trial
        return dict(zip(trial.columns.resources, trial.wholes(), strict=True))

    def _of(self, spares: SpareNodes, kinds_max: int) -> tuple[Remedy | None, bool]:
        """Return what helps of some spare nodes, and whether any of them takes a replica."""
        spares.follow()
        trial, batch = spares.trial, self._batch
        shape = trial.shape_of(batch.workload)
        suiting = [kind for kind in spares.kinds if spares.takes_one(kind, shape)]
        counts = [(kind, self._reckoned(spares, kind, shape)) for kind in suiting]
        mark = trial.mark()
        rest = batch.replicas - sum(place_replicas(trial, shape, batch.replicas).values())
        wide = trial.wide_open(shape)

        def order(kind: Spares) -> tuple[bool, int, str]:
            return wide is not None and not wide[kind.rows[0]], self._size(kind.model), kind.model.name

        able = sorted((pair for pair in counts if pair[1]), key=lambda pair: order(pair[0]))
        told = None
        for kind, least in able[:kinds_max]:
            count = _fewest(spares, kind, shape, least, rest)
            if not count:
                continue
            placed = trial.log[mark.placements :]
            trial.undo(mark)
            if spares.take_all(kind, count, shape, batch.replicas):
                told = self._remedy(kind.model, count)
                break
            for entry in placed:
                trial.place_many(entry.shape, np.atleast_1d(entry.rows), np.atleast_1d(entry.counts))
        trial.undo(mark)
        return told, bool(suiting)

    def _reckoned(self, spares: SpareNodes, kind: Spares, shape: Shape) -> int:
        """Return how many nodes of a kind are needed at least; 0 where all there are do not do."""
        fails, fits = 0, len(kind.rows)
        if spares.at_most(kind, fits, shape) < self._batch.replicas:
            return 0
        while fits - fails > 1:
            middle = (fits + fails) // 2
            if spares.at_most(kind, middle, shape) >= self._batch.replicas:
                fits = middle
            else:
                fails = middle
        return fits

    def _remedy(self, model: Node, count: int) -> Remedy:
        types = self._batch.trial.columns.snapshot.resource_types
        what = "a node" if count == 1 else f"{count} nodes"
        requests = self._batch.workload.requests
        asked = [name for name in requests if name != PODS] or [PODS]
        sizes = ", ".join(f"{types[name].readable(model.capacity.of(name))} of {name}" for name in asked)
        drives = drive_words(model, self._volumes)
        sizes += f", {drives}" if drives else ""
        labels = self._labels_of(model) + (" each" if count > 1 else "")
        return Remedy("node", f"add {what} with {sizes}{labels}: {self._batch.then}", node=model, count=count)

    def _labels_of(self, model: Node) -> str:
        """Return the labels by which rules of the workload tell the new nodes from others."""
        looked_at = ((key, model.labels[key]) for key in sorted(self._labels) if key in model.labels)
        shown = ", ".join(f"{key}={value}" for key, value in looked_at if value != model.name)
        return f" and label {shown}" if shown else ""

    # Nodes that there are none of

    def _bases(self, models: list[Node]) -> list[Node]:
        """Return nodes that larger ones are to be like: the largest for each place that rules tell apart.

        Nodes that are open to the workload come before others.
        """
        found: dict[Kind, Node] = {}
        row_of, is_open = self._batch.trial.row_of, self._batch.shape.open
        for node in [each for each in models if is_open[row_of[each.name]]] or models:
            place = tuple(node.labels.get(key, "") for key in sorted(self._labels) if not _names(node, key))
            if place not in found or self._size(node) > self._size(found[place]):
                found[place] = node
        return list(found.values())[:LARGER_MAX] or [Node("node")]

    def _large_enough(self, node: Node) -> Node:
        """Return a node with room for what is asked, on top of what it keeps for itself."""
        columns = self._batch.trial.columns
        figures = columns.place(node, [0] * len(columns.resources)).figures
        kept = {name: each.bounds.reserve for name, each in figures.items()}
        unfilled = int(columns.rules_of(node).fill == "below")
        taken = self._batch.shape.requests.items()
        needed = {name: amount + kept.get(name, 0) + unfilled for name, amount in taken if amount > 0}
        open_node = msgspec.structs.replace(node, state="ready", taints=())
        for daemon in daemons_on([open_node], self._market.daemons):
            for name, amount in columns.taken(daemon).items():
                needed[name] = needed.get(name, 0) + amount
        capacity = node.capacity.larger(Resources(needed))
        labels = {**node.labels, **self._batch.workload.constraints.node_selector}
        large = msgspec.structs.replace(open_node, capacity=capacity, labels=labels)
        return with_drives_for(large, self._volumes, columns.rules_of(node)) if self._volumes else large


def _fewest(spares: SpareNodes, kind: Spares, shape: Shape, least: int, rest: int) -> int:
    """Return the fewest nodes of a kind, at least so many, that take the rest; 0 where none do."""
    if spares.take_the_rest(kind, least, shape, rest):
        return least
    fails, fits = least, len(kind.rows)
    if fits == fails or not spares.take_the_rest(kind, fits, shape, rest):
        return 0
    while fits - fails > 1:
        middle = (fits + fails) // 2
        if spares.take_the_rest(kind, middle, shape, rest):
            fits = middle
        else:
            fails = middle
    return fits


def labels_looked_at(workload: Workload, shape: Shape) -> frozenset[str]:
    """Return the labels of nodes by which the rules of a workload tell them apart."""
    constraints = workload.constraints
    keys = {*constraints.node_selector, *(each.topology_key for each in constraints.topology_spread)}
    keys |= {each.topology_key for each in (*shape.member.required_near, *shape.member.required_away)}
    keys |= {rule.label for rule in (*shape.local_rules, *shape.wide_rules) if isinstance(rule, Away)}
    nodes = constraints.affinity.node_affinity if constraints.affinity else None
    for term in nodes.required.node_selector_terms if nodes and nodes.required else ():
        keys |= {each.key for each in term.match_expressions}
    if workload.volumes:
        keys |= set(ZONE_LABELS)
    return frozenset(keys - {"", NAME_FIELD})


def kinds_of(nodes: list[Node], labels: frozenset[str]) -> dict[Kind, Node]:
    """Return the first node of each kind."""
    found: dict[Kind, Node] = {}
    for node in nodes:
        found.setdefault(kind_of(node, labels), node)
    return found


def kind_of(node: Node, labels: frozenset[str]) -> Kind:
    """Return what makes nodes alike for a new one: what they have, and some of their labels."""
    places = tuple(node.labels.get(key, "") for key in sorted(labels) if not _names(node, key))
    devices = tuple((device.resource, device.model) for device in node.devices)
    limits = tuple(sorted(node.attach_limits.items()))
    return node.capacity, node.reserve, node.taints, node.group, devices, limits, places


def _names(node: Node, key: str) -> bool:
    """Whether a label holds the name of its node."""
    return node.labels.get(key) == node.name
