"""What a ledger's tables hold, as records: the present state, any past one, and the rows of the journal.

The hard thing is the time that a large state takes. SQLite puts many entries together into one text, which
the decoder takes apart in a single call: a row at a time would cost several times as much.
"""

import contextlib
import gc
import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import Key, key_of
from ullage.model.errors import InputError
from ullage.model.ledger import Decision, JournalRow, Together
from ullage.model.ledger_entry import LedgerEntry
from ullage.stores import codec

_ROWS: Final = "SELECT revision, at_seconds, key, command, decision FROM journal"


ENTRIES_AT_A_TIME: Final = 1000
_PLACES: Final = 1 << 24


class Head(NamedTuple):
    """Where the journal ends."""

    revision: int
    at_seconds: int
    hash: bytes


def head_of(connection: sqlite3.Connection) -> Head:
    """Return the last row's revision, time and hash; zeros where there is none."""
    found = connection.execute(
        "SELECT revision, at_seconds, hash FROM journal ORDER BY revision DESC LIMIT 1"
    ).fetchone()
    return Head(*found) if found else Head(0, 0, codec.GENESIS)


def read_state(connection: sqlite3.Connection) -> LedgerState:
    """Return the present state, as its tables have it."""
    with not_collecting():
        entries: list[LedgerEntry] = []
        for _, texts in _arrays(connection, "entry"):
            entries += codec.to_entries(texts)
        return _state_with(connection, entries)


def read_state_and_places(connection: sqlite3.Connection) -> tuple[LedgerState, dict[Key, int]]:
    """Return the present state, and where each entry stands in its table."""
    with not_collecting():
        entries: list[LedgerEntry] = []
        places: list[int] = []
        for numbers, texts in _arrays(connection, "entry", "place"):
            entries += codec.to_entries(texts)
            places += codec.to_places(numbers)
        by_key = dict(zip(map(key_of, entries), places, strict=True))
        return _state_with(connection, entries), by_key


def _arrays(connection: sqlite3.Connection, column: str, other: str = "NULL") -> Iterator[tuple[str, str]]:
    """Yield columns of the entries as JSON arrays, the other one first, some rows at a time."""
    last: int | None = -1
    while last is not None:
        numbers, texts, last = connection.execute(
            f"SELECT group_concat({other}), group_concat({column}), max(place) FROM "  # noqa: S608 - our own names
            "(SELECT entry, place FROM entries WHERE place > ? ORDER BY place LIMIT ?)",
            (last, ENTRIES_AT_A_TIME),
        ).fetchone()
        if last is not None:
            yield f"[{numbers}]", f"[{texts}]"


def _state_with(connection: sqlite3.Connection, entries: list[LedgerEntry]) -> LedgerState:
    head = head_of(connection)
    capacities = connection.execute("SELECT capacity FROM capacities ORDER BY name")
    waiting = connection.execute("SELECT command FROM waiting ORDER BY position")
    return LedgerState(
        codec.to_capacities(_array(capacities)),
        entries,
        tuple(codec.to_waiting(_array(waiting))),
        revision=head.revision,
        at_seconds=head.at_seconds,
    )


def _array(found: sqlite3.Cursor) -> str:
    return f"[{','.join(text for (text,) in found)}]"


@contextlib.contextmanager
def not_collecting() -> Iterator[None]:
    """Have no garbage looked for among so many new objects of which none is, which takes as long as they do.

    Afterwards they count as old, for the same reason.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def place_of(revision: int, number: int) -> int:
    """Return where an entry stands: by the step that changed it last, and its number there."""
    return revision * _PLACES + number


def state_at(connection: sqlite3.Connection, revision: int) -> LedgerState:
    """Return the state after a step: folded from the nearest one before it that was kept."""
    last = head_of(connection).revision
    if not 0 <= revision <= last:
        raise InputError(f"there is no revision {revision}", remedy=f"use 0 to {last}")
    state = checkpoint(connection, revision)
    for _, at_seconds, decision in steps(connection, state.revision, revision):
        apply(state, decision, at_seconds)
    return state


def checkpoint(connection: sqlite3.Connection, revision: int) -> LedgerState:
    """Return the last state that was kept up to a revision; the empty one where none was."""
    found = connection.execute(
        "SELECT revision, state FROM checkpoints WHERE revision <= ? ORDER BY revision DESC LIMIT 1",
        (revision,),
    ).fetchone()
    return codec.to_state(*found) if found else LedgerState()


def last_checkpoint(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the revision of the last state that was kept, and how many entries it has."""
    found = connection.execute("SELECT revision, entries FROM checkpoints ORDER BY revision DESC LIMIT 1")
    revision, entries = found.fetchone() or (0, 0)
    return revision, entries


def steps(connection: sqlite3.Connection, after: int, until: int) -> Iterator[tuple[int, int, Decision]]:
    """Yield revision, time and decision of each step after a revision, up to another."""
    for revision, at_seconds, decision in connection.execute(
        "SELECT revision, at_seconds, decision FROM journal WHERE revision > ? AND revision <= ? "
        "ORDER BY revision",
        (after, until),
    ):
        yield revision, at_seconds, codec.to_decision(decision)


def rows(connection: sqlite3.Connection, after: int = 0) -> Iterator[JournalRow]:
    """Yield the journal's rows after a revision."""
    for found in connection.execute(f"{_ROWS} WHERE revision > ? ORDER BY revision", (after,)):
        yield _row(*found)


def row_of_key(connection: sqlite3.Connection, key: str) -> JournalRow | None:
    """Return the step that was asked for under a key; None where there is none."""
    found = connection.execute(f"{_ROWS} WHERE key = ? AND key <> ''", (key,)).fetchone()
    return _row(*found) if found else None


def rows_naming(
    connection: sqlite3.Connection, reservation: str, owner: str, capacity: str
) -> Iterator[JournalRow]:
    """Yield the rows that name all of these, where one is given.

    SQLite finds the rows in whose text the names stand at all; only those are decoded and looked at closely.
    """
    wanted = {"reservation": reservation, "owner": owner, "capacity": capacity}
    given = {kind: name for kind, name in wanted.items() if name}
    if not given:
        raise InputError("nothing to look for", remedy="name a reservation, an owner or a capacity")
    texts = [codec.name_text(name) for name in given.values()]
    condition = " AND ".join(["(instr(command, ?) OR instr(decision, ?))"] * len(texts))
    query = f"{_ROWS} WHERE {condition} ORDER BY revision"
    for found in connection.execute(query, [text for text in texts for _ in range(2)]):
        row = _row(*found)
        if all(name in names_in(kind, row) for kind, name in given.items()):
            yield row


def _row(revision: int, at_seconds: int, key: str, command: str, decision: str) -> JournalRow:
    return JournalRow(revision, at_seconds, codec.to_command(command), codec.to_decision(decision), key)


def names_in(kind: str, row: JournalRow) -> set[str]:
    """Return the reservations, owners or capacities that a step names."""
    command, decision = row.command, row.decision
    names = {getattr(entry, kind) for entry in decision.changed}
    if kind == "capacity":
        names |= {*(capacity.name for capacity in decision.capacities), *decision.gone}
        names |= {shortfall.node for shortfall in decision.shortfalls}
    for part in command.commands if isinstance(command, Together) else (command,):
        if kind == "capacity":
            names |= {hold.capacity for hold in getattr(part, "holds", ())}
        names.add(getattr(part, kind, ""))
    return names
