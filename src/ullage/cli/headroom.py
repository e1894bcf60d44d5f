"""`ullage headroom`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import FILES_OPTION, PLACEMENT_OPTION, POD_TEMPLATE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """How many more of each shape or workload fit, on which nodes, and what binds then.

Each is counted alone, on all that is free now; with --together whole sets of all of them are counted, with
the replicas of manifests as the mix. With --tiered one shape shrinks as the cluster fills; for Ganeti it is
the largest size of its policy where none is named. Exit code 2 when there is no room for one of them.
"""


@click.command("headroom", help=_HELP)
@click.option(
    "--shape",
    "shapes",
    metavar="RESOURCES",
    multiple=True,
    help="A shape, as cpu=4,memory=8Gi; may be given more than once.",
)
@FILES_OPTION
@click.option("--together", is_flag=True, help="Count whole sets of all of them.")
@click.option(
    "--tiered", is_flag=True, help="Shrink a shape, or the largest of a Ganeti policy, until nothing fits."
)
@PLACEMENT_OPTION
@POD_TEMPLATE_OPTION
@asks
def command(
    asked: "Asked",
    shapes: tuple[str, ...],
    paths: tuple[str, ...],
    *,
    together: bool,
    tiered: bool,
    placement: str | None,
    pod_template: str,
) -> "Answer":
    """Answer how many more fit."""
    from ullage.service.headroom import HeadroomQuestion, headroom

    question = HeadroomQuestion(shapes, paths, together, placement or "", pod_template, tiered=tiered)
    return headroom(asked, question)
