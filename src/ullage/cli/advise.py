"""`ullage advise ratio|requests`: what follows from what is really used.

Each command is the module `advise_NAME` beside this one, imported when it is called.
"""

from types import MappingProxyType
from typing import Final

import click

from ullage.cli.groups import LazyGroup

COMMANDS: Final = MappingProxyType(
    {
        "ratio": "How far memory can be over-committed, by what is used together.",
        "requests": "Right-sized requests and limits, with patches for kubectl.",
    }
)
"""Every command with its line of help."""


class AdviseGroup(LazyGroup):
    """All advice."""

    package = "ullage.cli"
    prefix = "advise_"
    table = COMMANDS


@click.group("advise", cls=AdviseGroup, help="Over-commitment and right sizes, from what is really used.")
def command() -> None:
    """Group the commands that advise."""
