"""`ullage usage [show|observe|meter|report]`; alone it is `usage show`.

Each command is the module of its name in this folder, imported when it is called.
"""

from types import MappingProxyType
from typing import Final

import click

from ullage.cli.groups import LazyGroup, moved_behind

COMMANDS: Final = MappingProxyType(
    {
        "show": "Who uses what, against what was asked for.",
        "observe": "Record what is used in the ledger, once or again and again.",
        "meter": "Record readings of counters, such as network, in the ledger.",
        "report": "What each tenant consumed, by period, and what it costs.",
    }
)
"""Every command with its line of help."""
_HELP: Final = """What is really used, against what was asked for; and recording it.

Alone it is `usage show`.
"""
_ASKS_FOR_HELP: Final = frozenset(("-h", "--help"))


class UsageGroup(LazyGroup):
    """All commands about usage."""

    package = "ullage.cli.usage"
    table = COMMANDS

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Take a line without a command, or with a subject in its place, for one of `show`."""
        first = next(iter(moved_behind(args)), "")
        is_option = first.startswith("-") and first not in _ASKS_FOR_HELP
        if not first or is_option or "/" in first or first == "cluster":
            return super().parse_args(context, ["show", *args])
        return super().parse_args(context, args)


@click.group("usage", cls=UsageGroup, help=_HELP)
def command() -> None:
    """Group the commands about usage."""
