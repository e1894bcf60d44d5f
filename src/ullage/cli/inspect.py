"""`ullage inspect`."""

from functools import partial
from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import prints
from ullage.cli.progress import progress

if TYPE_CHECKING:
    from ullage.service.answer import Answer

_HELP: Final = """What this host (or others, over SSH) can give.

Memory as ZOS and as Ganeti see it, drives, volume groups, GPUs, and what could not be read. -o json is the
host's document, of several hosts one after the other; a file or a folder (--save) of such documents is a
cluster for -c. With --ssh the exit code is 2 when a host did not answer.

\b
Example: ullage inspect --ssh n1 n2 n3
"""


@click.command("inspect", help=_HELP)
@click.argument("more_hosts", metavar="[HOST]...", nargs=-1)
@click.option(
    "--ssh",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="Ask this host instead, and those named behind it; may be given more than once.",
)
@click.option("--ssh-config", metavar="FILE", default=None, help="A configuration file for ssh.")
@click.option(
    "--class", "classes", multiple=True, metavar="DEVICE=CLASS", help="A drive's class, as vda=SSD."
)
@click.option("--save", metavar="DIR", default="", help="Also write each host's document into this folder.")
@partial(prints, wants_quiet=True)
def command(
    hosts: tuple[str, ...],
    more_hosts: tuple[str, ...],
    ssh_config: str | None,
    classes: tuple[str, ...],
    save: str,
    *,
    quiet: bool,
) -> "Answer":
    """Answer what hosts can give."""
    from ullage.service.inspect import inspect_here, inspect_hosts
    from ullage.sources.host.ssh import SshOptions

    if more_hosts and not hosts:
        context = click.get_current_context()
        raise click.UsageError(f"hosts are named with --ssh, as in --ssh {more_hosts[0]}", context)
    if not hosts:
        with progress("reading this host", quiet=quiet):
            return inspect_here(classes, save)
    everyone = (*hosts, *more_hosts)
    with progress(f"asking {len(everyone)} hosts", quiet=quiet) as step:
        return inspect_hosts(everyone, step, SshOptions(config_path=ssh_config), classes, save)
