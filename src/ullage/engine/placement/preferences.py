"""The policy `preferences`: the node that kube-scheduler's default profile would score highest.

    NodeResourcesFit                  1   room left of cpu and memory (preference_loads.py)
    NodeResourcesBalancedAllocation   1   cpu and memory used more evenly (preference_loads.py)
    TaintToleration                   3   few taints PreferNoSchedule that are not tolerated
    NodeAffinity                      2   preferred terms
    PodTopologySpread                 2   ScheduleAnyway (preference_terms.py)
    InterPodAffinity                  2   preferred terms of either side (preference_terms.py)

Scores are the same integers as those of kube-scheduler v1.36 where it looks at all nodes; equal totals go to
the first row, not to a random one. Three things are not known here: images on nodes (ImageLocality is 0), the
selectors of sets, and services. A workload of a ReplicaSet or StatefulSet that states no spread is spread by
default as kube-scheduler does it, with all of its template's labels for the selector of its set.

The hard thing is that every score but the first two is normalised over the nodes that would take the
workload; what follows from that set of nodes is kept until the set is another one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.columns import Columns
from ullage.engine.placement.counters import Member
from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.node_rules import NAME_FIELD
from ullage.engine.placement.preference_loads import Load, Loads
from ullage.engine.placement.preference_terms import (
    Pulls,
    PullsOn,
    SoftSpread,
    SpreadOn,
    SpreadPart,
    normalised,
)
from ullage.engine.placement.rule_book import RuleBook
from ullage.engine.placement.rules import EVERY, Rows
from ullage.engine.placement.scoring import best_row
from ullage.engine.placement.selectors import (
    Requirements,
    WorkloadSelector,
    requirements_of,
    selector_of,
    selects,
    with_label_keys,
)
from ullage.engine.placement.shapes import Shape
from ullage.model.cluster import Workload
from ullage.model.constraints import Constraints, LabelSelector, TopologySpread

Integers = npt.NDArray[np.int64]
Term = tuple[WorkloadSelector, str]
"""Whom a term means, and by which label."""

SOFT: Final = "ScheduleAnyway"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
TAINT_WEIGHT: Final = 3
AFFINITY_WEIGHT: Final = 2
REQUIRED_TERM_WEIGHT: Final = 1
"""What a required term of a running workload draws with: kube-scheduler's hardPodAffinityWeight."""
SETS: Final = frozenset(("ReplicaSet", "StatefulSet", "ReplicationController", "Deployment"))
DEFAULT_SKEWS: Final = ((HOSTNAME, 3), (ZONE, 5))
OWN_LABELS: Final = frozenset(
    ("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "controller-revision-hash")
)
"""Labels that replicas of one set do not share."""
KEPT_BYTES_MAX: Final = 64 << 20
"""What may be kept for sets of nodes; the oldest are forgotten."""
KEPT_BYTES_EACH: Final = 40
"""What is kept for one node of such a set: its row, fixed scores, and codes of a few labels."""


class On(NamedTuple):
    """What follows for a shape from the set of nodes that would take it."""

    rows: Rows
    fixed: Integers | None
    spread: SpreadOn | None
    pulls: PullsOn | None


class Wishes:
    """What a shape prefers, apart from room; None or nothing where it is all one to it."""

    __slots__ = ("affinity", "load", "none", "pulls", "spread", "taints", "terms_seen")

    def __init__(self, load: Load) -> None:
        self.load = load
        self.taints: Integers | None = None
        self.affinity: Integers | None = None
        self.spread: SoftSpread | None = None
        self.pulls = Pulls()
        self.terms_seen = -1
        self.none = False

    def settle(self, terms: int) -> None:
        """Take note that so many terms were looked at, and of whether room alone decides."""
        self.terms_seen = terms
        self.none = self.taints is None and self.affinity is None and self.spread is None and not self.pulls


class Preferences:
    """The preferences of all shapes of a trial.

    kube-scheduler does not weigh how many drives a node would open; `after_disks`, only the nodes that open
    the fewest are weighed.
    """

    def __init__(
        self,
        columns: Columns,
        order: npt.NDArray[np.intp],
        rules: RuleBook,
        like: "Preferences | None" = None,
    ) -> None:
        self.after_disks = False
        self._rules = rules
        self._nodes = rules.nodes
        self._wishes: dict[Shape, Wishes] = {}
        self._kept: dict[tuple[Wishes, int, bytes], On] = {}
        self._kept_max = max(8, KEPT_BYTES_MAX // max(KEPT_BYTES_EACH * len(order), 1))
        self._terms: list[tuple[Term, int, Callable[[Member], bool]]] = []
        self._terms_known: set[tuple[Term, int]] = set()
        self._weights_of: dict[Member, Mapping[Term, int]] = {}
        workloads = columns.snapshot.workloads
        if like is None:
            self.loads = Loads(columns, order)
            self.any_draws: bool = _any_draws(workloads.runs())
        else:
            self.loads = Loads(columns, order, like.loads)
            others, _ = like.loads.columns.snapshot.workloads.difference(workloads)
            self.any_draws = like.any_draws or _any_draws([others])
        if self.any_draws:
            for member in rules.members.running():
                self._know_terms(member)

    def told_apart_by(self, workload: Workload) -> tuple[object, ...]:
        """Return what makes workloads two shapes here though they ask for the same."""
        return (*self.loads.counted(workload), _is_of_set(workload))

    @property
    def terms(self) -> int:
        """How many terms draw others, or keep them off."""
        return len(self._terms)

    def compile(self, shape: Shape) -> None:
        """Take note of a new shape."""
        load = Load(self.loads, self.loads.amounts(shape.workload, shape.requests))
        self._wishes[shape] = Wishes(load)
        shape.takes.append(load)
        self._know_terms(shape.member)

    def room_scores(self, shape: Shape, rows: Rows) -> Integers:
        """Return the two scores that each node has by itself, added up, less what all nodes have."""
        return self.loads.scores(self._wishes[shape].load.amounts, rows)

    def pick(self, shape: Shape, scores: Integers, wide: Flags | None) -> int:
        """Return the first of the nodes with the highest total, -1 where none would take the shape.

        `scores` are room_scores, negative where closed; `wide` are the nodes that rules over zones allow.
        """
        wishes = self._wishes[shape]
        if wishes.terms_seen < len(self._terms):
            self._wish(shape, wishes)
        if wishes.none:
            return best_row(scores, wide)
        on = self._on(wishes, scores, wide)
        totals = scores[on.rows]
        if not len(totals):
            return -1
        if on.fixed is not None:
            totals = totals + on.fixed
        if on.spread is not None:
            totals = totals + on.spread.scores(len(totals))
        if on.pulls is not None:
            totals = totals + on.pulls.scores()
        best = int(totals.argmax())
        return best if isinstance(on.rows, slice) else int(on.rows[best])

    def by_plugin(self, shape: Shape, scores: Integers, wide: Flags | None) -> dict[str, Integers]:
        """Return the weighted scores on the nodes that would take the shape, by kube-scheduler's plugin."""
        wishes = self._wishes[shape]
        self._wish(shape, wishes)
        on = self._on(wishes, scores, wide)
        count = len(scores[on.rows])
        nothing = np.zeros(count, np.int64)
        if not count:
            return {}
        taints = self._nodes.preferred_taints(shape.workload.constraints.tolerations)[on.rows]
        affinity = nothing if wishes.affinity is None else wishes.affinity[on.rows]
        return {
            "NodeResourcesFit": self.loads.least(wishes.load.amounts, on.rows),
            "NodeResourcesBalancedAllocation": self.loads.balanced(wishes.load.amounts, on.rows),
            "TaintToleration": nothing + normalised(taints, TAINT_WEIGHT, fewest_best=True),
            "NodeAffinity": nothing + normalised(affinity, AFFINITY_WEIGHT, fewest_best=False),
            "PodTopologySpread": nothing if on.spread is None else on.spread.scores(count),
            "InterPodAffinity": nothing if on.pulls is None else on.pulls.scores(),
        }

    def _on(self, wishes: Wishes, scores: Integers, wide: Flags | None) -> On:
        takes: Flags = scores >= 0
        if wide is not None:
            takes &= wide
        key = (wishes, wishes.terms_seen, takes.tobytes())
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self._seen_on(wishes, takes)
            if len(self._kept) > self._kept_max:
                del self._kept[next(iter(self._kept))]
        return found

    def _seen_on(self, wishes: Wishes, takes: Flags) -> On:
        rows: Rows = EVERY if takes.all() else np.flatnonzero(takes)
        fixed: Integers | int = 0
        if wishes.taints is not None:
            fixed = normalised(wishes.taints[rows], TAINT_WEIGHT, fewest_best=True)
        if wishes.affinity is not None:
            fixed = fixed + normalised(wishes.affinity[rows], AFFINITY_WEIGHT, fewest_best=False)
        fixed_rows = None if isinstance(fixed, int) else fixed
        spread = None if wishes.spread is None else wishes.spread.on(rows)
        pulls = wishes.pulls.on(rows) if wishes.pulls else None
        return On(rows, fixed_rows, spread, pulls)

    # What a shape prefers

    def _wish(self, shape: Shape, wishes: Wishes) -> None:
        """Bring the wishes of a shape up to date with the terms that are known by now."""
        if wishes.terms_seen < 0:
            self._wish_for_nodes(shape.workload.constraints, wishes)
            wishes.spread = self._soft_spread(shape)
            for term, weight in _preferred_terms(shape.member).items():
                self._pull(wishes, term, weight, partial(self._rules.means, term[0]), "meant")
        for term, weight, owns in self._terms[max(0, wishes.terms_seen) :]:
            if self._rules.means(term[0], shape.member, of_newcomer=False):
                self._pull(wishes, term, weight, owns, "drawn")
        wishes.settle(len(self._terms))

    def _wish_for_nodes(self, constraints: Constraints, wishes: Wishes) -> None:
        taints = self._nodes.preferred_taints(constraints.tolerations)
        wishes.taints = taints if taints.any() else None
        affinity = constraints.affinity.node_affinity if constraints.affinity else None
        if affinity is not None and affinity.preferred:
            weights = np.zeros(len(taints), np.int64)
            for each in affinity.preferred:
                weights += self._nodes.term(each.preference) * each.weight
            wishes.affinity = weights if weights.any() else None

    def _soft_spread(self, shape: Shape) -> SoftSpread | None:
        stated = shape.workload.constraints.topology_spread
        spreads = [each for each in stated if each.when_unsatisfiable == SOFT]
        labels = tuple(sorted({each.topology_key for each in spreads}))
        if not stated and _is_of_set(shape.workload):
            spreads = _default_spreads(shape.member.labels)
        if not spreads:
            return None
        parts = [self._spread_part(shape, each, labels) for each in spreads]
        return SoftSpread(parts, all_required=bool(stated))

    def _spread_part(self, shape: Shape, spread: TopologySpread, labels: tuple[str, ...]) -> SpreadPart:
        """Return what a spread counts; over host names it is what runs on each node, whatever its name."""
        codes = self._nodes.topology(spread.topology_key).codes
        if spread.topology_key != HOSTNAME:
            counter, _ = self._rules.spread_counter(shape, spread, labels)
            return SpreadPart(counter, codes, spread.max_skew, by_node=False)
        member = shape.member
        requirements = requirements_of(spread.label_selector)
        if requirements is not None:
            requirements += with_label_keys(spread.match_label_keys, member.labels, "In")
        counter = self._rules.counter(
            ("spread by node", requirements, member.namespace),
            NAME_FIELD,
            partial(_counts, requirements, member.namespace),
        )
        rows = np.where(codes >= 0, np.arange(len(codes), dtype=np.int32), np.int32(-1))
        return SpreadPart(counter, rows, spread.max_skew, by_node=True)

    def _pull(
        self, wishes: Wishes, term: Term, weight: int, means: Callable[[Member], bool], kind: str
    ) -> None:
        selector, label = term
        topology = self._nodes.topology(label)
        key = (kind, selector, label) if kind == "meant" else (kind, selector, label, weight)
        if topology.values:
            wishes.pulls.add(label, topology.codes, self._rules.counter(key, label, means), weight)

    # What others prefer

    def _know_terms(self, member: Member) -> None:
        for term, weight in self._drawing(member).items():
            if (term, weight) not in self._terms_known:
                self._terms_known.add((term, weight))
                self._terms.append((term, weight, partial(self._owns, term, weight)))

    def _owns(self, term: Term, weight: int, member: Member) -> bool:
        return self._drawing(member).get(term) == weight

    def _drawing(self, member: Member) -> Mapping[Term, int]:
        """Return how much a workload draws those it means to where it runs."""
        found = self._weights_of.get(member)
        if found is None:
            weights = _preferred_terms(member)
            for each in member.required_near:
                term = (selector_of(each, member.namespace, member.labels), each.topology_key)
                weights[term] = weights.get(term, 0) + REQUIRED_TERM_WEIGHT
            found = self._weights_of[member] = weights
        return found


def _preferred_terms(member: Member) -> dict[Term, int]:
    """Return the preferred terms of a workload with their weights, negative for anti-affinity."""
    weights: dict[Term, int] = {}
    affinity = member.constraints.affinity
    if affinity is None:
        return weights
    for side, sign in ((affinity.pod_affinity, 1), (affinity.pod_anti_affinity, -1)):
        for each in side.preferred if side is not None else ():
            term = each.pod_affinity_term
            key = (selector_of(term, member.namespace, member.labels), term.topology_key)
            weights[key] = weights.get(key, 0) + sign * each.weight
    return weights


def _counts(requirements: Requirements | None, namespace: str, member: Member) -> bool:
    """Whether a spread counts a workload; a selector without conditions counts none."""
    return (
        bool(requirements)
        and not member.terminating
        and member.namespace == namespace
        and selects(requirements, member.labels)
    )


def _is_of_set(workload: Workload) -> bool:
    """Whether a workload is a replica of a set, or the template of one, that is spread by default."""
    return workload.owner.partition("/")[0] in SETS or (not workload.owner and workload.kind in SETS)


def _default_spreads(labels: Mapping[str, str]) -> list[TopologySpread]:
    shared = {key: value for key, value in labels.items() if key not in OWN_LABELS}
    if not shared:
        return []
    selector = LabelSelector(match_labels=shared)
    return [TopologySpread(skew_max, label, SOFT, selector) for label, skew_max in DEFAULT_SKEWS]


def _any_draws(runs: Iterable[Sequence[Workload]]) -> bool:
    """Whether some workload has terms that draw others: few constraints are distinct."""
    distinct = {id(each.constraints): each.constraints for run in runs for each in run}
    sides = [
        side
        for each in distinct.values()
        if each.affinity is not None
        for side in (each.affinity.pod_affinity, each.affinity.pod_anti_affinity)
        if side is not None
    ]
    return any(side.preferred or side.required for side in sides)
