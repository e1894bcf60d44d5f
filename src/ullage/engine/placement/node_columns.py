"""What nodes say about themselves, as columns: label values as small integers, states, sets of taints.

A condition on a label is decided once for each distinct value, then looked up for all nodes at once; a set
of taints is decided once for each distinct set. So a rule costs a few array operations, however many nodes
there are, and equal rules of different shapes cost them once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.node_rules import (
    HARD_EFFECTS,
    LEFT_OUT,
    NAME_FIELD,
    NOT_MEANT,
    matches,
    tolerates,
)
from ullage.model.cluster import Node, Taint
from ullage.model.constraints import Constraints, NodeSelectorTerm, Requirement, Toleration

Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]

CORDON: Final = Taint("node.kubernetes.io/unschedulable")
"""The taint that stands for a node which takes nothing new; whoever tolerates it may come all the same."""


class Topology(NamedTuple):
    """The values of one label: which one each node has (-1 for none), and how many there are."""

    codes: Codes
    values: tuple[str, ...]

    @property
    def is_by_node(self) -> bool:
        """Whether no two nodes share a value, so that what is counted by value is counted by node."""
        return len(self.values) == len(self.codes)


class Closed(NamedTuple):
    """Why nodes are closed to a shape: an index into reasons for each node, 0 for those that are open."""

    codes: npt.NDArray[np.int32]
    reasons: tuple[str, ...]
    open: Flags


class NodeColumns:
    """Labels, states and taints of nodes in a fixed order."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self._topologies: dict[str, Topology] = {}
        self._closed: dict[tuple[object, ...], Closed] = {}
        self._affine: dict[tuple[object, ...], Flags] = {}
        sets: dict[tuple[Taint, ...], int] = {}
        self._taint_codes = np.fromiter(
            (sets.setdefault(node.taints, len(sets)) for node in nodes), np.int32, len(nodes)
        )
        self._taint_sets = tuple(sets)
        self._left_out = np.array([NOT_MEANT in taints for taints in sets], np.bool_)[self._taint_codes]
        self._cordoned = np.fromiter((node.state == "cordoned" for node in nodes), np.bool_, len(nodes))
        self._offline = np.fromiter((node.state == "offline" for node in nodes), np.bool_, len(nodes))

    def topology(self, key: str) -> Topology:
        """Return the values of a label over all nodes; the field metadata.name is a label too."""
        found = self._topologies.get(key)
        if found is None:
            index: dict[str, int] = {}
            codes = np.fromiter(
                (
                    -1 if value is None else index.setdefault(value, len(index))
                    for value in map(_value_of(key), self.nodes)
                ),
                np.int32,
                len(self.nodes),
            )
            found = self._topologies[key] = Topology(codes, tuple(index))
        return found

    def closed_to(self, constraints: Constraints) -> Closed:
        """Return which nodes are closed to a workload by what they are, and why."""
        key = (_selector_key(constraints), constraints.tolerations)
        found = self._closed.get(key)
        if found is None:
            found = self._closed[key] = self._judge(constraints)
        return found

    def _judge(self, constraints: Constraints) -> Closed:
        codes = np.zeros(len(self.nodes), np.int32)
        reasons = [""]

        def close(which: Flags, reason: str) -> None:
            which = which & (codes == 0)
            if which.any():
                if reason not in reasons:
                    reasons.append(reason)
                codes[which] = reasons.index(reason)

        close(self._left_out, LEFT_OUT)
        close(self._offline, "offline")
        if not any(tolerates(each, CORDON) for each in constraints.tolerations):
            close(self._cordoned, "cordoned")
        for code, taints in enumerate(self._taint_sets):
            untolerated = untolerated_taint(taints, constraints.tolerations)
            if untolerated is not None:
                close(self._taint_codes == code, f"taint {untolerated.key}")
        if constraints.node_selector:
            close(~self._selected(constraints.node_selector), "node selector")
        close(~self.affine(constraints), "node affinity")
        return Closed(codes, tuple(reasons), codes == 0)

    def affine(self, constraints: Constraints) -> Flags:
        """Return the nodes that node selector and required node affinity of a workload mean."""
        key = _selector_key(constraints)
        found = self._affine.get(key)
        if found is None:
            found = self._selected(constraints.node_selector)
            affinity = constraints.affinity.node_affinity if constraints.affinity else None
            if affinity is not None and affinity.required is not None:
                found = found & self.any_term(affinity.required.node_selector_terms)
            self._affine[key] = found
        return found

    def tolerated(self, tolerations: tuple[Toleration, ...]) -> Flags:
        """Return the nodes all of whose hard taints are tolerated."""
        kept: Flags = np.fromiter(
            (untolerated_taint(taints, tolerations) is None for taints in self._taint_sets),
            np.bool_,
            len(self._taint_sets),
        )[self._taint_codes]
        return kept

    def preferred_taints(self, tolerations: tuple[Toleration, ...]) -> npt.NDArray[np.int64]:
        """Return how many taints of each node would rather not have a workload with these tolerations."""
        soft = [each for each in tolerations if each.effect in {"", SOFT_EFFECT}]
        counts = [
            sum(
                taint.effect == SOFT_EFFECT and not any(tolerates(each, taint) for each in soft)
                for taint in taints
            )
            for taints in self._taint_sets
        ]
        return np.array(counts, np.int64)[self._taint_codes]

    def any_term(self, terms: Sequence[NodeSelectorTerm]) -> Flags:
        """Return the nodes on which at least one term holds."""
        found = np.zeros(len(self.nodes), np.bool_)
        for term in terms:
            found |= self.term(term)
        return found

    def term(self, term: NodeSelectorTerm) -> Flags:
        """Return the nodes on which every condition of a term holds; an empty term holds nowhere."""
        if not term.match_expressions and not term.match_fields:
            return np.zeros(len(self.nodes), np.bool_)
        found = np.ones(len(self.nodes), np.bool_)
        for requirement in (*term.match_expressions, *term.match_fields):
            found &= self.meets(requirement)
        return found

    def meets(self, requirement: Requirement) -> Flags:
        """Return the nodes on which a condition holds."""
        codes, values = self.topology(requirement.key)
        holds = np.zeros(len(values) + 1, np.bool_)
        holds[-1] = matches({}, requirement)
        if requirement.operator == "In":
            wanted = set(requirement.values)
            holds[:-1] = np.fromiter((value in wanted for value in values), np.bool_, len(values))
        else:
            key = requirement.key
            holds[:-1] = np.fromiter(
                (matches({key: value}, requirement) for value in values), np.bool_, len(values)
            )
        flags: Flags = holds[codes]
        return flags

    def _selected(self, selector: Mapping[str, str]) -> Flags:
        found = np.ones(len(self.nodes), np.bool_)
        for key, value in selector.items():
            found &= self.meets(Requirement(key, "In", (value,)))
        return found


SOFT_EFFECT: Final = "PreferNoSchedule"


def untolerated_taint(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """Return the first taint that keeps workloads with these tolerations away."""
    for taint in taints:
        if taint.effect in HARD_EFFECTS and not any(tolerates(each, taint) for each in tolerations):
            return taint
    return None


def _value_of(key: str) -> Callable[[Node], str | None]:
    if key == NAME_FIELD:
        return lambda node: node.name
    return lambda node: node.labels.get(key)


def _selector_key(constraints: Constraints) -> tuple[object, ...]:
    affinity = constraints.affinity.node_affinity if constraints.affinity else None
    return tuple(sorted(constraints.node_selector.items())), affinity.required if affinity else None
