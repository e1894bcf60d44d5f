"""Groups of commands: shared options before a command count as if they stood behind it.

`ullage -c demo status` and `ullage status -c demo` are the same. A group moves the options that commands
share behind the name of the command, so that each command defines them and shows them in its help.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

SHARED: Final = MappingProxyType(
    {
        "-c": 1,
        "--cluster": 1,
        "--policy": 1,
        "-n": 1,
        "--namespace": 1,
        "-A": 0,
        "--all-namespaces": 0,
        "-l": 1,
        "--selector": 1,
        "--types": 1,
        "--ledger": 1,
        "--usage": 1,
        "--context": 1,
        "--kubeconfig": 1,
        "--as": 1,
        "--token-file": 1,
        "--ca": 1,
        "-o": 1,
        "--output": 1,
        "--exit-zero": 0,
        "--no-color": 0,
        "--width": 1,
        "-q": 0,
        "--quiet": 0,
    }
)
"""The options that questions share, with the number of values that each takes."""


def moved_behind(arguments: Sequence[str]) -> list[str]:
    """Return a command line with the shared options at its start moved behind the first other word."""
    place = 0
    while place < len(arguments):
        words = _option_words(arguments[place])
        if not words:
            break
        place += words
    if not place or place >= len(arguments) or arguments[place].startswith("-"):
        return list(arguments)
    return [arguments[place], *arguments[:place], *arguments[place + 1 :]]


def _option_words(word: str) -> int:
    """Return how many words a shared option takes, itself included; 0 for anything else."""
    if word in SHARED:
        return 1 + SHARED[word]
    name, equal, _ = word.partition("=")
    if equal and SHARED.get(name):
        return 1
    glued = len(word) > 2 and not word.startswith("--") and SHARED.get(word[:2])
    return 1 if glued else 0


class SharingGroup(click.Group):
    """A group that takes shared options before its commands, shows help when alone, and suggests names."""

    def __init__(self, *arguments: object, **options: object) -> None:
        options["invoke_without_command"] = True
        super().__init__(*arguments, **options)  # type: ignore[arg-type]  # click's own parameters

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the commands in the order in which they are defined."""
        del context
        return list(self.commands)

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Move shared options to where they are defined."""
        moved = moved_behind(args)
        if moved and _option_words(moved[0]):
            raise click.UsageError(f"{moved[0]} needs a command", context)
        return super().parse_args(context, moved)

    def invoke(self, context: click.Context) -> object:
        """Run the command; without one, show the help."""
        if not context._protected_args and not context.args:  # noqa: SLF001 - what click's own Group.invoke looks at
            click.echo(context.get_help())
            return 0
        return super().invoke(context)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command named first, or say which one may have been meant."""
        known = self.list_commands(context)
        name = args[0] if args else ""
        if name and name not in known and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}"
            raise click.UsageError(f"no command {name!r}; {hint}", context)
        return super().resolve_command(context, args)


class LazyGroup(SharingGroup):
    """A group whose commands are modules of a package, imported when one is called.

    `table` has every command with its line of help. The name of a module may begin with a `prefix`.
    """

    package = ""
    prefix = ""
    table: Mapping[str, str] = MappingProxyType({})

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the commands in the order of the table, the most asked for first."""
        del context
        return list(self.table)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return a command, its module imported."""
        del context
        if name not in self.table:
            return None
        found = getattr(import_module(f"{self.package}.{self.prefix}{name}"), "command")  # noqa: B009 - found by name
        assert isinstance(found, click.Command)  # noqa: S101 - every module of the table holds one
        return found

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing any command."""
        del context
        with formatter.section("Commands"):
            formatter.write_dl(list(self.table.items()))
