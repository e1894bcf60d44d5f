"""`ullage kube scheduler`."""

from importlib import import_module
from typing import Any, Final

import click

from ullage.cli.kube.process import of_process, options_of

_HELP: Final = """Place the pods that name this scheduler, until told to end.

All that waits is judged together: quotas, over-commitment, spare, disks and gangs in one decision. Several
replicas may run; one leads.
"""


@click.command("scheduler", help=_HELP)
@click.option(
    "--scheduler-name",
    "names",
    metavar="NAME",
    multiple=True,
    default=("ullage",),
    show_default=True,
    help="Pods with this schedulerName are placed; may be given more than once.",
)
@of_process
def command(names: tuple[str, ...], **given: Any) -> None:
    """Run the scheduler."""
    options = options_of("scheduler", given)
    import_module("ullage.kube.scheduler.running").run_scheduler(options, names)
