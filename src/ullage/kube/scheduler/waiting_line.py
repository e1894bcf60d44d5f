"""Pods that wait for a node, and when each has its next turn.

A pod that had no place is not judged again at once: it waits longer after each turn, and only until something
has happened that may help it. The hard thing is not to forget one: whatever happens, each has a turn once in
a while.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

from ullage.model.cluster import Workload
from ullage.model.delta import Delta

FIRST_SECONDS: Final = 1.0
SECONDS_MAX: Final = 10.0
SOON_SECONDS: Final = 0.25
AGAIN_SECONDS: Final = 60.0
"""How long a pod waits at most for something to happen."""
CYCLE_PODS_MAX: Final = 4000
"""Pods of one cycle: the first of them should not wait until all are judged."""


class _Turn(NamedTuple):
    """When a pod may be judged again if something happens, when it is anyway, and what had happened."""

    not_before: float
    at_last: float
    moves: int
    tries: int


class WaitingLine:
    """The pods that name this scheduler."""

    def __init__(self, names: Collection[str], is_taken: Callable[[str], bool]) -> None:
        """`is_taken` says of whom it is already decided."""
        self._names = frozenset(names)
        self._is_taken = is_taken
        self._waiting: dict[str, Workload] = {}
        self._turns: dict[str, _Turn] = {}
        self._tries_of_taken: dict[str, int] = {}
        self._moves = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, key: str) -> bool:
        return key in self._waiting

    def get(self, key: str) -> Workload | None:
        """Return a pod that waits."""
        return self._waiting.get(key)

    def gang(self, namespace: str, name: str) -> list[str]:
        """Return the pods of a gang that wait."""
        return [key for key, row in self._waiting.items() if (row.namespace, row.gang) == (namespace, name)]

    def tries(self, key: str) -> int:
        """Return how often a pod had no place."""
        turn = self._turns.get(key)
        return turn.tries if turn else self._tries_of_taken.get(key, 0)

    def seen(self, delta: Delta) -> None:
        """Take note of what has happened."""
        helps = any(getattr(delta, table) or delta.dropped.get(table) for table in _HELPING)
        for key in delta.dropped.get("workloads", ()):
            helps |= self._forget(key) is None
        for row in delta.workloads:
            if self._waits(row):
                known = self._waiting.get(row.key)
                self._waiting[row.key] = row
                if known is not None and _asks(known) != _asks(row):
                    self._turns.pop(row.key, None)
            elif self._is_taken(row.key):  # it only counts as bound: that may fail again
                self.take([row.key])
                helps = True
            else:
                self._forget(row.key)
                helps = True
        self._moves += helps

    def _waits(self, row: Workload) -> bool:
        return (
            row.state == "init"
            and not row.node
            and not row.terminating
            and row.scheduler in self._names
            and not row.constraints.scheduling_gates
        )

    def _forget(self, key: str) -> Workload | None:
        self._turns.pop(key, None)
        self._tries_of_taken.pop(key, None)
        return self._waiting.pop(key, None)

    def put_back(self, row: Workload, now: float) -> None:
        """Let a pod wait again whose place it could not have after all: not for anything else to happen."""
        if self._waits(row):
            self._waiting[row.key] = row
            self.had_no_place(row.key, now)
            turn = self._turns[row.key]
            self._turns[row.key] = turn._replace(at_last=turn.not_before)

    def at_once(self, key: str) -> None:
        """Give a pod the next turn, whatever has happened."""
        if key in self._turns:
            self._turns[key] = self._turns[key]._replace(at_last=0.0)

    def moved(self) -> None:
        """Take note that something has happened that may help somebody."""
        self._moves += 1

    def take(self, keys: Iterable[str]) -> None:
        """Remove pods that have a place; how often they had none counts until they are bound or gone."""
        for key in keys:
            tries = self.tries(key)
            self._forget(key)
            if tries:
                self._tries_of_taken[key] = tries

    def had_no_place(self, key: str, now: float) -> None:
        """Take note that a pod was judged in vain."""
        tries = self.tries(key) + 1
        self._tries_of_taken.pop(key, None)
        wait = min(FIRST_SECONDS * 2 ** min(tries - 1, 10), SECONDS_MAX)
        self._turns[key] = _Turn(now + wait, now + AGAIN_SECONDS, self._moves, tries)

    def has_place_later(self, key: str, now: float) -> None:
        """Take note that a pod has a place as soon as others have left: it is judged whenever one leaves."""
        self._turns[key] = _Turn(now + SOON_SECONDS, now + AGAIN_SECONDS, self._moves, self.tries(key))

    def ready(self, now: float) -> list[Workload]:
        """Return the pods that have a turn now; whoever is in a gang with one of them has one too."""
        found = {
            key: row
            for key, row in self._waiting.items()
            if not self._is_taken(key) and self._has_turn(key, now)
        }
        gangs = {(row.namespace, row.gang) for row in found.values() if row.gang}
        if gangs:
            found |= {
                key: row
                for key, row in self._waiting.items()
                if row.gang and (row.namespace, row.gang) in gangs and not self._is_taken(key)
            }
        return list(found.values())

    def _has_turn(self, key: str, now: float) -> bool:
        turn = self._turns.get(key)
        if turn is None or now >= turn.at_last:
            return True
        return self._moves > turn.moves and now >= turn.not_before

    def next_seconds(self, now: float) -> float | None:
        """Return how long nobody has a turn, if nothing happens; None where nobody waits for one."""
        times = [
            turn.not_before if self._moves > turn.moves else turn.at_last for turn in self._turns.values()
        ]
        return max(0.0, min(times) - now) if times else None


def first_of(
    waiting: list[Workload],
    nominated: Collection[str],
    pods_max: int = CYCLE_PODS_MAX,
    *,
    in_turn: bool = False,
) -> list[Workload]:
    """Return those whose turn is first, with all of their gangs.

    Where quotas decide, namespaces are to be served `in_turn`: whoever has thousands waiting would else be
    judged alone, and be given what others are guaranteed.
    """
    if len(waiting) <= pods_max:
        return waiting
    ordered = sorted(waiting, key=lambda each: (-each.priority, each.created_seconds or 0, each.key))
    if in_turn:
        seen: Counter[str] = Counter()
        places = []
        for each in ordered:
            places.append(seen[each.namespace])
            seen[each.namespace] += 1
        ordered = [ordered[number] for number in sorted(range(len(ordered)), key=places.__getitem__)]
    ordered.sort(key=lambda each: each.key not in nominated)
    chosen = ordered[:pods_max]
    gangs = {(each.namespace, each.gang) for each in chosen if each.gang}
    rest = (each for each in ordered[pods_max:] if each.gang and (each.namespace, each.gang) in gangs)
    return [*chosen, *rest]


def _asks(row: Workload) -> tuple[object, ...]:
    """Return all of a pod that decides where it may go."""
    return row.constraints, row.requests, row.volumes, row.priority, row.labels


_HELPING: Final = (
    "nodes",
    "quotas",
    "reservations",
    "claims",
    "volumes",
    "storage_classes",
    "storage_capacities",
    "storage_drivers",
    "namespaces",
    "disruption_budgets",
    "pod_groups",
)
"""Tables of which any change may help somebody who waits."""
