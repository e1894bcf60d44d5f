"""`ullage advise requests`."""

from typing import TYPE_CHECKING, Any, Final

import click

from ullage.cli.options import USAGE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """Right-sized requests and limits of each workload, by what its pods really used.

Memory is the most that any replica used plus a margin; where use came near the limit, or a container ran out
of memory, it is raised. CPU is a percentile of use. Too little evidence advises nothing and says why. Limits
are never introduced; a memory limit is lowered only where peaks and starts were seen. It shows what is given
back and how much more would fit then. --patch prints patches for kubectl. Exit code 2 when a workload that
must grow would find no place.
"""


@click.command("requests", help=_HELP)
@click.argument("workloads", metavar="[[KIND/]NAME]...", nargs=-1)
@USAGE_OPTION
@click.option(
    "--cpu-percentile",
    type=click.FloatRange(1, 100),
    default=95,
    show_default=True,
    metavar="PERCENT",
    help="CPU that is enough so much of the time.",
)
@click.option(
    "--memory-margin",
    type=click.FloatRange(0, 1000),
    default=15,
    show_default=True,
    metavar="PERCENT",
    help="Memory above the most that was used.",
)
@click.option(
    "--min-days",
    "days_min",
    type=click.FloatRange(0, 3660),
    default=7,
    show_default=True,
    metavar="DAYS",
    help="Advise nothing for what was observed for less time.",
)
@click.option(
    "--min-saving",
    "saving_min",
    type=click.FloatRange(0, 100),
    default=10,
    show_default=True,
    metavar="PERCENT",
    help="Lower no request by less of it.",
)
@click.option("--only-growth", is_flag=True, help="Only what must grow.")
@click.option(
    "--cpu-limits",
    type=click.Choice(["keep", "remove"]),
    default="keep",
    show_default=True,
    help="What becomes of CPU limits.",
)
@click.option(
    "--shape",
    metavar="RESOURCES",
    default="cpu=1,memory=4Gi",
    show_default=True,
    help="Count the room before and after in this.",
)
@click.option(
    "--patch",
    "patches",
    is_flag=True,
    help="Print patches for kubectl, as YAML unless -o json (several are one List then).",
)
@asks
def command(asked: "Asked", **wanted: Any) -> "Answer":
    """Answer what workloads should ask for."""
    from ullage.service.advise_requests import advise_requests, question_of

    return advise_requests(asked, question_of(wanted))
