"""The tables of an embedded ledger, in numbered versions: each is what has to be done after the one before.

The journal is the truth and is only ever appended to; triggers hold everybody to it who comes with a tool of
their own. Entries, capacities and waiting are what it adds up to, kept so that nobody has to add it up to
read the present. A version is never edited once ledgers of it exist.
"""

import sqlite3
from typing import Final

APPLICATION_ID: Final = 0x554C4C47
"""ULLG, in the header of every ledger."""

_FIRST: Final = (
    """CREATE TABLE journal (
        revision INTEGER PRIMARY KEY,
        at_seconds INTEGER NOT NULL,
        key TEXT NOT NULL,
        command TEXT NOT NULL,
        decision TEXT NOT NULL,
        hash BLOB NOT NULL CHECK (length(hash) = 32)
    ) STRICT""",
    "CREATE UNIQUE INDEX journal_key ON journal (key) WHERE key <> ''",
    """CREATE TRIGGER journal_has_no_gaps BEFORE INSERT ON journal
        WHEN new.revision <> (SELECT coalesce(max(revision), 0) + 1 FROM journal)
        BEGIN SELECT raise(ABORT, 'the journal has no gaps'); END""",
    """CREATE TRIGGER journal_is_not_changed BEFORE UPDATE ON journal
        BEGIN SELECT raise(ABORT, 'the journal is only appended to'); END""",
    """CREATE TRIGGER journal_is_not_shortened BEFORE DELETE ON journal
        BEGIN SELECT raise(ABORT, 'the journal is only appended to'); END""",
    # The place of an entry is the step that changed it last and its number there: what is written together
    # stands together, so that a step costs a page or two however large the ledger is.
    """CREATE TABLE entries (
        place INTEGER PRIMARY KEY,
        entry TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE capacities (
        name TEXT PRIMARY KEY,
        revision INTEGER NOT NULL REFERENCES journal (revision),
        capacity TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE waiting (
        position INTEGER PRIMARY KEY,
        reservation TEXT NOT NULL UNIQUE,
        command TEXT NOT NULL
    ) STRICT""",
)
_PAST_STATES: Final = (
    # States as they were now and then, so that a past one is not folded from the whole journal.
    """CREATE TABLE checkpoints (
        revision INTEGER PRIMARY KEY REFERENCES journal (revision),
        entries INTEGER NOT NULL,
        state TEXT NOT NULL
    ) STRICT""",
)
_DRIVES_OF_GROUPS: Final = (
    # The first ledgers wrote the fields of an entry with their names, and left out what had its default.
    """UPDATE entries SET entry = json_array(
        json_extract(entry, '$.reservation'),
        json_extract(entry, '$.request'),
        json_extract(entry, '$.capacity'),
        json_extract(entry, '$.owner'),
        json(coalesce(json_extract(entry, '$.resources'), '{}')),
        coalesce(json_extract(entry, '$.state'), 'REQUESTED'),
        json(CASE WHEN json_extract(entry, '$.paused') THEN 'true' ELSE 'false' END),
        json_extract(entry, '$.createdSeconds'),
        json_extract(entry, '$.expiresSeconds'),
        json_extract(entry, '$.queuePosition'),
        coalesce(json_extract(entry, '$.blockedBy'), ''),
        coalesce(json_extract(entry, '$.reason'), '')
    ) WHERE entry LIKE '{%'""",
    # An entry names the drives of the volume group that it is promised on: of old ones nobody knows them.
    "UPDATE entries SET entry = substr(entry, 1, length(entry) - 1) || ',[]]'",
)
_CLAIMS: Final = (
    # An entry names the claim that others may share with it: those that were promised before share none.
    """UPDATE entries SET entry = substr(entry, 1, length(entry) - 1) || ',""]'""",
)
_USAGE: Final = (
    # What is really used is no promise: it stands beside the journal, is added up and forgotten in time.
    """CREATE TABLE usage_streams (
        number INTEGER PRIMARY KEY,
        subject TEXT NOT NULL,
        resource TEXT NOT NULL,
        measure TEXT NOT NULL,
        UNIQUE (subject, resource, measure)
    ) STRICT""",
    # A total may have more than 64 bits: its lower 32 stand apart.
    """CREATE TABLE usage_days (
        stream INTEGER NOT NULL REFERENCES usage_streams (number),
        day INTEGER NOT NULL,
        points INTEGER NOT NULL,
        total_high INTEGER NOT NULL,
        total_low INTEGER NOT NULL,
        low INTEGER NOT NULL,
        high INTEGER NOT NULL,
        dropped INTEGER NOT NULL,
        first_seconds INTEGER NOT NULL,
        last_seconds INTEGER NOT NULL,
        histogram BLOB NOT NULL,
        peaks BLOB,
        PRIMARY KEY (stream, day)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX usage_days_day ON usage_days (day)",
    # How often each source was recorded, and the last moment that it told of each stream: what is not later
    # than that was counted already. Of streams that are forgotten, the source keeps the last moment as one.
    """CREATE TABLE usage_sources (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        batches INTEGER NOT NULL,
        at_seconds INTEGER NOT NULL,
        forgotten_seconds INTEGER NOT NULL
    ) STRICT""",
    """CREATE TABLE usage_marks (
        source INTEGER NOT NULL REFERENCES usage_sources (number),
        stream INTEGER NOT NULL REFERENCES usage_streams (number),
        last_seconds INTEGER NOT NULL,
        PRIMARY KEY (source, stream)
    ) STRICT, WITHOUT ROWID""",
    """CREATE INDEX usage_marks_stream ON usage_marks (stream)""",
    """CREATE TABLE usage_meters (
        name TEXT PRIMARY KEY,
        meter TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
)
_SUMS_OF_ONE: Final = (
    # Sums over pods and nodes, which no source has told, were of the last source only where several tell of
    # pods or nodes. They are made anew from what is recorded of each when somebody asks.
    """DELETE FROM usage_days WHERE stream NOT IN (SELECT stream FROM usage_marks)
        AND stream IN (SELECT number FROM usage_streams WHERE measure = 'usage')
        AND (SELECT count(DISTINCT source) FROM usage_marks
            JOIN usage_streams ON usage_streams.number = stream WHERE measure = 'usage'
            AND (subject > 'node/' AND subject < 'node0' OR subject > 'pod/' AND subject < 'pod0')) > 1""",
    """DELETE FROM usage_streams WHERE number NOT IN (SELECT stream FROM usage_days)
        AND number NOT IN (SELECT stream FROM usage_marks)""",
)
_WAITING: Final = (
    # Points of a reading as they came, all of one kind, day, resource and measure, until there are enough of
    # them to be added to the days of their streams.
    """CREATE TABLE usage_waiting (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        day INTEGER NOT NULL,
        resource TEXT NOT NULL,
        measure TEXT NOT NULL,
        points INTEGER NOT NULL,
        data BLOB NOT NULL
    ) STRICT""",
    # The last moments that a source told with those: they count before those of usage_marks.
    """CREATE TABLE usage_latest (
        source INTEGER PRIMARY KEY REFERENCES usage_sources (number),
        data BLOB NOT NULL
    ) STRICT""",
    # The day by which what is too old of a kind was forgotten last: points of that day end nothing.
    """CREATE TABLE usage_begun (
        kind TEXT PRIMARY KEY,
        day INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
)
MIGRATIONS: Final = (_FIRST, _PAST_STATES, _DRIVES_OF_GROUPS, _CLAIMS, _USAGE, _SUMS_OF_ONE, _WAITING)
VERSION: Final = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of a file's tables."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables to the current version, inside the transaction that is open."""
    for statements in MIGRATIONS[version_of(connection) :]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
