"""The smallest single changes that make something fit; each is tried before it is named.

In this order: a smaller request of one resource, a node opened, fewer replicas, workloads evicted, nodes
added. A remedy speaks of all replicas that were asked for, and what it says is what was tried: applied to the
cluster or to the request, everything fits.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Final, NamedTuple

import msgspec
import numpy as np

from ullage.engine.capacity.admission import show_down
from ullage.engine.placement.batches import all_fit, place_replicas
from ullage.engine.placement.node_columns import CORDON
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.victims import EVICTED_MAX, Victims
from ullage.engine.redundancy.daemons import daemons_of, daemons_on
from ullage.engine.trial import Trial
from ullage.model.cluster import Node, Workload
from ullage.model.constraints import Constraints, NodeAffinity, Toleration
from ullage.model.delta import Delta
from ullage.model.plan import Remedy
from ullage.model.resources import Resources

PODS: Final = "pods"
PARTS: Final = 1000
"""Requests are lowered together in thousandths of themselves."""
TAINT: Final = "taint "
NODES_MAX: Final = 64
KINDS_OF_NODE_MAX: Final = 3


class Own(NamedTuple):
    """Running replicas of a batch: their keys, and how many of them keep their place."""

    keys: frozenset[str]
    kept: int


NONE_OWN: Final = Own(frozenset(), 0)


class Around:
    """What the remedies of all batches on one trial share, read when it is first needed."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial

    @cached_property
    def victims(self) -> Victims:
        """What could be evicted."""
        return Victims(self.trial)

    @cached_property
    def daemons(self) -> list[Workload]:
        """One pod of each set of daemons."""
        return daemons_of(self.trial.columns.snapshot)


