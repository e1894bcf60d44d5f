"""Rows that are taken to say more than the watch has shown, until it shows as much.

Several pods may want the same of one row, a claim that they share: it says so until the last lets go of it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

Row = TypeVar("Row", bound=Any)


class Overlay(Generic[Row]):
    """What is taken for granted of the rows of one table; `shows` says whether a row says it by itself."""

    def __init__(self, shows: Callable[[Row], bool]) -> None:
        self._shows = shows
        self._changes: dict[str, Mapping[str, Any]] = {}
        self._owners: dict[str, set[str]] = {}
        self._keys_of: dict[str, set[str]] = {}
        self._seen: dict[str, Row] = {}
        self._given_back: dict[str, Row] = {}

    def __len__(self) -> int:
        return len(self._changes) + len(self._given_back)

    def put(self, owner: str, key: str, row: Row | None, **fields: Any) -> Row | None:
        """Take fields of a row for granted, as it was seen last; return it with them.

        Nothing changes where it says so already. A row that is not there yet will say so when it comes.
        """
        if row is not None and self._shows(row) and key not in self._changes:
            return None
        self._changes[key] = fields
        self._owners.setdefault(key, set()).add(owner)
        self._keys_of.setdefault(owner, set()).add(key)
        self._given_back.pop(key, None)
        if row is None:
            return None
        self._seen.setdefault(key, row)
        changed: Row = msgspec.structs.replace(row, **fields)
        return changed

    def let_go(self, owner: str) -> None:
        """Take back what is taken for granted for one owner alone."""
        for key in self._keys_of.pop(owner, ()):
            self._owners[key].discard(owner)
            if not self._owners[key]:
                seen = self._forget(key)
                if seen is not None:
                    self._given_back[key] = seen

    def applied(self, rows: Iterable[Row], dropped: Iterable[str]) -> tuple[Row, ...]:
        """Return rows that were seen with what is taken for granted, and those that say so no longer."""
        for key in dropped:
            self._given_back.pop(key, None)
            self._seen.pop(key, None)
        found = [self._row(row) for row in rows]
        found += self._given_back.values()
        self._given_back.clear()
        return tuple(found)

    def _row(self, row: Row) -> Row:
        key = row.key
        self._given_back.pop(key, None)
        fields = self._changes.get(key)
        if fields is None:
            return row
        if self._shows(row):
            self._forget(key)
            return row
        self._seen[key] = row
        changed: Row = msgspec.structs.replace(row, **fields)
        return changed

    def _forget(self, key: str) -> Row | None:
        for owner in self._owners.pop(key):
            self._keys_of[owner].discard(key)
            if not self._keys_of[owner]:
                del self._keys_of[owner]
        del self._changes[key]
        return self._seen.pop(key, None)
