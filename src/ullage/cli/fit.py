"""`ullage fit`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import (
    EXACT_OPTION,
    FILES_OPTION,
    PLACEMENT_OPTION,
    POD_TEMPLATE_OPTION,
    REPLICAS_OPTION,
    SHAPE_OPTION,
    asks,
)

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """Does it fit, where, and if not: why, and the smallest change that helps.

Workloads are Kubernetes manifests or our own WorkloadSet (-f), or one shape (--shape); without either, those
that wait in the cluster. A workload that runs already is judged as a resize. Exit code 2 when something does
not fit.
"""


@click.command("fit", help=_HELP)
@FILES_OPTION
@SHAPE_OPTION
@REPLICAS_OPTION
@click.option("--atomic", is_flag=True, help="All or none of them.")
@POD_TEMPLATE_OPTION
@PLACEMENT_OPTION
@click.option("--seed", type=int, default=None, metavar="N", help="Decide ties by this seed, not by name.")
@EXACT_OPTION
@asks
def command(
    asked: "Asked",
    paths: tuple[str, ...],
    shape: str,
    replicas: int | None,
    *,
    atomic: bool,
    pod_template: str,
    placement: str | None,
    seed: int | None,
    exact_seconds: int,
) -> "Answer":
    """Answer whether workloads fit."""
    from ullage.service.fit import FitQuestion, fit

    question = FitQuestion(paths, shape, replicas, atomic, pod_template, placement or "", seed, exact_seconds)
    return fit(asked, question)
