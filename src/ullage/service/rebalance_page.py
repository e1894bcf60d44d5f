"""The page of `balance`: what there is to gain, every term of the score, and the moves in order."""

from typing import TYPE_CHECKING, Final

from ullage.render import view
from ullage.service.moves_table import Part, move_table, number, number_cell
from ullage.service.words import nothing_cell, plural

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.rebalance import GroupStatus, RebalanceReport

ROWS_SHOWN: Final = 40
NOT_TAKING_OVER: Final = "could not take over from every other"
STUCK: Final = "have workloads without another place"
PROMISING: Final = "promise more memory than they may"
LOSING: Final = "leave workloads without a place when lost"


def rebalance_page(report: "RebalanceReport", asked: "Asked", *, shortened: bool = False) -> view.Page:
    """Return the page of a balance; shortened, terms that are 0 and most of many moves are left out."""
    several_groups = len(report.groups) > 1
    parts = [Part(group.name if several_groups else "", group.moves) for group in report.groups]
    note = ""
    if report.moves and len(report.moves) >= report.moves_max:
        note = f"ended after {report.moves_max} moves, --moves-max N goes on"
    moves = move_table(parts, "group", ROWS_SHOWN if shortened else None, note)
    scores = [_score_table(group, shortened=shortened) for group in report.groups]
    return view.Page(
        title=f"Balance of {report.cluster}",
        verdict=view.Verdict(_verdict(report), "yes" if report.moves else "info"),
        blocks=(*scores, moves, _redundancy_table(report)),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=len(scores),
    )


def _verdict(report: "RebalanceReport") -> str:
    moving = [group for group in report.groups if group.moves]
    if not moving:
        return _nothing(report)
    count = len(report.moves)
    verb = "brings" if count == 1 else "bring"
    first = f"{plural(count, 'move')} {verb} the score of "
    scores = [
        f"group {group.name} from {number(group.score_before, 2)} to {number(group.score_after, 2)}"
        for group in moving
    ]
    return first + ", of ".join(scores)


def _nothing(report: "RebalanceReport") -> str:
    """Return why there is no move."""
    if not report.groups:
        return "nothing to gain: there is no node"
    scores = ", ".join(
        f"group {group.name} has a score of {number(group.score_before, 2)}" for group in report.groups
    )
    if not report.moves_max:
        return f"no move is looked for (--moves-max 0): {scores}"
    return f"nothing to gain: {scores}, and no move that is allowed lowers it by enough"


def _next_words(report: "RebalanceReport") -> str:
    if not report.moves:
        return "status"
    return "check --nodes-lost 1"


def _score_table(group: "GroupStatus", *, shortened: bool) -> view.Table:
    columns = (
        view.Column("term", priority=9),
        view.Column("what it is", priority=5, key="meaning"),
        view.Column("weight", "right", priority=7),
        view.Column("before", "right", priority=8),
        view.Column("after", "right", priority=8),
        view.Column("of the score", "right", priority=6, key="share"),
        view.Column("then", "right", priority=6, key="share_after"),
        view.Column("called by htools", wide_only=True, key="htools_name"),
    )
    terms = [each for each in group.terms if not shortened or each.share_before or each.share_after]
    rows = [
        (
            view.Cell(term.name),
            view.Cell(term.meaning),
            number_cell(term.weight),
            number_cell(term.before),
            number_cell(term.after),
            number_cell(term.share_before),
            number_cell(term.share_after),
            view.Cell(term.htools_name),
        )
        for term in terms
    ]
    scores = (number_cell(group.score_before), number_cell(group.score_after))
    rows.append(
        (view.Cell("score"), view.Cell("all together"), nothing_cell(), nothing_cell(), nothing_cell(),
         *scores, view.Cell("")),
    )  # fmt: skip
    left_out = len(group.terms) - len(terms)
    caption = "the lower the more even; --weight TERM=NUMBER weighs a term"
    if left_out:
        caption += f"; {plural(left_out, 'term')} more of which nothing counts, -o wide shows all"
    nodes = plural(group.nodes, "node")
    return view.Table(f"Score of group {group.name} ({nodes})", columns, tuple(rows), caption)


def _redundancy_table(report: "RebalanceReport") -> view.Table:
    columns = (
        view.Column("group", priority=9),
        view.Column("nodes that", priority=8, key="nodes"),
        view.Column("before", "right", priority=7),
        view.Column("after", "right", priority=7),
    )
    parts = [(group.name, group.redundancy) for group in report.groups]
    if len(parts) > 1:
        parts.append(("all of them", report.redundancy))
    full, stuck = (PROMISING, LOSING) if report.placed_by_rules else (NOT_TAKING_OVER, STUCK)
    rows = []
    for name, found in parts:
        pairs = (
            (full, found.not_taking_over_before, found.not_taking_over_after),
            (stuck, found.not_evacuable_before, found.not_evacuable_after),
        )
        rows += [
            (view.Cell(name), view.Cell(words), view.Cell(str(before)), view.Cell(str(after)))
            for words, before, after in pairs
            if before is not None
        ]
    return view.Table("Redundancy", columns, tuple(rows), _what_was_kept(report))


def _what_was_kept(report: "RebalanceReport") -> str:
    """Return what balancing makes no worse, and by which judgement."""
    if not report.placed_by_rules:
        return "balancing makes neither number larger"
    if report.redundancy.not_evacuable_before is None:
        return "balancing makes this no larger; whether nodes may be lost was not judged"
    return "balancing makes neither worse for any node, as check --nodes-lost 1 judges losses by exact search"
