"""`ullage kube operator`."""

from importlib import import_module
from typing import Any, Final

import click

from ullage.cli.kube.process import of_process, options_of

_HELP: Final = """Keep what quotas use, which pods are over and what is promised as it should be.

It writes the status of quotas and policies and the room of each node, labels pods that are over quota, lets
promises expire, and refuses quotas, policies and ResourceTypes that cannot hold. It watches all of them: when
a ResourceType changes, the whole cluster is read anew by it. Several replicas may run; one leads.
"""


@click.command("operator", help=_HELP)
@click.option(
    "--webhook-port",
    type=click.IntRange(0, 65535),
    default=9443,
    show_default=True,
    metavar="PORT",
    help="The port of the webhook; 0 for none.",
)
@click.option(
    "--webhook-name",
    "webhook_names",
    metavar="NAME",
    multiple=True,
    help="Where else API servers reach the webhook, beside its service; may be given more than once.",
)
@click.option(
    "--node-capacity/--no-node-capacity",
    "node_capacity",
    default=True,
    show_default=True,
    help="Whether each node has its room in a NodeCapacity; if not, those that are there are deleted.",
)
@of_process
def command(webhook_port: int, webhook_names: tuple[str, ...], *, node_capacity: bool, **given: Any) -> None:
    """Run the operator."""
    options = options_of("operator", given)
    running = import_module("ullage.kube.operator.running")
    running.run_operator(options, webhook_port, webhook_names, node_capacity=node_capacity)
