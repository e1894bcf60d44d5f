"""Which cluster a command changes, and as whom; and the module that does it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import click

APPLY_OPTION: Final = click.option("--apply", "applies", is_flag=True, help="Do it, on the cluster.")
_OPTIONS: Final = (
    click.option("--context", metavar="NAME", default="", help="The kube context of the cluster."),
    click.option("--kubeconfig", metavar="FILE", default="", help="The kubeconfig of the cluster."),
    click.option("--as", "as_user", metavar="USER", default="", help="Impersonate on the cluster."),
)


def on_cluster(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that say which cluster is meant."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def face() -> Any:
    """Return what installs and uninstalls; faces are independent, so it is found by name."""
    return import_module("ullage.kube.install.face")
