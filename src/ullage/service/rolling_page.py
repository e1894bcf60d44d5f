"""The page of `balance --rolling`: turns of maintenance, the moves of each, and nodes that have no turn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.render import view
from ullage.service.moves_table import Part, cost_words, move_table
from ullage.service.words import plural, several

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.rolling import RollingReport, StuckNode

ROWS_SHOWN: Final = 40
NAMES_SHOWN: Final = 8
STUCK_SHOWN: Final = 10


def rolling_page(report: "RollingReport", asked: "Asked", *, shortened: bool = False) -> view.Page:
    """Return the page of rolling maintenance; shortened, most of many moves are left out."""
    blocks: list[view.Block] = []
    if report.stuck:
        rows = _stuck_rows(report.stuck, STUCK_SHOWN if shortened else None)
        blocks.append(view.Findings("Nodes without a turn", tuple(rows)))
    blocks.append(_turn_table(report, NAMES_SHOWN if shortened else None))
    parts = [Part(str(turn.number), turn.moves) for turn in report.turns]
    blocks.append(move_table(parts, "turn", ROWS_SHOWN if shortened else None))
    return view.Page(
        title=f"Rolling maintenance of {report.cluster}",
        verdict=view.Verdict(_verdict(report), "yes" if report.possible else "no"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=len(blocks) - 1,
    )


def _verdict(report: "RollingReport") -> str:
    nodes = sum(len(turn.nodes) for turn in report.turns)
    moves = sum(len(turn.moves) for turn in report.turns)
    done = f"{plural(nodes, 'node')} in {plural(len(report.turns), 'turn')} with {plural(moves, 'move')}"
    if report.possible:
        return f"every node can be maintained: {done}" if nodes else "there is no node to maintain"
    names = several([each.node for each in report.stuck])
    if not report.turns:
        return f"no node can be emptied: {names}"
    return f"{plural(len(report.stuck), 'node')} cannot be emptied: {names}; the others: {done}"


def _next_words(report: "RollingReport") -> str:
    if report.stuck:
        return f"explain node/{report.stuck[0].node}"
    if report.turns:
        return f"check {' '.join(f'--lose node/{name}' for name in report.turns[0].nodes[:3])}"
    return "status"


def _stuck_rows(stuck: "Sequence[StuckNode]", most: int | None) -> list[view.Finding]:
    rows = [
        view.Finding("error", f"{each.node}: {refusal.subject}", refusal.reason, refusal.remedy)
        for each in stuck
        for refusal in each.refusals
    ]
    if most is not None and len(rows) > most:
        more = view.Finding("error", "", f"{len(rows) - most} more reasons", "-o wide shows all")
        rows = [*rows[:most], more]
    return rows


def _turn_table(report: "RollingReport", names_max: int | None) -> view.Table:
    columns = (
        view.Column("turn", "right", priority=9),
        view.Column("count", "right", priority=7),
        view.Column("nodes", priority=8),
        view.Column("moves", "right", priority=7),
        view.Column("cost", priority=6),
    )
    rows = tuple(
        (
            view.Cell(str(turn.number)),
            view.Cell(str(len(turn.nodes))),
            view.Cell(several(turn.nodes, names_max or len(turn.nodes)), value=" ".join(turn.nodes)),
            view.Cell(str(len(turn.moves))),
            view.Cell(cost_words(turn.moves) or "nothing moves"),
        )
        for turn in report.turns
    )
    caption = "nodes of a turn are empty after its moves; everything returns before the next turn"
    return view.Table("Turns", columns, rows, caption)
