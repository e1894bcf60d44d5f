"""The table of moves: the same columns wherever moves are shown, those that say nothing left out."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ullage.model.quantity import readable_bytes
from ullage.render import view
from ullage.service.moves import MoveStatus, costs_of
from ullage.service.words import plural


class Part(NamedTuple):
    """Moves and what they belong to: a group of the cluster, a set of nodes; nothing where there is one."""

    name: str
    moves: Sequence[MoveStatus]


Shown = tuple[view.Column, Callable[[MoveStatus], view.Cell]]
"""A column, and what stands in it for a move."""


def move_table(parts: Sequence[Part], word: str, rows_max: int | None, note: str = "") -> view.Table:
    """Return moves in order; `word` is the title of what they belong to.

    A domain that all names end with is left out for people, and kept for machines.
    """
    every = [move for part in parts for move in part.moves]
    shown = _columns(every, _common_domain(every))
    has_parts = any(part.name for part in parts)
    columns = [column for column, _ in shown]
    rows = []
    for part in parts:
        for move in part.moves:
            cells = [cell(move) for _, cell in shown]
            rows.append((view.Cell(part.name), *cells) if has_parts else tuple(cells))
    kept = rows if rows_max is None else rows[:rows_max]
    notes = [text for text in (cost_words(every), note) if text]
    if len(kept) < len(rows):
        notes.append(f"the first {len(kept)} of {len(rows)} moves, -o wide shows all")
    if has_parts:
        columns.insert(0, view.Column(word, priority=8))
    return view.Table("Moves", tuple(columns), tuple(kept), "; ".join(notes))


def _common_domain(moves: Sequence[MoveStatus]) -> str:
    """Return the domain that the names of all workloads and nodes of moves end with; mostly none."""
    names = {name for move in moves for name in (move.workload, move.from_node, move.to_node)}
    domains = {domain for _, _, domain in (name.partition(".") for name in names)}
    return f".{domain}" if len(domains) == 1 and (domain := domains.pop()) else ""


def _columns(moves: Sequence[MoveStatus], domain: str) -> list[Shown]:
    """Return the columns that say something about these moves."""

    def named(name: str) -> view.Cell:
        return view.Cell(name.replace(domain, "") if domain else name, value=name)

    shown: list[Shown] = [
        (view.Column("move", "right", priority=7), lambda move: view.Cell(str(move.number))),
        (view.Column("set", "right", priority=6), lambda move: view.Cell(str(move.set_number))),
        (view.Column("workload", priority=9), lambda move: named(move.workload)),
        (view.Column("from", priority=8), lambda move: named(move.from_node)),
        (view.Column("to", priority=8), lambda move: named(move.to_node)),
    ]
    if any(move.from_standby or move.to_standby for move in moves):
        shown += [
            (
                view.Column("standby", priority=5, key="from_standby"),
                lambda move: named(move.from_standby),
            ),
            (
                view.Column("new standby", priority=5, key="to_standby"),
                lambda move: named(move.to_standby),
            ),
        ]
    shown += [
        (view.Column("what is done", priority=4, key="action"), lambda move: named(move.action)),
        (view.Column("cost", priority=7), _cost),
    ]
    if any(move.gain is not None for move in moves):
        shown += [
            (view.Column("gain", "right", priority=6), lambda move: number_cell(move.gain, 6)),
            (
                view.Column("score then", "right", priority=5, key="score"),
                lambda move: number_cell(move.score),
            ),
        ]
    if any(move.commands for move in moves):
        shown.append(
            (view.Column("commands", wide_only=True), lambda move: view.Cell("; ".join(move.commands)))
        )
    return shown


def _cost(move: MoveStatus) -> view.Cell:
    if not move.disk_bytes:
        return view.Cell(move.cost)
    return view.Cell(
        f"{move.cost}, {readable_bytes(move.disk_bytes)}", value=f"{move.cost} {move.disk_bytes}"
    )


def number_cell(value: float | None, digits: int = 4) -> view.Cell:
    """Return a number for people, with all its digits for machines."""
    return view.Cell("", value="") if value is None else view.Cell(number(value, digits), value=repr(value))


def number(value: float, digits: int = 4) -> str:
    """Return a number with at most so many digits behind its point, and at least two."""
    whole, point, behind = f"{value:.{digits}f}".partition(".")
    return f"{whole}{point}{behind.rstrip('0').ljust(2, '0')}"


def cost_words(moves: Sequence[MoveStatus]) -> str:
    """Return what moves cost together, `7 migrations, 2 disk copies (120Gi)`."""
    parts = []
    for cost, count in costs_of(moves).items():
        words = f"{count} disk copies" if cost == "disk copy" and count > 1 else plural(count, cost)
        copied = sum(move.disk_bytes for move in moves if move.cost == cost)
        parts.append(f"{words} ({readable_bytes(copied)})" if copied else words)
    return ", ".join(parts)
