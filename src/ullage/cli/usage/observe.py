"""`ullage usage observe`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

SECONDS_MAX: Final = 366 * 86_400
_HELP: Final = """Record what is used in the file of --ledger, once or every so many seconds.

SOURCE is FILE.csv, prometheus:URL (or prometheus: for the one that the live cluster runs), host, or metrics,
which is the API of the live cluster and the default with -c kube. With -c, what workloads, namespaces, quotas
and groups use is added up from their pods and nodes, and what is committed is recorded too: forecasts need
its history. What was recorded before counts once, whatever interrupts a reading. Pods and containers are kept
for 35 days, nodes and workloads for 100, others for 400.
"""


@click.command("observe", help=_HELP)
@click.argument("source", metavar="[SOURCE]", default="")
@click.option(
    "--every",
    "every_seconds",
    type=click.IntRange(1, SECONDS_MAX),
    default=None,
    metavar="SECONDS",
    help="Read again and again, so many seconds apart.",
)
@click.option(
    "--for",
    "for_seconds",
    type=click.IntRange(1, SECONDS_MAX),
    default=None,
    metavar="SECONDS",
    help="End after so many seconds (default: when it is interrupted).",
)
@asks
def command(asked: "Asked", source: str, every_seconds: int | None, for_seconds: int | None) -> "Answer":
    """Record what is used."""
    from ullage.service.usage_observe import ObserveQuestion, usage_observe

    if for_seconds and not every_seconds:
        raise click.UsageError("--for says how long to read again and again; say how often with --every")
    return usage_observe(asked, ObserveQuestion(source, every_seconds or 0, for_seconds or 0))
