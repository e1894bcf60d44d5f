"""`ullage balance`."""

from typing import TYPE_CHECKING, Any, Final

import click

from ullage.cli.options import PLACEMENT_OPTION, USAGE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

MOVES_USUAL: Final = 200
MOVES_MAX: Final = 10_000
_HELP: Final = """Moves that make a cluster more even, with order, gain and cost; or moves that empty nodes.

Groups are balanced one by one: the best move, then the best move after it, until none is worth it. Every
term of the score is shown and can be weighted. No move breaks a placement rule or a budget, and together
they leave the cluster as redundant as it was. With --drain nodes are emptied in waves that
PodDisruptionBudgets allow; with --squeeze nodes are found that could be switched off; with --rolling turns in
which nodes can be maintained.
Nothing is changed. Exit code 2 when nodes cannot be emptied, or none can be switched off.
"""


@click.command("balance", help=_HELP)
@click.option("--drain", metavar="NODE", multiple=True, help="A node to empty; may be given more than once.")
@click.option("--squeeze", is_flag=True, help="Which nodes could be switched off, and the moves for it.")
@click.option("--rolling", is_flag=True, help="Turns of nodes that can be maintained at the same time.")
@click.option(
    "--moves-max",
    type=click.IntRange(0, MOVES_MAX),
    default=MOVES_USUAL,
    show_default=True,
    metavar="N",
    help="At most so many moves.",
)
@click.option(
    "--gain-min",
    type=click.FloatRange(0),
    default=None,
    metavar="NUMBER",
    help="What a move must gain; else a tenth of a node's share of all that is uneven.",
)
@click.option(
    "--weight",
    "weights",
    metavar="TERM=NUMBER",
    multiple=True,
    help="How much a term of the score counts; may be given more than once.",
)
@click.option(
    "--by-load",
    is_flag=True,
    help="Count memory really in use too, by 5 x (memory-ratio - 1): nothing without over-commitment.",
)
@USAGE_OPTION
@click.option("--no-disk-moves", is_flag=True, help="Copy no disks: workloads only change to their standbys.")
@click.option("--group", "groups", metavar="NAME", multiple=True, help="Only this group; may be repeated.")
@PLACEMENT_OPTION
@asks
def command(asked: "Asked", *, no_disk_moves: bool, placement: str | None, **wanted: Any) -> "Answer":
    """Answer what to move."""
    from ullage.service.balance import BalanceQuestion, balance

    question = BalanceQuestion(disk_moves=not no_disk_moves, placement=placement or "", **wanted)
    return balance(asked, question)
