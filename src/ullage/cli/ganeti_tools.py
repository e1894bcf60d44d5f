"""Ganeti's tools as processes: what they print is written, links under their names are made.

Nothing here imports a command line library: the options are Ganeti's, and starting must be quick.
"""

import os
import sys
from collections.abc import Sequence
from typing import Final

from ullage import __version__
from ullage.cli.entry import TOOLS
from ullage.model.errors import InputError
from ullage.service.htools.options import Printed

LINKS: Final = "install-links"
EXIT_ERROR: Final = 1
EXIT_INTERRUPTED: Final = 130
USAGE: Final = f"""Usage: ullage htools TOOL [OPTION...]
       ullage htools {LINKS} DIRECTORY

Ganeti's tools, computed by ullage: the same options, lines and exit codes.

Tools:
  hbal      the moves that balance a group
  hspace    how many more instances fit
  hcheck    what is wrong, now and after balancing
  hinfo     what there is
  hroller   the order in which nodes are rebooted
  hsqueeze  which nodes may be switched off
  hail      where Ganeti places an instance

`ullage htools TOOL --help` lists the options of a tool. {LINKS} makes links with the names
of the tools, which Ganeti and scripts call.
"""


def run(words: Sequence[str], program: str) -> int:
    """Run what follows `ullage htools` and return the exit code."""
    if not words or words[0] in {"-h", "--help"}:
        sys.stdout.write(USAGE)
        return 0 if words else EXIT_ERROR
    name, *rest = words
    if name == LINKS:
        return _install_links(rest, program)
    if name not in TOOLS:
        return _fail(f"there is no tool '{name}'; the tools are {', '.join(TOOLS)}")
    return run_tool(name, rest)


def run_tool(tool: str, words: Sequence[str]) -> int:
    """Run a tool, write what it prints and return its exit code."""
    from ullage.service.htools.tools import run_tool as printed_by

    try:
        printed = printed_by(tool, words)
        write(printed)
    except BrokenPipeError:
        # The reader went away (head, less): nothing is wrong and nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # the last line of defence
        if os.environ.get("ULLAGE_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        sys.stderr.write(
            f"Error: this is a defect of ullage {__version__}: {what}; "
            "please report it with the output of the same command under ULLAGE_TRACEBACK=1\n"
        )
        return EXIT_ERROR
    return printed.code


def write(printed: Printed) -> None:
    """Write what a tool printed, both streams in the order in which it was said."""
    for aside, text in printed.in_order or ((False, printed.stdout), (True, printed.stderr)):
        stream = sys.stderr if aside else sys.stdout
        stream.write(text)
        if aside:
            sys.stdout.flush()
    sys.stdout.flush()


def _install_links(words: Sequence[str], program: str) -> int:
    """Make a link for each tool in a directory; links of ours that are there are made anew."""
    if len(words) != 1:
        return _fail(f"{LINKS} takes one directory")
    try:
        for name in TOOLS:
            _link(os.path.join(words[0], name), _own_path(program))  # noqa: PTH118 - as above
    except (InputError, OSError) as error:
        return _fail(str(error))
    sys.stdout.write(f"{words[0]}: {', '.join(TOOLS)}\n")
    return 0


def _own_path(program: str) -> str:
    """Return the program that links lead to."""
    path = os.path.abspath(program)  # noqa: PTH100 - as above
    if not os.access(path, os.X_OK) or path.endswith(".py"):
        raise InputError(
            f"{path} is no program that a link can lead to", remedy="call ullage by its installed name"
        )
    return path


def _link(path: str, target: str) -> None:
    if os.path.islink(path):  # noqa: PTH114 - as above
        os.unlink(path)  # noqa: PTH108 - as above
    elif os.path.lexists(path):
        raise InputError(f"{path} is there and is no link", remedy="move it away first")
    os.symlink(target, path)  # noqa: PTH211 - as above


def _fail(message: str) -> int:
    sys.stderr.write(f"ullage htools: error: {message}\n")
    return EXIT_ERROR
