"""`ullage balance`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import PLACEMENT_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """How nodes are emptied: moves with destinations, in an order that budgets allow.

With --drain the nodes are cordoned, and what runs there moves in waves: no wave takes more of a
PodDisruptionBudget than it allows. Daemons and mirror pods stay. Nothing is changed. Exit code 2 when
something cannot move.
"""


@click.command("balance", help=_HELP)
@click.option("--drain", metavar="NODE", multiple=True, help="A node to empty; may be given more than once.")
@PLACEMENT_OPTION
@asks
def command(asked: "Asked", drain: tuple[str, ...], placement: str | None) -> "Answer":
    """Answer how nodes are emptied."""
    from ullage.service.balance import BalanceQuestion, balance

    return balance(asked, BalanceQuestion(drain, placement or ""))
