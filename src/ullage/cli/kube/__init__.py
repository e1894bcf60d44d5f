"""`ullage kube install|uninstall|operator|scheduler|extender`: on a Kubernetes cluster.

Each command is the module of its name in this folder, imported when it is called: a process of a cluster
must not load what another one needs.
"""

from types import MappingProxyType
from typing import Final

import click

from ullage.cli.groups import LazyGroup

COMMANDS: Final = MappingProxyType(
    {
        "install": "Print what a cluster needs to run ullage, or apply it.",
        "uninstall": "Say what an uninstallation deletes, or delete it.",
        "operator": "Keep the status of quotas, policies and nodes, labels and promises.",
        "scheduler": "Place the pods that name this scheduler.",
        "extender": "Answer what kube-scheduler asks about pods and nodes.",
    }
)
"""Every command with its line of help."""
_HELP: Final = """On a Kubernetes cluster: install what runs there and take it off again; and what runs there.

install and uninstall change nothing without --apply.
"""


class KubeGroup(LazyGroup):
    """All commands about a cluster."""

    package = "ullage.cli.kube"
    table = COMMANDS


@click.group("kube", cls=KubeGroup, help=_HELP)
def command() -> None:
    """Group the commands about a cluster of Kubernetes."""
