"""The embedded ledger: one SQLite file that threads, tasks and processes may share.

Writers of a process share one connection through a queue (group_commit.py, writing.py). Readers have one of
their own for as long as they read and see one moment; they neither wait for a writer nor hold one up.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from ullage.engine.ledger.decide import decide
from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import Command, JournalRow, Outcome
from ullage.model.verdict import Finding
from ullage.stores.database_file import BUSY_SECONDS, failures
from ullage.stores.group_commit import GroupCommit, Request
from ullage.stores.opening import open_to_read
from ullage.stores.protocol import asked_for
from ullage.stores.reading import read_state, rows, rows_naming, state_at
from ullage.stores.verify import verify
from ullage.stores.writing import Decide, LedgerWriter

COMMAND_CHARACTERS_MAX: Final = 256 << 20
Answer = TypeVar("Answer")


class SqliteLedger:
    """A ledger in a file; see LedgerStore for what it promises."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        busy_seconds: float = BUSY_SECONDS,
        decide: Decide = decide,
    ) -> None:
        self.path = path
        self._writer = LedgerWriter(path, create=create, busy_seconds=busy_seconds, decide=decide)
        self._group = GroupCommit(self._writer.write, self._writer.settle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def submit(
        self,
        command: Command,
        *,
        at_seconds: int,
        key: str = "",
        revision: int | None = None,
        exact: bool = False,
    ) -> Outcome:
        """Decide a command, and return once the decision is durable."""
        return self._group.submit(_request(command, at_seconds, key, revision, exact=exact))

    async def submit_async(
        self,
        command: Command,
        *,
        at_seconds: int,
        key: str = "",
        revision: int | None = None,
        exact: bool = False,
    ) -> Outcome:
        """Do the same for a task, without holding up others of its loop."""
        return await self._group.submit_async(_request(command, at_seconds, key, revision, exact=exact))

    def ask(self, question: Callable[[LedgerState], Answer]) -> Answer:
        """Return the answer to a question about the state now, which is not copied for it.

        The question is asked between two batches: it is to be short, to change nothing and to keep nothing.
        """
        return self._writer.ask(question)

    def state(self) -> LedgerState:
        """Return the state now; it is the caller's own and changes no more."""
        with self._reading() as connection:
            return read_state(connection)

    def at(self, revision: int) -> LedgerState:
        """Return the state after a step of the past; 0 is before the first."""
        with self._reading() as connection:
            return state_at(connection, revision)

    def journal(self, after: int = 0) -> Iterator[JournalRow]:
        """Yield the steps after a revision, in order, up to the one that is last now."""
        with self._reading() as connection:
            yield from rows(connection, after)

    def history(self, *, reservation: str = "", owner: str = "", capacity: str = "") -> Iterator[JournalRow]:
        """Yield the steps that name all of what is given."""
        with self._reading() as connection:
            yield from rows_naming(connection, reservation, owner, capacity)

    def verify(self) -> list[Finding]:
        """Prove that the ledger is what it says: nothing lost, nothing changed, nothing promised twice."""
        return verify(self.path)

    def close(self) -> None:
        """Answer what was asked already, and let go of the file."""
        self._group.close()
        self._writer.close()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with failures(self.path), contextlib.closing(open_to_read(self.path)) as connection:
            yield connection


def _request(command: Command, at_seconds: int, key: str, revision: int | None, *, exact: bool) -> Request:
    asked = asked_for(command, at_seconds, key, revision, COMMAND_CHARACTERS_MAX)
    return Request(asked.command, asked.text, asked.at_seconds, asked.key, asked.revision, exact=exact)
