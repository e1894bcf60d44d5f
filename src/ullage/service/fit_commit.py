"""`fit --commit`: what has a place is held in the ledger, all of it in one step, or nothing.

The answer is planned on the cluster with every promise counted, and on a revision of the ledger. If that has
moved when the commit comes, the ledger decides each hold again on what is there then. What has no place may
stand in line for it.
"""

from pathlib import Path

import msgspec

from ullage.engine.ledger.room import TYPES
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.wire import to_builtins
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked
from ullage.service.fit import Commit, FitQuestion, fit_report, nothing_waits
from ullage.service.fit_commit_key import known_under, question_of
from ullage.service.fit_commit_report import Telling
from ullage.service.fit_plan import NothingWaits, planned, refuse_shapes
from ullage.service.ledger_file import (
    Place,
    is_there,
    ledger_path,
    read_ledger,
    submitted,
    told_path,
)


def fit_and_commit(asked: Asked, question: FitQuestion, commit: Commit) -> Answer:
    """Answer whether workloads fit, and hold what does."""
    from ullage.service.fit_commit_page import fit_commit_page

    refuse_shapes(question)
    path = ledger_path(asked.ledger, asked)
    state = _about_to_change(path) if is_there(path) else LedgerState()
    plan = planned(asked, question, commit, state)
    if isinstance(plan, NothingWaits):
        return nothing_waits(plan.snapshot, asked)
    command, wanted, found, columns = plan.command, plan.wanted, plan.found, plan.bench.columns
    asked_under = question_of(asked, question, wanted, commit) if commit.key else ""
    done = known_under(path, commit.key, asked_under, wanted)
    if done is None and command is not None and plan.may_be_committed:
        command = msgspec.structs.replace(command, question=asked_under)
        try:
            done = submitted(
                path,
                command,
                at_seconds=plan.at_seconds,
                key=commit.key,
                revision=state.revision,
                create=True,
            )
        except InputError:  # perhaps the same question was quicker, asked under this key at the same time
            done = known_under(path, commit.key, asked_under, wanted)
            if done is None:
                raise
    now = state if done is None else read_ledger(path)
    telling = Telling(
        told_path(path), commit.key, now, plan.at_seconds, plan.kept, plan.in_line, plan.owners, state
    )
    told = (
        telling.undone(nothing_to_do=command is None, fits=found.fits) if done is None else telling.done(done)
    )
    report = fit_report(plan.bench, found, wanted)
    return Answer(
        lambda: fit_commit_page(report, told, columns, asked),
        lambda: {**versioned("FitReport", report, wanted.types), "commit": to_builtins(told, TYPES)},
        found.fits and told.all_held,
        shortened=lambda: fit_commit_page(report, told, columns, asked, shortened=True),
    )


def _about_to_change(path: Place) -> LedgerState:
    """Return the state of a ledger that exists; one of an older version is upgraded first."""
    from ullage.stores.opening import bring_up_to_date

    if isinstance(path, Path) and path.is_file():
        bring_up_to_date(path)
    return read_ledger(path)
