"""Members of a gang whose volumes take a while: nobody of it is bound before enough of them can be.

Each comes to the gate once it is ready, or says that it will not be. Where so many fail that those who are
left are too few, all who wait there are given back.
"""

import asyncio
from collections.abc import Sequence

from ullage.engine.placement.gangs import GangKey, gang_key
from ullage.engine.placement.running import Running
from ullage.kube.scheduler.actions import NotDoneError
from ullage.model.cluster import Snapshot, Workload


class GangGate:
    """So many of so many members are needed."""

    def __init__(self, members: int, needed: int) -> None:
        self._left = members
        self._needed = needed
        self._ready = 0
        self._why = ""
        self._decided = asyncio.Event()

    async def passed(self) -> None:
        """Be ready, and wait for the others; raises a NotDoneError where too few of them will be."""
        self._ready += 1
        if self._ready >= self._needed:
            self._decided.set()
        await self._decided.wait()
        if self._ready < self._needed:
            raise NotDoneError(f"others of its gang cannot be bound: {self._why}")

    def lost(self, key: str, why: str) -> None:
        """Take note of a member that will not be ready; who has passed stays bound."""
        if self._decided.is_set():
            return
        self._left -= 1
        self._why = self._why or f"{key}: {why}"
        if self._left < self._needed:
            self._ready = 0
            self._decided.set()


def gates_of(bound: Sequence[Workload], snapshot: Snapshot) -> dict[GangKey | None, GangGate]:
    """Return the gates of gangs of which somebody has volumes, by gang; who runs already is not needed."""
    gangs: dict[GangKey | None, list[Workload]] = {}
    for each in bound:
        gangs.setdefault(gang_key(each), []).append(each)
    slow = {gang: found for gang, found in gangs.items() if gang and any(each.volumes for each in found)}
    if not slow:
        return {}
    running = Running(snapshot)

    def needed(members: Sequence[Workload]) -> int:
        least = max(each.gang_min for each in members)
        return min(len(members), least - len(running.gang_of(members[0]))) if least else len(members)

    return {gang: GangGate(len(members), needed(members)) for gang, members in slow.items()}
