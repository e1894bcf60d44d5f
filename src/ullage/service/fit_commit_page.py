"""The page of `fit --commit`: the answer, and first of all what is held, until when, and what comes next."""

import shlex
from typing import TYPE_CHECKING, Final

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.ledger.room import TYPES
from ullage.render import view
from ullage.service.fit_page import fit_page
from ullage.service.ledger_words import entry_table, with_ledger
from ullage.service.words import plural, several

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.fit import FitReport
    from ullage.service.fit_commit_report import CommitReport

ROWS_SHOWN: Final = 40


def fit_commit_page(
    report: "FitReport",
    commit: "CommitReport",
    columns: Columns,
    asked: "Asked",
    *,
    shortened: bool = False,
) -> view.Page:
    """Return the page of an answer that was committed."""
    page = fit_page(report, columns, asked, shortened=shortened)
    blocks: list[view.Block] = []
    if not commit.accepted:
        blocks.append(view.Findings("Not held", (view.Finding("error", "", commit.reason),)))
    rows_max = ROWS_SHOWN if shortened else None
    shown = (
        ("Held", commit.held),
        ("In line", commit.waiting),
        ("Given back", commit.released),
        ("Held for others who were in line", commit.others),
    )
    for title, entries in shown:
        if entries:
            blocks.append(entry_table(title, entries, TYPES, rows_max))
    tone: view.VerdictTone = "yes" if report.fits and commit.all_held else "no"
    return msgspec.structs.replace(
        page,
        verdict=view.Verdict(f"{page.verdict.text}; {_held(commit)}", tone),
        blocks=(*blocks, *page.blocks),
        main=None if page.main is None else page.main + len(blocks),
        next_command=_next(commit, asked) or page.next_command,
        about=f"{page.about}; ledger {commit.ledger}, revision {commit.revision}",
    )


def _held(commit: "CommitReport") -> str:
    reservations = {entry.reservation for entry in commit.held}
    again = f" under the key {commit.key} already" if commit.repeated else ""
    if not commit.accepted:
        moved = ", the ledger has moved since it was planned" if commit.moved else ""
        return f"nothing is held{moved}"
    until = _until(commit.expires)
    parts = []
    if commit.ended:
        was = f"{several(commit.ended)} was held under the key {commit.key} and has ended"
        parts.append(f"{was}; use a new key to hold it again")
    elif reservations:
        parts.append(f"{plural(len(reservations), 'reservation')} held{again}{until}")
    if commit.resized:
        parts.append(f"resized with it by a shared claim: {several(commit.resized)}")
    if commit.kept:
        parts.append(f"held already: {several(commit.kept)}{_until(commit.kept_expires)}")
    if commit.waiting:
        places = {entry.reservation: entry.queue_position for entry in commit.waiting}
        waiting = [f"{name} (number {place})" for name, place in places.items()]
        parts.append(f"in line: {several(waiting)}")
    if parts:
        return "; ".join(parts)
    return f"the refusal is noted{again}" if commit.rejected else f"nothing to hold{again}"


def _until(expires: str) -> str:
    return f" until {expires}" if expires else " and in use"


def _next(commit: "CommitReport", asked: "Asked") -> str:
    names = sorted({entry.reservation for entry in commit.held}) or list(commit.kept)
    if not names:
        return ""
    words = f"ledger bind {shlex.quote(names[0])}" if len(names) == 1 else "ledger show"
    return with_ledger(words, asked.ledger)
