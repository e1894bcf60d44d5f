"""Workloads that want a place as an integer programme: how many of each shape go to each group of nodes.

Nodes that differ in nothing that a row of the programme sees are one group. For one shape that is exact; for
several it is a relaxation, because what fits the sum of two nodes need not fit either, and a second attempt
takes each node by itself. Every row here follows from the rules whatever the order of placing:

- anti-affinity by zone of a shape against itself: at most one in each zone;
- spread: where some are put, the zone ends at most `skew` above the emptiest zone;
- affinity of a shape to itself where nobody is there yet: all of them share one zone;
- room kept for failover: of each resource no more in a group than it can promise.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.counters import Counter
from ullage.engine.placement.devices import DeviceRule
from ullage.engine.placement.failover_room import FailoverRule
from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.rules import EVERY, Away, Fixed, Near, Rule, Spread
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.placement.volume_places import OnNodes
from ullage.engine.programme import Programme, Solution
from ullage.engine.trial import Trial

Wanted = tuple[Shape, int]
Counts = tuple[tuple[int, int], ...]
Rows = npt.NDArray[np.intp]


class Model:
    """What the programme sees of a trial: slots of each shape on each node, and the rules it holds."""

    def __init__(self, trial: Trial, wanted: Sequence[Wanted]) -> None:
        self._trial = trial
        self._wanted = wanted
        self.left_out: list[str] = []
        self._once: list[tuple[int, Counter]] = []
        self._spreads: list[tuple[int, Spread]] = []
        self._together: list[tuple[int, Counter]] = []
        self._keepers: set[int] = set()
        self.slots: list[Integers] = [
            self._slots_of(place, shape, replicas) for place, (shape, replicas) in enumerate(wanted)
        ]
        self._groups: list[Rows] = []

    # What holds for each node by itself

    def _slots_of(self, place: int, shape: Shape, replicas: int) -> Integers:
        """Return how many of a shape each node could take on its own, by its room and what never changes."""
        trial = self._trial
        trial.scores(shape)
        fits: Flags = shape.open & ~trial.lost
        for rule in (*shape.local_rules, *shape.wide_rules):
            if self._is_static(place, shape, rule):
                fits &= rule.allows(EVERY)
            elif isinstance(rule, Spread):
                fits &= rule.labelled
        slots: Integers = np.where(fits, replicas, 0).astype(np.int64)
        every = np.arange(len(trial.nodes))
        for column, amount in zip(shape.columns.tolist(), shape.amounts.tolist(), strict=True):
            bounded = trial.room.bounded[column]
            by_room = self.slack(column, every) // amount
            by_room = np.where(trial.room.free[column] >= amount, np.maximum(by_room, 0), 0)
            slots = np.where(bounded, np.minimum(slots, by_room), slots)
        slots = trial.devices.slots(shape, every, slots)
        return np.minimum(slots, 1) if shape.once_for_each_node else slots

    def slack(self, column: int, rows: Rows) -> Integers:
        """Return what is not promised of a resource on nodes."""
        return self._trial.room.slack((np.full(len(rows), column, np.intp), rows))

    def _is_static(self, place: int, shape: Shape, rule: Rule) -> bool:
        """Whether what a rule forbids now stays forbidden; the other rules become rows, or are left out."""
        if isinstance(rule, Fixed | OnNodes):
            return True
        others = [each for number, (each, _) in enumerate(self._wanted) if number != place]
        if isinstance(rule, DeviceRule):
            if others:
                self._leave_out(rule)
            return True
        if isinstance(rule, Away):
            if not rule.local and rule.counter.means(shape.member):
                self._once.append((place, rule.counter))
            if any(rule.counter.means(other.member) for other in others):
                self._leave_out(rule)
            return True
        if isinstance(rule, Spread):
            if rule.counter.means(shape.member):
                self._spreads.append((place, rule))
                return False
            return self._unless_counted([rule.counter], others, rule)
        if isinstance(rule, Near):
            if not self._unless_counted(rule.counters, others, rule):
                return False
            if not rule.may_be_first or any(counter.counts.any() for counter in rule.counters):
                return True
            self._together += [(place, counter) for counter in rule.counters]
            return True
        if isinstance(rule, FailoverRule):
            self._keepers.add(place)
        else:
            self._leave_out(rule)
        return False

    def _unless_counted(self, counters: Iterable[Counter], others: Sequence[Shape], rule: Rule) -> bool:
        """Whether no other shape that is wanted changes what a rule looks at; if one does, leave it out."""
        if not any(counter.means(other.member) for counter in counters for other in others):
            return True
        self._leave_out(rule)
        return False

    def _leave_out(self, rule: Rule) -> None:
        if rule.reason not in self.left_out:
            self.left_out.append(rule.reason)

    def impossible(self, names: Sequence[str] = ()) -> str:
        """Return why sums alone show that there is no way; nothing where they do not."""
        for place, ((shape, replicas), slots) in enumerate(zip(self._wanted, self.slots, strict=True)):
            most = int(np.minimum(slots, replicas).sum())
            if most < replicas:
                name = names[place] if names else shape.workload.key
                return f"the nodes take at most {most} of {replicas} of {name}, each node for itself"
        trial = self._trial
        for column, name in enumerate(trial.columns.resources):
            takers = [place for place, (shape, _) in enumerate(self._wanted) if shape.vector[column] > 0]
            if len(takers) < 2:
                continue
            somewhere = np.flatnonzero(np.any([self.slots[place] > 0 for place in takers], axis=0))
            if not trial.room.bounded[column, somewhere].all():
                continue
            free = sum(self.slack(column, somewhere).tolist())
            asked = sum(
                int(self._wanted[place][0].vector[column]) * self._wanted[place][1] for place in takers
            )
            if asked > free:
                kind = trial.columns.snapshot.resource_types[name]
                return f"{kind.readable(asked)} of {name} is asked for and {kind.readable(free)} is free"
        return ""

    # Groups of nodes

    def group(self, *, single_nodes: bool) -> None:
        """Group the nodes that some shape can use: by all that rows see, or each by itself."""
        useful = np.flatnonzero(np.any([slots > 0 for slots in self.slots], axis=0))
        if single_nodes:
            self._groups = [np.array([row], np.intp) for row in useful.tolist()]
            return
        seen = [slots[useful] for slots in self.slots]
        seen += [counter.codes[useful].astype(np.int64) for _, counter in (*self._once, *self._together)]
        seen += [rule.counter.codes[useful].astype(np.int64) for _, rule in self._spreads]
        seen += [np.isin(useful, rows).astype(np.int64) for rows, _ in self._budgets()]
        if len(self._wanted) > 1:
            columns = np.unique(np.concatenate([shape.columns for shape, _ in self._wanted]))
            seen += [self.slack(int(column), useful) for column in columns]
        _, kinds = np.unique(np.array(seen).T, axis=0, return_inverse=True)
        kinds = kinds.reshape(-1)
        order = np.argsort(kinds, kind="stable")
        cuts = np.flatnonzero(np.diff(kinds[order])) + 1
        self._groups = list(np.split(useful[order], cuts)) if len(useful) else []

    @property
    def size(self) -> int:
        """How many unknowns there are, nearly."""
        return len(self._groups) * len(self._wanted)

    # The programme

    def programme(self) -> Programme:
        """Return the programme over the groups made last."""
        programme = Programme()
        self._unknowns: list[list[int]] = []
        for (_, replicas), slots in zip(self._wanted, self.slots, strict=True):
            most = [int(min(replicas, slots[rows[0]] * len(rows))) for rows in self._groups]
            unknowns = [programme.unknown(each) for each in most]
            self._unknowns.append(unknowns)
            programme.at_least([(each, 1) for each in unknowns], replicas)
            programme.at_most([(each, 1) for each in unknowns], replicas)
        self._add_room(programme)
        self._add_budgets(programme)
        for place, counter in self._once:
            for members in self._by_value(counter, place).values():
                programme.at_most(members, 1)
        for place, rule in self._spreads:
            self._add_spread(programme, place, rule)
        for place, counter in self._together:
            self._add_together(programme, place, counter)
        return programme

    def _add_room(self, programme: Programme) -> None:
        if len(self._wanted) < 2:
            return
        bounded = self._trial.room.bounded
        for column in range(len(self._trial.columns.resources)):
            takers = [place for place, (shape, _) in enumerate(self._wanted) if shape.vector[column] > 0]
            if len(takers) < 2:
                continue
            amounts = [int(self._wanted[place][0].vector[column]) for place in takers]
            for number, rows in enumerate(self._groups):
                if bounded[column, rows[0]]:
                    free = int(self.slack(column, rows[:1])[0]) * len(rows)
                    unknowns = [self._unknowns[place][number] for place in takers]
                    programme.at_most(list(zip(unknowns, amounts, strict=True)), free)

    def _budgets(self) -> list[tuple[Rows, dict[int, int]]]:
        """Return what groups that keep room for failover can still promise, where a shape must leave it."""
        failover = self._trial.failover
        return list(failover.budgets()) if failover is not None and self._keepers else []

    def _add_budgets(self, programme: Programme) -> None:
        for rows, budgets in self._budgets():
            within = [number for number, group in enumerate(self._groups) if group[0] in rows]
            for column, budget in budgets.items():
                terms = [
                    (self._unknowns[place][number], int(self._wanted[place][0].vector[column]))
                    for place in sorted(self._keepers)
                    if self._wanted[place][0].vector[column] > 0
                    for number in within
                ]
                if terms:
                    programme.at_most(terms, budget)

    def _by_value(self, counter: Counter, place: int) -> dict[int, list[tuple[int, int]]]:
        """Return the unknowns of a shape by the value that a counter sees, as terms."""
        found: dict[int, list[tuple[int, int]]] = {}
        for unknown, rows in zip(self._unknowns[place], self._groups, strict=True):
            code = int(counter.codes[rows[0]])
            if code >= 0:
                found.setdefault(code, []).append((unknown, 1))
        return found

    def _add_spread(self, programme: Programme, place: int, rule: Spread) -> None:
        counter = rule.counter
        counts = counter.counts.tolist()
        replicas = self._wanted[place][1]
        counted = [
            self._by_value(counter, number)
            for number, (other, _) in enumerate(self._wanted)
            if counter.means(other.member)
        ]
        total = sum(replicas for other, replicas in self._wanted if counter.means(other.member))
        lowest = programme.unknown(0 if rule.from_zero else max(counts) + total)
        emptiest = 0 if rule.from_zero else min((counts[code] for code in rule.present.tolist()), default=0)
        if not rule.from_zero:
            for code in rule.present.tolist():
                added = [(unknown, -1) for members in counted for unknown, _ in members.get(code, ())]
                programme.at_most([(lowest, 1), *added], counts[code])
        skew = rule.room + 1
        for code, members in self._by_value(counter, place).items():
            most = skew - counts[code]
            if most + emptiest >= 0:
                programme.at_most([*members, (lowest, -1)], most)
                continue
            some = programme.unknown(1)
            beyond = counts[code] + replicas
            programme.at_most([*members, (some, -replicas)], 0)
            programme.at_most([*members, (lowest, -1), (some, beyond)], most + beyond)

    def _add_together(self, programme: Programme, place: int, counter: Counter) -> None:
        replicas = self._wanted[place][1]
        chosen = []
        for members in self._by_value(counter, place).values():
            some = programme.unknown(1)
            chosen.append((some, 1))
            programme.at_most([*members, (some, -replicas)], 0)
        programme.at_most(chosen, 1)

    # What was found

    def counts(self, solution: Solution) -> list[Counts] | None:
        """Return rows and counts of each shape; None where a group's share does not fit its nodes."""
        values = solution.counts()
        found: list[dict[int, int]] = [{} for _ in self._wanted]
        for number, rows in enumerate(self._groups):
            shares = [values[unknowns[number]] for unknowns in self._unknowns]
            if any(shares) and not self._share_out(rows, shares, found):
                return None
        return [tuple(sorted(each.items())) for each in found]

    def _share_out(self, rows: Rows, shares: Sequence[int], found: list[dict[int, int]]) -> bool:
        """Deal the share of a group to its nodes, the shapes that leave the fewest slots first."""
        left = list(shares)
        order = sorted(range(len(shares)), key=lambda place: int(self.slots[place][rows[0]]))
        for row in rows.tolist():
            used = np.zeros(len(self._trial.columns.resources), np.int64)
            for place in order:
                count = min(left[place], self._room_for(place, row, used)) if left[place] else 0
                if count > 0:
                    found[place][row] = count
                    left[place] -= count
                    used += self._wanted[place][0].vector * count
        return not any(left)

    def _room_for(self, place: int, row: int, used: Integers) -> int:
        """Return how many of a shape a node takes beside what it was dealt already."""
        count = int(self.slots[place][row])
        if not used.any():
            return count
        shape = self._wanted[place][0]
        for column, amount in zip(shape.columns.tolist(), shape.amounts.tolist(), strict=True):
            if self._trial.room.bounded[column, row]:
                left = int(self.slack(column, np.array([row]))[0]) - int(used[column])
                count = min(count, left // amount)
        return count
