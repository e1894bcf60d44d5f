"""The page of `balance --drain`: whether it can be done, the moves in order, and what stays behind."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.render import view
from ullage.service.check_page import budget_table
from ullage.service.moves_table import Part, move_table
from ullage.service.words import plural, several

if TYPE_CHECKING:
    from ullage.model.plan import Refusal
    from ullage.service.asked import Asked
    from ullage.service.balance import BalanceReport

ROWS_SHOWN: Final = 40
REFUSALS_SHOWN: Final = 10
IN_SETS: Final = (
    "keep new instances off first (gnt-node modify -D yes NODE); moves of one set may be made together"
)


def balance_page(report: "BalanceReport", asked: "Asked", *, shortened: bool = False) -> view.Page:
    """Return the page of a drain; shortened, a full node fits a few screens."""
    blocks: list[view.Block] = []
    findings = [*_refusals(report.plan.refusals, REFUSALS_SHOWN if shortened else None), *_notes(report)]
    if findings:
        blocks.append(view.Findings("What to know first", tuple(findings)))
    rows_max = ROWS_SHOWN if shortened else None
    if report.moves:
        blocks.append(move_table([Part("", report.moves)], "", rows_max, IN_SETS))
    else:
        blocks.append(_move_table(report, rows_max))
    main = len(blocks) - 1
    if report.budgets:
        blocks.append(budget_table(report.budgets, ROWS_SHOWN if shortened else None))
    return view.Page(
        title=f"Draining {several(report.drained)} of {report.cluster}",
        verdict=view.Verdict(_verdict(report), "yes" if report.possible else "no"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}"
        + (f", placement {report.placement}" if report.placement else ""),
        main=main,
    )


def _verdict(report: "BalanceReport") -> str:
    names = several(report.drained)
    moves = len(report.plan.steps)
    waves = plural(len(report.waves), "set" if report.moves else "wave")
    if report.possible:
        how = f"{plural(moves, 'move')} in {waves}" if moves else "nothing has to move"
        return f"{names} can be emptied: {how}"
    count = len(report.plan.refusals)
    stuck = plural(count, "workload")
    if not report.placement:
        stuck = "1 instance or standby" if count == 1 else f"{count} instances or standbys"
    return f"{names} cannot be emptied: {stuck} cannot move; {plural(moves, 'move')} in {waves}"


def _next_words(report: "BalanceReport") -> str:
    if not report.plan.steps:
        return f"explain node/{report.drained[0]}"
    return f"check {' '.join(f'--lose node/{name}' for name in report.drained[:3])}"


def _refusals(refusals: "Sequence[Refusal]", most: int | None) -> list[view.Finding]:
    """Return who cannot move and why, those of one reason together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for refusal in refusals:
        alike.setdefault((refusal.reason, refusal.remedy), []).append(refusal.subject)
    rows = [
        view.Finding("error", several(subjects), reason, remedy)
        for (reason, remedy), subjects in alike.items()
    ]
    if most is not None and len(rows) > most:
        more = view.Finding("error", "", f"{len(rows) - most} more reasons", "-o wide shows all")
        rows = [*rows[:most], more]
    return rows


def _notes(report: "BalanceReport") -> list[view.Finding]:
    """Return what a drain leaves, or takes for good."""
    notes = []
    if report.not_restarted:
        one = len(report.not_restarted) == 1
        what = f"no owner: nobody starts {'it' if one else 'them'} again once evicted"
        remedy = "start it by hand where the plan puts it, or let a Deployment or StatefulSet own it"
        notes.append(view.Finding("warning", several(report.not_restarted), what, remedy))
    if report.daemons or report.mirror_pods:
        stay = {"daemon": report.daemons, "mirror pod": report.mirror_pods}
        count = " and ".join(plural(len(names), noun) for noun, names in stay.items() if names)
        names = several([*report.daemons, *report.mirror_pods])
        notes.append(view.Finding("info", names, f"{count}: left where the node is"))
    if report.ending:
        notes.append(view.Finding("info", several(report.ending), "about to end: goes by itself"))
    return notes


def _move_table(report: "BalanceReport", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("wave", "right", priority=8),
        view.Column("workload", priority=9),
        view.Column("from", priority=6),
        view.Column("to", priority=8),
        view.Column("evidence", priority=5),
    )
    rows = [
        (
            view.Cell(str(wave.number)),
            view.Cell(step.subject),
            view.Cell(step.from_node),
            view.Cell(step.to_node),
            view.Cell(step.evidence.removeprefix(f"wave {wave.number}").lstrip(",; ")),
        )
        for wave in report.waves
        for step in wave.steps
    ]
    kept = rows if rows_max is None else rows[:rows_max]
    caption = "cordon first; the next wave starts when the one before it runs again"
    if len(kept) < len(rows):
        caption += f"; the first {len(kept)} of {len(rows)} moves, -o wide shows all"
    return view.Table("Moves", columns, tuple(kept), caption)
