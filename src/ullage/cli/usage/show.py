"""`ullage usage show`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import USAGE_OPTION, asks
from ullage.model.usage import KINDS

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """Who uses what, against what was asked for, and how far to trust that.

Nodes and workloads unless --by says otherwise, or one SUBJECT such as node/n1, workload/NS/Deployment/web or
cluster; each with mean, percentiles and most. Who uses more than its request or its limit is told first.
-o json has every summary in the form of the resource model, with what use to expect.
"""


@click.command("show", help=_HELP)
@click.argument("subject", metavar="[SUBJECT]", default="")
@USAGE_OPTION
@click.option("--by", type=click.Choice(KINDS), default=None, help="Only subjects of this kind.")
@asks
def command(asked: "Asked", subject: str, usage: str, by: str | None) -> "Answer":
    """Answer who uses what."""
    from ullage.service.usage_show import ShowQuestion, usage_show

    return usage_show(asked, ShowQuestion(usage, subject, by or ""))
