"""Members of a gang whose volumes take a while: nobody of it is bound before enough of them can be.

Each comes to the gate once it is ready, or says that it will not be; who waits there and is gone, or is to
make way, is ready no longer. Where so many fail that those who are left are too few, all are given back. The
hard thing is that a gang is always judged as a whole: who comes later joins the gate that others wait at,
and nobody of those who fail together waits again before all of them do, as the others would count as running.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ullage.engine.placement.gangs import GangKey, gang_key
from ullage.engine.placement.running import Running
from ullage.kube.scheduler.actions import NotDoneError
from ullage.model.cluster import Snapshot, Workload

LOOK_SECONDS: Final = 1.0
"""How often those at a gate are looked at: they may be gone, or their nodes."""


class GangGate:
    """So many of the members that have joined are needed."""

    def __init__(self, needed: int) -> None:
        self._needed = needed
        self._members: set[str] = set()
        self._left = 0
        self._ready: dict[str, Callable[[], None]] = {}
        self.why = ""
        self._changed = asyncio.Event()
        self._given_back: list[Callable[[], None]] = []
        self.is_passed = needed <= 0
        self.has_failed = False

    @property
    def is_open(self) -> bool:
        """Whether members are still to pass, or to be given back."""
        return bool(self._members) and not self.is_passed

    def join(self, key: str) -> None:
        """Let one more member be ready some day."""
        self._members.add(key)
        self._left += 1

    async def passed(self, key: str, check: Callable[[], None]) -> None:
        """Be ready, and wait for the others; raises a NotDoneError where too few of them will be.

        `check` raises one where this member is not to be bound any more.
        """
        self._ready[key] = check
        try:
            self._count()
            while not self.is_passed:
                self.refuse_failed()
                check()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._changed.wait()
        finally:
            del self._ready[key]

    def refuse_failed(self) -> None:
        """Raise a NotDoneError where too few of the others will be ready."""
        if self.has_failed:
            raise NotDoneError(self.why)

    def look(self) -> None:
        """Have all who wait look again whether they may stay."""
        self._changed.set()
        self._changed = asyncio.Event()

    def lost(self, key: str, why: str) -> list[str]:
        """Take note of a member that will not be ready, and return whom nobody needs to wait for any more.

        Who has passed stays bound.
        """
        if self.is_passed or self.has_failed:
            return []
        self._left -= 1
        self.why = self.why or f"others of its gang cannot be bound: {key}: {why}"
        if self._left >= self._needed:
            return []
        self.has_failed = True
        self.look()
        return sorted(self._members)

    def leave(self, key: str, given_back: Callable[[], None]) -> None:
        """Be no member any more, and be given back: where too few were left all at once, with the last."""
        self._members.discard(key)
        self._given_back.append(given_back)
        if self._members and self.has_failed:
            return
        while self._given_back:
            self._given_back.pop(0)()

    def _count(self) -> None:
        """Let all pass who are ready where they are enough; who is gone in truth does not count."""
        if len(self._ready) >= self._needed and not self.has_failed:
            self.is_passed = sum(map(_holds, self._ready.values())) >= self._needed
            self.look()


def _holds(check: Callable[[], None]) -> bool:
    try:
        check()
    except NotDoneError:
        return False
    return True


class Gates:
    """The gates at which members of gangs wait."""

    def __init__(self) -> None:
        self._open: dict[GangKey | None, GangGate] = {}

    def joined(self, bound: Sequence[Workload], snapshot: Snapshot) -> Mapping[GangKey | None, GangGate]:
        """Return the gates of those who are to be bound, by gang, and let them join.

        A gang has one while others of it wait at it, or where somebody has volumes; who runs already is not
        needed.
        """
        self._open = {gang: gate for gang, gate in self._open.items() if gate.is_open}
        gangs: dict[GangKey | None, list[Workload]] = {}
        for each in bound:
            if each.gang:
                gangs.setdefault(gang_key(each), []).append(each)
        fresh = {
            gang: members
            for gang, members in gangs.items()
            if gang not in self._open and any(each.volumes for each in members)
        }
        if fresh:
            running = Running(snapshot)
            self._open |= {gang: GangGate(members_needed(found, running)) for gang, found in fresh.items()}
        gates = {gang: self._open[gang] for gang in gangs if gang in self._open}
        for gang, gate in gates.items():
            for each in gangs[gang]:
                gate.join(each.key)
        return gates


def members_needed(members: Sequence[Workload], running: Running) -> int:
    """Return how many of those who are to be bound are needed beside who runs already."""
    least = max(each.gang_min for each in members)
    return min(len(members), least - len(running.gang_of(members[0]))) if least else len(members)
