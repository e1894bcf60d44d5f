"""`ullage kube uninstall`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.kube.target import APPLY_OPTION, face, on_cluster
from ullage.cli.options import FORMATS, show
from ullage.cli.progress import progress

if TYPE_CHECKING:
    from ullage.service.answer import Answer

_HELP: Final = """Say what an uninstallation deletes, or delete it.

Only what `ullage kube install` made is deleted. Kinds that have objects are kept, and so are those of nos and
csi-baremetal: --purge deletes them too, with all their objects.
"""


@click.command("uninstall", help=_HELP)
@APPLY_OPTION
@click.option("--purge", is_flag=True, help="Also kinds that have objects, and their objects.")
@on_cluster
@click.option(
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    metavar="FORMAT",
    help="How the answer is shown.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def command(
    *, applies: bool, purge: bool, output: str, quiet: bool, context: str, kubeconfig: str, as_user: str
) -> int:
    """Answer what is deleted, and delete it if that is asked for."""
    install = face()
    with progress("uninstalling" if applies else "looking", quiet=quiet):
        target = install.Target(context, kubeconfig, as_user)
        answer: Answer = install.uninstall(target, apply=applies, purge=purge)
    show(answer, output, no_color=False, width=None)
    return 0
