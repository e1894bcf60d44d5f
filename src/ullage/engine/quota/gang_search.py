"""Victims for a gang on a large cluster: class by class, the largest first, by the offers of nodes.

Offers are taken cheapest first for as long as the set stays legal. A quota that can give no more is narrowed
to those of its members that still may go together; when nothing is left, the search widens: it lets one more
quota end below what is its own, and last of all takes from the claim's own quota. The result is a set, not a
certificate: it is legal, it is enough, and nobody in it can be left out by itself.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.gang_columns import Flags, Ints
from ullage.engine.quota.gang_judge import Judge, Need
from ullage.engine.quota.gang_menus import PRICE_MAX, Market, menus
from ullage.engine.quota.gang_packing import Gang, slots
from ullage.engine.quota.gang_plan import Plan, Taste
from ullage.engine.quota.gang_trim import trimmed

ROUNDS_MAX: Final = 100
"""How many plans are made for one gang before the search gives up."""
BASE_MAX: Final = 1 << 15
"""Up to how many victims a worse kind outweighs all of the better: its cube is the most a member may cost."""
TURNS_MAX: Final = 4
"""How often those who could come back are left out and the search is made anew."""


class Chosen(NamedTuple):
    """Victims as rows, and a node row for every member of the gang by key."""

    rows: Ints
    nodes: Ints


class Outcome(NamedTuple):
    """What came of a search, and whether a set fell because its victims could come back."""

    chosen: Chosen | None
    turns: bool


def search(judge: Judge, gang: Gang, usable: Flags) -> Outcome:
    """Return a good legal set for a gang out of the members that are usable, if one is found."""
    turns = False
    for _ in range(TURNS_MAX):
        found = _Attempt(judge, gang, usable).run()
        if found is None and judge.units is not None and (usable & ~judge.units.ungrouped).any():
            usable = usable & judge.units.ungrouped
            continue
        if found is None:
            break
        back = judge.coming_back(found.rows)
        if not len(back):
            return Outcome(found, turns)
        turns = True
        usable = usable.copy()
        usable[back] = False
    return Outcome(None, turns)


class _Attempt:
    """One way through the classes; the room that is left and the victims so far are its state."""

    def __init__(self, judge: Judge, gang: Gang, usable: Flags) -> None:
        self._judge = judge
        self._gang = gang
        self._columns = judge.columns
        self._usable = usable
        self._own_open = not (usable & ~judge.own).any()
        self._open: set[int] = set()
        self._kept_out = np.zeros(len(usable), np.bool_)
        self._taken = np.zeros(len(usable), np.bool_)
        self._free: Ints = self._columns.free[:, gang.resources].copy()
        self._nodes: Ints = np.full(len(gang.members), -1, np.int64)
        self._rounds = ROUNDS_MAX
        capacity = [max(1, self._columns.capacity.get(name, 0)) for name in self._columns.resources]
        bulk = (self._columns.takes / np.array(capacity, np.int64)).max(axis=1, initial=0)
        self._taste = Taste(bulk, self._columns.taste)
        self._dragged: Ints | None = None if judge.units is None else judge.units.dragged()

    def run(self) -> Chosen | None:
        judge, gang = self._judge, self._gang
        if gang.fits_none:
            return None
        others = self._usable & ~judge.own
        first = [need for need in judge.needs if not need.given[others].any()]
        if not self._meet(first):
            return None
        free = self._free
        share = gang.sizes / np.maximum(
            1, free.sum(axis=0) + self._columns.takes[:, gang.resources].sum(axis=0)
        )
        order = sorted(
            range(len(gang.sizes)), key=lambda kind: (-share[kind].max(initial=0), gang.members_of[kind])
        )
        for kind in order:
            if not self._place(kind):
                return None
        if not self._meet(judge.needs):
            return None
        rows = np.flatnonzero(self._taken)
        if not self._meet(judge.too_high(rows)) or judge.too_high(np.flatnonzero(self._taken)):
            return None
        rows, nodes = trimmed(judge, gang, np.flatnonzero(self._taken), self._nodes)
        if judge.units is not None and not judge.is_legal(rows):
            return None
        return Chosen(rows, nodes)

    def _place(self, kind: int) -> bool:
        """Give a node to every member of a class: where there is room first, then where room is made."""
        gang = self._gang
        places = gang.members_of[kind]
        count, size = len(places), gang.sizes[kind]
        allowed = gang.allowed[kind]
        room = np.where(allowed, slots(self._free, size, count), 0)
        before = room > 0
        while int(room.sum()) < count:
            need = count - int(room.sum())
            market = Market(self._columns, gang.resources, self._free, allowed, size, count, need)
            if not self._make_room(market):
                return False
            room = np.where(allowed, slots(self._free, size, count), 0)
        order = np.lexsort((np.arange(len(room)), room, ~before))
        reached = np.cumsum(room[order])
        taken = np.diff(np.minimum(reached, count), prepend=0)
        self._free[order] -= taken[:, None] * size
        self._nodes[list(places)] = np.sort(np.repeat(order, taken))
        return True

    def _make_room(self, market: Market) -> bool:
        """Take victims of a plan, or narrow or widen the choice; False when nothing is left to do."""
        self._rounds -= 1
        if self._rounds < 0:
            return False
        pool = self._pool()
        plan = Plan(menus(market, pool, self._prices(pool)), market.need, self._taste)
        count = self._legal_steps(plan)
        if count:
            self._take(plan.victims(count))
        if count < len(plan):
            self._narrow(plan)
            return True
        return bool(count) or self._widen()

    def _pool(self) -> Flags:
        pool = self._usable & ~self._taken & ~self._kept_out
        return pool if self._own_open else pool & ~self._judge.own

    def _prices(self, pool: Flags) -> Ints:
        """Return prices by which one of a worse kind costs more than all of the better kinds together."""
        judge, columns = self._judge, self._columns
        price = np.ones(len(pool), np.int64)
        if self._dragged is not None:
            price += self._dragged
        base = min(int(pool.sum()) + 1, BASE_MAX)
        if columns.budgets.shape[1] and len(judge.budgets):
            price += base * self._breaks(pool)
        price += base * base * (judge.guarded & pool)
        price += base * base * base * (judge.own & pool)
        return np.minimum(price, PRICE_MAX)

    def _breaks(self, pool: Flags) -> Ints:
        """Return how many budgets each row would break, those beyond the allowance by preference."""
        budgets, taste = self._columns.budgets, self._columns.taste
        found = np.zeros(len(pool), np.int64)
        under = budgets[self._taken]
        left = self._judge.budgets - np.bincount(under[under >= 0], minlength=len(self._judge.budgets))
        for place in range(budgets.shape[1]):
            rows = np.flatnonzero(pool & (budgets[:, place] >= 0))
            rows = rows[np.lexsort((taste[rows], budgets[rows, place]))]
            budget = budgets[rows, place]
            starts = np.searchsorted(budget, budget)
            found[rows] += np.arange(len(rows)) - starts >= left[budget]
        return found

    def _is_fine(self, rows: Ints) -> bool:
        """Whether a set is legal, and pushes below what is their own only the quotas that are open for it."""
        closed = rows if self._judge.units is None else self._judge.units.closed(rows)
        if closed is None or not self._judge.is_legal(closed):
            return False
        return self._open.issuperset(self._judge.pushed_below(closed).tolist())

    def _legal_steps(self, plan: Plan) -> int:
        """Return how many steps of a plan can be taken together with the victims so far."""
        taken = np.flatnonzero(self._taken)

        def fine(count: int) -> bool:
            return self._is_fine(np.concatenate((taken, plan.victims(count))))

        return _largest(fine, len(plan))

    def _take(self, rows: Ints) -> None:
        if self._judge.units is not None:
            before = np.flatnonzero(self._taken)
            closed = self._judge.units.closed(np.union1d(before, rows))
            rows = rows if closed is None else np.setdiff1d(closed, before)
        self._taken[rows] = True
        somewhere = rows[self._columns.node[rows] >= 0]
        freed = self._columns.takes[np.ix_(somewhere, self._gang.resources)]
        np.add.at(self._free, self._columns.node[somewhere], freed)

    def _narrow(self, plan: Plan) -> None:
        """Keep of the quotas that a plan goes on with only members that may all go with the victims so far.

        Those first that later steps need few of: the many of one step would be of no use without the rest.
        """
        columns = self._columns
        prices = self._prices(self._pool())
        pool = np.flatnonzero(self._pool())
        later = np.setdiff1d(plan.victims(len(plan)), np.flatnonzero(self._taken))
        wanted = np.zeros(len(columns.members), np.bool_)
        wanted[later] = True
        together = np.flatnonzero(self._taken)
        for quota in np.unique(columns.quota[later]).tolist():
            rows = pool[columns.quota[pool] == quota]
            crowd = np.bincount(columns.node[rows] + 1, minlength=len(columns.nodes) + 1)[
                columns.node[rows] + 1
            ]
            order = np.lexsort((columns.taste[rows], columns.node[rows], crowd, ~wanted[rows], prices[rows]))
            rows = rows[order]
            start = together

            def fine(most: int, rows: Ints = rows, start: Ints = start) -> bool:
                return self._is_fine(np.concatenate((start, rows[:most])))

            to_bound = quota not in self._open
            guess = self._judge.may_leave(together, rows, to_bound=to_bound) if quota != NO_QUOTA else 0
            kept = _largest(fine, len(rows), guess)
            self._kept_out[rows[kept:]] = True
            together = np.concatenate((together, rows[:kept]))

    def _widen(self) -> bool:
        """Let one more quota end below what is its own, or take from the own quota; False at the end."""
        judge, columns = self._judge, self._columns
        rows = np.flatnonzero(self._usable & ~self._taken & ~judge.own & (columns.quota != NO_QUOTA))
        counts = np.bincount(columns.quota[rows], minlength=1)
        counts[list(self._open & set(range(len(counts))))] = 0
        if counts.any():
            opened = judge.chain_of(int(counts.argmax()))
            self._open.update(opened)
            self._kept_out &= ~np.isin(columns.quota, opened)
            return True
        if self._own_open:
            return False
        self._own_open = True
        return True

    def _meet(self, needs: list[Need]) -> bool:
        """Take those who give what quotas lack, wherever they run; False if that is not enough."""
        for need in needs:
            while need.short > int(need.given[self._taken].sum()):
                self._rounds -= 1
                if self._rounds < 0:
                    return False
                if not self._meet_some(need) and not self._widen():
                    return False
        return True

    def _meet_some(self, need: Need) -> bool:
        """Take the fewest that give enough, the last of them as small as will do, or as many as may go."""
        pool = self._pool()
        price = self._prices(pool)
        rows = np.flatnonzero(pool & (need.given > 0))
        rows = rows[np.lexsort((self._columns.taste[rows], -need.given[rows], price[rows]))]
        short = need.short - int(need.given[self._taken].sum())
        reached = np.cumsum(need.given[rows])
        count = min(int(np.searchsorted(reached, short)) + 1, len(rows))
        if not count:
            return False
        rest = short - (int(reached[count - 2]) if count > 1 else 0)
        enough = np.flatnonzero((need.given[rows] >= rest) & (np.arange(len(rows)) >= count - 1))
        alike = enough[price[rows[enough]] == price[rows[count - 1]]]
        if len(alike):
            last = alike[np.lexsort((self._columns.taste[rows[alike]], need.given[rows[alike]]))[0]]
            rows = np.concatenate((rows[: count - 1], rows[last : last + 1]))
        rows = rows[:count]
        taken = np.flatnonzero(self._taken)
        kept = _largest(lambda most: self._is_fine(np.concatenate((taken, rows[:most]))), len(rows))
        self._take(rows[:kept])
        if kept < len(rows):
            self._kept_out[rows[kept]] = True
        return True


def _largest(fine: Callable[[int], bool], most: int, guess: int = 0) -> int:
    """Return the largest number up to `most` that is fine, where every smaller one is too."""
    if not most or fine(most):
        return most
    low, high = 0, most
    for tried in (guess, guess + 1):
        if low < tried < high:
            low, high = (tried, high) if fine(tried) else (low, tried)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fine(middle) else (low, middle)
    return low
