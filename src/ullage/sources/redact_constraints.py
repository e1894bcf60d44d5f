"""Constraints with pseudonyms for keys, values and namespaces, so that they still select the same things.

The hard part is Gt and Lt, which compare a label as a number: a pseudonym is none, so the numbers of every
label that is compared like this anywhere in the cluster are kept.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from ullage.model.cluster import Snapshot
from ullage.model.constraints import (
    UNCONSTRAINED,
    Affinity,
    Constraints,
    HostPort,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    Toleration,
    TopologySpread,
)
from ullage.sources.redact_names import Pseudonyms

ANY_ADDRESS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with, never bound to
NODE_NAME_FIELD: Final = "metadata.name"
_COMPARED: Final = frozenset({"Gt", "Lt"})
_SHARED_MAX: Final = 100_000


def numeric_keys(snapshot: Snapshot) -> frozenset[str]:
    """Return the labels that some workload or volume compares as numbers."""
    seen: set[int] = set()
    keys: set[str] = set()
    for volume in snapshot.volumes:
        keys.update(_compared(volume.node_affinity))
    for workload in snapshot.workloads:
        constraints = workload.constraints
        if constraints.affinity is not None and id(constraints) not in seen:
            seen.add(id(constraints))
            affinity = constraints.affinity.node_affinity or NodeAffinity()
            keys.update(_compared(affinity.required))
            keys.update(_compared(NodeSelector(tuple(each.preference for each in affinity.preferred))))
    return frozenset(keys)


def _compared(selector: NodeSelector | None) -> Iterator[str]:
    for term in selector.node_selector_terms if selector is not None else ():
        for requirement in term.match_expressions:
            if requirement.operator in _COMPARED:
                yield requirement.key


class ConstraintRedactor:
    """Redacts labels and constraints; those that rows share are redacted once and stay shared."""

    def __init__(self, names: Pseudonyms, numeric: frozenset[str]) -> None:
        self.names = names
        self.numeric = numeric
        self._labels: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        self._constraints: dict[int, tuple[Constraints, Constraints]] = {}

    def labels(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        """Return labels with pseudonyms."""
        key = tuple(labels.items())
        found = self._labels.get(key)
        if found is None:
            found = {self.names.label_key(name): self.value(name, value) for name, value in key}
            if len(self._labels) < _SHARED_MAX:
                self._labels[key] = found
        return found

    def value(self, key: str, value: str) -> str:
        """Return a label's value, as it was where it is compared as a number."""
        if key in self.numeric and value.lstrip("-").isdecimal():
            return value
        return self.names.label_value(key, value)

    def constraints(self, constraints: Constraints) -> Constraints:
        """Return constraints with pseudonyms."""
        if constraints is UNCONSTRAINED:
            return constraints
        known = self._constraints.get(id(constraints))
        if known is not None:
            return known[1]
        redacted = Constraints(
            node_selector=self.labels(constraints.node_selector),
            affinity=None if constraints.affinity is None else self._affinity(constraints.affinity),
            tolerations=self.tolerations(constraints.tolerations),
            topology_spread=tuple(self._spread(each) for each in constraints.topology_spread),
            host_ports=tuple(self._port(each) for each in constraints.host_ports),
            scheduling_gates=tuple(self.names.of("gate", each) for each in constraints.scheduling_gates),
            resource_claims=tuple(
                self.names.of("device-claim", each) for each in constraints.resource_claims
            ),
        )
        if len(self._constraints) < _SHARED_MAX:
            # The original is kept beside its copy: while it lives, its identity is nobody else's.
            self._constraints[id(constraints)] = (constraints, redacted)
        return redacted

    def tolerations(self, tolerations: tuple[Toleration, ...]) -> tuple[Toleration, ...]:
        """Return tolerations with pseudonyms."""
        return tuple(
            msgspec.structs.replace(
                each, key=self.names.label_key(each.key), value=self.names.label_value(each.key, each.value)
            )
            for each in tolerations
        )

    def _affinity(self, affinity: Affinity) -> Affinity:
        node = affinity.node_affinity
        return Affinity(
            None if node is None else self._node_affinity(node),
            self._pod_affinity(affinity.pod_affinity),
            self._pod_affinity(affinity.pod_anti_affinity),
        )

    def _node_affinity(self, affinity: NodeAffinity) -> NodeAffinity:
        preferred = tuple(
            msgspec.structs.replace(each, preference=self._term(each.preference))
            for each in affinity.preferred
        )
        return NodeAffinity(self.node_selector(affinity.required), preferred)

    def node_selector(self, selector: NodeSelector | None) -> NodeSelector | None:
        """Return a selector of nodes with pseudonyms."""
        if selector is None:
            return None
        return NodeSelector(tuple(self._term(term) for term in selector.node_selector_terms))

    def _term(self, term: NodeSelectorTerm) -> NodeSelectorTerm:
        fields = tuple(
            msgspec.structs.replace(each, values=tuple(self.names.of("node", value) for value in each.values))
            if each.key == NODE_NAME_FIELD
            else self.requirement(each)
            for each in term.match_fields
        )
        return NodeSelectorTerm(tuple(self.requirement(each) for each in term.match_expressions), fields)

    def requirement(self, requirement: Requirement) -> Requirement:
        """Return a condition on a label with pseudonyms."""
        return Requirement(
            self.names.label_key(requirement.key),
            requirement.operator,
            tuple(self.value(requirement.key, value) for value in requirement.values),
        )

    def selector(self, selector: LabelSelector | None) -> LabelSelector | None:
        """Return a selector of labels with pseudonyms."""
        if selector is None:
            return None
        return LabelSelector(
            self.labels(selector.match_labels),
            tuple(self.requirement(each) for each in selector.match_expressions),
        )

    def _pod_affinity(self, affinity: PodAffinity | None) -> PodAffinity | None:
        if affinity is None:
            return None
        preferred = tuple(
            msgspec.structs.replace(each, pod_affinity_term=self._pod_term(each.pod_affinity_term))
            for each in affinity.preferred
        )
        return PodAffinity(tuple(self._pod_term(each) for each in affinity.required), preferred)

    def _pod_term(self, term: PodAffinityTerm) -> PodAffinityTerm:
        return PodAffinityTerm(
            self.names.label_key(term.topology_key),
            self.selector(term.label_selector),
            tuple(self.names.of("namespace", each) for each in term.namespaces),
            self.selector(term.namespace_selector),
            tuple(self.names.label_key(each) for each in term.match_label_keys),
            tuple(self.names.label_key(each) for each in term.mismatch_label_keys),
        )

    def _spread(self, spread: TopologySpread) -> TopologySpread:
        return msgspec.structs.replace(
            spread,
            topology_key=self.names.label_key(spread.topology_key),
            label_selector=self.selector(spread.label_selector),
            match_label_keys=tuple(self.names.label_key(each) for each in spread.match_label_keys),
        )

    def _port(self, port: HostPort) -> HostPort:
        if port.host_ip in ANY_ADDRESS:
            return port
        return msgspec.structs.replace(port, host_ip=self.names.of("address", port.host_ip))
