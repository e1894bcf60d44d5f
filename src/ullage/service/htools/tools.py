"""The tools by name: a command line in, what is printed out. Each tool is imported when it is called."""

from collections.abc import Callable, Sequence
from importlib import import_module

from ullage.model.errors import InputError
from ullage.service.htools.command_line import parse
from ullage.service.htools.option_table import TOOLS
from ullage.service.htools.options import Options, Printed
from ullage.service.htools.printed import FAILED, ToolError

__all__ = ["TOOLS", "run_tool"]


def run_tool(tool: str, words: Sequence[str]) -> Printed:
    """Run a tool; whatever stops it is one line on stderr."""
    options = parse(tool, words)
    if isinstance(options, Printed):
        return options
    run: Callable[[Options], Printed] = getattr(import_module(f"ullage.service.htools.{tool}"), "run")  # noqa: B009 - found by name
    try:
        return run(options)
    except (ToolError, InputError) as error:
        return Printed(stderr=f"Error: {error}\n", code=FAILED)
