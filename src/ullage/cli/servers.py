"""How commands reach a server of ours: the options for it, and whose ledger counts where -c names one."""

import os
import shlex
from collections.abc import Callable, MutableMapping
from functools import wraps
from typing import Any, Final

import click

from ullage.sources.server_access import Access, is_server, reached, reaching

TOKEN_FILE_OPTION: Final = click.option(
    "--token-file",
    metavar="FILE",
    default="",
    type=click.Path(),
    help="The file of a token for a server (default: $ULLAGE_TOKEN has it).",
)
CA_OPTION: Final = click.option(
    "--ca",
    "ca_file",
    metavar="FILE",
    default="",
    type=click.Path(),
    help="Certificates (PEM) that a server is known by (default: $SSL_CERT_FILE, else the system's).",
)


def reach(options: MutableMapping[str, Any]) -> None:
    """Take what is said of servers out of the options of a command; it counts as long as that runs."""
    access = Access(options.pop("token_file"), options.pop("ca_file"))
    click.get_current_context().with_resource(reaching(access))


def reaches(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that servers need."""

    @wraps(function)
    def command(**options: Any) -> int:
        reach(options)
        return function(**options)

    return TOKEN_FILE_OPTION(CA_OPTION(command))


def ledger_meant(ledger: str, cluster: str) -> str:
    """Return the ledger that is named, else that of a server which is asked about; else none."""
    return ledger or (cluster if is_server(cluster) else "")


def own_ledger_meant(ledger: str, cluster: str, *, is_given: bool) -> str:
    """Do the same for commands about a ledger, to which a cluster says nothing but where its server is."""
    if is_given and cluster and not is_server(cluster):
        raise click.UsageError("-c names a server here, whose ledger is meant; name any other with --ledger")
    return ledger_meant(ledger, cluster)


def cluster_of_environment() -> str:
    """Return the cluster that is meant where none is named."""
    return os.environ.get("ULLAGE_CLUSTER", "")


def reached_again(command: str) -> str:
    """Return a command line that reaches a server, so that it does so in the same way."""
    access = reached().access
    options = (("--token-file", access.token_file), ("--ca", access.ca_file))
    if not any(is_server(word) for word in shlex.split(command)):
        return command
    return " ".join([command, *(f"{name} {shlex.quote(value)}" for name, value in options if value)])
