"""`ullage quota list|risk|replay|audit`."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from ullage.cli.groups import SharingGroup
from ullage.cli.options import RUN_MIN_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_LIST_HELP: Final = """What every quota is guaranteed, uses, borrows, lends and may claim.

With -n only the quotas that cover a namespace. Borrowed is what a quota uses beyond its min; what others use
of a min is lent, by what each leaves unused. The workloads above the min are named.
"""
_RISK_HELP: Final = """Who is evicted when owners claim back what they lend, and after how much.

Every running workload above the min of its quota has a rank for each quota that may claim it: the order in
which claims that grow in small steps evict. It goes when more is claimed than what is free and what those
before it free. Name one as pod/NAMESPACE/NAME, or with -n list those of a namespace.
"""
_REPLAY_HELP: Final = """Play a trace or a record under the cluster's own quotas and under others.

A trace (kind Trace, or a table with name, namespace, start, duration, gpu ...) is played on the nodes and
quotas of -c. A record is snapshots in order, or a folder of them; the first is the cluster. What is other say
--policy, --quotas and --quota-mode: who wins, who loses, evictions, waiting and resource-hours are compared.
"""
_AUDIT_HELP: Final = """Count use and labels again, and compare them with what the cluster states.

Compared are status.used of elastic quotas and the label nos.nebuly.com/capacity of pods. Exit code 2 when
something differs.
"""


@click.group(
    "quota",
    cls=SharingGroup,
    help="Shares of teams: borrowed, lent, at risk, audited, replayed.",
)
def command() -> None:
    """Group the commands about quotas."""


@command.command("list", help=_LIST_HELP)
@asks
def show(asked: "Asked") -> "Answer":
    """Answer what every quota has and uses."""
    from ullage.service.quota_list import quota_list

    return quota_list(asked)


@command.command("risk", help=_RISK_HELP)
@click.argument("subject", metavar="[pod/NAMESPACE/NAME]", default="")
@asks
def risk(asked: "Asked", subject: str) -> "Answer":
    """Answer who goes when owners claim."""
    from ullage.service.quota_risk import quota_risk

    return quota_risk(asked, subject)


@command.command("replay", help=_REPLAY_HELP)
@click.argument("paths", metavar="TRACE|SNAPSHOT...", nargs=-1, type=click.Path())
@click.option("--quotas", metavar="FILE", default="", help="Other quotas, in place of the cluster's own.")
@click.option("--quota-mode", type=click.Choice(["nos", "fair"]), default=None, help="Another quota mode.")
@RUN_MIN_OPTION
@click.option(
    "--every",
    "every_seconds",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="How far snapshots of a record are apart.",
)
@partial(asks, ledger=None)
def replay(asked: "Asked", paths: tuple[str, ...], quota_mode: str | None, **choice: Any) -> "Answer":
    """Answer what would have come of it under other quotas."""
    from ullage.service.quota_replay import Choice, quota_replay

    return quota_replay(asked, Choice(paths, quota_mode=quota_mode or "", **choice))


@command.command("audit", help=_AUDIT_HELP)
@partial(asks, ledger=None)
def audit(asked: "Asked") -> "Answer":
    """Answer whether the cluster states what was counted."""
    from ullage.service.quota_audit import quota_audit

    return quota_audit(asked)
