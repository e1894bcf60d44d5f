"""`ullage usage meter`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import OWN_LEDGER_OPTION, of_live_cluster, prints

if TYPE_CHECKING:
    from ullage.service.answer import Answer

_HELP: Final = """Record readings of counters in a ledger: network, and what else is known only after use.

SOURCE is FILE.csv of tenant,counter,time,value[,epoch][,wraps] or prometheus:URL (or prometheus for the one
that the live cluster runs). No byte is lost or counted twice: readings may come again, late by up to 15
minutes and in any order; restarts and gaps are told apart. Counters that were not read for 35 days are
forgotten; what they counted stays.
"""


@click.command("meter", help=_HELP)
@click.argument("source", metavar="SOURCE")
@OWN_LEDGER_OPTION
@of_live_cluster
@prints
def command(source: str, ledger: str, context: str, kubeconfig: str, as_user: str) -> "Answer":
    """Record readings of counters."""
    from ullage.service.asked import Asked
    from ullage.service.usage_meters import usage_meter

    return usage_meter(source, ledger, Asked(context=context, kubeconfig=kubeconfig, as_user=as_user))
