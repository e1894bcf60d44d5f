"""`fit --commit`: what has a place is held in the ledger, all of it in one step, or nothing.

The answer is planned on the cluster with every promise counted, and on a revision of the ledger. If that has
moved when the commit comes, the ledger decides each hold again on what is there then. What has no place may
stand in line for it.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.ledger.of_plan import committed
from ullage.engine.ledger.of_waiting import Asking, lined_up
from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.room import TYPES
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Expire, Extend, Resize, Together
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.settings import rules_for
from ullage.model.wire import to_builtins
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, placed_within, read_whole, standing
from ullage.service.clock import now_seconds
from ullage.service.fit import Commit, FitQuestion, fit_report, judged, nothing_waits, prepared
from ullage.service.fit_commit_key import known_under, question_of
from ullage.service.fit_commit_report import Telling
from ullage.service.ledger_file import (
    Place,
    alive,
    is_there,
    ledger_path,
    read_ledger,
    submitted,
    told_path,
)
from ullage.service.wanted import Choice, Wanted


def fit_and_commit(asked: Asked, question: FitQuestion, choice: Choice, commit: Commit) -> Answer:
    """Answer whether workloads fit, and hold what does."""
    from ullage.service.fit_commit_page import fit_commit_page

    if question.shape:
        raise InputError(
            "a shape cannot be held: nobody would own it", where="--commit", remedy="name workloads with -f"
        )
    path = ledger_path(asked.ledger, asked)
    state = _about_to_change(path) if is_there(path) else LedgerState()
    at_seconds = max(now_seconds(), state.at_seconds)
    entries = alive(state.entries, at_seconds)
    whole = standing(read_whole(asked))
    promised = with_promises(whole, entries)
    if not question.paths:
        check_namespace(promised, asked.namespace)
    wanted = choice.wanted(promised, asked.namespace)
    if not question.paths and not wanted.batches:
        return nothing_waits(promised, asked)
    batches = placed_within(promised, asked.selector, wanted.batches)
    wanted = wanted._replace(batches=batches, atomic=wanted.atomic or question.atomic)
    _check(wanted, commit)
    columns = Columns(prepared(promised, wanted, question))
    found = judged(columns, wanted, question)
    raw = prepared(whole, wanted, question)
    until = at_seconds + commit.hold_seconds
    over = state.due(at_seconds)
    known = [each.name for each in state.capacities]
    plan = committed(raw, entries, wanted.batches, found, until, over=over, known=known)
    rules = rules_for(whole.policy, whole.resource_types)
    asking = Asking(
        columns,
        found.outcomes,
        {batch.key: batch.workload for batch in wanted.batches},
        [entry for entry in entries if entry.holds],
        [each for each in state.waiting if each.expires_seconds > at_seconds],
        until,
        commit.waits,
        rules.few_drives == "yes",
    )
    command, in_line = lined_up(plan.command, asking)
    if commit.extends:
        command = _extended(command, (*plan.kept, *in_line), entries, until)
    asked_under = question_of(asked, question, wanted, commit) if commit.key else ""
    done = known_under(path, commit.key, asked_under, wanted)
    if done is None and command is not None and (found.fits or not wanted.atomic):
        command = msgspec.structs.replace(command, question=asked_under)
        try:
            done = submitted(
                path, command, at_seconds=at_seconds, key=commit.key, revision=state.revision, create=True
            )
        except InputError:  # perhaps the same question was quicker, asked under this key at the same time
            done = known_under(path, commit.key, asked_under, wanted)
            if done is None:
                raise
    now = state if done is None else read_ledger(path)
    owners = frozenset(batch.key for batch in wanted.batches)
    telling = Telling(told_path(path), commit.key, now, at_seconds, plan.kept, in_line, owners, state)
    told = (
        telling.undone(nothing_to_do=command is None, fits=found.fits) if done is None else telling.done(done)
    )
    report = fit_report(columns, found, wanted)
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


def _check(wanted: Wanted, commit: Commit) -> None:
    if wanted.atomic and commit.waits:
        raise InputError(
            "those who wait are held one by one, and all or none is asked for",
            where="--wait",
            remedy="leave out one of them",
        )


def _extended(
    command: Together | None, kept: Iterable[str], entries: Iterable[LedgerEntry], until: int
) -> Together | None:
    """Return the commands of a plan, and those that hold as long what is held, or in line, already."""
    parts = command.commands if command is not None else ()
    names = {*kept, *(each.reservation for each in parts if isinstance(each, Resize))}
    ends: dict[str, int] = {}
    for entry in entries:
        if entry.reservation in names and entry.expires_seconds is not None:
            ends[entry.reservation] = max(entry.expires_seconds, ends.get(entry.reservation, 0))
    extends = [Extend(name, until) for name in sorted(ends) if ends[name] < until]
    if not extends:
        return command
    return Together((*(parts or (Expire(),)), *extends), line_last=True)
