"""`ullage inspect`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import prints
from ullage.cli.progress import progress

if TYPE_CHECKING:
    from ullage.service.answer import Answer

_HELP: Final = """What this host (or others, over SSH) can give.

Memory as ZOS and as Ganeti see it, drives, volume groups, GPUs, and what could not be read. -o json is the
host's document; a folder of such documents (--save) is a cluster for -c. With --ssh the exit code is 2 when a
host did not answer.
"""


@click.command("inspect", help=_HELP)
@click.option(
    "--ssh",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="Ask this host instead; may be given more than once.",
)
@click.option("--ssh-config", metavar="FILE", default=None, help="A configuration file for ssh.")
@click.option(
    "--class", "classes", multiple=True, metavar="DEVICE=CLASS", help="A drive's class, as vda=SSD."
)
@click.option("--save", metavar="DIR", default="", help="Also write each host's document into this folder.")
@prints
def command(hosts: tuple[str, ...], ssh_config: str | None, classes: tuple[str, ...], save: str) -> "Answer":
    """Answer what hosts can give."""
    from ullage.service.inspect import inspect_here, inspect_hosts
    from ullage.sources.host.ssh import SshOptions

    if not hosts:
        with progress("reading this host"):
            return inspect_here(classes, save)
    with progress(f"asking {len(hosts)} hosts") as step:
        return inspect_hosts(hosts, step, SshOptions(config_path=ssh_config), classes, save)
