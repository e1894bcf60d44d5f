"""A copy of the ledger, taken while others use it and proved before it gets its name."""

from pathlib import Path

from ullage.engine.ledger.room import TYPES
from ullage.model.constraints import Record
from ullage.render import view
from ullage.service.answer import Answer, versioned
from ullage.service.ledger_file import file_of, ledger_path, told_path
from ullage.service.ledger_words import with_ledger
from ullage.service.words import fact_table


class LedgerBackup(Record, frozen=True):
    """The answer to `ullage ledger backup`."""

    ledger: str
    file: str
    revision: int


def ledger_backup(named: str, target: str) -> Answer:
    """Copy a ledger to a new file, and answer up to which step it goes."""
    from ullage.stores.backup import backup

    path = file_of(ledger_path(named), "a backup")
    report = LedgerBackup(told_path(path), target, backup(path, Path(target)))
    return Answer(lambda: _page(report), lambda: versioned("LedgerBackup", report, TYPES))


def _page(report: LedgerBackup) -> view.Page:
    return view.Page(
        title="Backup of the ledger",
        verdict=view.Verdict(f"{report.ledger} is copied to {report.file} and proved, every step", "yes"),
        blocks=(fact_table("Copy", [("file", report.file), ("revision", str(report.revision))]),),
        next_command=with_ledger("ledger show", report.file),
        about=f"ledger {report.ledger}, revision {report.revision}",
    )
