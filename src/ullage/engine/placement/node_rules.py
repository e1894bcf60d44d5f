"""Which nodes a workload may use at all: state, taints, node selector and required node affinity.

Judged as kube-scheduler judges them: every term of a selector must hold on one node, several terms are
alternatives, and a selector term without any condition matches nothing.
"""

import re
from collections.abc import Mapping
from typing import Final

from ullage.model.cluster import Node, Taint, Workload
from ullage.model.constraints import NodeSelectorTerm, Requirement, Toleration
from ullage.model.quantity import INT64_MAX

HARD_EFFECTS: Final = frozenset(("NoSchedule", "NoExecute"))
NAME_FIELD: Final = "metadata.name"
NOT_MEANT: Final = Taint("ullage.dev/not-meant", effect="NotMeant")
"""Of a node that is none of those a question means: open to others, closed to what is asked about.

Of an effect that Kubernetes does not have, so that no toleration lifts it and nothing else looks at it.
"""
LEFT_OUT: Final = "not meant"
"""Why such a node takes nothing."""
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")


def closed_by(node: Node, workload: Workload) -> str:
    """Return what keeps a workload off a node whatever room it has; nothing where it may go there."""
    if NOT_MEANT in node.taints:
        return LEFT_OUT
    if node.state != "ready":
        return node.state
    constraints = workload.constraints
    for taint in node.taints:
        if taint.effect in HARD_EFFECTS and not any(
            tolerates(toleration, taint) for toleration in constraints.tolerations
        ):
            return f"taint {taint.key}"
    if any(node.labels.get(key) != value for key, value in constraints.node_selector.items()):
        return "node selector"
    affinity = constraints.affinity.node_affinity if constraints.affinity else None
    if affinity is not None and affinity.required is not None:
        terms = affinity.required.node_selector_terms
        if not any(matches_term(node, term) for term in terms):
            return "node affinity"
    return ""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration covers a taint; no key means every taint, no effect means every effect."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == taint.key
    return bool(toleration.key) and (toleration.key, toleration.value) == (taint.key, taint.value)


def matches_term(node: Node, term: NodeSelectorTerm) -> bool:
    """Whether every condition of a term holds on a node."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {NAME_FIELD: node.name}
    return all(matches(node.labels, each) for each in term.match_expressions) and all(
        matches(fields, each) for each in term.match_fields
    )


def matches(values: Mapping[str, str], requirement: Requirement) -> bool:
    """Whether one condition holds on labels or fields."""
    found = values.get(requirement.key)
    match requirement.operator:
        case "In":
            return found in requirement.values
        case "NotIn":
            return found not in requirement.values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt":
            return _compared(found, requirement) > 0
        case "Lt":
            return _compared(found, requirement) < 0
    return False


def _compared(found: str | None, requirement: Requirement) -> int:
    """Return -1, 0 or 1 as the number found is below, at or above the one wanted; no number is 0."""
    if found is None or len(requirement.values) != 1:
        return 0
    one, other = _number(found), _number(requirement.values[0])
    if one is None or other is None:
        return 0
    return (one > other) - (one < other)


def _number(text: str) -> int | None:
    if not _INTEGER.fullmatch(text) or abs(int(text)) > INT64_MAX:
        return None
    return int(text)
