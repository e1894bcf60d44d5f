"""Warnings about what is written: it can hold, but does not do what its author may think. The CLI's words.

The hard thing is that every replica answers, also one that does not lead and sums up nothing: what nodes can
promise is looked at when somebody asks, and kept for as long as nodes and policies stay the same.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ullage.engine.columns import Columns
from ullage.engine.quota.cluster_capacity import cluster_capacity
from ullage.engine.quota.validation import findings
from ullage.model.cluster import Group, Node, Quota, Snapshot
from ullage.model.policy import Policy
from ullage.model.resources import ResourceTypes
from ullage.model.table import Table
from ullage.model.verdict import Finding
from ullage.sources.kubernetes.capacity_policies import Policies
from ullage.sources.places import one_line
from ullage.sources.policy_files import policy_findings

LINES_MAX: Final = 5
LINE_LENGTH_MAX: Final = 256
"""Beyond this the API server may cut lines off."""


class Room:
    """What the nodes of a cluster can promise, as it is now."""

    def __init__(
        self, types: ResourceTypes, nodes: Callable[[], tuple[Node, ...]], policy: Callable[[], Policy]
    ) -> None:
        self._types = types
        self._nodes = nodes
        self._policy = policy
        self._seen: tuple[tuple[Node, ...], Policy] | None = None
        self._capacity: Mapping[str, int] = {}

    def snapshot(self) -> Snapshot:
        """Return the nodes and their groups, with nothing on them."""
        nodes = self._nodes()
        groups = [Group(name) for name in sorted({node.group for node in nodes})]
        return Snapshot(
            resource_types=self._types, nodes=Table(nodes), groups=Table(groups), policy=self._policy()
        )

    def capacity(self) -> Mapping[str, int]:
        """Return by resource what all nodes can promise."""
        now = (self._nodes(), self._policy())
        if now != self._seen:
            self._capacity = cluster_capacity(Columns(self.snapshot()))
            self._seen = now
        return self._capacity


def advice_on_quota(
    quota: Quota, there: Iterable[Quota], capacity: Mapping[str, int], types: ResourceTypes
) -> list[str]:
    """Return the warnings that a quota adds to those of the quotas beside it."""
    others = [each for each in there if each.name != quota.name]
    before = set(findings(others, capacity, types))
    return told(each for each in findings([*others, quota], capacity, types) if each not in before)


def advice_on_policy(content: Any, types: ResourceTypes, snapshot: Snapshot) -> list[str]:
    """Return the warnings about a CapacityPolicy that can be read."""
    policies = Policies(types)
    policies.put(content)
    policy = policies.policy()
    return told(policy_findings(Policy(policy.name, policy.layers[-1:]), types, snapshot))


def told(found: Iterable[Finding]) -> list[str]:
    """Return warnings as lines, the first few of many."""
    lines = [
        shortened(one_line(f"{each.message}; {each.remedy}" if each.remedy else each.message))
        for each in found
        if each.severity == "warning"
    ]
    if len(lines) > LINES_MAX:
        return [*lines[:LINES_MAX], f"{len(lines) - LINES_MAX} more warnings"]
    return lines


def shortened(line: str) -> str:
    """Return a line that the API server does not cut off."""
    return line if len(line) <= LINE_LENGTH_MAX else f"{line[: LINE_LENGTH_MAX - 1]}…"
