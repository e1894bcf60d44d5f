"""`ullage kube install|uninstall|operator|scheduler|extender`: on a Kubernetes cluster.

Each command is the module of its name in this folder, imported when it is called: a process of a cluster
must not load what another one needs.
"""

from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

from ullage.cli.groups import SharingGroup

COMMANDS: Final = MappingProxyType(
    {
        "install": "Print what a cluster needs to run ullage, or apply it.",
        "uninstall": "Say what an uninstallation deletes, or delete it.",
        "operator": "Keep the status of quotas and policies, labels and promises.",
        "scheduler": "Place the pods that name this scheduler.",
        "extender": "Answer what kube-scheduler asks about pods and nodes.",
    }
)
"""Every command with its line of help."""
_HELP: Final = """On a Kubernetes cluster: install what runs there, and take it off again.

Nothing is changed without --apply.
"""


class KubeGroup(SharingGroup):
    """The commands of the table."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the commands in the order of the table."""
        del context
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return a command, its module imported."""
        del context
        if name not in COMMANDS:
            return None
        found = getattr(import_module(f"ullage.cli.kube.{name}"), "command")  # noqa: B009 - found by name
        assert isinstance(found, click.Command)  # noqa: S101 - every module of the table holds one
        return found

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing any command."""
        del context
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group("kube", cls=KubeGroup, help=_HELP)
def command() -> None:
    """Group the commands about a cluster of Kubernetes."""
