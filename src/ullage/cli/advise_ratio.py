"""`ullage advise ratio`."""

from typing import TYPE_CHECKING, Any, Final

import click

from ullage.cli.options import USAGE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """How far memory can be over-committed, for each group of nodes.

Nodes are composed anew of what really ran, at the same moments, until promises fill ratio x allocatable. The
risk of a ratio is the share of node-time in which such a node uses more than its memory: an upper bound, with
what days that were not seen may bring. Advised is the highest ratio, in steps of 0.05, whose risk is at most
--risk. With less than a week of evidence it advises 1 and says so. Exit code 2 when a ratio of now is above
the stated risk.
"""


@click.command("ratio", help=_HELP)
@USAGE_OPTION
@click.option(
    "--risk",
    type=click.FloatRange(1e-6, 0.5),
    default=0.001,
    show_default=True,
    metavar="SHARE",
    help="The share of node-time that may be over.",
)
@click.option("--with-swap", is_flag=True, help="Advise by memory and swap together.")
@click.option("--group", "groups", metavar="NAME", multiple=True, help="Only this group; may be repeated.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="NUMBER",
    help="By which nodes are composed.",
)
@asks
def command(asked: "Asked", **wanted: Any) -> "Answer":
    """Answer how far memory can be over-committed."""
    from ullage.service.advise_ratio import RatioQuestion, advise_ratio

    return advise_ratio(asked, RatioQuestion(**wanted))
