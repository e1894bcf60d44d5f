"""`ullage check`."""

from functools import partial
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from ullage.cli.options import EXACT_OPTION, FORMATS, JUNIT, PLACEMENT_OPTION, USAGE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

NODES_LOST_MAX: Final = 3
_HELP: Final = """What is wrong with the cluster, and what breaks when nodes or drives are lost.

With --lose, named nodes and domains are lost together; with --nodes-lost, any so many nodes. What ran there
is placed anew, and who finds no place is named; --exact then searches for another placement of all of it.
Lost drives take their volumes along: it says who used them, and where they could start with new ones.
Without either, each group's spare nodes of the policy are tried. Of virtual machines it says who could take
over from whom, who could be emptied, and what a balance would mend; those of lost nodes start where their
disks are. With --usage it warns of promises that are hollow by a week of use, and of who uses more than it
asked for. Exit code 2 when there is an error among the findings.
"""


def _kinds(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    del context, parameter
    return [CompletionItem(kind) for kind in ("node/", "domain/", "drive/") if kind.startswith(text)]


@click.command("check", help=_HELP)
@click.option(
    "--lose",
    metavar="node/NAME|domain/NAME|drive/UUID",
    multiple=True,
    shell_complete=_kinds,
    help="What is lost; may be given more than once, then all of it is lost together.",
)
@click.option(
    "--nodes-lost",
    type=click.IntRange(0, NODES_LOST_MAX),
    default=None,
    metavar="K",
    help="Any K nodes are lost, at most 3; 0 asks about no loss.",
)
@click.option("--no-balance", is_flag=True, help="Do not look at what balancing machines would mend.")
@PLACEMENT_OPTION
@EXACT_OPTION
@USAGE_OPTION
@partial(asks, formats=(*FORMATS, JUNIT))
def command(
    asked: "Asked",
    lose: tuple[str, ...],
    nodes_lost: int | None,
    placement: str | None,
    exact_seconds: int,
    *,
    no_balance: bool,
    usage: str,
) -> "Answer":
    """Answer what is wrong, and what breaks."""
    from ullage.service.check import CheckQuestion, check

    question = CheckQuestion(
        lose, nodes_lost, placement or "", exact_seconds, balances=not no_balance, usage=usage
    )
    return check(asked, question)
