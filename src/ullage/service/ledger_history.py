"""What has happened: every step of a ledger with what was asked, what was decided, and why."""

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from ullage.engine.ledger.room import TYPES
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.ledger import Command, JournalRow, Supply, Together
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.verdict import Shortfall
from ullage.service.answer import Answer, versioned
from ullage.service.clock import told_time
from ullage.service.ledger_file import earliest_step, ledger_path, read_journal, told_path

STEPS_MAX: Final = 10_000
"""Steps of one answer; `--after` goes on from there."""
SUBJECTS: Final = ("reservation", "owner", "capacity")


class HistoryQuestion(NamedTuple):
    """Which ledger, about what (reservation/R, owner/O, capacity/C or everything), and after which step.

    `told` is what the ledger is called, where that is not its place.
    """

    ledger: str = ""
    subject: str = ""
    after: int = 0
    told: str = ""


class StepReport(Record, frozen=True):
    """One step; `asked` are the commands in words, `changed` the entries as it left them."""

    revision: int
    at: str
    key: str
    asked: tuple[str, ...]
    accepted: bool
    changed: tuple[LedgerEntry, ...]
    reason: str
    shortfalls: tuple[Shortfall, ...]


class LedgerHistory(Record, frozen=True):
    """The answer to `ullage ledger history`; `more` says that there are later steps.

    `earliest` is the first step that the ledger still keeps.
    """

    ledger: str
    subject: str
    after: int
    steps: tuple[StepReport, ...]
    more: bool
    earliest: int = 1


def ledger_history(question: HistoryQuestion) -> Answer:
    """Answer what has happened."""
    from ullage.service.ledger_history_page import ledger_history_page

    kind, name = _subject(question.subject)
    path = ledger_path(question.ledger)
    rows = read_journal(path, {kind: name} if kind else {}, question.after)
    found = list(islice(rows, STEPS_MAX + 1))
    report = LedgerHistory(
        ledger=question.told or told_path(path),
        subject=question.subject,
        after=question.after,
        steps=tuple(step_report(row, kind, name) for row in found[:STEPS_MAX]),
        more=len(found) > STEPS_MAX,
        earliest=earliest_step(path),
    )
    return Answer(
        lambda: ledger_history_page(report, question),
        lambda: versioned("LedgerHistory", report, TYPES),
        shortened=lambda: ledger_history_page(report, question, shortened=True),
    )


def _subject(text: str) -> tuple[str, str]:
    kind, slash, name = text.partition("/")
    if text and (kind not in SUBJECTS or not slash or not name):
        raise InputError(
            f"{text!r} is nothing that a ledger knows",
            remedy="write reservation/R, owner/O or capacity/C, as capacity/node/n1",
        )
    return kind, name


def step_report(row: JournalRow, kind: str = "", name: str = "") -> StepReport:
    """Return a step; of one that changed much, what it changed of the subject, where one is named."""
    decision = row.decision
    return StepReport(
        revision=row.revision,
        at=told_time(row.at_seconds),
        key=row.key,
        asked=tuple(_words(row.command)),
        accepted=decision.accepted,
        changed=tuple(each for each in decision.changed if not kind or getattr(each, kind) == name),
        reason=decision.reason,
        shortfalls=decision.shortfalls,
    )


def _words(command: Command) -> Iterator[str]:
    """Yield what was asked, each part of it once."""
    for part in command.commands if isinstance(command, Together) else (command,):
        word = type(part).__name__.lower()
        if isinstance(part, Supply):
            yield f"{word} {len(part.capacities)} capacities"
        else:
            yield f"{word} {getattr(part, 'reservation', '')}".rstrip()
