"""Gangs among those who could be claimed back: who goes with whom when claims take one of them.

Few candidates are searched through as decisions do it, with gangs as decisions see them. Of many, one that
goes takes along the rest of a gang that would have too few left; that is for speed, and not always the best.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.rights import Claim
from ullage.engine.quota.victim_gangs import Gangs, running_gangs
from ullage.engine.quota.victims import Nodes
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import Resources

ByGang = Mapping[str, Sequence[Member]]
NONE_RUN: Final[ByGang] = {}


class Pool(NamedTuple):
    """What is left on nodes and of budgets when some have gone: all nodes are one here."""

    room: Mapping[str, int]
    budgets: Sequence[int]
    gone: Collection[str] = ()

    def for_claim(
        self, claim: Claim, book: Book, candidates: Sequence[Member], capacity: Mapping[str, int]
    ) -> tuple[Nodes, list[Member]]:
        """Return the pool as a node for a claim of one resource, and candidates that are there as on it."""
        (name,) = claim.members[0].takes
        place = book.resources.index(name)
        there = [
            each._replace(node="", takes=Resources({**each.takes, name: each.amounts[place]}))
            for each in candidates
            if each.key not in self.gone
        ]
        return Nodes({"": self.room if name in self.room else {name: INT64_MAX}}, capacity), there


class ClaimedGangs:
    """The gangs that run and of which somebody is a candidate."""

    def __init__(self, running: ByGang, candidates: Sequence[Member]) -> None:
        self._candidates = {each.key for each in candidates}
        self._members = {
            name: tuple(members)
            for name, members in running.items()
            if len(members) > 1 and any(each.key in self._candidates for each in members)
        }

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._members)

    def left(self, candidates: Sequence[Member], gone: Collection[str]) -> Gangs:
        """Return the gangs when some have gone; candidates stand in for their members."""
        if not self._members:
            return {}
        there = {each.key: each for each in candidates}
        members = {
            name: [there.get(each.key, each) for each in members] for name, members in self._members.items()
        }
        return running_gangs(members, gone)

    def amounts(self, resource: int) -> set[int]:
        """Return how much of a resource each gang has that may go as one."""
        gangs = running_gangs(self._members)
        wholes = [each.whole(self._candidates) for each in gangs.values()]
        return {sum(each.amounts[resource] for each in members) for members in wholes}

    def may_go(self, candidates: Sequence[Member]) -> list[Member]:
        """Return candidates without those of gangs that need them and cannot go as one."""
        never: set[str] = set()
        for gang in running_gangs(self._members).values():
            if not gang.whole(self._candidates):
                here = [each.key for each in gang.members if each.key in self._candidates]
                never.update(here[gang.spare :])
        return [each for each in candidates if each.key not in never]

    def dragged(self, victim: Member, gone: Collection[str]) -> tuple[Member, ...]:
        """Return who goes along with one of those that may go: the others of a gang with none to spare."""
        members = self._members.get(victim.gang)
        gang = running_gangs({victim.gang: members}, gone).get(victim.gang) if members else None
        if gang is None or gang.spare:
            return ()
        return tuple(each for each in gang.whole(self._candidates) if each.key != victim.key)
