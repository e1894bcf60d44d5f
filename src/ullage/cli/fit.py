"""`ullage fit`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """Does it fit, where, and if not: why, and the smallest change that helps.

Workloads are Kubernetes manifests or our own WorkloadSet (-f), or one shape (--shape); without either, those
that wait in the cluster. A workload that runs already is judged as a resize. Exit code 2 when something does
not fit.
"""


@click.command("fit", help=_HELP)
@click.option(
    "-f",
    "--filename",
    "paths",
    metavar="FILE|DIR|-",
    multiple=True,
    type=click.Path(allow_dash=True),
    help="Workloads: manifests or a WorkloadSet; may be given more than once.",
)
@click.option("--shape", metavar="RESOURCES", default="", help="One workload, as cpu=4,memory=8Gi.")
@click.option(
    "--replicas", type=click.IntRange(min=0), default=None, metavar="N", help="This many of each workload."
)
@click.option("--atomic", is_flag=True, help="All or none of them.")
@click.option(
    "--pod-template",
    metavar="PATH",
    default="",
    help="Where kinds that are not built in keep their pod template, as spec.template.",
)
@click.option(
    "--placement",
    type=click.Choice(["spread", "pack", "balanced", "preferences"]),
    default=None,
    help="How nodes are chosen; else the policy says.",
)
@click.option("--seed", type=int, default=None, metavar="N", help="Decide ties by this seed, not by name.")
@click.option(
    "--exact",
    "exact_seconds",
    type=click.IntRange(0, 3600),
    default=2,
    show_default=True,
    metavar="SECONDS",
    help="How long to search for another placement of what is refused, or a proof; 0: not at all.",
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
) -> "Answer":
    """Answer whether workloads fit."""
    from ullage.service.fit import FitQuestion, fit

    question = FitQuestion(paths, shape, replicas, atomic, pod_template, placement or "", seed, exact_seconds)
    return fit(asked, question)
