"""How much room groups of nodes have, and whether policies hold: the status of every CapacityPolicy.

Whether a policy is in force is written at once, with what it applies to and what of it has no effect. The
room of a group changes with every pod, so it is summed up at most once in a while.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ullage.engine.capacity.summary import Summary, summarise_groups
from ullage.engine.columns import Columns, Flags
from ullage.kube.following import Following
from ullage.kube.operator.advice import told
from ullage.kube.operator.statuses import Statuses, Verdict, Wanted, valid
from ullage.kube.operator.writing import Pace, Writing
from ullage.kube.stated import Stated
from ullage.model.cluster import Snapshot
from ullage.model.delta import Delta
from ullage.model.policy import Layer, Policy
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.capacity_policies import CAPACITY_POLICY
from ullage.sources.policy_files import policy_findings

ROOM_SECONDS: Final = 10.0
AGAIN_SECONDS: Final = 5.0
GROUPS_MAX: Final = 500
"""Groups that a status lists, by name; an object must stay well below what the API server stores."""
RESOURCES_MAX: Final = 64
"""Resources of one group that a status lists, by name, as the definition of the kind says."""
TERMS: Final = ("allocatable", "limit", "committed", "free", "spare", "ullage")
NAMES_TOLD_MAX: Final = 5
"""Groups, and nodes, that a condition names; of more it says how many."""


class CapacityKeeper:
    """Keeps the statuses of CapacityPolicies as they should be."""

    def __init__(self, following: Following, statuses: Statuses, writing: Writing) -> None:
        self._following = following
        self._statuses = statuses
        self._writing = writing
        self._columns: Columns | None = None
        self._room_stale = True
        self._statuses_stale = True
        self._stated_seen = -1
        self._room: list[dict[str, Any]] = []
        self._pace, self._again = Pace(ROOM_SECONDS), Pace(AGAIN_SECONDS)
        self._summaries: Sequence[Summary] = ()
        self._over_committed: Mapping[str, int] = {}

    @property
    def wait_seconds(self) -> float | None:
        """After how long there is something to write, if nothing happens; None for never."""
        waits = [self._again.wait_seconds] if self._statuses_stale else []
        if self._room_stale and self._following.stated[CAPACITY_POLICY]:
            waits.append(self._pace.wait_seconds)
        return min(waits, default=None)

    def seen(self, columns: Columns, delta: Delta) -> None:
        """Take a change of the cluster into account."""
        before = self._columns
        is_other = before is None or before.snapshot.policy is not columns.snapshot.policy
        if is_other or delta.nodes or delta.workloads or delta.dropped:
            self._room_stale = True
        if is_other or delta.nodes or delta.dropped.get("nodes"):
            self._statuses_stale = True  # a policy may name them
        if self._stated_seen != self._following.stated_changes:
            self._stated_seen = self._following.stated_changes
            self._statuses_stale = True
        self._columns = columns

    async def write(self, columns: Columns) -> None:
        """Write what should be otherwise; what fails is left for the next time."""
        self._columns = columns
        stated = self._following.stated[CAPACITY_POLICY]
        if not stated:
            self._statuses_stale = False
            return
        self._sum_up()
        if not self._statuses_stale or not self._again.is_due:
            return
        self._statuses_stale = False
        wanted = [
            Wanted(CAPACITY_POLICY, name, before, self._status(name, before, columns.snapshot))
            for name, before in stated.items()
        ]
        failed = await self._writing.each(filter(self._statuses.differ, wanted), self._statuses.write)
        if failed:
            self._statuses_stale = True
            self._again.begun()

    def _status(self, name: str, before: Stated, snapshot: Snapshot) -> dict[str, Any]:
        problem = self._following.policies.problems.get(name)
        layer = self._following.policies.layer(name)
        if layer is not None:
            verdict = in_force(layer, snapshot)
        else:
            verdict = Verdict(holds=False, reason="Invalid", message=problem or "it cannot be read")
        return {
            "conditions": valid(before, verdict),
            "observedGeneration": before.generation,
            "groups": self._room,
        }

    def _sum_up(self) -> None:
        """Sum up the room of groups, if it may be otherwise and was not looked at just now."""
        if self._columns is None or not self._room_stale or not self._pace.is_due:
            return
        self._pace.begun()
        self._room_stale = False
        self._summaries = summarise_groups(self._columns)
        self._over_committed = over_committed(self._columns)
        room = [room_of(each, self._columns.snapshot.resource_types) for each in self._summaries[:GROUPS_MAX]]
        if room != self._room:
            self._room = room
            self._statuses_stale = True

    # Figures

    def summaries(self) -> Sequence[Summary]:
        """Return the terms of every group, at most a little old."""
        self._sum_up()
        return self._summaries

    def over_committed(self) -> Mapping[str, int]:
        """Return by group how many nodes have promised more than they may, at most a little old."""
        self._sum_up()
        return self._over_committed


def in_force(layer: Layer, snapshot: Snapshot) -> Verdict:
    """Return what a policy that can be read applies to, and what of it does not do what it says."""
    says = f"in force for {applies_to(layer)}"
    warnings = told(policy_findings(Policy(layer.origin, (layer,)), snapshot.resource_types, snapshot))
    if not warnings:
        return Verdict(holds=True, reason="InForce", message=says)
    return Verdict(holds=True, reason="Warned", message=" · ".join((says, *warnings)))


def applies_to(layer: Layer) -> str:
    """Return whom the settings of a policy are for."""
    parts = ["the whole cluster"] if layer.cluster else []
    for kind, named in (("group", layer.groups), ("node", layer.nodes)):
        names = sorted(named)
        if names:
            more = f" and {len(names) - NAMES_TOLD_MAX} more" if len(names) > NAMES_TOLD_MAX else ""
            parts.append(f"{kind}{'s' if names[1:] else ''} {', '.join(names[:NAMES_TOLD_MAX])}{more}")
    return "; ".join(parts) or "nobody: it has no settings"


def room_of(summary: Summary, types: ResourceTypes) -> dict[str, Any]:
    """Return the terms of a group as a status writes them: of resources that its nodes have."""
    present = sorted(name for name, amount in summary.capacity.items() if amount)[:RESOURCES_MAX]
    terms = {term: types.print(getattr(summary, term).only(present)) for term in TERMS}
    return {
        "name": summary.name,
        "nodes": summary.nodes,
        **{term: each for term, each in terms.items() if each},
    }


def over_committed(columns: Columns) -> dict[str, int]:
    """Return by group how many of its nodes have promised more than their limit."""
    above: Flags = np.logical_or.reduce(columns.bounded & (columns.committed > columns.limit), axis=1)
    found: dict[str, int] = {}
    for node, is_above in zip(columns.nodes, above.tolist(), strict=True):
        found[node.group] = found.get(node.group, 0) + is_above
    return found
