"""The one writer of a process: it decides a batch on the state in memory and makes it durable as a whole.

The state in memory is only ever what the disk has: other processes may have written since, so each batch
begins with the write lock and the rows that they added; and if a batch fails in any way, the connection and
the state are thrown away and read anew, because after a failed write nobody knows better than the disk.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import Key, key_of
from ullage.model.errors import InputError
from ullage.model.ledger import Command, Decision, Outcome
from ullage.model.ledger_entry import LedgerEntry
from ullage.stores import codec
from ullage.stores.database_file import failures
from ullage.stores.group_commit import Request
from ullage.stores.opening import open_to_write
from ullage.stores.protocol import Asked, moved_since, repeated
from ullage.stores.reading import head_of, last_checkpoint, place_of, read_state_and_places, steps

CHECKPOINT_ROWS_MIN: Final = 10_000
"""So many steps, and as many as a kept state has entries, pass before the next one is kept."""
Answer = TypeVar("Answer")
Decide = Callable[[LedgerState, Command, int], Decision]


class _Open(NamedTuple):
    """A connection and which file it is to: a name may come to mean another one."""

    connection: sqlite3.Connection
    device: int
    inode: int


class _Batch:
    """What a batch adds to the journal, and what it touches of the tables beside it."""

    __slots__ = ("capacities", "entries", "keys", "rows", "waiting")

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, str, str, str, bytes]] = []
        self.entries: dict[Key, int] = {}
        self.capacities: dict[str, int] = {}
        self.waiting = False
        self.keys: dict[str, tuple[str, Outcome]] = {}

    def touch(self, decision: Decision, revision: int) -> None:
        """Note what a decision changed, and when."""
        if not decision.accepted:
            return
        for number, entry in enumerate(decision.changed):
            self.entries[key_of(entry)] = place_of(revision, number)
        for capacity in decision.capacities:
            self.capacities[capacity.name] = revision
        for name in decision.gone:
            self.capacities[name] = revision
        if decision.waiting is not None:
            self.waiting = True

    def write(self, connection: sqlite3.Connection, state: LedgerState, places: dict[Key, int]) -> None:
        """Add the rows, and bring the tables to what the state has under each name that was touched."""
        connection.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?)", self.rows)
        ended = [(places[key],) for key in self.entries if key in places]
        if ended:
            connection.executemany("DELETE FROM entries WHERE place = ?", ended)
        kept = self.place(state, places)
        connection.executemany(
            "INSERT INTO entries VALUES (?, ?)",
            [(place, codec.entry_text(entry)) for place, entry in kept],
        )
        if self.capacities:
            self._write_capacities(connection, state)
        if self.waiting:
            self._write_waiting(connection, state)

    def place(self, state: LedgerState, places: dict[Key, int]) -> list[tuple[int, LedgerEntry]]:
        """Bring the places to what the state has, and return the entries that have new ones."""
        kept = []
        for key, place in self.entries.items():
            entry = state.entry(key)
            if entry is None:
                places.pop(key, None)
            else:
                places[key] = place
                kept.append((place, entry))
        return kept

    def _write_capacities(self, connection: sqlite3.Connection, state: LedgerState) -> None:
        found = [(name, revision, state.capacity(name)) for name, revision in self.capacities.items()]
        connection.executemany("DELETE FROM capacities WHERE name = ?", [each[:1] for each in found])
        connection.executemany(
            "INSERT INTO capacities VALUES (?, ?, ?)",
            [
                (name, revision, codec.capacity_text(each))
                for name, revision, each in found
                if each is not None
            ],
        )

    def _write_waiting(self, connection: sqlite3.Connection, state: LedgerState) -> None:
        connection.execute("DELETE FROM waiting")
        line = enumerate(state.waiting, 1)
        connection.executemany(
            "INSERT INTO waiting VALUES (?, ?, ?)",
            [(place, each.reservation, codec.command_text(each)) for place, each in line],
        )


class LedgerWriter:
    """The state in memory, the connection behind it, and the lock that keeps both to one thread at a time."""

    def __init__(self, path: Path, *, create: bool, busy_seconds: float, decide: Decide) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._decide = decide
        self._lock = threading.Lock()
        self._state: LedgerState | None = None
        self._places: dict[Key, int] = {}
        self._hash = codec.GENESIS
        self._checkpoint = (0, 0)
        self._closed = False
        self._open: _Open | None = self._opened(create=create)

    def write(self, batch: Sequence[Request]) -> None:
        """Decide all requests of a batch and make the decisions durable together, or none of them."""
        with self._lock:
            try:
                with failures(self._path), self._transaction() as connection:
                    self._write(connection, batch)
            except InputError as error:
                for request in batch:
                    request.fail(type(error)(error.what, where=error.where, remedy=error.remedy))

    def ask(self, question: Callable[[LedgerState], Answer]) -> Answer:
        """Return the answer to a question about the state as it is on disk now."""
        with self._lock:
            with failures(self._path), self._forgetting():
                connection = self._current()
                connection.execute("BEGIN")
                state = self._caught_up(connection)
                connection.execute("ROLLBACK")
            return question(state)

    def settle(self) -> None:
        """Keep the state as it is now, if enough steps were taken since that was last done."""
        with self._lock:
            revision, entries = self._checkpoint
            if self._state is None or self._state.revision < revision + max(CHECKPOINT_ROWS_MIN, entries):
                return
            with failures(self._path), self._transaction() as connection:
                state = self._caught_up(connection)
                kept = (state.revision, len(state), codec.state_text(state))
                connection.execute("INSERT OR IGNORE INTO checkpoints VALUES (?, ?, ?)", kept)
            self._checkpoint = kept[:2]

    def close(self) -> None:
        """Let go of the file, for good."""
        with self._lock:
            self._forget()
            self._closed = True

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Have the file to ourselves; whatever goes wrong, nothing stays of it, in memory neither."""
        with self._forgetting():
            connection = self._current()
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def _write(self, connection: sqlite3.Connection, batch: Sequence[Request]) -> None:
        state = self._caught_up(connection)
        taken = _Batch()
        last = self._hash
        for request in batch:
            try:
                known = _known(connection, taken, request) if request.key else None
                if known is not None:
                    request.outcome = known
                    continue
                planned = request.revision
                moved = planned is not None and moved_since(state, planned, exact=request.exact)
                at_seconds = max(request.at_seconds, state.at_seconds)
                decision = self._decide(state, request.command, at_seconds)
            except sqlite3.Error:
                raise
            except Exception as error:  # noqa: BLE001 - it is this request's own: the others go on
                request.fail(error)
                continue
            apply(state, decision, at_seconds)
            row = (state.revision, at_seconds, request.key, request.text, codec.decision_text(decision))
            last = codec.chained(last, row)
            taken.rows.append((*row, last))
            taken.touch(decision, state.revision)
            request.outcome = Outcome(state.revision, decision, moved=moved)
            if request.key:
                taken.keys[request.key] = (request.text, request.outcome)
        if taken.rows:
            taken.write(connection, state, self._places)
        self._hash = last

    def _caught_up(self, connection: sqlite3.Connection) -> LedgerState:
        """Return the state with what others have written since, inside the transaction that is open."""
        head = head_of(connection)
        state = self._state
        if state is not None and head.revision > state.revision:
            found = connection.execute("SELECT hash FROM journal WHERE revision = ?", (state.revision,))
            (ours,) = found.fetchone() or (codec.GENESIS,)
            if ours == self._hash:
                others = _Batch()
                for revision, at_seconds, decision in steps(connection, state.revision, head.revision):
                    apply(state, decision, at_seconds)
                    others.touch(decision, revision)
                others.place(state, self._places)
                self._hash = head.hash
        if state is None or (state.revision, self._hash) != (head.revision, head.hash):
            state, self._places = read_state_and_places(connection)
            self._checkpoint = last_checkpoint(connection)
        self._state, self._hash = state, head.hash
        return state

    def _current(self) -> sqlite3.Connection:
        """Return the connection to the file that has the name now, opening it where there is none."""
        if self._closed:
            raise InputError("the ledger is closed", where=str(self._path), remedy="open it again")
        if self._open is not None:
            try:
                found = os.stat(self._path)  # noqa: PTH116 - a third of the time, and in every batch
                same = (found.st_dev, found.st_ino) == (self._open.device, self._open.inode)
            except OSError:
                same = False
            if not same:
                self._forget()
        if self._open is None:
            self._open = self._opened(create=False)
        return self._open.connection

    def _opened(self, *, create: bool) -> _Open:
        connection = open_to_write(self._path, create=create, busy_seconds=self._busy_seconds)
        found = self._path.stat()
        return _Open(connection, found.st_dev, found.st_ino)

    @contextlib.contextmanager
    def _forgetting(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if not _only_busy(error):
                self._forget()
            raise

    def _forget(self) -> None:
        """Know nothing more of the ledger: the next one who needs it opens the file and reads it."""
        was, self._open, self._state = self._open, None, None
        if was is not None:
            with contextlib.suppress(sqlite3.Error):
                was.connection.close()  # what was not committed is rolled back


def _only_busy(error: BaseException) -> bool:
    """Whether it failed because others had the file, which is before anything happened."""
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY


def _known(connection: sqlite3.Connection, taken: _Batch, request: Request) -> Outcome | None:
    """Return the outcome that a key had before; refuse it if it was the key of something else."""
    known = taken.keys.get(request.key)
    if known is None:
        found = connection.execute(
            "SELECT command, revision, decision FROM journal WHERE key = ? AND key <> ''", (request.key,)
        ).fetchone()
        if found is None:
            return None
        known = (found[0], Outcome(found[1], codec.to_decision(found[2])))
    text, outcome = known
    asked = Asked(request.command, request.text, request.at_seconds, request.key)
    return repeated(asked, text, outcome)
