"""What pods without a place have been told: why, and what would help.

What would help is looked for for so many kinds of pods in a cycle. The others are told why at once, and the
rest when their turn comes: nobody is told the same twice meanwhile. What would help one of a gang is found
with all of it that waits, though it may be told alone.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.placement.gangs import gang_key
from ullage.engine.placement.scheduling import Unplaced, explain
from ullage.kube.scheduler.messages import why_not
from ullage.model.cluster import Workload
from ullage.model.plan import Refusal

KINDS_MAX: Final = 20
"""Kinds of pods of one cycle for which it is looked for what would help."""


class Explaining:
    """The reasons that pods know, and who of them does not know yet what would help."""

    def __init__(self, say: Callable[[str, str], bool]) -> None:
        """`say` tells a pod something, and returns whether it will be told."""
        self._say = say
        self._known: dict[str, str] = {}
        self._owed: set[str] = set()

    async def tell(
        self, columns: Columns, unplaced: Iterable[Unplaced], asked: Mapping[str, Workload]
    ) -> None:
        """Tell those who have no place what they do not know yet."""
        news = {
            each.workload: each.refusal
            for each in unplaced
            if each.workload in self._owed or self._known.get(each.workload) != each.refusal.reason
        }
        if not news:
            return
        gangs = {gang_key(asked[key]) for key in news} - {None}
        runs = columns.snapshot.workloads
        refused = [
            each
            for key, each in asked.items()
            if key in news or (gang_key(each) in gangs and not (key in runs and runs[key].node))
        ]
        explained = await asyncio.to_thread(explain, columns, refused, KINDS_MAX)
        for key, refusal in news.items():
            self._tell(key, refusal, explained.get(key), len(columns.nodes))
            if key in explained:
                self._owed.discard(key)

    def _tell(self, key: str, refusal: Refusal, explained: Refusal | None, nodes: int) -> None:
        if explained is None and self._known.get(key) == refusal.reason:
            return
        if self._say(key, why_not(explained or refusal, nodes)):
            self._known[key] = refusal.reason
            self._owed.add(key)

    def forget(self, key: str) -> None:
        """Tell a pod all of it again, if it has no place again."""
        self._known.pop(key, None)
        self._owed.discard(key)

    def keep(self, waits: Callable[[str], bool]) -> None:
        """Forget all who do not wait any more."""
        for key in [key for key in self._known if not waits(key)]:
            self.forget(key)
