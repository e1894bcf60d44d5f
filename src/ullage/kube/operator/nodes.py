"""The room of every node: one NodeCapacity for each, of the same name, owned by its Node.

A figure of a node changes with every pod that starts there, and there are thousands of nodes. So a look costs
what has changed, a node is written at most once in a while, and only so many in a second, those first that
have waited longest. What is late is written later, as it is then.
"""

import time
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import Any, Final, NamedTuple

from ullage.engine.capacity.node_terms import NodeTerms, node_terms, over_limit
from ullage.engine.columns import Columns
from ullage.kube.following import Following
from ullage.kube.node_capacities import NODE_CAPACITY
from ullage.kube.operator.statuses import NOWHERE, PATHS, Statuses, Verdict, Wanted, path_of, with_condition
from ullage.kube.operator.writing import Pace, Writing
from ullage.kube.stated import Stated
from ullage.model.cluster import Snapshot
from ullage.model.delta import Delta
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.api.client import ApiClient, RefusedError

NODE_SECONDS: Final = 10.0
"""How long a node that was written is left alone."""
BATCH_SECONDS: Final = 1.0
WRITTEN_MAX: Final = 50
"""Nodes that are written in one batch: 5000 take 100 s."""
LOOKED_AT_MAX: Final = 200
"""Nodes whose figures are worked out in one batch: others wait for this process meanwhile."""
COMPARED_SECONDS: Final = 10.0
"""How often it is looked whether each node has its object, and each object its node."""
AGAIN_SECONDS: Final = 5.0
RESOURCES_MAX: Final = 64
"""Resources of a node that a status lists, by name, as the definition of the kind says."""
TERMS: Final = ("capacity", "reserve", "allocatable", "limit", "committed", "free")
OVER_COMMITTED: Final = "OverCommitted"
_WITHIN: Final = Verdict(holds=False, reason="WithinLimit", message="no more is committed than its limit")


class Step(NamedTuple):
    """What is to be done about a node: delete an object that is not right, write what is wanted, or both."""

    name: str
    wrong: Stated | None = None
    wanted: Wanted | None = None


