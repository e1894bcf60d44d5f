"""`ullage status`."""

from typing import TYPE_CHECKING

import click

from ullage.cli.options import asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked


@click.command("status", help="How full the cluster is: every term, by resource, group and node.")
@asks
def command(asked: "Asked") -> "Answer":
    """Answer how full a cluster is."""
    from ullage.service.status import status

    return status(asked)
