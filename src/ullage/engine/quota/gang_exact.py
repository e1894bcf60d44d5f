"""The best legal set of victims for a gang: all sets that could be it, each with the gang packed exactly.

Adding a victim never makes an illegal set legal nor a set cheaper, so a branch ends where a set is illegal or
already dearer than the best. The hard thing is members that are alike: the one that is preferred goes first,
but only where nobody else who may go stands between the two, in the order of going or of labels.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.quota.gang_columns import NOWHERE, Flags, Ints
from ullage.engine.quota.gang_judge import Judge
from ullage.engine.quota.gang_packing import Gang, Packed, packing
from ullage.engine.quota.gang_units import choices_of
from ullage.engine.quota.victim_tally import Cost

CANDIDATES_MAX: Final = 40
MEMBERS_MAX: Final = 32
STEPS_MAX: Final = 3_000
"""How many sets a search looks at before it settles for the best it has."""


PACKING_STEPS_MAX: Final = 20_000
"""How many placements are tried in all the packings of a search."""


Accepts = Callable[[Ints, tuple[int, ...]], bool]
"""Whether nothing but room stands against victims, by row, and the node rows of a gang's members."""


OTHER_STEPS_MAX: Final = 200
"""How many placements are tried in one packing where something but room stands against the first."""


class Exact(NamedTuple):
    """The best set, if any, with its cost and the gang's node rows; `proven` if there is no better one."""

    rows: Ints | None
    nodes: tuple[int, ...]
    cost: Cost | None
    turns: bool
    proven: bool


