"""What a server keeps beside its ledgers, in one SQLite file: tokens, plans, history, who committed what.

Writers share one connection and one thread, so that nothing holds up the loop; what arrives together is made
durable together. Other processes (`ullage token`) may use the file at the same time.
"""

import asyncio
import contextlib
import functools
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from ullage.model.errors import InputError

APPLICATION_ID: Final = 0x554C4C53
"""ULLS, in the header of every file of a server's state."""
FILE: Final = "server.db"
BUSY_SECONDS: Final = 5
SOON_SECONDS: Final = 0.25
"""After so long, what is noted without waiting is written."""
SOON_MAX: Final = 10_000
"""So many entries may be unwritten; whoever notes more has to wait."""
AUDITED_MAX: Final = 1_000_000
"""How many commits are remembered; the ledger's own history is for ever."""
_FIRST: Final = (
    """CREATE TABLE tokens (
        identifier TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        scope TEXT NOT NULL CHECK (scope IN ('read', 'plan', 'commit')),
        hash BLOB NOT NULL CHECK (length(hash) = 32),
        made_seconds INTEGER NOT NULL,
        ends_seconds INTEGER
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE sessions (
        hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
        token TEXT NOT NULL REFERENCES tokens (identifier) ON DELETE CASCADE,
        ends_seconds INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE audit (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        at_seconds INTEGER NOT NULL,
        who TEXT NOT NULL,
        cluster TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        outcome TEXT NOT NULL,
        revision INTEGER NOT NULL
    ) STRICT""",
)
_PLANS_AND_HISTORY: Final = (
    """CREATE TABLE plans (
        identifier TEXT PRIMARY KEY,
        cluster TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'committed', 'refused', 'discarded')),
        told TEXT NOT NULL,
        parameters TEXT NOT NULL,
        body BLOB NOT NULL,
        plan BLOB NOT NULL,
        size_bytes INTEGER NOT NULL
    ) STRICT""",
    "CREATE INDEX plans_of_cluster ON plans (cluster, identifier)",
    """CREATE TABLE samples (
        cluster TEXT NOT NULL,
        at_seconds INTEGER NOT NULL,
        sample TEXT NOT NULL,
        PRIMARY KEY (cluster, at_seconds)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE marks (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        cluster TEXT NOT NULL,
        at_seconds INTEGER NOT NULL,
        plan TEXT NOT NULL,
        who TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX marks_of_cluster ON marks (cluster, at_seconds)",
)
_SAMPLES_SENT: Final = (
    """CREATE TABLE samples_sent (
        cluster TEXT NOT NULL,
        key TEXT NOT NULL,
        at_seconds INTEGER NOT NULL,
        digest TEXT NOT NULL,
        answer TEXT NOT NULL,
        PRIMARY KEY (cluster, key)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX samples_sent_at ON samples_sent (at_seconds)",
)
_KEYS: Final = (
    """CREATE TABLE keys (
        operation TEXT NOT NULL,
        cluster TEXT NOT NULL,
        key TEXT NOT NULL,
        at_seconds INTEGER NOT NULL,
        digest TEXT NOT NULL,
        answer TEXT NOT NULL,
        PRIMARY KEY (operation, cluster, key)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX keys_at ON keys (at_seconds)",
)
_SETTLED: Final = (
    """CREATE TABLE settled (
        cluster TEXT PRIMARY KEY,
        revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
)
_ONE_TABLE_OF_KEYS: Final = (
    """INSERT OR IGNORE INTO keys
        SELECT 'samples', cluster, key, at_seconds, digest, answer FROM samples_sent""",
    "DROP TABLE samples_sent",
)
_ROOM_FOR_PLANS: Final = (
    "DROP INDEX plans_of_cluster",
    "CREATE INDEX plans_of_cluster ON plans (cluster, identifier, state, size_bytes)",
)
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _FIRST,
    _PLANS_AND_HISTORY,
    _SAMPLES_SENT,
    _KEYS,
    _SETTLED,
    _ONE_TABLE_OF_KEYS,
    _ROOM_FOR_PLANS,
)
"""What has to be done after the version before, for each version; none is edited once files of it exist."""
Result = TypeVar("Result")


class Audited(NamedTuple):
    """Who committed what, and what came of it; `revision` is that of the ledger then."""

    at_seconds: int
    who: str
    cluster: str
    action: str
    subject: str = ""
    outcome: str = ""
    revision: int = 0


class State:
    """The file of a server's state, in a folder that is made if need be."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._connection = _open(self.path)
        self._thread = ThreadPoolExecutor(1, "state")
        self._batch: tuple[list[Audited], asyncio.Future[None]] | None = None
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._soon: list[Audited] = []
        self._later: asyncio.Task[None] | None = None
        self.is_served = False
        """Whether a server notes in it what it does: that ends with it."""

    def now(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do something in one transaction, and return once it is durable."""
        with _failures(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
        return result

    async def run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do the same for a task, without holding up others of its loop."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.now, work)

    async def note(self, entry: Audited) -> None:
        """Add a commit to the audit log, and return once it is durable there."""
        if self._batch is None:
            self._batch = ([], asyncio.get_running_loop().create_future())
            task = asyncio.create_task(self._write_batch())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        entries, written = self._batch
        entries.append(entry)
        await asyncio.shield(written)

    async def note_soon(self, entry: Audited) -> None:
        """Add to the audit log, a little later and with more of its kind, what is durable elsewhere.

        Where too much is unwritten, because it cannot be written, this waits as `note` does.
        """
        if len(self._soon) >= SOON_MAX:
            await self.note(entry)
            return
        self._soon.append(entry)
        if self._later is None or self._later.done():
            self._later = asyncio.create_task(self._write_later())

    async def _write_later(self) -> None:
        from ullage.stores.protocol import StoreUnavailableError

        while self._soon:
            await asyncio.sleep(SOON_SECONDS)
            entries, self._soon = self._soon, []
            try:
                await self.run(functools.partial(write_audit, entries=entries))
            except StoreUnavailableError:
                self._soon = entries + self._soon  # it is tried again until it can be written

    async def _write_batch(self) -> None:
        """Write a batch after the one before; what arrives meanwhile is in it."""
        async with self._writing:
            assert self._batch is not None  # noqa: S101 - note() has made it, and each has its own task
            (entries, written), self._batch = self._batch, None
            try:
                await self.run(lambda connection: write_audit(connection, entries))
            except Exception as error:  # noqa: BLE001 - whoever waits is told
                written.set_exception(error)
                written.exception()  # it may be that nobody waits any more
            else:
                written.set_result(None)

    def audited(self, *, after: int = 0, rows_max: int = 100) -> list[tuple[int, Audited]]:
        """Return commits after a number, the oldest first."""
        with _failures(self.path), contextlib.closing(read_only(self.path)) as connection:
            found = connection.execute(
                "SELECT number, at_seconds, who, cluster, action, subject, outcome, revision FROM audit "
                "WHERE number > ? ORDER BY number LIMIT ?",
                (after, rows_max),
            ).fetchall()
        return [(row[0], Audited(*row[1:])) for row in found]

    def close(self, last: Callable[[sqlite3.Connection], object] = lambda _: None) -> None:
        """Finish what was asked already, do one thing that comes last, and let go of the file."""
        if self._later is not None:
            self._later.cancel()
        self._thread.shutdown()
        try:
            if self._soon:
                self.now(functools.partial(write_audit, entries=self._soon))
            if self.is_served:
                self.now(last)
                self.now(lambda connection: connection.execute("DELETE FROM settled"))
        finally:
            self._connection.close()


def write_audit(connection: sqlite3.Connection, entries: Sequence[Audited]) -> None:
    """Add to the audit log in a transaction that is open."""
    connection.executemany(
        "INSERT INTO audit (at_seconds, who, cluster, action, subject, outcome, revision) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        entries,
    )
    connection.execute(
        "DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - ?", (AUDITED_MAX,)
    )


def read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that cannot write."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", timeout=BUSY_SECONDS, isolation_level=None, uri=True
    )


def _open(path: Path) -> sqlite3.Connection:
    """Return a connection to a file of the current version, which nobody else may read."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise InputError(
            f"cannot be used: {error.strerror}", where=str(path), remedy="name a folder of yours with --data"
        ) from error
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        with _failures(path):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("BEGIN IMMEDIATE")
            _migrate(connection, path)
            connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION_ID and (version or tables):
        raise InputError(
            "is a database of something else", where=str(path), remedy="name another folder with --data"
        )
    if version > len(MIGRATIONS):
        raise InputError(
            f"was written by a newer program (version {version}, the newest known here is {len(MIGRATIONS)})",
            where=str(path),
            remedy="use that program",
        )
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


@contextlib.contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Say in our words what SQLite says."""
    from ullage.stores.protocol import StoreUnavailableError

    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnavailableError(
            f"cannot be used ({error})", where=str(path), remedy="see that its disk has room and works"
        ) from error
