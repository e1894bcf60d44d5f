"""Which workloads a selector means, by labels and namespaces, as Kubernetes reads selectors.

The hard thing is what absence means: no selector selects nothing, an empty one everything; a term that
names no namespace means the workload's own, an empty namespace selector means all of them.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ullage.engine.placement.node_rules import matches
from ullage.model.admission import Namespace
from ullage.model.constraints import LabelSelector, PodAffinityTerm, Requirement

NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that every namespace has."""

Requirements = tuple[Requirement, ...]


def requirements_of(selector: LabelSelector | None) -> Requirements | None:
    """Return a selector as conditions that all hold; None where it selects nothing."""
    if selector is None:
        return None
    equal = (Requirement(key, "In", (value,)) for key, value in sorted(selector.match_labels.items()))
    return (*equal, *selector.match_expressions)


def selects(requirements: Requirements | None, labels: Mapping[str, str]) -> bool:
    """Whether labels meet all conditions."""
    return requirements is not None and all(matches(labels, each) for each in requirements)


class WorkloadSelector(NamedTuple):
    """Workloads by labels, in namespaces that are named or meet conditions; no condition is met by all."""

    requirements: Requirements | None
    namespaces: frozenset[str]
    chosen: Requirements | None


class Namespaces:
    """The namespaces of a cluster, for terms that select them by label."""

    def __init__(self, known: Iterable[Namespace]) -> None:
        self._labels = {each.name: {NAMESPACE_NAME_LABEL: each.name, **each.labels} for each in known}

    def means(
        self, selector: WorkloadSelector, namespace: str, labels: Mapping[str, str], *, of_newcomer: bool
    ) -> bool:
        """Whether a selector means a workload; a namespace that is not known has nothing but its name.

        kube-scheduler holds the namespace selector of a newcomer's own terms against no labels at all as
        well, so that conditions such as NotIn mean every namespace there.
        """
        if namespace not in selector.namespaces:
            has = self._labels.get(namespace) or {NAMESPACE_NAME_LABEL: namespace}
            if not selects(selector.chosen, has) and not (of_newcomer and selects(selector.chosen, {})):
                return False
        return selects(selector.requirements, labels)


def selector_of(term: PodAffinityTerm, namespace: str, labels: Mapping[str, str]) -> WorkloadSelector:
    """Return whom a term of a workload means, with its label keys filled in from the workload's own."""
    requirements = requirements_of(term.label_selector)
    if requirements is not None:
        requirements += with_label_keys(term.match_label_keys, labels, "In")
        requirements += with_label_keys(term.mismatch_label_keys, labels, "NotIn")
    chosen = requirements_of(term.namespace_selector)
    own = () if term.namespaces or chosen is not None else (namespace,)
    return WorkloadSelector(requirements, frozenset((*term.namespaces, *own)), chosen)


def with_label_keys(keys: tuple[str, ...], labels: Mapping[str, str], operator: str) -> Requirements:
    """Return the conditions that keys stand for: the value that the workload itself has, if any."""
    return tuple(Requirement(key, operator, (labels[key],)) for key in keys if key in labels)
