"""The page of `ledger explain`: one step, the entries it changed, and every term before and after."""

import shlex
from typing import TYPE_CHECKING, Final

from ullage.engine.ledger.room import TYPES
from ullage.render import view
from ullage.service.clock import told_time
from ullage.service.ledger_words import with_ledger
from ullage.service.words import amount_cell, fact_table, listed, nothing_cell, plural, several, worth_naming

if TYPE_CHECKING:
    from ullage.engine.ledger.step import EntryChange, TermChange
    from ullage.model.ledger_entry import LedgerEntry
    from ullage.model.resources import Amount
    from ullage.service.ledger_explain import StepExplanation, StepQuestion

ROWS_SHOWN: Final = 60
NAMES_SHOWN: Final = 3


def ledger_explain_page(
    report: "StepExplanation", question: "StepQuestion", *, shortened: bool = False
) -> view.Page:
    """Return the page of a step; shortened, the first of many entries and terms."""
    rows_max = ROWS_SHOWN if shortened else None
    step = report.step
    blocks: list[view.Block] = [fact_table("Step", _facts(report, rows_max))]
    if report.entries:
        blocks.append(_entries(report, rows_max))
    if report.terms:
        blocks.append(_terms(report, rows_max))
    words = "ledger history"
    if report.entries:
        words += f" {shlex.quote(f'reservation/{report.entries[0].after.reservation}')}"
    return view.Page(
        title=f"Step {step.revision} of the ledger",
        verdict=view.Verdict(_verdict(report), "info" if step.accepted else "no"),
        blocks=tuple(blocks),
        next_command=with_ledger(words, question.ledger),
        about=f"ledger {report.ledger}, revision {step.revision}, {step.at}",
        main=min(1, len(blocks) - 1),
    )


def _verdict(report: "StepExplanation") -> str:
    step = report.step
    asked = several(step.asked, NAMES_SHOWN)
    if not step.accepted:
        return f"step {step.revision}, {asked}: refused: {step.reason}"
    if not report.entries:
        moved = sum(each.before != each.after for each in report.terms)
        return f"step {step.revision}, {asked}: {plural(moved, 'term')} changed, nobody's entries"
    entries = "1 entry" if len(report.entries) == 1 else f"{len(report.entries)} entries"
    return f"step {step.revision}, {asked}: {entries} of {plural(len(report.owners), 'owner')} changed"


def _facts(report: "StepExplanation", names_max: int | None) -> list[tuple[str, str]]:
    step = report.step
    return [
        ("asked", several(step.asked, names_max or len(step.asked))),
        ("decision", "accepted" if step.accepted else "refused"),
        *([("reason", step.reason)] if step.reason else []),
        ("when", step.at),
        ("for", several(report.owners, names_max or len(report.owners)) or "nobody"),
        *([("key", step.key)] if step.key else []),
        ("revision", f"{step.revision - 1} before, {step.revision} after"),
    ]


def _entries(report: "StepExplanation", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("reservation", priority=9),
        view.Column("request", priority=2),
        view.Column("capacity", priority=8),
        view.Column("was", priority=6),
        view.Column("now", priority=7),
        view.Column("until", priority=3),
        view.Column("owner", priority=4),
        view.Column("note", priority=5),
    )
    shown = report.entries[:rows_max]
    noted = any(each.after.reason for each in shown)
    rows = tuple(
        _entry(each, shown[place - 1] if place else None)[: None if noted else -1]
        for place, each in enumerate(shown)
    )
    caption = _first(len(rows), len(report.entries))
    return view.Table("Entries", columns if noted else columns[:-1], rows, caption)


def _entry(change: "EntryChange", above: "EntryChange | None") -> tuple[view.Cell, ...]:
    """Return the row of an entry; whose it is is not said again of the same reservation."""
    after = change.after
    same = above is not None and above.after.reservation == after.reservation
    until = told_time(after.expires_seconds)
    return (
        view.Cell(after.reservation),
        view.Cell(after.request),
        view.Cell(after.capacity) if after.capacity else nothing_cell(),
        view.Cell(_state(change.before)) if change.before else nothing_cell(),
        view.Cell(_state(after), tone="bad" if after.state == "REJECTED" else "plain"),
        view.Cell(until) if until else nothing_cell(),
        view.Cell("" if same else after.owner, value=after.owner),
        view.Cell(after.reason) if after.reason else nothing_cell(),
    )


def _state(entry: "LedgerEntry") -> str:
    """Return a state with what is held in it; what has ended holds nothing."""
    word = "paused" if entry.paused and entry.holds else entry.state
    return f"{word} {listed(TYPES, worth_naming(entry.resources))}" if entry.holds else word


def _terms(report: "StepExplanation", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("capacity", priority=9),
        view.Column("resource", priority=9),
        view.Column("offered before", "right", wide_only=not _offers_moved(report), priority=2),
        view.Column("offers", "right", priority=5),
        view.Column("held before", "right", priority=6),
        view.Column("change", "right", priority=7),
        view.Column("held", "right", priority=8),
        view.Column("free", "right", priority=8),
    )
    rows = tuple(_term(each) for each in report.terms[:rows_max])
    meaning = "held: all promises of it, not only those of this step; free = offers - held"
    caption = "; ".join(filter(None, (_first(len(rows), len(report.terms)), meaning)))
    return view.Table("Terms", columns, rows, caption)


def _offers_moved(report: "StepExplanation") -> bool:
    return any(each.before.offers != each.after.offers for each in report.terms)


def _term(change: "TermChange") -> tuple[view.Cell, ...]:
    before, after = change.before, change.after
    moved = after.held.value - before.held.value
    kind = TYPES[change.resource]
    sign = "-" if moved < 0 else "+" if moved else ""
    return (
        view.Cell(change.capacity),
        view.Cell(change.resource),
        _bounded(before.offers),
        _bounded(after.offers),
        amount_cell(TYPES, change.resource, before.held.value),
        view.Cell(f"{sign}{kind.readable(abs(moved))}", value=kind.print(moved)),
        amount_cell(TYPES, change.resource, after.held.value),
        _bounded(after.free),
    )


def _bounded(amount: "Amount | None") -> view.Cell:
    if amount is None:
        return view.Cell("no bound", tone="muted", value="")
    return amount_cell(TYPES, amount.resource, amount.value)


def _first(shown: int, of: int) -> str:
    return f"the first {shown} of {of}, -o wide shows all" if shown < of else ""
