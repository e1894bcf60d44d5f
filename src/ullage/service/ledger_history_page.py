"""The page of `ledger history`: one row for each step, what it decided and what it left behind."""

import shlex
from typing import TYPE_CHECKING, Final

from ullage.render import view
from ullage.service.ledger_words import with_ledger
from ullage.service.words import nothing_cell, plural, several

if TYPE_CHECKING:
    from ullage.service.ledger_history import HistoryQuestion, LedgerHistory, StepReport

ROWS_SHOWN: Final = 60
NAMES_SHOWN: Final = 3


def ledger_history_page(
    report: "LedgerHistory", question: "HistoryQuestion", *, shortened: bool = False
) -> view.Page:
    """Return the page of a history; shortened, the last steps of many."""
    steps = report.steps[-ROWS_SHOWN:] if shortened else report.steps
    caption = "asked and changed: of many the first, -o json has all"
    if len(steps) < len(report.steps):
        caption = f"the last {len(steps)} of {len(report.steps)}, -o wide shows all; {caption}"
    columns = (
        view.Column("revision", "right", priority=9),
        view.Column("at", priority=6),
        view.Column("asked", priority=8),
        view.Column("decision", priority=9),
        view.Column("changed", priority=7),
        view.Column("reason", priority=5),
        view.Column("key", wide_only=True, priority=1),
    )
    refused = sum(not each.accepted for each in report.steps)
    about = f" about {report.subject}" if report.subject else ""
    return view.Page(
        title="History of the ledger",
        verdict=view.Verdict(f"{plural(len(report.steps), 'step')}{about}, {refused} refused"),
        blocks=(view.Table("Steps", columns, tuple(_row(each) for each in steps), caption),),
        next_command=with_ledger(_next_words(report), question.ledger),
        about=_about(report),
        main=0,
    )


def _row(step: "StepReport") -> tuple[view.Cell, ...]:
    states: dict[str, list[str]] = {}
    for entry in step.changed:
        names = states.setdefault(entry.state, [])
        if entry.reservation not in names:
            names.append(entry.reservation)
    changed = "; ".join(f"{state} {several(names, NAMES_SHOWN)}" for state, names in states.items())
    reason = step.reason or "; ".join(dict.fromkeys(each.reason for each in step.changed if each.reason))
    return (
        view.Cell(str(step.revision)),
        view.Cell(step.at),
        view.Cell(several(step.asked, NAMES_SHOWN), value="; ".join(step.asked)),
        view.Cell("accepted" if step.accepted else "refused", tone="plain" if step.accepted else "bad"),
        view.Cell(changed) if changed else nothing_cell(),
        view.Cell(reason) if reason else nothing_cell(),
        view.Cell(step.key) if step.key else nothing_cell(),
    )


def _about(report: "LedgerHistory") -> str:
    """Say which steps these are of, and how far back they go."""
    after = f", after revision {report.after}" if report.after else ""
    kept = f", steps before {report.earliest} are no longer kept" if report.earliest > 1 else ""
    return f"ledger {report.ledger}{after}{kept}"


def _next_words(report: "LedgerHistory") -> str:
    if report.more:
        subject = f" {shlex.quote(report.subject)}" if report.subject else ""
        return f"ledger history{subject} --after {report.steps[-1].revision}"
    return f"ledger explain {report.steps[-1].revision}" if report.steps else "ledger show"
