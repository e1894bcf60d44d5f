"""Shapes: what workloads that are placed alike have in common, and what is known about where they may go.

Two workloads of one namespace with equal labels, requests, constraints and volumes are one shape. Its rules
are compiled once (rule_book.py); placing then only looks at what has changed since (trial.py).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.counters import Dependent, Member
from ullage.engine.placement.node_columns import Closed, Flags
from ullage.engine.placement.rules import Away, Fixed, Holder, Rule, Slotted
from ullage.model.cluster import Workload
from ullage.model.resources import Resources

Integers = npt.NDArray[np.int64]


SIZE_STEPS: Final = 1 << 30
"""Sizes are told apart in parts of this of all there is."""


class Needs(NamedTuple):
    """What a shape would take of each node, as room.py weighs it, beside the room that there is.

    Both are of a span of resources; `places` are those in it that the shape takes. Where all nodes are alike,
    `needed` is one column for all.
    """

    weighted: Integers
    needed: Integers
    is_even: bool
    places: tuple[int, ...]


class Thrifty(Protocol):
    """Something that is dearer on some nodes than on others."""

    def cheapest(self, allowed: Flags) -> Flags:
        """Return which of some nodes cost least."""


class Shape(Dependent):
    """One kind of workload in a trial: what it takes, where it may go, and its scores as last computed.

    `vector` is what it takes of every resource; `columns` and `amounts` are those of which it takes any, and
    `needs` what it would take of each node. Rules hold on top of `closed`: local ones are part of the scores,
    wide ones of `wide_open`. `disks` says on which nodes its volumes cost least, where that comes first.
    """

    __slots__ = (
        "amounts", "closed", "columns", "disks", "local_rules", "member", "needs", "open", "open_everywhere",
        "requests", "scores", "seen", "takes", "takings", "terms_seen", "vector", "wide_open",
        "wide_rules", "workload",
    )  # fmt: skip

    def __init__(
        self, workload: Workload, requests: Resources, vector: Integers, member: Member, closed: Closed
    ) -> None:
        super().__init__()
        self.workload = workload
        self.requests = requests
        self.vector = vector
        self.columns = np.flatnonzero(vector > 0)
        self.amounts = vector[self.columns]
        self.takings = tuple(zip(self.columns.tolist(), self.amounts.tolist(), strict=True))
        self.needs: Needs | None = None
        self.member = member
        self.closed = closed
        self.open: Flags = closed.open
        self.open_everywhere = bool(self.open.all())
        self.local_rules: list[Rule] = []
        self.wide_rules: list[Rule] = []
        self.takes: list[Holder] = []
        self.disks: Thrifty | None = None
        self.terms_seen = 0
        self.scores: Integers | None = None
        self.seen = 0
        self.wide_open: Flags | None = None

    def add_rule(self, rule: Rule) -> None:
        """Take one more rule into account, from the next placement on."""
        (self.local_rules if rule.local else self.wide_rules).append(rule)
        self.forget_scores()
        self.stale = True

    def forget_scores(self) -> None:
        """Let go of what was computed for all nodes; it is made anew when it is asked for."""
        self.scores = None
        self.needs = None

    @property
    def by_room_alone(self) -> bool:
        """Whether a replica changes nothing for the next one but the room of its node, or closes the node."""
        return not self.wide_rules and all(
            isinstance(rule, Fixed | Away | Slotted) for rule in self.local_rules
        )

    @property
    def once_for_each_node(self) -> bool:
        """Whether a replica keeps the next one off its node."""
        return any(rule.once for rule in self.local_rules)


def size_of(shape: Shape, wholes: Sequence[int]) -> int:
    """Return how large a shape is: the largest part, in steps, that it takes of all of a resource."""
    return max((amount * SIZE_STEPS // wholes[column] for column, amount in shape.takings), default=0)
