"""How many workloads may be evicted at a time: disruption budgets, counted as the disruption controller does.

The hard thing is what a percentage is of: of what the owners of the selected workloads want, so that owners
without a scale (jobs, daemons) leave such a budget at zero. A number of available workloads needs no owner.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.placement.selectors import requirements_of, selects
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Snapshot, Workload

WITHOUT_SCALE: Final = frozenset(("DaemonSet", "Job", "Node"))
"""Kinds of owner that do not say how many replicas they want."""
PERCENT: Final = "%"
ENDED: Final = frozenset(("error", "deleted"))


class Budget(NamedTuple):
    """A budget and its sums: healthy - desired may be evicted, unless the cluster itself states otherwise.

    `problem` says why nothing may be evicted although the sums allow it. `min_available` and
    `max_unavailable` are what it states, one of them.
    """

    key: str
    expected: int
    healthy: int
    desired: int
    counted: int
    stated: int | None
    problem: str
    min_available: str = ""
    max_unavailable: str = ""

    @property
    def allowed(self) -> int:
        """How many may be evicted now: what the cluster stated counts more than what was counted here."""
        return self.counted if self.stated is None else self.stated


class Broken(NamedTuple):
    """A budget of which a loss takes more than it allows."""

    budget: Budget
    nodes: tuple[str, ...]
    lost: int


class Budgets:
    """The budgets of a cluster, and whom they protect."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._records = list(snapshot.disruption_budgets)
        self._by_namespace: dict[str, list[int]] = {}
        for number, record in enumerate(self._records):
            self._by_namespace.setdefault(record.namespace, []).append(number)
        self._requirements = [requirements_of(record.selector) for record in self._records]
        self._known: dict[tuple[str, int], tuple[Mapping[str, str], tuple[int, ...]]] = {}
        self._on_nodes: list[Counter[str]] = [Counter() for _ in self._records]
        self.all: tuple[Budget, ...] = self._count(snapshot) if self._records else ()

    def of(self, workload: Workload) -> tuple[int, ...]:
        """Return the places in `all` of the budgets that protect a workload."""
        if workload.namespace not in self._by_namespace:
            return ()
        key = (workload.namespace, id(workload.labels))
        found = self._known.get(key)
        if found is None or found[0] is not workload.labels:
            numbers = self._by_namespace.get(workload.namespace, ())
            chosen = tuple(each for each in numbers if selects(self._requirements[each], workload.labels))
            found = self._known[key] = (workload.labels, chosen)
        return found[1]

    def may_go(self, workload: Workload) -> bool:
        """Whether a workload can be evicted at all: the API server evicts nobody whom two budgets protect."""
        return len(self.of(workload)) < 2

    def _count(self, snapshot: Snapshot) -> tuple[Budget, ...]:
        pods = [0] * len(self._records)
        owners: list[set[tuple[str, str]]] = [set() for _ in self._records]
        scale: Counter[tuple[str, str]] = Counter()
        for run in snapshot.workloads.runs():
            for workload in run:
                ended = workload.state in ENDED or workload.promised
                if ended or workload.namespace not in self._by_namespace:
                    continue
                owner = (workload.namespace, workload.owner)
                scale[owner] += not workload.terminating
                for number in self.of(workload):
                    pods[number] += 1
                    if workload.owner:
                        owners[number].add(owner)
                    if _is_healthy(workload):
                        self._on_nodes[number][workload.node] += 1
        return tuple(
            _budget(record, pods[number], self._on_nodes[number].total(), owners[number], scale)
            for number, record in enumerate(self._records)
        )

    def broken_by(self, nodes: Collection[str]) -> list[Broken]:
        """Return the budgets that losing these nodes together would break."""
        found = []
        for budget, counts in zip(self.all, self._on_nodes, strict=True):
            hit = tuple(sorted(node for node in nodes if counts[node]))
            lost = sum(counts[node] for node in hit)
            if lost > budget.allowed:
                found.append(Broken(budget, hit, lost))
        return found

    def worst(self, nodes_lost: int, nodes: Collection[str] | None = None) -> list[Broken]:
        """Return the budgets that some loss of so many nodes would break, each with the worst loss for it."""
        found = []
        for budget, counts in zip(self.all, self._on_nodes, strict=True):
            held = [(-count, node) for node, count in counts.items() if nodes is None or node in nodes]
            hit = sorted(held)[:nodes_lost]
            lost = -sum(count for count, _ in hit)
            if lost > budget.allowed:
                found.append(Broken(budget, tuple(sorted(node for _, node in hit)), lost))
        return found


def _is_healthy(workload: Workload) -> bool:
    """Whether a workload counts as available; whether it is ready is not known."""
    return workload.state == "ok" and bool(workload.node) and not workload.terminating


def _budget(
    record: DisruptionBudget,
    pods: int,
    healthy: int,
    owners: Collection[tuple[str, str]],
    scale: Mapping[tuple[str, str], int],
) -> Budget:
    expected, desired, problem = pods, 0, ""
    by_owner = record.max_unavailable or record.min_available.endswith(PERCENT)
    if by_owner:
        expected = sum(scale[owner] for owner in owners)
        problem = _without_scale([owner for _, owner in sorted(owners)])
    if record.max_unavailable:
        desired = max(0, expected - amount_of(record.max_unavailable, expected))
    elif record.min_available:
        desired = amount_of(record.min_available, expected)
    else:
        problem = "it states neither minAvailable nor maxUnavailable"
    counted = healthy - desired if expected > 0 and not problem else 0
    return Budget(
        record.key,
        expected,
        healthy,
        desired,
        max(counted, 0),
        record.disruptions_allowed,
        problem,
        record.min_available,
        record.max_unavailable,
    )


def _without_scale(owners: Sequence[str]) -> str:
    for owner in owners:
        kind = owner.partition("/")[0]
        if kind in WITHOUT_SCALE:
            return f"{owner} does not say how many replicas it wants, so no share of them is known"
    return ""


def amount_of(text: str, whole: int) -> int:
    """Return a number, or a percentage of a whole, rounded up."""
    digits = text.removesuffix(PERCENT)
    return int(digits) if digits == text else -(-int(digits) * whole // 100)
