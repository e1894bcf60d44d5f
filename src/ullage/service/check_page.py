"""The page of `check`: passed or not, what was found, what was checked, and where the lost go."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.verdict import Finding
from ullage.render import view
from ullage.render.junit import Case, Failure, Suite
from ullage.service.check_drives_page import drive_blocks, drive_verdict
from ullage.service.check_findings import proof_words
from ullage.service.words import findings_block, nothing_cell, plural

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.check import BudgetStatus, Checked, CheckReport, LossStatus
    from ullage.service.check_machines import ClusterRedundancy, GroupRedundancy, Redundancy

ALIKE_SHOWN: Final = 5
ROWS_SHOWN: Final = 40


def check_page(report: "CheckReport", asked: "Asked", *, shortened: bool = False) -> view.Page:
    """Return the page of a check; shortened, many findings fit a few screens."""
    blocks: list[view.Block] = []
    findings = report.findings
    if findings:
        alike = ALIKE_SHOWN if shortened else None
        blocks.append(findings_block("Findings", findings, alike, "-o wide shows all"))
    blocks.append(_check_table(report.checks))
    main = len(blocks) - 1
    if report.redundancy is not None:
        blocks.append(_group_table(report.redundancy))
    if report.loss is not None and (report.loss.moves or report.loss.losers):
        blocks.append(_move_table(report.loss, ROWS_SHOWN if shortened else None))
    if report.drive_loss is not None:
        blocks += drive_blocks(report.drive_loss, ROWS_SHOWN if shortened else None)
    if report.budgets:
        blocks.append(budget_table(report.budgets, ROWS_SHOWN if shortened else None))
    return view.Page(
        title=f"Check of {report.cluster}",
        verdict=view.Verdict(_verdict(report, findings), "yes" if report.passed else "no"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}, "
        f"placement {report.placement}",
        main=main,
    )


def check_suite(report: "CheckReport") -> Suite:
    """Return a check as cases for CI: errors are failures, everything else is a note."""
    return Suite(f"ullage check {report.cluster}", tuple(_case(each) for each in report.checks))


def _case(checked: "Checked") -> Case:
    failures = [each for each in checked.findings if each.severity == "error"]
    notes = [f"{each.severity}: {each.message}" for each in checked.findings if each.severity != "error"]
    return Case(
        checked.name,
        tuple(Failure(each.code, each.message, each.remedy) for each in failures),
        tuple(filter(None, (checked.detail, *notes))),
    )


def _verdict(report: "CheckReport", findings: Sequence[Finding]) -> str:
    errors = sum(each.severity == "error" for each in findings)
    warnings = sum(each.severity == "warning" for each in findings)
    notes = len(findings) - errors - warnings
    counts = [
        plural(count, noun)
        for count, noun in ((errors, "error"), (warnings, "warning"), (notes, "note"))
        if count
    ]
    parts = [", ".join(counts) or "nothing is wrong"]
    if report.loss is not None:
        what = plural(len(report.loss.nodes), "node")
        losers = len(report.loss.losers)
        proof = proof_words(report.loss)
        if losers:
            sure = f" ({proof})" if proof else ""
            parts.append(f"losing {what} leaves {plural(losers, 'workload')} without a place{sure}")
        else:
            anew = " ".join(filter(None, (f"{report.loss.replaced} placed anew", proof)))
            parts.append(f"losing {what} leaves nobody without a place: {anew}")
    if report.drive_loss is not None:
        parts.append(drive_verdict(report.drive_loss))
    for survey in report.surveys:
        where = f" of group {survey.group}" if survey.group else ""
        lost = plural(survey.nodes_lost, "node")
        if survey.failing_losses:
            costs = f"{survey.failing_losses} of {survey.losses} losses of {lost}{where}"
            verb = "leaves" if survey.failing_losses == 1 else "leave"
            parts.append(f"{costs} {verb} workloads without a place")
        elif survey.kinds == survey.tried:
            kinds = plural(survey.kinds, "kind")
            exact = f", {len(survey.saved)} only by exact search" if survey.saved else ""
            parts.append(f"any {lost}{where} may be lost ({survey.losses} losses, {kinds}{exact})")
        else:
            parts.append(f"no loss of {lost}{where} that was tried leaves anybody without a place")
    return "; ".join(parts)


def _next_words(report: "CheckReport") -> str:
    if report.redundancy is not None and any(each.moves for each in report.redundancy.after_balance):
        return "balance"
    if report.drive_loss is not None:
        return "disks list"
    if not report.surveys and report.loss is None:
        return "check --nodes-lost 1"
    worst = [loss for survey in report.surveys for loss in (*survey.worst, *survey.saved)]
    if worst:
        return f"check {' '.join(f'--lose node/{name}' for name in worst[0].nodes[:3])}"
    return "status"


def _check_table(checks: "Sequence[Checked]") -> view.Table:
    columns = (
        view.Column("check", priority=9),
        view.Column("result", priority=8),
        view.Column("errors", "right", priority=7),
        view.Column("warnings", "right", priority=6),
        view.Column("notes", "right", priority=4),
        view.Column("what was tried", priority=5, key="tried"),
    )
    rows = tuple(
        (
            view.Cell(each.name),
            view.Cell("passed" if each.passed else "failed", tone="plain" if each.passed else "bad"),
            view.Cell(str(each.errors)),
            view.Cell(str(each.warnings)),
            view.Cell(str(len(each.findings) - each.errors - each.warnings)),
            view.Cell(each.detail or "the cluster as it is"),
        )
        for each in checks
    )
    return view.Table("Checks", columns, rows)


def _group_table(redundancy: "Redundancy") -> view.Table:
    """Return what is wrong in groups of machines and in all, now and after the balance that is proposed."""
    columns = (
        view.Column("group", priority=9),
        view.Column("when", priority=8),
        view.Column("nodes", "right", priority=4),
        view.Column("cannot take over", "right", priority=7),
        view.Column("cannot be emptied", "right", priority=6),
        view.Column("conflicts", "right", priority=5),
        view.Column("offline", "right", priority=5),
        view.Column("score", "right", priority=7),
    )
    after = {each.group: each for each in redundancy.after_balance}
    rows = []
    for each in redundancy.now:
        rows.append(_group_row(each, "now"))
        if each.group in after:
            rows.append(_group_row(after[each.group], f"after {plural(after[each.group].moves, 'move')}"))
    now, *then = redundancy.cluster
    rows.append(_counts_row("cluster", "now", now))
    rows += [_counts_row("cluster", f"after {plural(each.moves, 'move')}", each) for each in then]
    caption = "conflicts are those of tags and locations; offline are instances with a node that is"
    return view.Table("Redundancy", columns, tuple(rows), caption)


def _group_row(group: "GroupRedundancy", when: str) -> tuple[view.Cell, ...]:
    return (
        *_counts_row(group.group, when, group)[:-1],
        view.Cell(f"{group.score:.4f}", value=repr(group.score)),
    )


def _counts_row(name: str, when: str, found: "GroupRedundancy | ClusterRedundancy") -> tuple[view.Cell, ...]:
    """Return a row without a score."""
    counts = (
        found.cannot_take_over,
        found.cannot_be_emptied,
        found.tag_conflicts + found.location_conflicts,
        found.primaries_offline + found.standbys_offline,
    )
    return (
        view.Cell(name),
        view.Cell(when),
        view.Cell(str(found.nodes)),
        *(view.Cell(str(count), tone="bad" if count else "plain") for count in counts),
        nothing_cell(),
    )


def _move_table(loss: "LossStatus", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("workload", priority=9),
        view.Column("was on", priority=7, key="from"),
        view.Column("goes to", priority=8, key="to"),
    )
    rows = [
        *(
            (view.Cell(each.workload), view.Cell(each.node), view.Cell("no place", tone="bad", value=""))
            for each in loss.losers
        ),
        *(
            (view.Cell(each.subject), view.Cell(each.from_node), view.Cell(each.to_node))
            for each in loss.moves
        ),
    ]
    kept = rows if rows_max is None else rows[:rows_max]
    notes = []
    if loss.certificate == "exact":
        notes.append("placed by exact search")
    if loss.daemons:
        one = loss.daemons == 1
        notes.append(
            f"{plural(loss.daemons, 'daemon')} {'goes with its node' if one else 'go with their nodes'}"
        )
    if len(kept) < len(rows):
        notes.append(f"the first {len(kept)} of {len(rows)}, -o wide shows all")
    return view.Table("Placed anew", columns, tuple(kept), "; ".join(notes))


def budget_table(budgets: "Sequence[BudgetStatus]", rows_max: int | None) -> view.Table:
    """Return what budgets need and allow."""
    columns = (
        view.Column("budget", priority=9),
        view.Column("expected", "right", priority=5),
        view.Column("healthy", "right", priority=6),
        view.Column("needed", "right", priority=7),
        view.Column("may go", "right", priority=8, key="allowed"),
    )
    rows = [
        (
            view.Cell(each.name),
            view.Cell(str(each.expected)),
            view.Cell(str(each.healthy)),
            view.Cell(str(each.desired)),
            view.Cell(str(each.allowed), tone="plain" if each.allowed else "warn"),
        )
        for each in budgets
    ]
    kept = rows if rows_max is None else rows[:rows_max]
    caption = f"the first {len(kept)} of {len(rows)}, -o wide shows all" if len(kept) < len(rows) else ""
    return view.Table("Disruption budgets", columns, tuple(kept), caption)
