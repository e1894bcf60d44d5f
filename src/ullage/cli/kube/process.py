"""Options that all processes of a cluster have, and what they mean."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import click

from ullage.cli.kube.target import on_cluster

_OPTIONS: Final = (
    click.option("-n", "--namespace", metavar="NAME", default="", help="Where its Lease is."),
    click.option(
        "--leader-elect/--no-leader-elect",
        "elects_leader",
        default=True,
        show_default=True,
        help="Whether one of several replicas leads.",
    ),
    click.option("--host", default="0.0.0.0", show_default=True, help="Where health and metrics are served."),  # noqa: S104 - kubelets and Prometheus ask from outside
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8080,
        show_default=True,
        metavar="PORT",
        help="The port of health and metrics; 0 for none.",
    ),
    click.option(
        "--profile",
        metavar="NAME",
        default="kubernetes",
        show_default=True,
        help="The built-in policy under all CapacityPolicies.",
    ),
    click.option(
        "--gpu-memory-gb",
        "gpu_memory_gigabytes",
        type=click.IntRange(1, 100_000),
        default=None,
        metavar="GB",
        help="What one nvidia.com/gpu counts for in nos.nebuly.com/gpu-memory.",
    ),
    click.option(
        "--sequential-lvg/--no-sequential-lvg",
        "sequential_volume_groups",
        default=True,
        show_default=True,
        help="Whether volumes are put on few drives.",
    ),
)


def of_process(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a process."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return on_cluster(function)  # type: ignore[arg-type, return-value]  # options do not look at results


def options_of(component: str, given: dict[str, Any]) -> Any:
    """Return the options of a process as `ullage.kube` has them, and leave those of the command."""
    settings = {"few-drives": "yes" if given.pop("sequential_volume_groups") else "no"}
    gigabytes = given.pop("gpu_memory_gigabytes")
    if gigabytes is not None:
        settings["gpu-memory"] = str(gigabytes)
    as_user = given.pop("as_user")
    common = ("context", "kubeconfig", "namespace", "elects_leader", "host", "port", "profile")
    fields = {name: given.pop(name) for name in common}
    options = import_module("ullage.kube.running").Options
    return options(component=component, settings=settings, as_user=as_user, **fields)
