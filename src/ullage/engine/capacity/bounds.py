"""What a node can give, resource by resource: the one arithmetic of the project.

    allocatable = capacity - reserve
    limit       = floor(ratio * allocatable)
    committed   = sum of promises, or actual use above the reserve where the policy counts that
    free        = max(0, limit - committed - standby)

Standby is what a node holds free for failover (standby.py): nothing where no instance relies on it. The hard
part is the reserve: what the user set beats what the source states, which beats the profile's rule.
`committed_of` and `free_of` take integers or NumPy arrays, so that one node and a hundred thousand are judged
by the same lines.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from ullage.model.cluster import Node
from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import ReserveRule, Rules

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Amounts = TypeVar("Amounts", int, npt.NDArray[np.int64])
else:
    Amounts = TypeVar("Amounts")

CPU: Final = "cpu"


class Bounds(NamedTuple):
    """The terms of one resource of one node that do not depend on what runs there; no limit is None."""

    capacity: int
    reserve: int
    reserve_origin: str
    allocatable: int
    ratio: Fraction | None
    limit: int | None


class Figures(NamedTuple):
    """Every term of one resource of one node, in the order in which they follow from each other."""

    bounds: Bounds
    promised: int
    actual: int | None
    committed: int
    free: int | None
    standby: int = 0


def floor_scaled(amount: int, ratio: Fraction) -> int:
    """Return floor(ratio * amount), or refuse what does not fit 64 bits."""
    scaled = amount * ratio.numerator // ratio.denominator
    if scaled > INT64_MAX:
        raise InputError(f"{ratio} times {amount} does not fit 64 bits", remedy="use a smaller ratio")
    return scaled


def reserve_by_rule(capacity: int, rule: ReserveRule) -> int:
    """Return what a rule keeps back: its share of capacity, not under its floor, not over its cap."""
    kept = max(floor_scaled(capacity, rule.percent / 100), rule.floor)
    return kept if rule.cap is None else min(kept, rule.cap)


def bounds_of(node: Node, rules: Rules) -> dict[str, Bounds]:
    """Return the bounds of every resource that a node has."""
    try:
        return {resource: _bounds(node, rules, resource) for resource in node.capacity}
    except InputError as error:
        raise error.at(f"node {node.name}") from None


def _bounds(node: Node, rules: Rules, resource: str) -> Bounds:
    capacity = node.capacity[resource]
    if resource == CPU and rules.cpu_factor == "capacity":
        capacity = floor_scaled(capacity, node.cpu_conversion_factor)
    reserve, origin = _reserve(node, rules, resource, capacity)
    allocatable = max(0, capacity - reserve)
    ratio = rules.ratio(resource)
    limit = None if ratio is None else floor_scaled(allocatable, ratio)
    return Bounds(capacity, reserve, origin, allocatable, ratio, limit)


def _reserve(node: Node, rules: Rules, resource: str, capacity: int) -> tuple[int, str]:
    rule = rules.reserves.get(resource)
    if rule is not None and resource in rules.reserves_by_user:
        return reserve_by_rule(capacity, rule), "policy"
    if node.reserve is not None and resource in node.reserve:
        return node.reserve[resource], "stated"
    if rule is not None:
        return reserve_by_rule(capacity, rule), "profile"
    return 0, "none"


def committed_of(promised: Amounts, actual: Amounts, reserve: Amounts, *, counts_actual: bool) -> Amounts:
    """Return what is taken; `actual` is 0 where nothing is known of it."""
    return _larger(promised, actual - reserve) if counts_actual else promised


def free_of(limit: Amounts, committed: Amounts, standby: Amounts) -> Amounts:
    """Return what can still be promised: never below zero, whatever was promised or is held for failover."""
    nothing = limit - limit
    return _larger(_larger(limit - committed, nothing) - standby, nothing)


def _larger(one: Amounts, other: Amounts) -> Amounts:
    if isinstance(one, int):
        return max(one, other)
    import numpy as np

    return np.maximum(one, other)


def figures_of(
    node: Node,
    rules: Rules,
    promised: Resources = NOTHING,
    bounds: Mapping[str, Bounds] | None = None,
    standby: Resources = NOTHING,
) -> dict[str, Figures]:
    """Return the terms of every resource that a node has, or that is promised, held or in use on it.

    `bounds` are those of the node where the caller has them already; `standby` is what it holds for failover.
    """
    found: dict[str, Figures] = {}
    known = bounds_of(node, rules) if bounds is None else bounds
    actual = node.actual or NOTHING
    taken = (promised.without_zeros(), standby.without_zeros(), actual.without_zeros())
    for resource in sorted({*known, *(name for amounts in taken for name in amounts)}):
        bound = known.get(resource) or Bounds(0, 0, "none", 0, rules.ratio(resource), 0)
        here = promised.of(resource)
        in_use = actual.of(resource)
        committed = committed_of(here, in_use, bound.reserve, counts_actual=rules.committed == "actual")
        held = standby.of(resource)
        free = None if bound.limit is None else free_of(bound.limit, committed, held)
        seen = in_use if resource in actual else None
        found[resource] = Figures(bound, here, seen, committed, free, held)
    return found
