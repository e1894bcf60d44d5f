"""`ullage fit`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import (
    EXACT_OPTION,
    FILES_OPTION,
    HOLD_SECONDS_MAX,
    PLACEMENT_OPTION,
    POD_TEMPLATE_OPTION,
    REPLICAS_OPTION,
    RUN_MIN_OPTION,
    SHAPE_OPTION,
    asks,
)

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

HOLD_SECONDS: Final = 3600
_HELP: Final = """Does it fit, where, and if not: why, and the smallest change that helps.

Workloads are Kubernetes manifests or our own WorkloadSet (-f), or one shape (--shape); without either, those
that wait in the cluster. A workload that runs already is judged as a resize. With --commit what fits is held
in the ledger, so that nobody else is promised it; with --wait the rest stands in line, and is held when there
is room. Exit code 2 when something does not fit, or is not held.
"""


@click.command("fit", help=_HELP)
@FILES_OPTION
@SHAPE_OPTION
@REPLICAS_OPTION
@click.option("--atomic", is_flag=True, help="All or none of them.")
@POD_TEMPLATE_OPTION
@PLACEMENT_OPTION
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=None,
    metavar="N",
    help="Decide ties by this seed, not by name.",
)
@EXACT_OPTION
@RUN_MIN_OPTION
@click.option("--commit", is_flag=True, help="Hold what fits, in one step; without it nothing is written.")
@click.option(
    "--hold",
    "hold_seconds",
    type=click.IntRange(1, HOLD_SECONDS_MAX),
    default=None,
    metavar="SECONDS",
    help="With --commit, how long it is held unless it is bound (default: 3600); what is held already too.",
)
@click.option("--key", metavar="KEY", default="", help="With --commit: asked again under it, held once.")
@click.option(
    "--wait", "waits", is_flag=True, help="With --commit: what does not fit waits in line for room."
)
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
    run_min_seconds: int | None,
    commit: bool,
    hold_seconds: int | None,
    key: str,
    waits: bool,
) -> "Answer":
    """Answer whether workloads fit."""
    from ullage.service.fit import Commit, FitQuestion, fit

    for option, given in (("--key", key), ("--hold", hold_seconds), ("--wait", waits)):
        if given and not commit:
            raise click.UsageError(f"{option} is given without --commit")

    question = FitQuestion(
        paths,
        shape,
        replicas,
        atomic,
        pod_template,
        placement or "",
        seed,
        exact_seconds,
        run_min_seconds,
        Commit(hold_seconds or HOLD_SECONDS, key, extends=hold_seconds is not None, waits=waits)
        if commit
        else None,
    )
    return fit(asked, question)
