"""`ullage buy`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import FILES_OPTION, POD_TEMPLATE_OPTION, REPLICAS_OPTION, SHAPE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """The cheapest mix of nodes and drives from a catalog with which everything fits.

Workloads are manifests or a WorkloadSet (-f), one shape (--shape), or without either those that wait in the
cluster. Needs the extra ullage[solve]. Exit code 2 when no mix of the catalog is enough.
"""


@click.command("buy", help=_HELP)
@click.option(
    "--catalog",
    metavar="FILE|-",
    required=True,
    type=click.Path(allow_dash=True),
    help="What can be bought: a document of kind Catalog.",
)
@FILES_OPTION
@SHAPE_OPTION
@REPLICAS_OPTION
@click.option(
    "--nodes-lost",
    type=click.IntRange(0, 3),
    default=0,
    metavar="K",
    help="Buy so that any K nodes may fail as well.",
)
@POD_TEMPLATE_OPTION
@click.option(
    "--exact",
    "exact_seconds",
    type=click.IntRange(1, 3600),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How long each search may take.",
)
@asks
def command(
    asked: "Asked",
    *,
    catalog: str,
    paths: tuple[str, ...],
    shape: str,
    replicas: int | None,
    nodes_lost: int,
    pod_template: str,
    exact_seconds: int,
) -> "Answer":
    """Answer what to buy."""
    from ullage.service.buy import BuyQuestion, buy

    return buy(asked, BuyQuestion(catalog, paths, shape, replicas, nodes_lost, pod_template, exact_seconds))
