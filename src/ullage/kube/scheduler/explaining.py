"""What pods without a place have been told: why, and what would help.

What would help is looked for for so many kinds of pods in a cycle. The others are told why at once, and the
rest when their turn comes: nobody is told the same twice meanwhile. What would help one of a gang is found
with all of it that waits, though it may be told alone. The hard thing are those that came beside others for
whom room is being made: what would help is told as it will be once those run, and is looked for again then,
since it may have come otherwise and the short reason need not change with it.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.placement.gangs import gang_key
from ullage.engine.placement.scheduling import Cycle, Nominated, Unplaced, explain
from ullage.engine.placement.settled import settled
from ullage.kube.scheduler.messages import why_not
from ullage.model.cluster import Workload
from ullage.model.plan import Refusal

KINDS_MAX: Final = 20
"""Kinds of pods of one cycle for which it is looked for what would help."""


class _Told(NamedTuple):
    """What a pod was told for which short reason, and how often it was looked for what would help.

    It is looked for again once none of those `beside` it is nominated any more; None where it need not be.
    """

    reason: str
    said: tuple[str, str] | None = None
    looks: int = 0
    beside: frozenset[str] | None = frozenset()


class Explaining:
    """The reasons that pods know, and who of them does not know yet what would help."""

    def __init__(self, say: Callable[[str, str], bool]) -> None:
        """`say` tells a pod something, and returns whether it will be told."""
        self._say = say
        self._told: dict[str, _Told] = {}

    async def tell(self, columns: Columns, done: Cycle, asked: Mapping[str, Workload]) -> None:
        """Tell those who have no place what they do not know yet; who will have one is told elsewhere."""
        for later in done.nominated:
            self.forget(later.workload)
        beside = frozenset(each.workload for each in done.nominated)
        owed: dict[str, _Told] = {}
        for each in done.unplaced:
            told = self._told.get(each.workload)
            if told is None or told.reason != each.refusal.reason:
                owed[each.workload] = _Told(each.refusal.reason)
            elif told.beside is not None and told.beside.isdisjoint(beside):
                owed[each.workload] = told
        if not owed:
            return
        fewest = min(each.looks for each in owed.values())
        turn = {key for key, each in owed.items() if each.looks == fewest}
        found = await asyncio.to_thread(_looked_for, columns, done.nominated, turn, asked)
        for each in done.unplaced:
            told = owed.get(each.workload)
            if told is not None:
                if each.workload in found:
                    told = _looked(told, found[each.workload], beside)
                self._tell(each, told, found.get(each.workload), len(columns.nodes))

    def _tell(self, unplaced: Unplaced, told: _Told, explained: Refusal | None, nodes: int) -> None:
        refusal = explained or unplaced.refusal
        said = (refusal.reason, refusal.remedy)
        is_known = told.said is not None and (explained is None or said == told.said)
        if is_known or self._say(unplaced.workload, why_not(refusal, nodes)):
            self._told[unplaced.workload] = told if is_known else told._replace(said=said)

    def forget(self, key: str) -> None:
        """Tell a pod all of it again, if it has no place again."""
        self._told.pop(key, None)

    def keep(self, waits: Callable[[str], bool]) -> None:
        """Forget all who do not wait any more."""
        for key in [key for key in self._told if not waits(key)]:
            self.forget(key)


def _looked(told: _Told, explained: Refusal | None, beside: frozenset[str]) -> _Told:
    """Return what is known of one for whom it was looked; one that would have a place is owed an answer."""
    again = frozenset() if explained is None else beside or None
    return told._replace(looks=told.looks + 1, beside=again)


def _looked_for(
    columns: Columns, nominated: Sequence[Nominated], turn: Collection[str], asked: Mapping[str, Workload]
) -> dict[str, Refusal | None]:
    """Return what would help those whose turn it is, and their gangs, once others have their room."""
    columns = settled(columns, nominated)
    gangs = {gang_key(asked[key]) for key in turn} - {None}
    runs = columns.snapshot.workloads
    refused = [
        each
        for key, each in asked.items()
        if key in turn or (gang_key(each) in gangs and not (key in runs and runs[key].node))
    ]
    return explain(columns, refused, KINDS_MAX)
