"""Places of gangs, beside a scheduler that takes one pod after the other.

The first member that is asked about has all of its gang judged. Where enough of it have places at once, these
are held for all of them, and whoever is to be bound waits at a gate until enough are: so all of them run, or
nobody. The hard thing is a member for which kube-scheduler never comes: a gang that gets no further for a
while gives its places back, as it does where one of them is gone, or makes way, and too few are left.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.placement.gangs import GangKey, gang_key
from ullage.kube.extender.outlook import Outlook
from ullage.kube.scheduler.gang_gate import GangGate, members_needed
from ullage.model.cluster import Workload

PATIENCE_SECONDS: Final = 30.0
"""How long places are held for a gang of which nobody comes; kube-scheduler lets pods wait for ten."""
TRIES_MAX: Final = 5
"""How often in a row the place of one is kept whose gang runs, while it cannot be bound."""
GONE: Final = "it is gone"
NODE_GONE: Final = "its node is gone"
NOBODY_COMES: Final = f"kube-scheduler has brought nobody of its gang for {PATIENCE_SECONDS:.0f} seconds"
PLACE_TAKEN: Final = "its place is for a more important pod"


class Lost(NamedTuple):
    """A member that is not bound after all: where it was to be, why, and what lets it wait again."""

    member: Workload
    node: str
    why: str
    given_back: Callable[[], None]


class _Agreed:
    """A gang that has places: who has not come yet, and until when somebody has to."""

    def __init__(self, needed: int, until: float) -> None:
        self.gate = GangGate(needed)
        self.missing: set[str] = set()
        self.until = until

    def is_over(self) -> bool:
        """Whether nobody is waited for any more."""
        return not self.missing and not self.gate.is_open


class GangPlaces:
    """The gangs that have places and are not bound yet."""

    def __init__(self, outlook: Outlook, now: Callable[[], float] = time.monotonic) -> None:
        self._outlook = outlook
        self._now = now
        self._agreed: dict[GangKey | None, _Agreed] = {}

    def agree(self, members: Sequence[Workload], places: Mapping[str, str]) -> None:
        """Hold places for members of one gang that have them at once: enough of it, or more."""
        needed = members_needed(members, self._outlook.running())
        agreed = _Agreed(needed, self._now() + PATIENCE_SECONDS)
        self._agreed[gang_key(members[0])] = agreed
        for each in members:
            if each.key in places:
                agreed.gate.join(each.key)
                agreed.missing.add(each.key)
                self._outlook.hold(each.key, places[each.key])
        self._outlook.following.changed.set()  # those that were refused before are told

    def is_gathering(self, member: Workload) -> bool:
        """Whether others of a gang have places, and are not bound yet."""
        return gang_key(member) in self._agreed

    def place_of(self, member: Workload) -> str:
        """Return the node that is held for a member which has not come yet."""
        agreed = self._agreed.get(gang_key(member))
        if agreed is None or member.key not in agreed.missing:
            return ""
        return self._outlook.held.get(member.key, "")

    def move(self, member: Workload, node: str) -> None:
        """Hold another node for a member."""
        self._outlook.hold(member.key, node)

    def waited_for(self) -> dict[str, str]:
        """Return the members that have not come yet, with their nodes."""
        held = self._outlook.held
        return {
            key: held[key]
            for agreed in self._agreed.values()
            for key in sorted(agreed.missing)
            if key in held
        }

    def come(self, member: Workload) -> GangGate | None:
        """Take note that a member is being bound, and return the gate at which it waits for the others."""
        agreed = self._agreed.get(gang_key(member))
        if agreed is None:
            return None
        if member.key in agreed.missing:
            agreed.missing.discard(member.key)
        else:
            agreed.gate.join(member.key)
        agreed.until = self._now() + PATIENCE_SECONDS
        return agreed.gate

    def failed(self, gate: GangGate, lost: Lost) -> list[str]:
        """Take note that a member is not bound after all; return who need not be made ready any more.

        Where enough of the others are bound its place is kept for it, a few times.
        """
        gang, key = gang_key(lost.member), lost.member.key
        stopped = gate.lost(key, lost.why)
        gate.leave(key, lost.given_back)
        if gate.has_failed:
            self._drop(gang, gate)
        elif gate.is_passed and self._outlook.line.tries(key) < TRIES_MAX:
            agreed = self._agreed.setdefault(gang, _Agreed(0, 0.0))
            agreed.until = self._now() + PATIENCE_SECONDS
            agreed.missing.add(key)
            self._outlook.hold(key, lost.node)
        return stopped

    def lose(self, member: Workload, why: str) -> None:
        """Take the place from a member that has not come yet, and from all if too few are left."""
        gang = gang_key(member)
        agreed = self._agreed.get(gang)
        if agreed is None or member.key not in agreed.missing:
            return
        self._lose(agreed, member.key, why)
        if agreed.gate.has_failed:
            self._drop(gang, agreed.gate)

    def give_up(self, member: Workload, why: str) -> None:
        """Take the places from all of a gang that have not come yet; who has passed the gate stays bound."""
        agreed = self._agreed.pop(gang_key(member), None)
        if agreed is not None:
            for key in sorted(agreed.missing):
                self._lose(agreed, key, why)

    def sweep(self) -> None:
        """Look at all gangs: who is gone, whose node is, and who has waited too long."""
        outlook, now = self._outlook, self._now()
        for gang, agreed in list(self._agreed.items()):
            for key in sorted(agreed.missing):
                if key not in outlook.held:
                    self._lose(agreed, key, GONE)
                elif not outlook.has_node(outlook.held[key]):
                    self._lose(agreed, key, NODE_GONE)
            if agreed.missing and now >= agreed.until:
                for key in sorted(agreed.missing):
                    self._lose(agreed, key, NOBODY_COMES)
            if agreed.gate.has_failed:
                self._drop(gang, agreed.gate)
            elif agreed.is_over():
                del self._agreed[gang]

    def _lose(self, agreed: _Agreed, key: str, why: str) -> None:
        agreed.missing.discard(key)
        self._outlook.let_go(key)
        agreed.gate.lost(key, why)
        agreed.gate.leave(key, _nothing)

    def _drop(self, gang: GangKey | None, gate: GangGate) -> None:
        """Forget a gang that has failed; a newer agreement of the same gang stands."""
        agreed = self._agreed.get(gang)
        if agreed is not None and agreed.gate is gate:
            del self._agreed[gang]
            for key in sorted(agreed.missing):
                self._lose(agreed, key, gate.why)


def _nothing() -> None:
    """Give nothing back: nothing was begun for a member that has not come."""
