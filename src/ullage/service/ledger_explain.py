"""What one step of a ledger was: what was asked and decided, whose entries changed, every term of them."""

from typing import NamedTuple

from ullage.engine.ledger.room import TYPES
from ullage.engine.ledger.step import EntryChange, TermChange, change_of
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.ledger import JournalRow
from ullage.service.answer import Answer, versioned
from ullage.service.ledger_file import ledger_path, read_journal, read_ledger, told_path
from ullage.service.ledger_history import StepReport, step_report


class StepQuestion(NamedTuple):
    """Which step of which ledger; `told` is what that is called, where it is not its place."""

    revision: int
    ledger: str = ""
    told: str = ""


class StepExplanation(Record, frozen=True):
    """The answer to `ullage ledger explain`; `owners` are those whose entries the step is about."""

    ledger: str
    step: StepReport
    owners: tuple[str, ...]
    entries: tuple[EntryChange, ...]
    terms: tuple[TermChange, ...]


def ledger_explain(question: StepQuestion) -> Answer:
    """Answer what a step was."""
    from ullage.service.ledger_explain_page import ledger_explain_page

    place = ledger_path(question.ledger)
    row = next(iter(read_journal(place, {}, question.revision - 1)), None)
    if row is None or row.revision != question.revision:
        raise _missing(question.revision, read_ledger(place).revision, row)
    change = change_of(read_ledger(place, question.revision - 1), row)
    report = StepExplanation(
        ledger=question.told or told_path(place),
        step=step_report(row),
        owners=tuple(sorted({each.after.owner for each in change.entries})),
        entries=change.entries,
        terms=change.terms,
    )
    return Answer(
        lambda: ledger_explain_page(report, question),
        lambda: versioned("StepExplanation", report, TYPES),
        shortened=lambda: ledger_explain_page(report, question, shortened=True),
    )


def _missing(revision: int, last: int, kept: JournalRow | None) -> InputError:
    """Return why there is nothing to tell of a step; `kept` is the first one after it, where there is one."""
    if kept is not None:
        return InputError(
            f"step {revision} is no longer kept", remedy=f"the first one that is kept is {kept.revision}"
        )
    remedy = f"use 1 to {last}" if last else "no step was taken yet"
    return InputError(f"there is no step {revision}", remedy=remedy)
