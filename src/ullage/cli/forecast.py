"""`ullage forecast`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import USAGE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """When room runs out: resources, quotas and classes of drives, each with an interval.

From what was promised (recorded by `ullage usage observe`) and from what is really used, beside each other.
Dates are the earliest, the likely and the latest; how often such intervals held in the past is told with
them. Exit code 2 when something is likely to run out within --within days.
"""


@click.command("forecast", help=_HELP)
@USAGE_OPTION
@click.option(
    "--horizon",
    "horizon_days",
    type=click.IntRange(1, 730),
    default=90,
    show_default=True,
    metavar="DAYS",
    help="How far to look ahead.",
)
@click.option(
    "--within",
    "within_days",
    type=click.IntRange(0, 730),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="The answer is no if something is likely to run out so soon.",
)
@click.option(
    "--level",
    default="0.9",
    show_default=True,
    metavar="SHARE",
    help="How probable intervals are to be, 0.5 to 0.999.",
)
@click.option(
    "--growth",
    default="",
    metavar="X%/month",
    help="This growth in place of what was seen: 5%/month, -1%/week.",
)
@click.option(
    "--by",
    type=click.Choice(["resource", "quota", "drives", "workload"]),
    default=None,
    help="Only these (default: all but workload).",
)
@asks
def command(
    asked: "Asked",
    *,
    usage: str,
    horizon_days: int,
    within_days: int,
    level: str,
    growth: str,
    by: str | None,
) -> "Answer":
    """Answer when things run out."""
    from ullage.service.forecast import ForecastQuestion, forecast

    return forecast(asked, ForecastQuestion(usage, horizon_days, level, growth, by or "", within_days))
