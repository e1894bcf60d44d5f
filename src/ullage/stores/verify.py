"""Proof that a ledger is what it says: its pages, its chain, its tables, its decisions, and the promises.

The journal is read once, from the first row. Each row must follow from the hash before it, its decision must
be the one that the command gives on the state so far, and what all of them add up to must be what the tables
have. Nothing is believed that can be computed again.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.audit import audit
from ullage.engine.ledger.decide import decide
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import Key, key_of
from ullage.engine.steps import Steps, counted
from ullage.model.ledger import Decision
from ullage.model.verdict import Finding
from ullage.stores import codec
from ullage.stores.database_file import failures
from ullage.stores.opening import open_to_read
from ullage.stores.reading import checkpoint, place_of
from ullage.stores.usage_verify import usage_findings

FINDINGS_MAX: Final = 100
_RESTORE: Final = "restore a backup from before, and find out who else writes to the file"


class _Replayed:
    """What the journal adds up to, and which step changed each entry and capacity last."""

    def __init__(self) -> None:
        self.state = LedgerState()
        self.hash = codec.GENESIS
        self.entries: dict[Key, int] = {}
        self.capacities: dict[str, int] = {}

    def step(self, decision: Decision, at_seconds: int) -> None:
        """Take one step."""
        apply(self.state, decision, at_seconds)
        if decision.accepted:
            revision = self.state.revision
            for number, entry in enumerate(decision.changed):
                self.entries[key_of(entry)] = place_of(revision, number)
            self.capacities.update((capacity.name, revision) for capacity in decision.capacities)


def verify(path: Path, steps: Steps | None = None) -> list[Finding]:
    """Return what is wrong or worth knowing, the file first, then the journal, then what is promised."""
    with failures(path), contextlib.closing(open_to_read(path)) as connection:
        return list(islice(_findings(connection, steps), FINDINGS_MAX))


def _findings(connection: sqlite3.Connection, steps: Steps | None) -> Iterator[Finding]:
    damaged = [*_pages(connection)]
    yield from damaged
    if damaged:
        return  # what such a file says is not worth comparing
    replayed = _Replayed()
    try:
        yield from _journal(connection, replayed, steps)
        yield from _entries(connection, replayed)
        yield from _capacities(connection, replayed)
        yield from _waiting(connection, replayed.state)
    except msgspec.MsgspecError as error:
        revision = replayed.state.revision
        yield _wrong("ledger-unreadable", f"revision {revision}", f"after revision {revision}: {error}")
        return
    yield from audit(replayed.state)
    yield from usage_findings(connection)


def _pages(connection: sqlite3.Connection) -> Iterator[Finding]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({FINDINGS_MAX})"):
        if line != "ok":
            yield _wrong("ledger-file-damaged", "file", line)
    for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield _wrong("ledger-file-damaged", table, f"{table} names a row of {parent} that is not there")


def _journal(connection: sqlite3.Connection, replayed: _Replayed, steps: Steps | None) -> Iterator[Finding]:
    kept = {revision for (revision,) in connection.execute("SELECT revision FROM checkpoints")}
    (total,) = connection.execute("SELECT count(*) FROM journal").fetchone()
    rows = connection.execute(
        "SELECT revision, at_seconds, key, command, decision, hash FROM journal ORDER BY revision"
    )
    for *row, row_hash in counted(rows, total, "steps decided again", steps):
        revision, at_seconds, _, command, decision = row
        subject = f"revision {revision}"
        state = replayed.state
        if revision != state.revision + 1 or at_seconds < state.at_seconds:
            yield _wrong(
                "ledger-order-wrong",
                subject,
                f"{subject} of {at_seconds} follows {state.revision} of {state.at_seconds}",
            )
            state.revision = revision - 1
        if codec.chained(replayed.hash, tuple(row)) != row_hash:
            yield _wrong("ledger-chain-broken", subject, f"{subject} is not what was written, or was put in")
        replayed.hash = row_hash
        recorded = codec.to_decision(decision)
        if not same_decision(decide(state, codec.to_command(command), at_seconds), recorded):
            yield _wrong("ledger-decision-wrong", subject, f"{subject} does not follow from the ones before")
        replayed.step(recorded, at_seconds)
        if revision in kept and checkpoint(connection, revision) != state:
            yield _wrong("ledger-checkpoint-wrong", subject, f"the state kept of {subject} was another one")


def same_decision(decided: Decision, recorded: Decision) -> bool:
    """Whether two decisions come to the same: a refusal may be put in other words than years ago."""
    return decided == recorded or not (decided.accepted or recorded.accepted)


def _entries(connection: sqlite3.Connection, replayed: _Replayed) -> Iterator[Finding]:
    left = {replayed.entries[key_of(entry)]: entry for entry in replayed.state.entries}
    for place, text in connection.execute("SELECT place, entry FROM entries"):
        (entry,) = codec.to_entries(f"[{text}]")
        if left.pop(place, None) != entry:
            yield _differs("entries", entry.key)
    for entry in left.values():
        yield _differs("entries", entry.key)


def _capacities(connection: sqlite3.Connection, replayed: _Replayed) -> Iterator[Finding]:
    left = {capacity.name: capacity for capacity in replayed.state.capacities}
    for name, revision, text in connection.execute("SELECT name, revision, capacity FROM capacities"):
        (capacity,) = codec.to_capacities(f"[{text}]")
        if left.pop(name, None) != capacity or replayed.capacities.get(name) != revision:
            yield _differs("capacities", name)
    for name in left:
        yield _differs("capacities", name)


def _waiting(connection: sqlite3.Connection, state: LedgerState) -> Iterator[Finding]:
    found = [
        (position, reservation, *codec.to_waiting(f"[{text}]"))
        for position, reservation, text in connection.execute(
            "SELECT position, reservation, command FROM waiting ORDER BY position"
        )
    ]
    if found != [(place, each.reservation, each) for place, each in enumerate(state.waiting, 1)]:
        yield _differs("waiting", "the line")


def _differs(table: str, subject: str) -> Finding:
    return _wrong("ledger-table-wrong", subject, f"{subject} in {table} is not what the journal adds up to")


def _wrong(code: str, subject: str, message: str) -> Finding:
    return Finding(code, "error", subject, message, _RESTORE)
