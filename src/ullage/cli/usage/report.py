"""`ullage usage report`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import USAGE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """What each tenant consumed, by period: promised, used and idle, and what it costs.

Amounts over time (cpu-hours, GiB-hours) come from what was observed, network and the like from counters,
prices from a file (kind PriceList). What is estimated is marked, what is unknown is named, and sums add up.
"""


@click.command("report", help=_HELP)
@click.option(
    "--period",
    type=click.Choice(["hour", "day", "week", "month"]),
    default="month",
    show_default=True,
    help="The periods of UTC that are told apart; weeks begin on Monday.",
)
@click.option(
    "--by",
    default="namespace",
    show_default=True,
    metavar="WHOM",
    help="Who is a tenant: namespace, quota or label:KEY.",
)
@USAGE_OPTION
@click.option(
    "--counters",
    metavar="SOURCE",
    default="",
    type=click.Path(),
    help="Readings of counters: FILE.csv of tenant,counter,time,value[,epoch][,wraps], or prometheus[:URL] "
    "(default: those that the ledger has).",
)
@click.option(
    "--prices", metavar="FILE", default="", type=click.Path(), help="What units cost (kind PriceList)."
)
@click.option(
    "--from",
    "begin",
    metavar="TIME",
    default="",
    help="From when on, as 2026-03, 2026-03-14 or 2026-03-14T06:00:00Z (default: the first observation).",
)
@click.option("--to", "end", metavar="TIME", default="", help="Until when, which is not part of it.")
@click.option(
    "--gap",
    "gap_seconds",
    type=click.IntRange(300, 86_400),
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="What lies between observations further apart is estimated.",
)
@click.option(
    "--billing-units", "with_billing", is_flag=True, help="Also billing_cu, billing_su and billing_nu."
)
@asks
def command(
    asked: "Asked",
    *,
    period: str,
    by: str,
    usage: str,
    counters: str,
    prices: str,
    begin: str,
    end: str,
    gap_seconds: int,
    with_billing: bool,
) -> "Answer":
    """Answer what tenants consumed."""
    from ullage.service.usage_report import usage_report
    from ullage.service.usage_report_read import UsageReportQuestion

    question = UsageReportQuestion(
        period,  # type: ignore[arg-type]  # one of the choices
        by,
        usage,
        counters,
        prices,
        begin,
        end,
        gap_seconds,
        with_billing=with_billing,
    )
    return usage_report(asked, question)
