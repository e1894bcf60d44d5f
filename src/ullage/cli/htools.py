"""`ullage htools`: every word after it belongs to the tool."""

from typing import Final

import click

from ullage.cli.ganeti_tools import run

_HELP: Final = """Ganeti's tools, computed by ullage: the same options, lines and exit codes.

The tools are hbal, hspace, hcheck, hinfo, hroller, hsqueeze and hail. `ullage htools TOOL --help` lists the
options of one. `ullage htools install-links DIRECTORY` makes links with their names.
"""


@click.command(
    "htools",
    help=_HELP,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="TOOL [OPTION...]")
def command(words: tuple[str, ...]) -> int:
    """Run a tool as if it had been called by its own name."""
    program = click.get_current_context().find_root().info_name or "ullage"
    return run(words, program)
