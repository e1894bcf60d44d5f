"""`ullage token add|list|remove`."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

from ullage.cli.groups import SharingGroup
from ullage.cli.main import EXIT_YES
from ullage.cli.options import prints
from ullage.cli.serve import DATA_OPTION

if TYPE_CHECKING:
    from ullage.service.answer import Answer

DAYS_MAX: Final = 3660
_HELP: Final = """Who may ask a server from elsewhere, and how far they may go.

A token is for looking (read), for making plans too (plan), or for committing them as well (commit). The
server may run: it knows of a new token, and of a removed one, within a second.
"""
_ADD_HELP: Final = """Make a token and print it: the only time that it can be seen.

Programs send it as `Authorization: Bearer TOKEN`; people sign in with it at /login. The server keeps a hash.
"""


@click.group("token", cls=SharingGroup, help=_HELP)
def command() -> None:
    """Group the commands about tokens."""


@command.command("add", help=_ADD_HELP)
@click.argument("name", metavar="NAME")
@click.option(
    "--scope",
    type=click.Choice(["read", "plan", "commit"]),
    default="read",
    show_default=True,
    help="How far it reaches.",
)
@click.option(
    "--days",
    type=click.IntRange(1, DAYS_MAX),
    default=None,
    metavar="N",
    help="How long it can be used (default: until it is removed).",
)
@DATA_OPTION
def add(name: str, scope: str, days: int | None, data: str) -> int:
    """Make a token."""
    click.echo(import_module("ullage.web.token_answers").added(data, name, scope, days))
    return EXIT_YES


@command.command("list", help="All tokens, with what they are for; never the tokens themselves.")
@DATA_OPTION
@prints
def list_all(data: str) -> "Answer":
    """Answer which tokens there are."""
    answer: Answer = import_module("ullage.web.token_answers").listed(data)
    return answer


@command.command("remove", help="Forget a token, and sign out everybody who used it.")
@click.argument("name", metavar="NAME")
@DATA_OPTION
def remove(name: str, data: str) -> int:
    """Forget a token."""
    import_module("ullage.web.token_answers").removed(data, name)
    return EXIT_YES
