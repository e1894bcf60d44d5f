"""How many replicas of a shape there could be at most: by room, and by each rule over zones for itself.

Never fewer than really fit, and found without placing any. So what is sure to fail need not be tried, and a
search over sizes or numbers begins where it may succeed.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ullage.engine.capacity.bounds import CPU
from ullage.engine.placement.batches import SLOTS_MAX
from ullage.engine.placement.failover_room import FailoverRule
from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.room import RowArray
from ullage.engine.placement.rules import SIZE_REASON, Away, Near, Rule, Spread
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.trial import Trial

Bound = Callable[[Integers], int]


def rows_allowed(
    trial: Trial, shape: Shape, rows: RowArray | None = None, *, with_size: bool = False
) -> RowArray:
    """Return those of some nodes, else of all that are not lost, to which nothing local closes a shape.

    What is left on a node does not count, nor, unless asked for, how large it is.
    """
    trial.scores(shape)
    among = np.flatnonzero(shape.open & ~trial.lost) if rows is None else rows[shape.open[rows]]
    for rule in shape.local_rules:
        if with_size or not rule.reason.startswith(SIZE_REASON):
            among = among[rule.allows(among)]
    return among


class AtMost:
    """What some nodes could take of a shape as a trial stands."""

    def __init__(self, trial: Trial, shape: Shape, rows: RowArray) -> None:
        self._trial = trial
        self._rows = rows
        self._columns = shape.columns
        where = shape.columns[:, None], rows
        self._free: Integers = trial.room.free[where]
        self._slack: Integers = trial.room.slack(where)
        self._once = shape.once_for_each_node
        self._keeping: list[tuple[Flags, list[int | None]]] = []
        if trial.failover is not None and any(isinstance(each, FailoverRule) for each in shape.wide_rules):
            self._keeping = [
                (np.isin(rows, group), [budget.get(column) for column, _ in shape.takings])
                for group, budget in trial.failover.budgets()
            ]
        self._bounds = [bound for rule in shape.wide_rules if (bound := self._bound_of(rule, shape))]

    def replicas(self, amounts: Integers) -> int:
        """Return how many replicas there could be where each takes so much of the shape's resources."""
        slots = self._slots(amounts)
        beyond = sum(
            max(0, int(slots[rows].sum()) - _times(budgets, amounts)) for rows, budgets in self._keeping
        )
        return min(int(slots.sum()) - beyond, *(bound(slots) for bound in self._bounds), SLOTS_MAX)

    def by_room(self, amounts: Integers) -> int:
        """Return how many replicas there is room for, whatever rules say."""
        return int(self._slots(amounts).sum())

    def _slots(self, amounts: Integers) -> Integers:
        slots = np.full(len(self._rows), 1 if self._once else SLOTS_MAX, np.int64)
        resources = self._trial.columns.resources
        for place, (column, amount) in enumerate(zip(self._columns.tolist(), amounts.tolist(), strict=True)):
            if amount <= 0:
                continue
            room = np.where(self._free[place] >= amount, self._slack[place] // amount, 0)
            large = self._trial.room.too_large(amount, column, capped=resources[column] == CPU)
            slots = np.minimum(slots, np.where(large[self._rows], 0, room))
        return slots

    def _bound_of(self, rule: Rule, shape: Shape) -> Bound | None:
        if isinstance(rule, Spread):
            return self._spread(rule, counts_itself=rule.counter.means(shape.member))
        if isinstance(rule, Near):
            return self._near(rule)
        if isinstance(rule, Away):
            return self._away(rule, counts_itself=rule.counter.means(shape.member))
        return None

    def _among(self, allowed: Flags) -> Bound:
        """Return the bound of a rule that no replica changes."""
        return lambda slots: int(slots[allowed].sum())

    def _spread(self, rule: Spread, *, counts_itself: bool) -> Bound:
        """No value gets further ahead than it may of what the emptiest can be filled to."""
        if not counts_itself:
            return self._among(rule.allows(self._rows))
        codes = rule.counter.codes[self._rows]
        counted = codes >= 0
        uncounted = rule.labelled[self._rows] & ~counted

        def bound(slots: Integers) -> int:
            counts = rule.counter.counts
            new = np.zeros(len(counts), np.int64)
            np.add.at(new, codes[counted], slots[counted])
            present = rule.present
            lowest = 0 if rule.from_zero or not len(present) else int((counts + new)[present].min())
            room = np.clip(rule.room + 1 + lowest - counts, 0, None)
            return int(np.minimum(new, room).sum()) + int(slots[uncounted].sum())

        return bound

    def _near(self, rule: Near) -> Bound:
        """All go to where those are whom it must be near; where it may be the first, to one value."""
        first = rule.counters[0]
        if not rule.may_be_first or any(counter.counts.any() for counter in rule.counters):
            return self._among(rule.allows(self._rows))
        codes = first.codes[self._rows]

        def bound(slots: Integers) -> int:
            new = np.zeros(len(first.counts), np.int64)
            np.add.at(new, codes[codes >= 0], slots[codes >= 0])
            return int(new.max(initial=0))

        return bound

    def _away(self, rule: Away, *, counts_itself: bool) -> Bound:
        """One for each value at most, where a replica keeps the next one away."""
        allowed = rule.allows(self._rows)
        if not counts_itself:
            return self._among(allowed)
        codes = rule.counter.codes[self._rows]

        def bound(slots: Integers) -> int:
            some = allowed & (slots > 0)
            return len(np.unique(codes[some & (codes >= 0)])) + int(slots[some & (codes < 0)].sum())

        return bound


def _times(budgets: Sequence[int | None], amounts: Integers) -> int:
    """Return how often amounts are within what can be promised; None is what has no bound."""
    pairs = zip(budgets, amounts.tolist(), strict=True)
    return min(
        (budget // amount for budget, amount in pairs if budget is not None and amount > 0), default=SLOTS_MAX
    )
