"""Label selectors as kubectl writes them: `zone=a,pool!=gpu,tier in (web,api),!spot`."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from ullage.engine.placement.node_rules import NAME_FIELD
from ullage.model.constraints import (
    Affinity,
    Constraints,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
)
from ullage.model.errors import InputError

CONDITIONS_MAX: Final = 100
_PART: Final = re.compile(r"[^,()]*(?:\([^()]*\)[^,()]*)?(?:,|\Z)")
_SET: Final = re.compile(r"([^\s!=()]+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL: Final = re.compile(r"([^\s!=()]+)\s*(==|=|!=)\s*([^\s!=()]*)")
_EXISTS: Final = re.compile(r"(!?)\s*([^\s!=()]+)")


def parse_selector(text: str) -> tuple[Requirement, ...]:
    """Return the conditions of a selector; all of them hold on a node that it selects."""
    if not text.strip():
        return ()
    parts = []
    position = 0
    while position <= len(text):
        found = _PART.match(text, position)
        if found is None:
            raise _no_condition(text[position:])
        parts.append(found.group().removesuffix(",").strip())
        if len(parts) > CONDITIONS_MAX:
            raise InputError(f"more than {CONDITIONS_MAX} conditions", where="-l", remedy="use fewer")
        if not found.group().endswith(","):
            break
        position = found.end()
    return tuple(_condition(part) for part in parts)


def selects(requirements: tuple[Requirement, ...], labels: Mapping[str, str]) -> bool:
    """Whether every condition holds for these labels."""
    return all(_holds(each, labels) for each in requirements)


def with_node_requirements(constraints: Constraints, requirements: tuple[Requirement, ...]) -> Constraints:
    """Return constraints under which these conditions hold too for the labels of the node."""
    affinity = constraints.affinity or Affinity()
    of_nodes = affinity.node_affinity or NodeAffinity()
    if of_nodes.required is None:
        terms: tuple[NodeSelectorTerm, ...] = (NodeSelectorTerm(requirements),)
    else:
        terms = tuple(
            msgspec.structs.replace(term, match_expressions=(*term.match_expressions, *requirements))
            for term in of_nodes.required.node_selector_terms
            if term.match_expressions or term.match_fields  # an empty one holds nowhere
        )
    of_nodes = msgspec.structs.replace(of_nodes, required=NodeSelector(terms))
    return msgspec.structs.replace(
        constraints, affinity=msgspec.structs.replace(affinity, node_affinity=of_nodes)
    )


def with_node_names(constraints: Constraints, names: tuple[str, ...]) -> Constraints:
    """Return constraints under which only nodes of these names are left."""
    affinity = constraints.affinity or Affinity()
    of_nodes = affinity.node_affinity or NodeAffinity()
    named = Requirement(NAME_FIELD, "In", names)
    if of_nodes.required is None:
        terms: tuple[NodeSelectorTerm, ...] = (NodeSelectorTerm((), (named,)),)
    else:
        terms = tuple(
            msgspec.structs.replace(term, match_fields=(*term.match_fields, named))
            for term in of_nodes.required.node_selector_terms
            if term.match_expressions or term.match_fields  # an empty one holds nowhere
        )
    of_nodes = msgspec.structs.replace(of_nodes, required=NodeSelector(terms))
    return msgspec.structs.replace(
        constraints, affinity=msgspec.structs.replace(affinity, node_affinity=of_nodes)
    )


def _condition(part: str) -> Requirement:
    if found := _SET.fullmatch(part):
        key, word, values = found.groups()
        chosen = tuple(value.strip() for value in values.split(","))
        return Requirement(key, "In" if word == "in" else "NotIn", chosen)
    if found := _EQUAL.fullmatch(part):
        key, sign, value = found.groups()
        return Requirement(key, "NotIn" if sign == "!=" else "In", (value,))
    if found := _EXISTS.fullmatch(part):
        absent, key = found.groups()
        return Requirement(key, "DoesNotExist" if absent else "Exists")
    raise _no_condition(part)


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    if requirement.operator == "In":
        return value in requirement.values
    if requirement.operator == "NotIn":
        return value not in requirement.values
    return (value is not None) == (requirement.operator == "Exists")


def _no_condition(part: str) -> InputError:
    return InputError(
        f"selector {part!r} is no condition",
        where="-l",
        remedy="write key=value, key!=value, key in (a,b), key notin (a,b), key or !key",
    )
