"""The rules of evicting on columns: who may be taken, which sets are legal, what a set costs.

They say what `Rules` says, for a whole set at once. A quota's use only falls while its members go: a set is
legal if the last of each quota to go was legal: one comparison for a quota instead of one for a victim. The
hard thing is labels in mode nos when priorities differ: those of lower priority go first, and those behind
them in the label order move up.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.gang_columns import Columns, Flags, Ints, bounds
from ullage.engine.quota.gang_units import Units
from ullage.engine.quota.rights import Claim, Refusal, Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victim_tally import Cost
from ullage.model.resources import NOTHING

MOST = np.iinfo(np.int64).max
LEAST = np.iinfo(np.int64).min


class Need(NamedTuple):
    """Something that quotas lack for a claim, by how much, and how much of it each row gives back."""

    short: int
    given: Ints


class Judge:
    """The rules over a claim and the columns, as things stand when it is made."""

    def __init__(
        self,
        rules: Rules,
        claim: Claim,
        columns: Columns,
        budgets: Sequence[int],
        units: Units | None = None,
    ) -> None:
        self.columns = columns
        self.units = units
        self.claim = claim
        self.budgets: Ints = np.array(budgets, np.int64)
        self._rules = rules
        book, standing = rules.book, rules.standing
        count, width = len(book.quotas), len(book.resources)
        self._used: Ints = np.array(standing.used, np.int64).reshape(count, width)
        self._own_used: Ints = np.array(standing.own_used, np.int64).reshape(count, width)
        self._entitled: Ints = bounds(rules.entitlements, MOST).reshape(count, width)
        self._own_mins: Ints = bounds(book.own_mins, MOST).reshape(count, width)
        promised = [rules.bound_of(quota, "min") for quota in range(count)]
        self._promised: Ints = bounds(promised, LEAST).reshape(count, width)
        self._is_nos: Flags = np.array([mode == "nos" for mode in book.modes], np.bool_)
        depth = max((len(chain) for chain in book.chains), default=1)
        self._chains: Ints = np.full((count, depth), NO_QUOTA, np.int64)
        for quota, chain in enumerate(book.chains):
            self._chains[quota, : len(chain)] = chain
        self._in_claim: Flags = np.zeros(count, np.bool_)
        if claim.quota != NO_QUOTA:
            self._in_claim[list(book.chains[claim.quota])] = True
        self.own: Flags = columns.quota == claim.quota
        self.guarded: Flags = ~self.own & (columns.quota != NO_QUOTA) & ~columns.over
        self.takeable: Flags = self._takeable()
        self.needs: list[Need] = [self._need(each) for each in rules.refusals(claim.quota, claim.amounts)]

    def _takeable(self) -> Flags:
        """Return who may be taken by itself as things stand; nobody else is in a legal set."""
        claim, columns, book = self.claim, self.columns, self._rules.book
        found: Flags = self.own & (columns.priority < claim.own_below)
        if claim.right is None:
            return found
        gives = np.zeros(len(book.quotas) + 1, np.bool_)
        for quota in np.unique(columns.quota).tolist():
            if quota not in (NO_QUOTA, claim.quota):
                gives[quota] = self._gives(quota)
        nos = np.append(self._is_nos, False)
        others = gives[columns.quota] & ~self.own & (columns.over | ~nos[columns.quota])
        if claim.others_below is not None:
            others &= columns.priority < claim.others_below
        found |= others
        return found

    def usable(self, candidates: Flags | None) -> Flags:
        """Return who of some may go, alone or with the whole of a gang; it is noted which gangs may."""
        units, found = self.units, self.takeable.copy()
        if candidates is not None:
            found &= candidates
        if units is None:
            return found
        found &= units.alone
        for gang, rows in enumerate(units.rows):
            units.whole[gang] = (candidates is None or candidates[rows].all()) and self._may_go_whole(rows)
            if units.whole[gang]:
                found[rows] = True
        return found

    def _may_go_whole(self, rows: Ints) -> bool:
        """Whether all of a gang may go as one, as things stand."""
        claim, columns = self.claim, self.columns
        quota, priority = int(columns.quota[rows[0]]), int(columns.priority[rows].max())
        if (columns.quota[rows] != quota).any():
            return False
        if quota == claim.quota:
            return priority < claim.own_below
        if quota == NO_QUOTA or claim.right is None or not claim.is_below(priority):
            return False
        return self._gives(quota) and (not self._is_nos[quota] or bool(columns.over[rows].any()))

    def _gives(self, quota: int) -> bool:
        claim, book = self.claim, self._rules.book
        if self._is_nos[quota]:
            if not (self._own_used[quota] > self._own_mins[quota]).any():
                return False
            bound = bounds([self._rules.bound_of(quota, claim.right)], MOST)
            return bool((self._own_used[quota] > bound).any())
        chain = book.chains[claim.quota]
        for above in book.chains[quota]:
            if above in chain:
                return chain.index(above) <= claim.reach
            if not (self._used[above] > self._entitled[above]).any():
                return False
        return claim.reach == len(chain)

    def _need(self, refusal: Refusal) -> Need:
        book = self._rules.book
        if refusal.barrier == "sum-of-min":
            gives = np.append(self._is_nos, False)
        else:
            gives = np.array([*(refusal.quota in chain for chain in book.chains), False], np.bool_)
        given = np.where(gives[self.columns.quota], self.columns.amounts[:, refusal.resource], 0)
        return Need(refusal.short, given)

    def is_legal(self, rows: Ints) -> bool:
        """Whether each of these that may go, in the order of going, may go after those before it."""
        columns = self.columns
        rows = rows[columns.quota[rows] != NO_QUOTA]
        if self.units is None:
            rows = rows[np.lexsort((-columns.rank[rows], columns.priority[rows]))]
            turn = np.arange(len(rows))
        else:
            priority, rank = self.units.standing_of(rows)
            order = np.lexsort((-rank, priority))
            rows, rank = rows[order], rank[order]
            turn = np.cumsum(np.diff(rank, prepend=rank[:1]) != 0)
        others = ~self.own[rows]
        nos = self._is_nos[columns.quota[rows]]
        if (others & ~nos).any() and not self._fair_holds(rows, turn, others & ~nos):
            return False
        return not (others & nos).any() or self._nos_holds(rows, turn, others & nos)

    def _fair_holds(self, rows: Ints, turn: Ints, judged: Flags) -> bool:
        """Whether every quota below the claim's is above its entitlement until the last judged one goes."""
        chains = self._chains[self.columns.quota[rows]]
        place, level = np.nonzero(chains != NO_QUOTA)
        above = chains[place, level]
        outside = ~self._in_claim[above]
        place, above = place[outside], above[outside]
        last = np.full(len(self._chains), -1, np.int64)
        fair = judged[place]
        np.maximum.at(last, above[fair], turn[place[fair]])
        earlier = turn[place] < last[above]
        gone = np.zeros_like(self._used)
        np.add.at(gone, above[earlier], self.columns.amounts[rows[place[earlier]]])
        touched = last >= 0
        left = self._used[touched] - gone[touched]
        return bool((left > self._entitled[touched]).any(axis=1).all())

    def _nos_holds(self, rows: Ints, turn: Ints, judged: Flags) -> bool:
        """Whether quotas in mode nos are above their bounds until the last goes, and all are over-quota."""
        quotas = self.columns.quota[rows]
        standing, claim = self._rules.standing, self.claim
        for quota in np.unique(quotas[judged]).tolist():
            places = np.flatnonzero(quotas == quota)
            last = turn[places[-1]]
            earlier = rows[places[turn[places] < last]]
            left = self._own_used[quota] - self.columns.amounts[earlier].sum(axis=0)
            bound = self._own_mins[quota]
            if claim.right != "min":
                guaranteed = standing.guaranteed(quota, self._unused_before(rows[turn < last]))
                bound = bound + bounds([guaranteed], 0)[0]
            if not (left > bound).any() or not self._all_over(rows[places], turn[places]):
                return False
        return True

    def _unused_before(self, rows: Ints) -> list[int]:
        """Return what the quotas in mode nos leave of their mins when these have gone."""
        left = self._own_used.copy()
        np.subtract.at(left, self.columns.quota[rows], self.columns.amounts[rows])
        unused = np.where(self._own_mins == MOST, 0, np.maximum(0, self._own_mins - left))
        return [int(each) for each in unused[self._is_nos].sum(axis=0)]

    def _all_over(self, rows: Ints, turn: Ints) -> bool:
        """Whether members of one quota are over-quota when their turn comes, of a gang its last."""
        columns = self.columns
        if (np.diff(turn) == 0).any():
            return self._lasts_over(rows, turn)
        priority = columns.priority[rows]
        if priority.min() == priority.max():
            return bool(columns.over[rows].all())
        rows = rows[np.argsort(columns.rank[rows])]
        priority = columns.priority[rows]
        bound = self._own_mins[columns.quota[rows[0]]]
        for level in np.unique(priority).tolist():
            gone = np.cumsum(columns.amounts[rows] * (priority < level)[:, None], axis=0)
            now = priority == level
            if not (columns.sum_to[rows[now]] - gone[now] > bound).any(axis=1).all():
                return False
        return True

    def _lasts_over(self, rows: Ints, turn: Ints) -> bool:
        """Whether the last of each turn in label order is over-quota when those of earlier turns are gone."""
        columns = self.columns
        rank = columns.rank[rows]
        order = np.lexsort((rank, turn))
        ends = order[np.append(np.diff(turn[order]) != 0, True)]
        gone = (turn[None, :] < turn[ends, None]) & (rank[None, :] < rank[ends, None])
        left = columns.sum_to[rows[ends]] - gone.astype(np.int64) @ columns.amounts[rows]
        return bool((left > self._own_mins[columns.quota[rows[0]]]).any(axis=1).all())

    def pushed_below(self, rows: Ints) -> Ints:
        """Return the quotas, other than the claim's, that end below what is their own."""
        used, touched = self._used_after(rows)
        below = touched & ~self._in_claim & (used < self._promised).any(axis=1)
        return np.flatnonzero(below)

    def may_leave(self, together: Ints, rows: Ints, *, to_bound: bool) -> int:
        """Return a guess of how many of a quota's rows, in their order, may go with others.

        Up to what is its own, or until the quota is within it by all resources; rules of others are left out.
        """
        quota = int(self.columns.quota[rows[0]])
        before = together[self.columns.quota[together] == quota]
        left = self._used[quota] - self.columns.amounts[before].sum(axis=0)
        amounts = self.columns.amounts[rows]
        gone = np.cumsum(amounts, axis=0)
        bound = self._promised[quota]
        if to_bound:
            return int(np.argmin(np.append((left - gone >= bound).all(axis=1), False)))
        named = bound != LEAST
        return int(np.argmin(np.append(((left - gone + amounts > bound) & named).any(axis=1), False)))

    def chain_of(self, quota: int) -> tuple[int, ...]:
        """Return a quota and those above it."""
        return self._rules.book.chains[quota]

    def _used_after(self, rows: Ints) -> tuple[Ints, Flags]:
        """Return the use of every quota without these members, and which of them they belonged to."""
        rows = rows[self.columns.quota[rows] != NO_QUOTA]
        chains = self._chains[self.columns.quota[rows]]
        place, level = np.nonzero(chains != NO_QUOTA)
        above = chains[place, level]
        used = self._used.copy()
        np.subtract.at(used, above, self.columns.amounts[rows[place]])
        touched = np.zeros(len(used), np.bool_)
        touched[above] = True
        return used, touched

    def too_high(self, rows: Ints) -> list[Need]:
        """Return by how much quotas of the claim that gave victims end above what they may then use."""
        if self.claim.quota == NO_QUOTA:
            return []
        used, touched = self._used_after(rows)
        book = self._rules.book
        found: list[Need] = []
        for quota in book.chains[self.claim.quota]:
            if touched[quota] and not self._is_nos[quota]:
                most = np.where(
                    self._entitled[quota] == MOST,
                    MOST,
                    np.maximum(self._entitled[quota], self._used[quota]),
                )
                after = used[quota] + np.array(self.claim.amounts, np.int64)
                within = np.append((self._chains == quota).any(axis=1), False)
                for place in np.flatnonzero(after > most).tolist():
                    given = np.where(within[self.columns.quota], self.columns.amounts[:, place], 0)
                    gone = int(given[rows].sum())
                    found.append(Need(int(after[place] - most[place]) + gone, given))
        return found

    def coming_back(self, rows: Ints) -> Ints:
        """Return which of these, in mode nos, could take a member of the claim, or others, in their turn.

        A member that counts as created last is over-quota if its quota is, so that sums are all that matters:
        the state afterwards has one member in each quota. Who is of the claim's own quota would take others
        if its right is the better one where neither of them runs.
        """
        columns, book, claim = self.columns, self._rules.book, self.claim
        rows = rows[columns.quota[rows] != NO_QUOTA]
        left = self._own_used.copy()
        np.subtract.at(left, columns.quota[rows], columns.amounts[rows])
        rows = rows[self._is_nos[columns.quota[rows]]]
        if not len(rows) or claim.quota == NO_QUOTA:
            return rows[:0]
        without = Rules(Standing(book, self._sums(left)), self._rules.entitlements)
        left[claim.quota] += np.array(claim.amounts, np.int64)
        sums = self._sums(left)
        after = Rules(Standing(book, sums), self._rules.entitlements)
        newcomer = sums[claim.quota]
        answers: dict[tuple[tuple[int, tuple[int, ...], int], ...], bool] = {}
        found: list[Ints] = [rows[:0]]
        for unit in rows[:, None] if self.units is None else self.units.split(rows):
            victims = [columns.members[row] for row in unit.tolist()]
            kind = tuple((each.quota, each.amounts, each.priority) for each in victims)
            if kind not in answers:
                is_own = victims[0].quota == claim.quota
                answers[kind] = (is_own and without.is_outranked(claim, victims)) or after.may_be_taken(
                    newcomer, after.claim(victims), newest=newcomer
                )
            if answers[kind]:
                found.append(unit)
        return np.concatenate(found)

    def _sums(self, used: Ints) -> list[Member]:
        """Return one member for each quota that uses all that its own members do."""
        return [
            Member(str(quota), quota, tuple(amounts), NOTHING, priority=self.claim.priority)
            for quota, amounts in enumerate(used.tolist())
        ]

    def lacks(self, rows: Ints) -> list[Need]:
        """Return what quotas still lack when these have gone."""
        found = [Need(need.short - int(need.given[rows].sum()), need.given) for need in self.needs]
        return [need for need in found if need.short > 0]

    def is_allowed(self, rows: Ints) -> bool:
        """Whether quotas lack nothing afterwards and nothing but room stands against the set."""
        return not self.lacks(rows) and not self.too_high(rows) and not len(self.coming_back(rows))

    def cost(self, rows: Ints) -> Cost:
        """Return what a set costs; an empty one costs nothing."""
        columns = self.columns
        taken = columns.takes[rows].sum(axis=0).tolist()
        share = max(
            (
                Fraction(amount, columns.capacity.get(name) or 1)
                for name, amount in zip(columns.resources, taken, strict=True)
            ),
            default=Fraction(0),
        )
        members = [columns.members[row] for row in rows.tolist()]
        return Cost(
            int(self.own[rows].sum()),
            len(self.pushed_below(rows)),
            int(self.guarded[rows].sum()),
            self.broken(rows),
            len(rows),
            share,
            int(columns.priority[rows].max(initial=LEAST)) if len(rows) else 0,
            tuple(sorted(-member.created_seconds for member in members)),
            tuple(sorted(member.key for member in members)),
        )

    def broken(self, rows: Ints) -> int:
        """Return how far the budgets that these are under are exceeded, in all."""
        under = self.columns.budgets[rows]
        counts = np.bincount(under[under >= 0], minlength=len(self.budgets))
        return int(np.maximum(0, counts - self.budgets)[counts > 0].sum())