class NodeKeeper:
    """Keeps a NodeCapacity for each node as it should be; or none, where none is wanted."""

    def __init__(
        self,
        client: ApiClient,
        following: Following,
        statuses: Statuses,
        writing: Writing,
        *,
        is_wanted: bool = True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._following = following
        self._statuses = statuses
        self._writing = writing
        self._is_wanted = is_wanted
        self._now = now
        self._seen: Snapshot | None = None
        self._stale: dict[str, None] = {}  # in the order in which they came
        self._rest_until: dict[str, float] = {}
        self._pace, self._comparing = Pace(BATCH_SECONDS, now), Pace(COMPARED_SECONDS, now)
        self.written = 0

    @property
    def waiting(self) -> int:
        """How many nodes are to be looked at again."""
        return len(self._stale)

    @property
    def wait_seconds(self) -> float | None:
        """After how long there is something to write, if nothing happens; None for never."""
        if not self._stale or not self._following.hears(NODE_CAPACITY):
            return None
        rest = min(self._rest_until.get(name, 0.0) for name in self._stale) - self._now()
        return max(self._pace.wait_seconds, rest, 0.0)

    def seen(self, columns: Columns, delta: Delta) -> None:
        """Take a change of the cluster into account."""
        before, self._seen = self._seen, columns.snapshot
        if before is None or before.policy is not columns.snapshot.policy:
            self._look_at(columns.node_index)
        else:
            self._look_at(touched(before, delta))
        self._look_at(self._following.node_capacities.news())

    async def write(self, columns: Columns) -> None:
        """Write what should be otherwise; what fails is left for the next time."""
        if not self._following.hears(NODE_CAPACITY):
            return
        self._compare(columns)
        due = self._due() if self._pace.is_due else []
        if not due:
            return
        self._pace.begun()
        failed = await self._writing.each(self._steps(due, columns), self._take)
        if failed:
            self._look_at([step.name for step in failed])
            self._pace.begun(AGAIN_SECONDS)

    def _look_at(self, names: Collection[str]) -> None:
        self._stale.update(dict.fromkeys(names))

    def _compare(self, columns: Columns) -> None:
        """Find nodes without an object of their own, and objects without a node, whatever was missed."""
        if not self._comparing.is_due:
            return
        self._comparing.begun()
        known, uid = self._following.node_capacities.stated, self._following.mirror.node_uid
        self._look_at([name for name in known if not self._is_for(name, columns)])
        if self._is_wanted:
            self._look_at(
                [each for each in columns.node_index if each not in known or known[each].owner != uid(each)]
            )
        now = self._now()
        self._rest_until = {name: until for name, until in self._rest_until.items() if until > now}

    def _is_for(self, name: str, columns: Columns) -> bool:
        return self._is_wanted and name in columns.node_index

    def _due(self) -> list[str]:
        """Return the nodes that may be written now, those first that have waited longest."""
        now = self._now()
        return [
            *islice((each for each in self._stale if self._rest_until.get(each, now) <= now), LOOKED_AT_MAX)
        ]

    def _steps(self, due: Iterable[str], columns: Columns) -> list[Step]:
        """Return what is to be done now; who is not looked at any more is left for the next time."""
        found: list[Step] = []
        for name in due:
            if len(found) == WRITTEN_MAX:
                break
            del self._stale[name]
            step = self._step(name, columns)
            if step is not None:
                found.append(step)
                self._rest_until[name] = self._now() + NODE_SECONDS
        return found

    def _step(self, name: str, columns: Columns) -> Step | None:
        """Return what is to be done about a node; None where all is as it should be."""
        there = self._following.node_capacities.stated.get(name)
        if not self._is_for(name, columns):
            return None if there is None else Step(name, wrong=there)
        is_own = there is not None and there.owner == self._following.mirror.node_uid(name)
        before = there if there is not None and is_own else NOWHERE
        wanted = Wanted(NODE_CAPACITY, name, before, status_of(columns, columns.node_index[name], before))
        if not is_own:
            return Step(name, wrong=there, wanted=wanted)
        return Step(name, wanted=wanted) if self._statuses.differ(wanted) else None

    async def _take(self, step: Step) -> None:
        if step.wrong is not None:
            await self._delete(step.name, step.wrong.uid)
        if step.wanted is not None:
            if step.wanted.before is NOWHERE:
                await self._create(step.name)
            await self._statuses.write(step.wanted)
        self.written += 1

    async def _create(self, name: str) -> None:
        written = PATHS[NODE_CAPACITY]
        uid = self._following.mirror.node_uid(name)
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        document = {
            "apiVersion": written.version,
            "kind": NODE_CAPACITY.name,
            "metadata": {"name": name, "ownerReferences": [owner]},
        }
        await self._client.create(f"/apis/{written.version}/{written.plural}", document)

    async def _delete(self, name: str, uid: str) -> None:
        """Delete an object as it was seen; one that is gone needs nothing."""
        try:
            await self._client.delete(path_of(NODE_CAPACITY, name), {"preconditions": {"uid": uid}})
        except RefusedError as refused:
            if not refused.is_absent:
                raise


def touched(before: Snapshot, delta: Delta) -> set[str]:
    """Return the nodes whose figures a change may have changed; `before` is the cluster before it."""
    found = {node.name for node in delta.nodes} | {*delta.dropped.get("nodes", ())}
    found |= {workload.node for workload in delta.workloads}
    keys = (*(workload.key for workload in delta.workloads), *delta.dropped.get("workloads", ()))
    found |= {was.node for key in keys if (was := before.workloads.get(key)) is not None}
    return found - {""}


def status_of(columns: Columns, row: int, before: Stated = NOWHERE) -> dict[str, Any]:
    """Return what is to be said about the node of a row: of resources that it has, or has promised."""
    node, types = columns.nodes[row], columns.snapshot.resource_types
    terms = node_terms(columns, row)
    some = {*terms.capacity.without_zeros(), *terms.committed.without_zeros()}
    named = sorted(some)[:RESOURCES_MAX]
    return {
        "group": node.group,
        "state": node.state,
        **{term: types.print(getattr(terms, term).only(named)) for term in TERMS},
        "conditions": with_condition(before, OVER_COMMITTED, over_commitment(terms, types)),
    }


def over_commitment(terms: NodeTerms, types: ResourceTypes) -> Verdict:
    """Return whether a node is over-committed, and by how much of what."""
    over = [over_limit(terms, resource, types) for resource in sorted(terms.beyond())]
    return Verdict(holds=True, reason="AboveLimit", message="; ".join(over)) if over else _WITHIN
