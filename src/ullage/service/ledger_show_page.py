"""The page of `ledger show`: every promise with its owner and its end, and what they leave."""

import shlex
from typing import TYPE_CHECKING, Final

from ullage.engine.ledger.room import TYPES
from ullage.render import view
from ullage.service.ledger_words import entry_table, with_ledger
from ullage.service.words import amount_cell, plural, several

if TYPE_CHECKING:
    from ullage.model.resources import Amount
    from ullage.service.ledger_show import LedgerReport, ShowQuestion

ROWS_SHOWN: Final = 60


def ledger_show_page(
    report: "LedgerReport", question: "ShowQuestion", *, shortened: bool = False
) -> view.Page:
    """Return the page of a ledger; shortened, many entries fit a few screens."""
    rows_max = ROWS_SHOWN if shortened else None
    return view.Page(
        title="Ledger",
        verdict=view.Verdict(_verdict(report)),
        blocks=(
            entry_table("Promises", report.entries, TYPES, rows_max),
            *([_capacities(report, rows_max)] if report.capacities else []),
        ),
        next_command=with_ledger(_next_words(report), question.ledger),
        about=f"ledger {report.ledger}, revision {report.revision}, {report.at}",
        main=0,
    )


def _verdict(report: "LedgerReport") -> str:
    reservations = {entry.reservation for entry in report.entries}
    if not report.live:
        return "nothing is promised"
    shown = f"{plural(len(reservations), 'reservation')} of {_owners(report)}"
    if len(report.entries) < report.live:
        shown += f" ({len(report.entries)} of {report.live} entries)"
    parts = [shown]
    if report.waiting:
        parts.append(f"{report.waiting} wait in line")
    if report.due:
        parts.append(f"the time has come for {several(report.due)}")
    return "; ".join(parts)


def _owners(report: "LedgerReport") -> str:
    return plural(len({entry.owner for entry in report.entries}), "owner")


def _next_words(report: "LedgerReport") -> str:
    if report.due:
        return "ledger expire"
    if report.entries:
        return f"ledger history {shlex.quote(f'reservation/{report.entries[0].reservation}')}"
    return "ledger history"


def _capacities(report: "LedgerReport", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("capacity", priority=9),
        view.Column("resource", priority=9),
        view.Column("offers", "right", priority=7),
        view.Column("held", "right", priority=8),
        view.Column("free", "right", priority=8),
    )
    rows = tuple(
        (
            view.Cell(each.capacity),
            view.Cell(each.resource),
            _bounded(each.offers),
            amount_cell(TYPES, each.resource, each.held.value),
            _bounded(each.free),
        )
        for each in report.capacities[:rows_max]
    )
    caption = "offers: what was free beside all others when it was last looked at, and what is held"
    if len(rows) < len(report.capacities):
        caption = f"the first {len(rows)} of {len(report.capacities)}, -o wide shows all; {caption}"
    return view.Table("Capacities", columns, rows, caption)


def _bounded(amount: "Amount | None") -> view.Cell:
    if amount is None:
        return view.Cell("no bound", tone="muted", value="")
    return amount_cell(TYPES, amount.resource, amount.value)
