"""What breaks: fail nodes, a domain or drives; who is left without a place, and where the rest goes."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.errors import InputError
from ullage.render import view
from ullage.service.check import CheckQuestion, check_report
from ullage.service.check_drives_page import drive_blocks
from ullage.service.check_page import budget_table
from ullage.service.words import findings_block, plural
from ullage.web.pages.heat import LINKS_MAX, tiles_of
from ullage.web.pages.kept import kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.overview import measured_resources
from ullage.web.pages.plain_words import in_plain_words
from ullage.web.pages.shell import draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot
    from ullage.service.asked import Asked
    from ullage.service.check import CheckReport, LossStatus

LOST_MAX: Final = 50
ROWS_SHOWN: Final = 500
DOMAINS_SHOWN: Final = 400
DRIVES_SHOWN: Final = 60
NEAR_SHOWN: Final = 60
OFFERED: Final = 400
"""Nodes whose names the field proposes; any other can be written into it."""
EXACT_SECONDS: Final = 2
ANY_NODE: Final = "check --nodes-lost 1"


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return what can fail, and what would come of it."""
    shell = shell_of(parameters)
    snapshot, report = kept_status(asked)
    named = filter(None, (each.strip() for each in parameters.get("lose", "").split("\n")))
    lose, near = meant(
        tuple(dict.fromkeys(named))[:LOST_MAX], snapshot, {each.name for each in report.domains}
    )
    is_any = bool(parameters.get("any"))
    problem, found = "", None
    if lose or is_any:
        question = CheckQuestion(lose, 1 if is_any and not lose else None, exact_seconds=EXACT_SECONDS)
        try:
            found = check_report(snapshot, question)
        except InputError as error:
            problem = in_plain_words(str(error))
    names, drives = list(report.total.limit), drives_of(snapshot)
    return draw(
        "what_breaks",
        shell,
        links=Links(shell, snapshot, otherwise="#answer"),
        report=report,
        lose=lose,
        problem=problem,
        verdict=verdict_of(found) if found else None,
        blocks_=tuple(blocks_of(found)) if found else (),
        not_simulated=tuple(map(in_plain_words, found.not_simulated)) if found else (),
        near=near[:NEAR_SHOWN],
        near_more=max(0, len(near) - NEAR_SHOWN),
        domains=[each.name for each in report.domains][:DOMAINS_SHOWN],
        offered=[each.name for each in report.nodes][:OFFERED],
        tiles=tiles_of(report.nodes, measured_resources(report.total, names), lambda _: "")
        if len(report.nodes) <= LINKS_MAX
        else (),
        drives=drives[:DRIVES_SHOWN],
        drives_more=max(0, len(drives) - DRIVES_SHOWN),
        command=terminal(shell, command_words(lose)),
    )


def meant(
    lose: Sequence[str], snapshot: "Snapshot", domains: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is to fail, in full; and the nodes whose names have what was written in them.

    A node or a domain may be named alone. What is no name of either, but a part of names of nodes, fails
    nothing: these nodes can be chosen from.
    """
    found, near = [], []
    for each in lose:
        kind, slash, name = each.partition("/")
        if each in snapshot.nodes:
            found.append(f"node/{each}")
        elif each in domains:
            found.append(f"domain/{each}")
        elif (not slash or kind == "node") and (like := _like(name if slash else each, snapshot)):
            near += like
        else:
            found.append(each)
    return tuple(dict.fromkeys(found)), tuple(dict.fromkeys(near))


def _like(part: str, snapshot: "Snapshot") -> list[str]:
    """Return the nodes whose names have a part; none where that is the whole name of one."""
    return [] if part in snapshot.nodes else [node.name for node in snapshot.nodes if part in node.name]


def command_words(lose: Sequence[str]) -> str:
    """Return the command that loses the same; any node where nothing is named."""
    return " ".join(("check", *(f"--lose {shlex.quote(each)}" for each in lose))) if lose else ANY_NODE


def drives_of(snapshot: "Snapshot") -> list[tuple[str, str]]:
    """Return drives that may hold volumes: their identifiers, and their nodes."""
    return [(drive.uuid, node.name) for node in snapshot.nodes for drive in node.drives if not drive.system]


def verdict_of(report: "CheckReport") -> view.Verdict:
    """Return what the last check says, which is the one that loses something."""
    checked = report.checks[-1]
    errors = f"; {plural(checked.errors, 'error')}" if checked.errors else ""
    text = f"{checked.name[0].upper()}{checked.name[1:]}: {checked.detail}{errors}"
    return view.Verdict(text, "yes" if checked.passed else "no")


def blocks_of(report: "CheckReport") -> "list[view.Block]":
    """Return what a loss comes to: what is found, who loses, who moves, whose budget suffers."""
    blocks: list[view.Block] = []
    if report.checks[-1].findings:
        blocks.append(findings_block("What it comes to", report.checks[-1].findings))
    if report.loss is not None:
        blocks += _loss_blocks(report.loss)
    for survey in report.surveys:
        for loss in survey.worst:
            blocks += _loss_blocks(loss)
    if report.drive_loss is not None:
        blocks += drive_blocks(report.drive_loss, ROWS_SHOWN)
    if report.budgets:
        blocks.append(budget_table(report.budgets, ROWS_SHOWN))
    return blocks


def _loss_blocks(loss: "LossStatus") -> "list[view.Block]":
    blocks: list[view.Block] = []
    if loss.losers:
        rows = [(each.workload, each.node, each.reason, each.remedy) for each in loss.losers]
        where = f" when {', '.join(loss.nodes[:3])} is lost" if not loss.moves else ""
        blocks.append(_table(f"Left without a place{where}", ("workload", "from", "why", "what helps"), rows))
    if loss.not_restarted:
        blocks.append(
            _table("Nobody starts them again", ("workload",), [(name,) for name in loss.not_restarted])
        )
    if loss.moves:
        moves = [(each.subject, each.from_node, each.to_node) for each in loss.moves]
        blocks.append(_table("Start again elsewhere", ("workload", "from", "to"), moves))
    return blocks


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> view.Table:
    shown = tuple(tuple(view.Cell(text) for text in row) for row in rows[:ROWS_SHOWN])
    caption = f"the first {ROWS_SHOWN} of {len(rows)}" if len(rows) > ROWS_SHOWN else ""
    return view.Table(f"{title}: {len(rows)}", tuple(view.Column(name) for name in columns), shown, caption)
