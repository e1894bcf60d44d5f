"""`ullage status`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import USAGE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

PARTS: Final = ("finding", "resource", "node", "group", "domain", "quota", "device", "drive", "workload")
_HELP: Final = """How full the cluster is: every term, by resource, group and node.

Findings come first, then bars for each resource, then tables of nodes, groups, domains, quotas, devices
and drives. With -n the workloads of that namespace are listed too; --by workload lists all of them. With
--usage what is really used stands beside what is promised.
"""


@click.command("status", help=_HELP)
@click.option("--by", type=click.Choice(PARTS), default=None, help="Only this part of the answer.")
@USAGE_OPTION
@asks
def command(asked: "Asked", by: str | None, usage: str) -> "Answer":
    """Answer how full a cluster is."""
    from ullage.service.status import status

    return status(asked, by or "", usage)
