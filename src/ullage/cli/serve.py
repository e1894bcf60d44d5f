"""`ullage serve`."""

import os
from importlib import import_module
from typing import Final

import click

from ullage.cli.main import EXIT_YES
from ullage.model.errors import InputError

_HELP: Final = """Answer all questions over HTTP, and show them as a page.

Each -c is a cluster: anything that other commands take as one, with a name before it if need be
(-c prod=kube:CONTEXT). It is read again every --refresh SECONDS. More clusters can be uploaded. Answers are
the JSON of -o json; /docs lists what can be asked.

Only this machine is answered, unless --listen names another address: then everybody needs a token, which
`ullage token add` makes. What is promised, planned and uploaded is kept in --data DIR.
"""
PORT: Final = 8480
SECONDS_MAX: Final = 86_400
WORKERS_MAX: Final = 64
DATA_OPTION: Final = click.option(
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False),
    default="",
    help="Where the server keeps its state (default: server in $XDG_DATA_HOME/ullage).",
)


@click.command("serve", help=_HELP)
@click.option(
    "-c",
    "--cluster",
    "clusters",
    metavar="[NAME=]SOURCE",
    multiple=True,
    help="A cluster to answer for; may be repeated (default: $ULLAGE_CLUSTER, else what was uploaded).",
)
@click.option("--kubeconfig", metavar="FILE", default="", help="The kubeconfig of live clusters.")
@click.option("--as", "as_user", metavar="USER", default="", help="Impersonate on live clusters.")
@click.option(
    "--types",
    metavar="FILE",
    multiple=True,
    type=click.Path(),
    help="Resource types that count too (kind ResourceTypes); may be repeated.",
)
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    default=f"127.0.0.1:{PORT}",
    show_default=True,
    help="Where to listen; a port of 0 is any that is free.",
)
@DATA_OPTION
@click.option(
    "--refresh",
    "refresh_seconds",
    type=click.IntRange(0, SECONDS_MAX),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How often clusters are read again; 0: never.",
)
@click.option(
    "--usage",
    metavar="[NAME=]SOURCE",
    multiple=True,
    help="What is really used in a cluster: metrics, prometheus:URL, host or FILE.csv; may be repeated.",
)
@click.option(
    "--observe",
    "observe_seconds",
    type=click.IntRange(0, SECONDS_MAX),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How often --usage is read; 0: nothing is recorded, not even what is committed.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, WORKERS_MAX),
    default=2,
    show_default=True,
    metavar="N",
    help="How many questions about one cluster are answered at once.",
)
@click.option(
    "--store",
    type=click.Choice(["sqlite", "kube"]),
    default="sqlite",
    show_default=True,
    help="Where promises are kept: in --data, or in the live cluster itself.",
)
@click.option(
    "--require-token",
    is_flag=True,
    help="Also on this machine nobody is answered without a token; needed behind any proxy.",
)
@click.option("--tls-cert", metavar="FILE", default="", help="A certificate (PEM, with its chain) for HTTPS.")
@click.option("--tls-key", metavar="FILE", default="", help="Its key (PEM).")
@click.option(
    "--stop",
    "stop_seconds",
    type=click.IntRange(0, 3600),
    default=20,
    show_default=True,
    metavar="SECONDS",
    help="How long to finish what is being answered when told to end.",
)
@click.option("--log-requests", is_flag=True, help="A line in the log for every request.")
def command(clusters: tuple[str, ...], listen: str, data: str, **options: object) -> int:
    """Serve until told to end."""
    named = clusters or tuple(filter(None, (os.environ.get("ULLAGE_CLUSTER", ""),)))
    settings = import_module("ullage.web.settings").settings_of(named, listen, data, **options)
    try:
        run = import_module("ullage.web.serving").run
    except ModuleNotFoundError as missing:
        raise InputError(
            f"a server needs {missing.name}, which is not installed", remedy="install ullage[server]"
        ) from None
    run(settings, _say)
    return EXIT_YES


def _say(address: str) -> None:
    click.echo(f"ullage serves at {address}/ (Ctrl-C ends it)")
