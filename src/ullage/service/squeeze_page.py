"""The page of `balance --squeeze`: which nodes could be switched off, why no more, and the moves."""

from typing import TYPE_CHECKING, Final

from ullage.render import view
from ullage.service.moves_table import Part, move_table
from ullage.service.words import nothing_cell, plural, several

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.squeeze import SqueezeGroup, SqueezeReport

ROWS_SHOWN: Final = 40
NAMES_SHOWN: Final = 12
LOST_NAMED: Final = 5


def squeeze_page(report: "SqueezeReport", asked: "Asked", *, shortened: bool = False) -> view.Page:
    """Return the page of a squeeze; shortened, most of many moves are left out."""
    several_groups = len(report.groups) > 1
    parts = [Part(group.name if several_groups else "", group.moves) for group in report.groups]
    names_max = NAMES_SHOWN if shortened else None
    return view.Page(
        title=f"Squeeze of {report.cluster}",
        verdict=view.Verdict(_verdict(report), "yes" if report.possible else "no"),
        blocks=(
            _node_table(report, names_max),
            move_table(parts, "group", ROWS_SHOWN if shortened else None),
        ),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=1,
    )


def _verdict(report: "SqueezeReport") -> str:
    if report.possible:
        count = sum(len(group.moves) for group in report.groups)
        moves = f"after {plural(count, 'move')}" if count else "they are empty"
        return f"{plural(len(report.off), 'node')} can be switched off: {several(report.off)}; {moves}"
    on = [name for group in report.groups for name in group.on]
    reasons = "; ".join(dict.fromkeys(group.reason for group in report.groups)) or "there is no node"
    more = f"; switch on {several(on)}" if on else ""
    return f"no node can be switched off: {reasons}{more}"


def _next_words(report: "SqueezeReport") -> str:
    if not report.possible:
        return "balance"
    return f"check {' '.join(f'--lose node/{name}' for name in report.off[:LOST_NAMED])}"


def _node_table(report: "SqueezeReport", names_max: int | None) -> view.Table:
    columns = (
        view.Column("group", priority=9),
        view.Column("switch off", priority=8, key="off"),
        view.Column("switch on", priority=7, key="on"),
        view.Column("moves", "right", priority=6),
        view.Column("why no more", priority=5, key="reason"),
    )
    rows = tuple(
        (
            view.Cell(group.name or "all"),
            _names(group.off, names_max),
            _names(group.on, names_max),
            view.Cell(str(len(group.moves))),
            view.Cell(_why(group)),
        )
        for group in report.groups
    )
    return view.Table("Nodes", columns, rows, "off after the moves, on before them")


def _names(names: tuple[str, ...], names_max: int | None) -> view.Cell:
    if not names:
        return nothing_cell()
    return view.Cell(several(names, names_max or len(names)), value=" ".join(names))


def _why(group: "SqueezeGroup") -> str:
    return group.reason or "the others would be too full, or something may not leave its node"
