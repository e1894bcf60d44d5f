"""`ullage demo`: the tour runs real commands in this process, so that what it shows is what they answer."""

import os
import sys
from typing import TYPE_CHECKING, Final

import click

from ullage.cli.main import EXIT_ERROR, EXIT_YES, run

if TYPE_CHECKING:
    from ullage.service.tour import Stop

_HELP: Final = """A guided tour on a built-in cluster: about a minute, no server, nothing is changed.

On a terminal it waits for a key after each stop (q ends the tour).
"""


@click.command("demo", help=_HELP)
@click.option("--no-pause", is_flag=True, help="Do not wait for a key.")
def command(*, no_pause: bool) -> int:
    """Show the tour."""
    from ullage.service.tour import FAREWELL, STOPS, WELCOME

    pauses = not no_pause and _pauses()
    program = click.get_current_context().find_root().info_name or "ullage"
    click.echo(_paragraph(WELCOME))
    for number, stop in enumerate(STOPS, start=1):
        if _show(stop, number, len(STOPS), program) == EXIT_ERROR:
            return EXIT_ERROR
        if pauses and number < len(STOPS) and not _goes_on():
            break
    click.echo()
    click.echo(_bold("What to try next"))
    width = max(len(what) for what, _ in FAREWELL)
    for what, line in FAREWELL:
        click.echo(f"  {what.ljust(width)}  {line.replace('ullage', program)}")
    return EXIT_YES


def _show(stop: "Stop", number: int, total: int, program: str) -> int:
    """Show one stop and return the exit code of its command."""
    click.echo()
    click.echo(_bold(f"{number}/{total}  {stop.question}"))
    click.echo(_paragraph(stop.look))
    click.echo()
    click.echo(f"$ {stop.line.replace('ullage', program, 1)}")
    return run(stop.words, program.replace("kubectl ullage", "kubectl-ullage"))


def _pauses() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _goes_on() -> bool:
    click.echo()
    click.echo("any key goes on, q ends", err=True)
    return click.getchar().lower() not in {"q", "\x1b"}


def _bold(text: str) -> str:
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return click.style(text, bold=True) if color else text


def _paragraph(text: str) -> str:
    from ullage.cli.options import columns_of_output

    return click.wrap_text(text, width=min(columns_of_output(), 100))
