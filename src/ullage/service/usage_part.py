"""Part of what is recorded: some subjects, as if all had been read and crowds among them been added up.

The hard thing are crowds of which nothing was recorded as such: only those pods and nodes are read that count
in them. Where all resources of all of them were recorded as such, nobody is looked for.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection
from functools import cached_property
from typing import Final

from ullage.engine.usage.book import Book, DayRow, Stream
from ullage.engine.usage.crowds import MEMBERS, add_crowds
from ullage.engine.usage.homes import Homes
from ullage.engine.usage.promised import NAMESPACED
from ullage.model.cluster import Snapshot
from ullage.model.usage import USAGE
from ullage.stores.usage_parts import read_subjects, read_sums, recorded_streams, used_streams

ALONE: Final = frozenset(("pod", "container", "drives"))
"""Kinds that are no crowds."""


def read_part(
    connection: sqlite3.Connection, snapshot: Snapshot, subjects: Collection[str], first_day: int = 0
) -> Book:
    """Return what is recorded of some subjects from a day on, or was used by those who belong to them."""
    book = read_subjects(connection, subjects, first_day)
    book.merge(unrecorded(connection, snapshot, subjects, first_day))
    return book


def unrecorded(
    connection: sqlite3.Connection, snapshot: Snapshot, subjects: Collection[str], first_day: int = 0
) -> Book:
    """Return what crowds among some subjects used of which nothing is recorded as such."""
    crowds = _Crowds(connection, snapshot, [each for each in subjects if _may_be_a_crowd(snapshot, each)])
    book = Book()
    for kind in MEMBERS:
        for row in crowds.sums(kind, first_day):
            book.put(row)
    return book


def _may_be_a_crowd(snapshot: Snapshot, subject: str) -> bool:
    """Whether there can be somebody in it."""
    kind, _, name = subject.partition("/")
    if kind == "node":
        return name in snapshot.nodes
    return kind not in ALONE


def _namespace_of(subject: str) -> str:
    kind, _, rest = subject.partition("/")
    return rest.partition("/")[0] if kind in NAMESPACED else ""


class _Crowds:
    """Crowds of a snapshot, and which of their streams are known."""

    def __init__(self, connection: sqlite3.Connection, snapshot: Snapshot, crowds: Collection[str]) -> None:
        self._connection = connection
        self._snapshot = snapshot
        self._crowds = frozenset(crowds)
        recorded = recorded_streams(connection, crowds)
        self._known = {each for streams in recorded.values() for each in streams if each.measure == USAGE}

    @cached_property
    def _homes(self) -> Homes:
        return Homes(self._snapshot)

    def sums(self, kind: str, first_day: int) -> list[DayRow]:
        """Return what crowds used by the sum of their members of a kind, where that is not known yet."""
        members, wanted = self._members(kind)
        if not members:
            return []
        part = read_sums(self._connection, members)
        add_crowds(part, self._homes_of)
        self._known.update(part.streams())
        return [
            row
            for subject in sorted({each.subject for each in wanted})
            for row in part.rows(subject)
            if row.stream in wanted and row.day >= first_day
        ]

    def _homes_of(self, subject: str) -> tuple[str, ...]:
        return tuple(each for each in self._homes.of(subject) if each in self._crowds)

    def _members(self, kind: str) -> tuple[list[str], set[Stream]]:
        """Return whoever counts in streams that are not known, and these."""
        members: dict[str, None] = {}
        wanted: set[Stream] = set()
        for subject, resource, _ in self._candidates(kind):
            missing = {Stream(each, resource) for each in self._homes_of(subject)} - self._known
            if missing:
                members[subject] = None
                wanted |= missing
        return list(members), wanted

    def _candidates(self, kind: str) -> list[Stream]:
        """Return the streams of whoever may be in crowds of which not all is known."""
        namespaces = {_namespace_of(each) for each in self._crowds}
        if not self._crowds or (kind == "node" and "" not in namespaces):
            return []
        is_one = len(namespaces) == 1 and "" not in namespaces
        within = f"{kind}/{next(iter(namespaces))}" if is_one else kind
        return used_streams(self._connection, within, self._complete())

    def _complete(self) -> list[str]:
        """Return the resources of which the use of every crowd is known."""
        counts = Counter(each.resource for each in self._known if each.subject in self._crowds)
        return sorted(name for name, count in counts.items() if count == len(self._crowds))
