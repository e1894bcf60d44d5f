"""The rules between workloads of one cluster: their counters, each made once, and who keeps whom away.

A term of anti-affinity binds both sides: the workload that has it, and everyone it means. So the owners of
each such term are counted too, and a shape gets a rule for every term that means it, also for terms that
become known only later, with the shape that brings them.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from ullage.engine.placement.counters import Counter, Means, Member, Members, ports_conflict
from ullage.engine.placement.node_columns import Codes, NodeColumns
from ullage.engine.placement.rules import Away, Near, Spread
from ullage.engine.placement.selectors import (
    Namespaces,
    WorkloadSelector,
    requirements_of,
    selector_of,
    selects,
    with_label_keys,
)
from ullage.engine.placement.shapes import Shape
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import PodAffinityTerm, TopologySpread

if TYPE_CHECKING:
    from ullage.engine.trial import Placement

HARD: Final = "DoNotSchedule"
Key = tuple[object, ...]


class RuleBook:
    """What is counted in a cluster, and the rules that follow from it for each shape.

    `like` is the book of a cluster from which this one differs little.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        nodes: NodeColumns,
        log: Sequence["Placement"],
        like: "RuleBook | None" = None,
    ) -> None:
        self._snapshot = snapshot
        self.nodes = nodes
        self._log = log
        self._namespaces = Namespaces(snapshot.namespaces)
        rows = {node.name: row for row, node in enumerate(nodes.nodes)}
        self.members = Members(snapshot, rows)
        self._by_key: dict[Key, Counter] = {}
        self.counters: list[Counter] = []
        self.labels: set[str] = set()
        self._kept_away: list[tuple[WorkloadSelector, str, Counter]] = []
        self._terms_known: set[Key] = set()
        if like is None:
            self._any_away = _keeps_away(snapshot.workloads.runs())
        else:
            others, _ = like._snapshot.workloads.difference(snapshot.workloads)  # noqa: SLF001 - another book's own part
            self._any_away = like._any_away or _keeps_away([others])  # noqa: SLF001 - likewise
        if self._any_away:
            for member in self.members.running():
                self._know_terms(member)

    def counted_by(self, member: Member) -> list[Counter]:
        """Return the counters that mean a member."""
        if member.counters_seen < len(self.counters):
            new = self.counters[member.counters_seen :]
            member.counted_by += [counter for counter in new if counter.means(member)]
            member.counters_seen = len(self.counters)
        return member.counted_by

    def compile(self, shape: Shape) -> None:
        """Give a shape all rules that bind it."""
        self._know_terms(shape.member)
        self._add_ports(shape)
        self._add_away(shape)
        self._add_near(shape)
        self._add_spread(shape)
        self.add_terms_of_others(shape)

    def add_terms_of_others(self, shape: Shape) -> None:
        """Give a shape the rules of terms that mean it and that it does not have yet."""
        member = shape.member
        for selector, label, counter in self._kept_away[shape.terms_seen :]:
            if self.means(selector, member, of_newcomer=False):
                reason = f"anti-affinity of workloads there, by {label}"
                self._bind(shape, counter, label, reason)
        shape.terms_seen = len(self._kept_away)

    def means(self, selector: WorkloadSelector, member: Member, *, of_newcomer: bool = True) -> bool:
        """Whether a term means a workload; terms of those that run already are not of a newcomer."""
        return self._namespaces.means(selector, member.namespace, member.labels, of_newcomer=of_newcomer)

    @property
    def terms(self) -> int:
        """How many terms keep others away."""
        return len(self._kept_away)

    def _know_terms(self, member: Member) -> None:
        for term in member.required_away:
            key = self._owner_key(term, member)
            if key in self._terms_known:
                continue
            self._terms_known.add(key)

            def owns(each: Member, wanted: Key = key) -> bool:
                return any(self._owner_key(own, each) == wanted for own in each.required_away)

            counter = self.counter(key, term.topology_key, owns)
            selector = selector_of(term, member.namespace, member.labels)
            self._kept_away.append((selector, term.topology_key, counter))

    def _owner_key(self, term: PodAffinityTerm, member: Member) -> Key:
        selector = selector_of(term, member.namespace, member.labels)
        return "owner", selector, term.topology_key

    def counter(
        self, key: Key, label: str, means: Means, within: Callable[[Codes], Codes] | None = None
    ) -> Counter:
        """Return the counter of a key, counting by a label; `within` hides nodes that do not take part."""
        found = self._by_key.get(key)
        if found is None:
            self.labels.add(label)
            topology = self.nodes.topology(label)
            codes = topology.codes if within is None else within(topology.codes)
            found = self._new_counter(key, Counter(codes, len(topology.values), means))
        return found

    def _new_counter(self, key: Key, counter: Counter) -> Counter:
        counter.fill(self.members.rows_of(counter.means))
        meant: dict[Member, bool] = {}
        for shape, rows, counts in self._log:
            member = shape.member
            if member not in meant:
                meant[member] = counter.means(member)
            if meant[member]:
                counter.add_many(np.atleast_1d(rows), np.atleast_1d(counts))
        self._by_key[key] = counter
        self.counters.append(counter)
        return counter

    def _bind(self, shape: Shape, counter: Counter, label: str, reason: str) -> None:
        local = self.nodes.topology(label).is_by_node
        once = counter.means(shape.member)
        shape.add_rule(Away(counter, reason, local=local, once=once, label=label))
        if not local:
            counter.dependents.append(shape)

    def _add_ports(self, shape: Shape) -> None:
        ports = shape.member.ports
        if not ports:
            return
        key = ("ports", ports)
        counter = self._by_key.get(key)
        if counter is None:
            rows = np.arange(len(self.nodes.nodes), dtype=np.int32)
            means = lambda member: ports_conflict(ports, member.ports)  # noqa: E731 - reads best in place
            counter = self._new_counter(key, Counter(rows, len(rows), means))
        listed = ", ".join(sorted({str(port.port) for port in ports}))
        shape.add_rule(Away(counter, f"host port {listed}", local=True, once=True))

    def _add_away(self, shape: Shape) -> None:
        member = shape.member
        for term in member.required_away:
            selector = selector_of(term, member.namespace, member.labels)
            counter = self.counter(
                ("meant", selector, term.topology_key),
                term.topology_key,
                partial(self.means, selector),
            )
            self._bind(shape, counter, term.topology_key, f"pod anti-affinity by {term.topology_key}")

    def _add_near(self, shape: Shape) -> None:
        member = shape.member
        terms = member.required_near
        if not terms:
            return
        selectors = tuple(selector_of(term, member.namespace, member.labels) for term in terms)

        def means(each: Member) -> bool:
            return all(self.means(selector, each) for selector in selectors)

        counters = [
            self.counter(("all meant", selectors, term.topology_key), term.topology_key, means)
            for term in terms
        ]
        shape.add_rule(Near(counters, may_be_first=means(member)))
        for counter in counters:
            counter.dependents.append(shape)

    def _add_spread(self, shape: Shape) -> None:
        spreads = shape.workload.constraints.topology_spread
        hard = [each for each in spreads if each.when_unsatisfiable == HARD]
        labels = tuple(sorted({each.topology_key for each in hard}))
        for each in hard:
            counter, itself = self.spread_counter(shape, each, labels)
            topology = self.nodes.topology(each.topology_key)
            rule = Spread(
                counter,
                topology.codes,
                each.topology_key,
                skew_max=each.max_skew,
                itself=itself,
                domains_min=1 if each.min_domains is None else each.min_domains,
            )
            shape.add_rule(rule)
            counter.dependents.append(shape)

    def spread_counter(
        self, shape: Shape, spread: TopologySpread, labels: tuple[str, ...]
    ) -> tuple[Counter, int]:
        """Return what a spread counts on the nodes that take part, and whether the shape itself counts.

        A node takes part if it has all labels of the workload's spreads and passes the spread's own policies.
        """
        member = shape.member
        requirements = requirements_of(spread.label_selector)
        if requirements is not None:
            requirements += with_label_keys(spread.match_label_keys, member.labels, "In")
        part = np.ones(len(self.nodes.nodes), np.bool_)
        for label in labels:
            part &= self.nodes.topology(label).codes >= 0
        if spread.node_affinity_policy == "Honor":
            part &= self.nodes.affine(shape.workload.constraints)
        if spread.node_taints_policy == "Honor":
            part &= self.nodes.tolerated(shape.workload.constraints.tolerations)
        namespace = member.namespace

        def means(each: Member) -> bool:
            return (
                bool(requirements)
                and not each.terminating
                and each.namespace == namespace
                and selects(requirements, each.labels)
            )

        key = ("spread", requirements, namespace, spread.topology_key, part.tobytes())
        counter = self.counter(
            key, spread.topology_key, means, within=lambda codes: np.where(part, codes, -1).astype(np.int32)
        )
        return counter, int(selects(requirements, member.labels))


def _keeps_away(runs: Iterable[Sequence[Workload]]) -> bool:
    """Whether some workload keeps others away: few constraints are distinct, so this is cheap."""
    distinct = {id(each.constraints): each.constraints for run in runs for each in run}
    return any(
        found.affinity is not None
        and found.affinity.pod_anti_affinity is not None
        and found.affinity.pod_anti_affinity.required
        for found in distinct.values()
    )
