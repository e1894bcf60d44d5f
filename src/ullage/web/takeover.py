"""Steps of ledgers that a server took and did not note: it looks for them at its end, or the next one does.

A step is acknowledged when its ledger has it; the audit log has it a moment later. While a server runs, the
table `settled` has the revision of each ledger at its start, and a row without a name; they go when it ends
as it should, after whoever ends it has looked too: what was asked when time was over is taken all the same.
Who finds them there looks for steps since then that the audit log lacks; the step of a plan settles that plan
too. Who took them is not known any more. The server's own steps are no business of the log. Ledgers that a
cluster keeps itself are not looked at: others take steps of them too, and ours are noted before they are
acknowledged.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Expire, Extend, JournalRow, Release, Reserve, Supply
from ullage.stores.database_file import failures
from ullage.stores.opening import open_to_read
from ullage.stores.reading import head_of, rows
from ullage.web.api.ledger import AUDITED_CHARACTERS_MAX, words_of
from ullage.web.ledgers import CLUSTERS, FILE
from ullage.web.logs import Log
from ullage.web.plans import KEYS, take_over_commit
from ullage.web.state import SOON_MAX, Audited, write_audit

RUNS: Final = ""
"""The row that says that a server runs."""


def take_over(connection: sqlite3.Connection, folder: Path, log: Log) -> None:
    """Note what a server before was killed over, and that one runs now; in a transaction that is open."""
    settled = dict(connection.execute("SELECT cluster, revision FROM settled"))
    connection.execute("DELETE FROM settled")
    connection.execute("INSERT INTO settled VALUES (?, 0)", (RUNS,))
    for path in sorted((folder / CLUSTERS).glob(f"*/{FILE}")):
        cluster = path.parent.name
        try:
            with failures(path), closing(open_to_read(path)) as ledger:
                if RUNS in settled:
                    steps = _note_missing(connection, ledger, cluster, settled.get(cluster, 0))
                    if steps:
                        log.say("noted steps that nobody had noted", cluster=cluster, steps=steps)
                connection.execute("INSERT INTO settled VALUES (?, ?)", (cluster, head_of(ledger).revision))
        except InputError as error:
            log.say("cannot look for steps that were not noted", cluster=cluster, why=str(error))


def _note_missing(
    connection: sqlite3.Connection, ledger: sqlite3.Connection, cluster: str, settled: int
) -> int:
    """Note the steps that the log lacks, and return how many: plans with what came of them."""
    found = list(_missing(connection, ledger, cluster, settled))
    for row in found:
        if not row.key.startswith(KEYS) or not take_over_commit(connection, cluster, row):
            write_audit(connection, [_audited(cluster, row)])
    return len(found)


def _missing(
    connection: sqlite3.Connection, ledger: sqlite3.Connection, cluster: str, settled: int
) -> Iterator[JournalRow]:
    """Yield the steps that the log lacks: it may have later ones than some that it lacks, but not by far."""
    (last,) = connection.execute("SELECT max(revision) FROM audit WHERE cluster = ?", (cluster,)).fetchone()
    after = max(settled, (last or 0) - SOON_MAX)
    query = "SELECT revision FROM audit WHERE cluster = ? AND revision > ?"
    noted = {revision for (revision,) in connection.execute(query, (cluster, after))}
    for row in rows(ledger, after):
        if row.revision not in noted and not isinstance(row.command, Expire | Supply):
            yield row


def _audited(cluster: str, row: JournalRow) -> Audited:
    command, words = row.command, type(row.command).__name__.lower()
    action, subject = "ledger step", words
    if row.key.startswith(KEYS):
        action, subject = "commit plan", row.key.removeprefix(KEYS)
    elif isinstance(command, Reserve | Bind | Release | Extend):
        action, subject = words, command.reservation
    told = words_of(row.decision)[:AUDITED_CHARACTERS_MAX]
    return Audited(row.at_seconds, "", cluster, action, subject[:AUDITED_CHARACTERS_MAX], told, row.revision)
