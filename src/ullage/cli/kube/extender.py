"""`ullage kube extender`."""

from importlib import import_module
from typing import Any, Final

import click

from ullage.cli.kube.process import of_process, options_of

_HELP: Final = """Answer what kube-scheduler asks: filter, prioritize, preempt and bind, until told to end.

Quotas, over-commitment, disks and gangs are judged as by `ullage kube scheduler`. Every replica answers; the
one that leads binds, and evicts whoever is in the place that a quota claims back.
"""


@click.command("extender", help=_HELP)
@click.option(
    "--scheduler-name",
    "names",
    metavar="NAME",
    multiple=True,
    default=("default-scheduler",),
    show_default=True,
    help="Quotas claim for pods with this schedulerName; may be given more than once.",
)
@click.option(
    "--extender-host",
    default="0.0.0.0",  # noqa: S104 - kube-scheduler may ask from another host
    show_default=True,
    metavar="HOST",
    help="Where kube-scheduler asks; 127.0.0.1 if it runs beside it.",
)
@click.option(
    "--extender-port",
    type=click.IntRange(1, 65535),
    default=8888,
    show_default=True,
    metavar="PORT",
    help="The port where kube-scheduler asks.",
)
@click.option(
    "--advertise-host",
    default="",
    metavar="HOST",
    help="Where the other replicas reach this one (default: the address of its host name).",
)
@click.option("--tls-certificate", default="", metavar="FILE", help="Speak TLS with this certificate (PEM).")
@click.option("--tls-key", default="", metavar="FILE", help="The key of the certificate (PEM).")
@of_process
def command(
    *,
    names: tuple[str, ...],
    extender_host: str,
    extender_port: int,
    advertise_host: str,
    tls_certificate: str,
    tls_key: str,
    **given: Any,
) -> None:
    """Run the extender."""
    options = options_of("extender", given)
    running = import_module("ullage.kube.extender.running")
    listening = running.Listening(extender_host, extender_port, advertise_host, tls_certificate, tls_key)
    running.run_extender(options, names, listening)