class ExactSearch:
    """A search over all sets of a few members; `start` is a set that is enough, if one is known."""

    def __init__(
        self,
        judge: Judge,
        gang: Gang,
        usable: Flags,
        start: Ints | None,
        *,
        steps_max: int,
        accepts: Accepts | None = None,
    ) -> None:
        self._judge = judge
        self._accepts = accepts
        self._accepted: dict[bytes, tuple[int, ...]] = {}
        self._gang = gang
        self._steps = steps_max
        rows = self._preferred(np.flatnonzero(usable))
        self._choices = choices_of(judge.units, usable, rows.tolist())
        self._rows: Ints = np.array([each[0] for each in self._choices if len(each) == 1], np.int64)
        self._kinds = self._kinds_of()
        self._free: Ints = judge.columns.free[:, gang.resources]
        self._given, self._short = self._needs()
        self._rest = np.concatenate(
            (np.cumsum(self._given[::-1], axis=0)[::-1], np.zeros_like(self._given[:1]))
        )
        if not self._choices:
            self._rest = np.zeros((1, len(self._short)), np.int64)
        self._most: Ints = self._given.max(axis=0, initial=1)
        self._packing_steps = PACKING_STEPS_MAX
        self._packings: dict[bytes, Packed] = {}
        self._best: Ints | None = start
        self._cost: Cost | None = None if start is None else judge.cost(start)
        self._turns = False
        self._certain = True

    def run(self) -> Exact:
        """Return the best set of all."""
        self._extend(0, (), self._short)
        proven = self._steps > 0 and self._certain
        if self._best is None:
            return Exact(None, (), None, self._turns, proven)
        nodes = self._first_nodes(self._best)
        return Exact(self._best, nodes or (), self._cost, self._turns, proven and nodes is not None)

    def _first_nodes(self, rows: Ints) -> tuple[int, ...] | None:
        """Return the first nodes by name that have the gang when these have gone."""
        first = packing(self._gang, self._room_after(rows)).nodes
        if first is not None and (self._accepts is None or self._accepts(rows, first)):
            return first
        return self._accepted.get(rows.tobytes()) or self._packing(rows).nodes

    def _preferred(self, rows: Ints) -> Ints:
        """Return rows in the order they are tried: good sets are found early, so that others are cut."""
        judge, columns = self._judge, self._judge.columns
        has_budget = (columns.budgets[rows] >= 0).any(axis=1)
        return rows[np.lexsort((columns.taste[rows], has_budget, judge.guarded[rows], judge.own[rows]))]

    def _kinds_of(self) -> list[tuple[object, ...]]:
        """Return what makes two members the same for every rule but the last ties."""
        columns = self._judge.columns
        alike = [
            (
                each.quota,
                each.amounts,
                each.takes,
                each.node,
                each.priority,
                each.budgets,
                bool(columns.over[row]),
            )
            for row, each in ((row, columns.members[row]) for row in self._rows.tolist())
        ]
        runs: list[list[int]] = [[0, 0] for _ in alike]
        orders = (
            np.lexsort((-columns.rank[self._rows], columns.priority[self._rows])),
            np.argsort(columns.rank[self._rows], kind="stable"),
        )
        for which, order in enumerate(orders):
            run = 0
            for before, place in zip([None, *order.tolist()], order.tolist(), strict=False):
                run += before is not None and alike[before] != alike[place]
                runs[place][which] = run
        kinds = [(*kind, *run) for kind, run in zip(alike, runs, strict=True)]
        moved = self._moved(kinds)
        if self._judge.units is not None:
            return [(place,) for place in range(len(self._choices))]
        return [(*kind, place if kind in moved else -1) for place, kind in enumerate(kinds)]

    def _moved(self, kinds: list[tuple[object, ...]]) -> set[tuple[object, ...]]:
        """Return the kinds of which the preferred one need not be legal where another is.

        In mode nos one stays over-quota the longer, the later it comes in label order.
        """
        columns, modes = self._judge.columns, self._judge.columns.standing.book.modes
        found: set[tuple[object, ...]] = set()
        last: dict[tuple[object, ...], int] = {}
        for kind, row in zip(kinds, self._rows.tolist(), strict=True):
            if self._judge.own[row] or modes[columns.quota[row]] != "nos":
                continue
            rank = int(columns.rank[row])
            if last.get(kind, rank) < rank:
                found.add(kind)
            last[kind] = rank
        return found

    def _needs(self) -> tuple[Ints, Ints]:
        """Return what each candidate gives at most of what is short, over all nodes, and how short it is."""
        judge, gang, columns = self._judge, self._gang, self._judge.columns
        anywhere = gang.allowed.any(axis=0)
        counts = np.array([len(places) for places in gang.members_of], np.int64)
        room = np.maximum(0, self._free[anywhere]).sum(axis=0)
        short = [
            *((counts[:, None] * gang.sizes).sum(axis=0) - room).tolist(),
            *(each.short for each in judge.needs),
        ]
        rows = np.concatenate([np.zeros(0, np.int64), *self._choices])
        node = columns.node[rows]
        here = (node >= 0) & np.append(anywhere, False)[node]
        takes = np.where(here[:, None], columns.takes[np.ix_(rows, gang.resources)], 0)
        given = np.concatenate((takes, *(each.given[rows][:, None] for each in judge.needs)), axis=1)
        choice = np.repeat(np.arange(len(self._choices)), [len(each) for each in self._choices])
        summed = np.zeros((len(self._choices), given.shape[1]), np.int64)
        np.add.at(summed, choice, given)
        return summed, np.array(short, np.int64)

    def _extend(self, start: int, chosen: tuple[int, ...], short: Ints) -> None:
        self._steps -= 1
        if self._steps <= 0 or not self._is_promising(chosen, short):
            return
        if (short <= 0).all() and self._keeps(chosen):
            return
        skipped: set[tuple[object, ...]] = set()
        for place in range(start, len(self._choices)):
            if (short > self._rest[place]).any():
                return
            if self._kinds[place] in skipped or not self._goes_with(chosen, place):
                continue
            skipped.add(self._kinds[place])
            self._extend(place + 1, (*chosen, place), short - self._given[place])

    def _goes_with(self, chosen: tuple[int, ...], place: int) -> bool:
        """Whether one more leaves enough of its gang, or is all of a gang of which nobody is chosen."""
        units = self._judge.units
        if units is None:
            return True
        choice = self._choices[place]
        gang = units.of_row[choice[0]]
        before = [self._choices[each] for each in chosen if units.of_row[self._choices[each][0]] == gang]
        if gang == NOWHERE or not before:
            return True
        return len(choice) == 1 and max(map(len, before)) == 1 and len(before) < units.spare_of(choice[0])

    def _rows_of(self, chosen: tuple[int, ...]) -> Ints:
        return np.concatenate([np.zeros(0, np.int64), *(self._choices[each] for each in chosen)])

    def _is_promising(self, chosen: tuple[int, ...], short: Ints) -> bool:
        """Whether a set is legal, and could with what must be added to it still be the best."""
        if not chosen:
            return True
        rows = self._rows_of(chosen)
        if self._cost is not None:
            cost = self._judge.cost(rows)
            more = int((-(-np.maximum(0, short) // np.maximum(1, self._most))).max(initial=0))
            if (*cost[:4], cost.victims + more) > self._cost[:5] or cost[:7] > self._cost[:7]:
                return False
        return self._judge.is_legal(rows)

    def _keeps(self, chosen: tuple[int, ...]) -> bool:
        """Whether a set is enough and allowed; the best of those is kept."""
        rows = self._rows_of(chosen)
        packed = self._packing(rows)
        self._certain &= packed.certain
        if packed.nodes is None or self._judge.lacks(rows) or self._judge.too_high(rows):
            return False
        if len(self._judge.coming_back(rows)):
            self._turns = True
            return False
        cost = self._judge.cost(rows)
        if self._cost is not None and cost >= self._cost:
            return True
        if not self._is_accepted(rows, packed.nodes):
            return False
        self._best, self._cost = rows, cost
        return True

    def _is_accepted(self, rows: Ints, nodes: tuple[int, ...]) -> bool:
        """Whether nothing but room is against a set with some nodes; if something is, nothing is proven."""
        accepts = self._accepts
        if accepts is None or accepts(rows, nodes):
            self._accepted[rows.tobytes()] = nodes
            return True
        self._certain = False
        other = packing(
            self._gang,
            self._room_after(rows),
            max(1, min(self._packing_steps, OTHER_STEPS_MAX)),
            largest_first=True,
            accepts=lambda tried: accepts(rows, tried),
        )
        self._packing_steps -= other.steps
        if other.nodes is None:
            return False
        self._accepted[rows.tobytes()] = other.nodes
        return True

    def _packing(self, rows: Ints) -> Packed:
        free = self._room_after(rows)
        key = free.tobytes()
        if key not in self._packings:
            found = packing(self._gang, free, self._packing_steps, largest_first=True)
            self._packing_steps -= found.steps
            self._packings[key] = found
        return self._packings[key]

    def _room_after(self, rows: Ints) -> Ints:
        columns = self._judge.columns
        free = self._free.copy()
        rows = rows[columns.node[rows] >= 0]
        np.add.at(free, columns.node[rows], columns.takes[np.ix_(rows, self._gang.resources)])
        return free
