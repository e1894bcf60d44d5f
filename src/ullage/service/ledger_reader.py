"""A ledger that is read again and again: its file is checked once, and then only what is new is read.

The hard thing is to notice another ledger in its place: a copy may have as many steps. So the last step that
was read must still be there with the hash that it had; else all is read anew.
"""

import contextlib
import sqlite3
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.state import LedgerState
from ullage.service.ledger_file import Place, read_ledger, reading
from ullage.stores.database_file import failures
from ullage.stores.opening import open_to_read
from ullage.stores.reading import Head, head_of, read_state, steps

STEPS_MAX: Final = 1000
"""Steps that are taken one by one; where more are new, the present state is read as a whole."""


class Read(NamedTuple):
    """The state of a ledger, which nobody may change, and by what it is told from any other."""

    state: LedgerState
    seal: Hashable


class LedgerReader:
    """The state of a ledger as it is whenever it is asked for."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._inode = 0
        self._head: Head | None = None
        self._state = LedgerState()

    def read(self) -> Read:
        """Return the state now: the same object until a step was taken."""
        path = self._place
        if not isinstance(path, Path):
            state = read_ledger(path)
            return Read(state, state.revision)
        inode = path.stat().st_ino if path.exists() else 0
        if not inode or inode != self._inode:
            self._head = None
        opened = reading(path) if self._head is None else self._reading_again(path)
        with opened as connection:
            self._follow(connection)
        self._inode = inode
        return Read(self._state, self._head)

    @staticmethod
    @contextlib.contextmanager
    def _reading_again(path: Path) -> Iterator[sqlite3.Connection]:
        with failures(path), contextlib.closing(open_to_read(path)) as connection:
            yield connection

    def _follow(self, connection: sqlite3.Connection) -> None:
        head, known = head_of(connection), self._head
        if head == known:
            return
        if (
            known is None
            or not 0 < head.revision - known.revision <= STEPS_MAX
            or not _has(connection, known)
        ):
            self._state = read_state(connection)
        else:
            state = self._state.copy()
            for _, at_seconds, decision in steps(connection, known.revision, head.revision):
                apply(state, decision, at_seconds)
            self._state = state
        self._head = head


def _has(connection: sqlite3.Connection, head: Head) -> bool:
    """Whether a step is in the journal as it was; before the first step there is nothing to compare."""
    found = connection.execute("SELECT hash FROM journal WHERE revision = ?", (head.revision,)).fetchone()
    return not head.revision or (found is not None and found[0] == head.hash)