class Remedies:
    """What would help a batch that does not fit, on a trial in the state before it was placed.

    Its `own` running replicas are counted in what is said, and never evicted.
    """

    def __init__(
        self, around: Around, asked: Workload, replicas: int, placed: int, own: Own = NONE_OWN
    ) -> None:
        self._around = around
        self._trial = around.trial
        self._asked = asked
        self._shape = around.trial.shape_of(asked)
        self._replicas = replicas
        self._placed = placed
        self._own = own
        whole = replicas + own.kept
        self._all = "it then fits" if whole == 1 else f"all {whole} then fit"

    def find(self) -> tuple[Remedy, ...]:
        """Return the remedies that were tried and help, the smallest change first."""
        found = [*self._smaller(), *self._opened()]
        fitting = self._placed + self._own.kept
        if fitting:
            count = f"{fitting} replica{'s' if fitting > 1 else ''}"
            found.append(Remedy("replicas", f"ask for {count} only", replicas=fitting))
        found += [*self._evicted(), *self._added()]
        return tuple(found)

    def _where(self, trial: Trial, shape: Shape) -> dict[int, int] | None:
        """Return where all replicas of a shape would go; None where they do not all fit."""
        if not all_fit(trial, shape, self._replicas):
            return None
        mark = trial.mark()
        counts = place_replicas(trial, shape, self._replicas)
        trial.undo(mark)
        return counts if sum(counts.values()) == self._replicas else None

    # A smaller request

    def _smaller(self) -> Iterator[Remedy]:
        """Lower the request of one resource as little as helps; where none does, of all by the same part."""
        requests = self._asked.requests
        names = [name for name, amount in requests.items() if amount > 0 and name != PODS]
        found = False
        for name in names:
            lowered = self._largest(requests.of(name), partial(_only, name))
            if lowered:
                found = True
                yield self._request(lowered)
        if not found and len(names) > 1:
            scaled = self._largest(
                PARTS, lambda part: {name: requests.of(name) * part // PARTS for name in names}
            )
            if scaled:
                yield self._request(scaled)

    def _largest(self, fails: int, changed: Callable[[int], dict[str, int]]) -> dict[str, int]:
        """Return the requests changed by the largest number below `fails` that helps; nothing for none."""
        fits = 0
        if not self._fits_with(changed(0)):
            return {}
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self._fits_with(changed(middle)):
                fits = middle
            else:
                fails = middle
        types = self._trial.columns.snapshot.resource_types
        shown = {name: types[name].parse(self._shown(name, amount)) for name, amount in changed(fits).items()}
        return shown if all(shown.values()) and self._fits_with(shown) else {}

    def _request(self, lowered: dict[str, int]) -> Remedy:
        sizes = " and ".join(f"{name} to {self._shown(name, amount)}" for name, amount in lowered.items())
        requests = Resources({**self._asked.requests, **lowered})
        return Remedy("request", f"lower the request of {sizes}: {self._all}", requests=requests)

    def _shown(self, name: str, amount: int) -> str:
        return show_down(name, amount, self._trial.columns.snapshot.resource_types)

    def _fits_with(self, changed: dict[str, int]) -> bool:
        requests = Resources({**self._asked.requests, **changed})
        return all_fit(self._trial, self._variant(requests=requests), self._replicas)

    def _variant(self, **changes: object) -> Shape:
        return self._trial.compile(msgspec.structs.replace(self._asked, **changes))

    # A node opened

    def _opened(self) -> Iterator[Remedy]:
        closed = self._shape.closed
        for code in np.unique(closed.codes[closed.codes > 0]).tolist():
            reason = closed.reasons[code]
            constraints = self._without(reason)
            if constraints is None:
                continue
            counts = self._where(self._trial, self._variant(constraints=constraints))
            if counts is None:
                continue
            names = sorted(self._trial.nodes[row].name for row in counts if closed.codes[row] == code)
            if reason == "cordoned":
                text = f"uncordon {_listed(names)}: {self._all}"
                yield Remedy("open", text, nodes=tuple(names))
            elif reason.startswith(TAINT):
                text = f"tolerate the {reason} ({_listed(names)}): {self._all}"
                yield Remedy("open", text, nodes=tuple(names), toleration=_toleration(reason))
            else:
                text = f"drop its {reason} ({_listed(names)} would take it): {self._all}"
                yield Remedy("open", text, nodes=tuple(names), without=reason)

    def _without(self, reason: str) -> Constraints | None:
        """Return the constraints under which nodes closed for a reason are open; None where none would."""
        asked = self._asked.constraints
        if reason == "cordoned":
            tolerations = (*asked.tolerations, Toleration(CORDON.key, "Exists"))
            return msgspec.structs.replace(asked, tolerations=tolerations)
        if reason.startswith(TAINT):
            return msgspec.structs.replace(asked, tolerations=(*asked.tolerations, _toleration(reason)))
        if reason == "node selector":
            return msgspec.structs.replace(asked, node_selector={})
        if reason == "node affinity" and asked.affinity is not None and asked.affinity.node_affinity:
            kept = NodeAffinity(preferred=asked.affinity.node_affinity.preferred)
            affinity = msgspec.structs.replace(asked.affinity, node_affinity=kept)
            return msgspec.structs.replace(asked, affinity=affinity)
        return None

    # Workloads evicted

    def _evicted(self) -> Iterator[Remedy]:
        """Evict, node by node, those of the lowest priority, then the smallest, for each missing replica."""
        missing = self._replicas - self._placed
        if missing > EVICTED_MAX:
            return
        trial = self._trial
        mark = trial.mark()
        place_replicas(trial, self._shape, self._replicas)
        gone: list[Workload] = []
        for _ in range(missing):
            victims = self._around.victims.fewest(self._shape, self._asked.priority, self._own.keys, gone)
            if not victims:
                break
            for victim in victims:
                trial.evict(victim)
            trial.place(self._shape, trial.row_of[victims[0].node])
            gone += victims
        else:
            keys = [victim.key for victim in gone]
            trial.undo(mark)
            if self._fits_after(keys):
                yield Remedy("evict", f"evict {_listed(keys)}: {self._all}", evicted=tuple(keys))
        trial.undo(mark)

    def _fits_after(self, gone: Sequence[str]) -> bool:
        trial = self._trial
        mark = trial.mark()
        for key in gone:
            trial.evict(trial.columns.snapshot.workloads[key])
        fits = all_fit(trial, self._shape, self._replicas)
        trial.undo(mark)
        return fits

    # Nodes added

    def _added(self) -> Iterator[Remedy]:
        """Add nodes like those there are, or like them but large enough; the fewest that help."""
        for model in self._models():
            most = min(self._replicas - self._placed, NODES_MAX)
            if not self._fits_beside(model, most):
                continue
            fails, fits = 0, most
            while fits - fails > 1:
                middle = (fits + fails) // 2
                if self._fits_beside(model, middle):
                    fits = middle
                else:
                    fails = middle
            what = "a node" if fits == 1 else f"{fits} nodes"
            types = self._trial.columns.snapshot.resource_types
            asked = [name for name in self._asked.requests if name != PODS]
            sizes = ", ".join(f"{types[name].readable(model.capacity.of(name))} of {name}" for name in asked)
            sizes += self._labels_needed(model) + (" each" if fits > 1 else "")
            text = f"add {what} with {sizes}: {self._all}"
            yield Remedy("node", text, node=model, count=fits)
            return

    def _labels_needed(self, model: Node) -> str:
        """Return the labels that a new node must have, as its workload selects by them."""
        wanted = self._asked.constraints.node_selector
        shown = ", ".join(f"{key}={value}" for key, value in sorted(wanted.items()) if key in model.labels)
        return f" and label {shown}" if shown else ""

    def _models(self) -> list[Node]:
        """Return one node of each kind that is open to the shape, the smallest first; then a large one."""
        trial = self._trial
        kinds: dict[tuple[object, ...], Node] = {}
        for row in np.flatnonzero(self._shape.open).tolist() or list(range(len(trial.nodes)))[:1]:
            node = trial.nodes[row]
            kinds.setdefault((node.capacity, node.reserve, node.taints), node)
        wholes = dict(zip(trial.columns.resources, trial.wholes(), strict=True))

        def size(node: Node) -> tuple[int, str]:
            parts = ((amount << 30) // wholes[name] for name, amount in node.capacity.items())
            return max(parts, default=0), node.name

        ordered = sorted(kinds.values(), key=size)
        large = [self._large_enough(ordered[-1])] if ordered else []
        return [*ordered[:KINDS_OF_NODE_MAX], *large]

    def _large_enough(self, node: Node) -> Node:
        """Return a node with room for what is asked, on top of what it keeps for itself."""
        figures = self._trial.place_of(self._trial.row_of[node.name]).figures
        kept = {name: each.bounds.reserve for name, each in figures.items()}
        unfilled = int(self._trial.columns.rules_of(node).fill == "below")
        taken = self._shape.requests.items()
        needed = {name: amount + kept.get(name, 0) + unfilled for name, amount in taken if amount > 0}
        for daemon in daemons_on([node], self._around.daemons):
            for name, amount in self._trial.columns.taken(daemon).items():
                needed[name] = needed.get(name, 0) + amount
        capacity = node.capacity.larger(Resources(needed))
        labels = {**node.labels, **self._asked.constraints.node_selector}
        return msgspec.structs.replace(node, capacity=capacity, labels=labels, state="ready", taints=())

    def _fits_beside(self, model: Node, count: int) -> bool:
        """Whether everything fits with so many nodes like a model beside those there are."""
        added = tuple(node_like(model, number) for number in range(count))
        daemons = tuple(daemons_on(added, self._around.daemons))
        trial = self._trial.with_nodes(Delta(nodes=added, workloads=daemons))
        return all_fit(trial, trial.shape_of(self._asked), self._replicas)


def node_like(model: Node, number: int) -> Node:
    """Return a new node like a model: labels that hold its name hold the new one's."""
    name = f"{model.name}-new-{number + 1}"
    labels = {key: name if value == model.name else value for key, value in model.labels.items()}
    return msgspec.structs.replace(model, name=name, labels=labels, actual=None, state="ready")


def _only(name: str, amount: int) -> dict[str, int]:
    return {name: amount}


def _toleration(reason: str) -> Toleration:
    return Toleration(reason.removeprefix(TAINT), "Exists")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
