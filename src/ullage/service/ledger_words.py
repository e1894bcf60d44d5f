"""How entries of the ledger read in pages: who holds how much of what, and until when."""

import shlex
from collections.abc import Sequence

from ullage.model.ledger import COMPUTE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.clock import told_time
from ullage.service.words import canonical_map, listed, nothing_cell, worth_naming


def entry_table(
    title: str, entries: Sequence[LedgerEntry], types: ResourceTypes, rows_max: int | None = None
) -> view.Table:
    """Return entries as a table, perhaps the first of them only."""
    columns = (
        view.Column("reservation", priority=9),
        view.Column("request", wide_only=all(each.request == COMPUTE for each in entries), priority=2),
        view.Column("capacity", priority=8),
        view.Column("holds", priority=7),
        view.Column("state", priority=6),
        view.Column("until", priority=5),
        view.Column("owner", priority=3),
        view.Column("since", wide_only=True, priority=1),
        view.Column("note", priority=4),
    )
    noted = any(_note(entry) for entry in entries)
    rows = tuple(
        _row(entry, types, entries[place - 1] if place else None)[: None if noted else -1]
        for place, entry in enumerate(entries[:rows_max])
    )
    caption = ""
    if len(rows) < len(entries):
        caption = f"the first {len(rows)} of {len(entries)}, -o wide shows all"
    return view.Table(title, columns if noted else columns[:-1], rows, caption)


def with_ledger(words: str, ledger: str) -> str:
    """Return a command line about the same ledger; the user's own needs no name."""
    return f"ullage {words} --ledger {shlex.quote(ledger)}" if ledger else f"ullage {words}"


def _row(entry: LedgerEntry, types: ResourceTypes, above: LedgerEntry | None) -> tuple[view.Cell, ...]:
    """Return the row of an entry; what the one above says of the same reservation is not said again."""
    until = told_time(entry.expires_seconds)
    same = above is not None and above.reservation == entry.reservation
    held = worth_naming(entry.resources)
    note = _note(entry)
    return (
        view.Cell("" if same else entry.reservation, value=entry.reservation),
        view.Cell(entry.request),
        view.Cell(entry.capacity) if entry.capacity else nothing_cell(),
        view.Cell(listed(types, held), value=canonical_map(types, entry.resources)),
        view.Cell(entry.state, tone="bad" if entry.state == "REJECTED" else "plain"),
        view.Cell("" if same else until, value=until) if until else nothing_cell(),
        view.Cell("" if same else entry.owner, value=entry.owner),
        view.Cell(told_time(entry.created_seconds)),
        view.Cell(note) if note else nothing_cell(),
    )


def _note(entry: LedgerEntry) -> str:
    if entry.state == "WAITING":
        why = f"after {entry.blocked_by}" if entry.blocked_by else entry.reason
        return f"number {entry.queue_position} in line, {why}"
    shares = f"shares claim {entry.claim}" if entry.refers and entry.holds else ""
    return entry.reason or ("paused" if entry.paused else shares)
