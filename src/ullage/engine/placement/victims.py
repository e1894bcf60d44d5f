"""Running workloads that could make room for another: the fewest of one node, the least important first.

All of them are columns, read once for a question: which single one would do is one comparison, and only nodes
on which several together would do are looked at one by one.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.shapes import SIZE_STEPS, Integers, Shape
from ullage.engine.placement.volume_binding import SinglePod
from ullage.engine.redundancy.budgets import Budgets
from ullage.engine.redundancy.daemons import is_daemon
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload

EVICTED_MAX: Final = 8
ROWS_TRIED_MAX: Final = 50


class _Candidate(NamedTuple):
    """Workloads of a node that would free enough, told by how many, the most important of them, the node."""

    number: int
    priority: int
    size: int
    row: int
    places: list[int]


class Victims:
    """All that could be evicted, by node, then by priority, size and name."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._budgets = Budgets(trial.columns.snapshot)
        wholes = trial.wholes()
        sized: dict[tuple[int, str], tuple[int, list[int]]] = {}
        known = []
        for each in trial.columns.snapshot.workloads:
            stays = each.terminating or is_daemon(each) or not self._budgets.may_go(each)
            if each.holds_capacity and not stays:
                # Replicas mostly share their requests: what they take is found without adding it up again.
                key = id(each.requests), each.kind
                if key not in sized:
                    taken = trial.columns.taken(each)
                    vector = [taken.of(name) for name in trial.columns.resources]
                    sized[key] = _size_of(vector, wholes), vector
                known.append((trial.row_of[each.node], each.priority, sized[key][0], each.key, each))
        known.sort(key=lambda each: each[:4])
        self._workloads = [each[4] for each in known]
        self._place_of = {each.key: place for place, each in enumerate(self._workloads)}
        self._rows: Integers = np.array([each[0] for each in known], np.int64)
        self._priorities: Integers = np.array([each[1] for each in known], np.int64)
        self._sizes = [each[2] for each in known]
        vectors = [sized[id(each.requests), each.kind][1] for each in self._workloads]
        self._vectors: Integers = np.array(vectors, np.int64).reshape(len(known), len(wholes))

    def users(self, shape: Shape, priority_max: int, kept: Collection[str]) -> list[Workload]:
        """Return those up to a priority who use claims that keep a shape off every node."""
        claims = claims_in_use(shape)
        using = self._using(claims).tolist() if claims else []
        return [
            each
            for each, uses in zip(self._workloads, using, strict=False)
            if uses and each.priority <= priority_max and each.key not in kept
        ]

    def _using(self, claims: Collection[str]) -> Flags:
        """Return who uses one of some claims."""
        users = [
            any(f"{each.namespace}/{volume.claim}".removeprefix("/") in claims for volume in each.volumes)
            for each in self._workloads
        ]
        return np.array(users, np.bool_)

    def _budgets_of(self, place: int) -> tuple[int, ...]:
        return self._budgets.of(self._workloads[place])

    def could_help(self, shape: Shape, rest: int) -> bool:
        """Whether as many evictions as there may be could make room for so many more of a shape.

        Rules over zones may let several in for one that goes: for them this is not known.
        """
        if not shape.by_room_alone or not len(shape.columns) or not len(self._workloads):
            return bool(self._workloads)
        free = self._trial.room.free[shape.columns][:, self._rows]
        short = (free < shape.amounts[:, None]).all(axis=1)
        freed = self._vectors[:, shape.columns].max(axis=0) + np.maximum(free, 0).max(axis=1)
        most = (freed * EVICTED_MAX // shape.amounts)[short]
        return rest <= int(most.min(initial=rest))

    def fewest(
        self,
        shape: Shape,
        priority_max: int,
        kept: Collection[str],
        gone: Sequence[Workload],
        *,
        heeds_budgets: bool = True,
    ) -> list[Workload]:
        """Return the fewest workloads of one node whose place one more of a shape could have; none for none.

        Only those up to a priority go, and none of those that are `kept` or `gone` already.
        """
        trial = self._trial
        lacking = np.maximum(shape.amounts[:, None] - trial.room.free[shape.columns], 0)
        if trial.failover is not None:
            lacking = np.maximum(lacking, trial.failover.missing(shape))
        may_go = (self._priorities <= priority_max) & shape.open[self._rows]
        wide = trial.wide_open(shape)
        if wide is not None and (wide[self._rows] & may_go).any():
            may_go &= wide[self._rows]
        if claims := claims_in_use(shape):
            may_go &= self._using(claims)
        for key in (*kept, *(victim.key for victim in gone)):
            if key in self._place_of:
                may_go[self._place_of[key]] = False
        places = np.flatnonzero(may_go)
        allowed = self._allowed(gone) if heeds_budgets else [len(self._workloads)] * len(self._budgets.all)
        for look in (self._single, self._several):
            for each in sorted(look(shape, places, lacking, allowed))[:ROWS_TRIED_MAX]:
                victims = [self._workloads[place] for place in each.places]
                if self._makes_room(shape, each.row, victims):
                    return victims
        return []

    def _single(
        self, shape: Shape, places: Integers, lacking: Integers, allowed: Sequence[int]
    ) -> list[_Candidate]:
        """Return, of each node, the first workload that frees enough by itself."""
        enough = (self._vectors[places][:, shape.columns] >= lacking[:, self._rows[places]].T).all(axis=1)
        found: dict[int, _Candidate] = {}
        for place in places[enough].tolist():
            row = int(self._rows[place])
            if row not in found and all(allowed[number] > 0 for number in self._budgets_of(place)):
                found[row] = self._candidate(row, [place])
        return list(found.values())

    def _several(
        self, shape: Shape, places: Integers, lacking: Integers, allowed: Sequence[int]
    ) -> list[_Candidate]:
        """Return, of each node, the first workloads that free enough together."""
        frees = np.zeros(lacking.shape, np.int64).T
        np.add.at(frees, self._rows[places], self._vectors[places][:, shape.columns])
        enough = set(np.flatnonzero((lacking <= frees.T).all(axis=0)).tolist())
        found = []
        for group in _split(places, self._rows[places]):
            row = int(self._rows[group[0]])
            if row in enough:
                together = self._together(shape, group, lacking[:, row].tolist(), list(allowed))
                if together:
                    found.append(self._candidate(row, together))
        return found

    def _together(self, shape: Shape, places: Integers, lacking: list[int], allowed: list[int]) -> list[int]:
        chosen: list[int] = []
        for place, vector in zip(
            places.tolist(), self._vectors[places][:, shape.columns].tolist(), strict=True
        ):
            if len(chosen) == EVICTED_MAX:
                break
            of = self._budgets_of(place)
            if all(allowed[number] > 0 for number in of):
                for number in of:
                    allowed[number] -= 1
                chosen.append(place)
                lacking = [amount - freed for amount, freed in zip(lacking, vector, strict=True)]
                if max(lacking, default=0) <= 0:
                    return chosen
        return []

    def _candidate(self, row: int, places: list[int]) -> _Candidate:
        last = max((int(self._priorities[place]), self._sizes[place]) for place in places)
        return _Candidate(len(places), *last, row, places)

    def _allowed(self, gone: Sequence[Workload]) -> list[int]:
        """Return how many more each budget lets go."""
        allowed = [budget.allowed for budget in self._budgets.all]
        for victim in gone:
            for number in self._budgets.of(victim):
                allowed[number] -= 1
        return allowed

    def barring(self, victims: Sequence[Workload], gone: Sequence[Workload]) -> list[str]:
        """Return the budgets that do not let all of these go."""
        left = self._allowed([*gone, *victims])
        concerned = {number for victim in victims for number in self._budgets.of(victim)}
        return sorted(self._budgets.all[number].key for number in concerned if left[number] < 0)

    def _makes_room(self, shape: Shape, row: int, victims: Sequence[Workload]) -> bool:
        trial = self._trial
        mark = trial.mark()
        for each in victims:
            trial.evict(each)
        fits = bool(trial.feasible(shape)[row])
        trial.undo(mark)
        return fits


def claims_in_use(shape: Shape) -> frozenset[str]:
    """Return the claims that keep a shape off every node, as they take one pod only: their users must go."""
    rules = (rule for rule in shape.wide_rules if isinstance(rule, SinglePod))
    return frozenset(rule.claim for rule in rules if rule.is_in_use)


def _size_of(vector: Sequence[int], wholes: Sequence[int]) -> int:
    """Return how large a workload is: the largest part, in steps, that it takes of all of a resource."""
    parts = (amount * SIZE_STEPS // whole for amount, whole in zip(vector, wholes, strict=True))
    return max(parts, default=0)


def _split(places: Integers, rows: Integers) -> list[Integers]:
    """Return places, which are in the order of their rows, by row."""
    return np.split(places, np.flatnonzero(np.diff(rows)) + 1) if len(places) else []
