"""Candidates that wait to be taken, by kind: those that count the same stand in the order in which they go.

Kinds stand in the order of the first who is left of each, so that a search can end before it has seen all.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence

from ullage.engine.quota.book import Member


class CandidateLine:
    """Candidates by kind; `places` has the place of each in the order of all."""

    def __init__(self, kinds: Mapping[int, Sequence[Member]], places: Mapping[str, int]) -> None:
        self._places = places
        self._members = {kind: list(members) for kind, members in kinds.items()}
        self._line = sorted((places[members[0].key], kind) for kind, members in self._members.items())

    def __contains__(self, kind: int) -> bool:
        """Whether somebody is left of a kind."""
        return kind in self._members

    def kinds(self) -> list[tuple[int, int]]:
        """Return the kinds that are left as they stand now, each after the place of its first."""
        return list(self._line)

    def first(self, kind: int) -> Member:
        """Return who goes first of a kind."""
        return self._members[kind][0]

    def has(self, kind: int, member: Member) -> bool:
        """Whether one of a kind stands here."""
        members = self._members.get(kind, [])
        at = bisect_left(members, self._places[member.key], key=self._place)
        return at < len(members) and members[at] is member

    def add(self, kind: int, member: Member) -> None:
        """Let one more of a kind stand at its place."""
        members = self._members.get(kind)
        if members:
            self._leave(kind)
        members = self._members.setdefault(kind, [])
        insort(members, member, key=self._place)
        insort(self._line, (self._place(members[0]), kind))

    def remove(self, kind: int, member: Member) -> None:
        """Let one stand here no longer."""
        self._leave(kind)
        members = self._members[kind]
        del members[bisect_left(members, self._places[member.key], key=self._place)]
        if members:
            insort(self._line, (self._place(members[0]), kind))
        else:
            del self._members[kind]

    def _leave(self, kind: int) -> None:
        del self._line[bisect_left(self._line, (self._place(self._members[kind][0]), kind))]

    def _place(self, member: Member) -> int:
        return self._places[member.key]
