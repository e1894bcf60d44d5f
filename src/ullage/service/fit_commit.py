"""`fit --commit`: what has a place is held in the ledger, all of it in one step, or nothing.

The answer is planned on the cluster with every promise counted, and on a revision of the ledger. If that has
moved when the commit comes, the ledger decides each hold again on what is there then.
"""

from pathlib import Path
from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.ledger.of_plan import Committed, committed
from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.room import TYPES
from ullage.engine.ledger.state import LedgerState
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.ledger import Command, Outcome, Refuse, Reserve, Together
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.verdict import Shortfall
from ullage.model.wire import to_builtins
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_whole, selected
from ullage.service.clock import now_seconds, told_time
from ullage.service.fit import Commit, FitQuestion, fit_report, judged, nothing_waits, prepared
from ullage.service.ledger_file import alive, ledger_path, read_ledger, reading, submitted, told_path
from ullage.service.wanted import Choice, Wanted

NOT_ALL: Final = "all or none was asked for, and not all fit"


class CommitReport(Record, frozen=True):
    """What the ledger made of an answer: the entries that it holds now, those it refused, those it gave back.

    `kept` are reservations that were held before and stay as they are. `repeated` says that the key was known
    and this is the answer of the first time; `moved` that others had been quicker since the plan was made.
    """

    ledger: str
    revision: int
    accepted: bool
    repeated: bool
    moved: bool
    key: str
    expires: str
    held: tuple[LedgerEntry, ...]
    rejected: tuple[LedgerEntry, ...]
    released: tuple[LedgerEntry, ...]
    kept: tuple[str, ...]
    reason: str
    shortfalls: tuple[Shortfall, ...]


def fit_and_commit(asked: Asked, question: FitQuestion, choice: Choice, commit: Commit) -> Answer:
    """Answer whether workloads fit, and hold what does."""
    from ullage.service.fit_commit_page import fit_commit_page

    if question.shape:
        raise InputError(
            "a shape cannot be held: nobody would own it", where="--commit", remedy="name workloads with -f"
        )
    path = ledger_path(asked.ledger)
    state = read_ledger(path) if path.exists() else LedgerState()
    at_seconds = max(now_seconds(), state.at_seconds)
    entries = alive(state.entries, at_seconds)
    whole = read_whole(asked)
    promised = selected(with_promises(whole, entries), asked.selector)
    if not question.paths:
        check_namespace(promised, asked.namespace)
    wanted = choice.wanted(promised, asked.namespace)
    if not question.paths and not wanted.batches:
        return nothing_waits(promised, asked)
    wanted = wanted._replace(atomic=wanted.atomic or question.atomic)
    columns = Columns(prepared(promised, wanted, question))
    found = judged(columns, wanted, question)
    raw = prepared(selected(whole, asked.selector), wanted, question)
    plan = committed(raw, entries, wanted.batches, found, at_seconds + commit.hold_seconds)
    done = _known(path, commit.key, wanted)
    if done is None and plan.command is not None and (found.fits or not wanted.atomic):
        done = submitted(
            path, plan.command, at_seconds=at_seconds, key=commit.key, revision=state.revision, create=True
        )
    if done is None:
        told = _undone(told_path(path), state.revision, commit.key, plan, fits=found.fits)
    else:
        told = _done(told_path(path), commit.key, done, plan.kept)
    report = fit_report(columns, found, wanted)
    return Answer(
        lambda: fit_commit_page(report, told, columns, asked),
        lambda: {**versioned("FitReport", report, wanted.types), "commit": to_builtins(told, TYPES)},
        found.fits and told.accepted,
        shortened=lambda: fit_commit_page(report, told, columns, asked, shortened=True),
    )


def _known(path: Path, key: str, wanted: Wanted) -> Outcome | None:
    """Return what became of the same question when it was asked under this key; refuse another one."""
    if not key or not path.exists():
        return None
    from ullage.stores.protocol import checked_key
    from ullage.stores.reading import row_of_key

    with reading(path) as connection:
        row = row_of_key(connection, checked_key(key))
    if row is None:
        return None
    others = _owners(row.command) - {batch.key for batch in wanted.batches}
    if others or not isinstance(row.command, Together):
        what = f"for {min(others)}" if others else "for something else"
        raise InputError(
            f"the key {key} was used {what} at revision {row.revision}",
            where="--key",
            remedy="use a new key for a new question",
        )
    return Outcome(row.revision, row.decision, repeated=True)


def _owners(command: Command) -> set[str]:
    """Return for whom a plan holds or refuses something."""
    parts = command.commands if isinstance(command, Together) else ()
    return {part.owner for part in parts if isinstance(part, Reserve | Refuse)}


def _done(ledger: str, key: str, done: Outcome, kept: tuple[str, ...]) -> CommitReport:
    """Return what came of a step; what a refused one would have held is no part of it."""
    decision = done.decision
    changed = decision.changed if decision.accepted else ()
    held = tuple(entry for entry in changed if entry.holds)
    return CommitReport(
        ledger=ledger,
        revision=done.revision,
        accepted=decision.accepted,
        repeated=done.repeated,
        moved=done.moved,
        key=key,
        expires=told_time(max((entry.expires_seconds or 0 for entry in held), default=0) or None),
        held=held,
        rejected=tuple(entry for entry in changed if entry.state == "REJECTED"),
        released=tuple(entry for entry in changed if entry.state in {"RELEASED", "EXPIRED"}),
        kept=() if done.repeated else kept,
        reason=decision.reason,
        shortfalls=decision.shortfalls,
    )


def _undone(ledger: str, revision: int, key: str, plan: Committed, *, fits: bool) -> CommitReport:
    """Return why no step was taken: all is held already, or nothing may be."""
    accepted = plan.command is None and fits
    return CommitReport(
        ledger=ledger,
        revision=revision,
        accepted=accepted,
        repeated=False,
        moved=False,
        key=key,
        expires="",
        held=(),
        rejected=(),
        released=(),
        kept=plan.kept,
        reason="" if accepted else NOT_ALL,
        shortfalls=(),
    )
