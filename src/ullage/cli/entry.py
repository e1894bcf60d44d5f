"""The way into the program: Ganeti's tools by the name it was called by, or the whole command line.

Scripts and Ganeti start the tools by the hundred, so their way in imports no command line library, and no
cycles are looked for while they run: what a tool makes has none, and it ends soon.
"""

import gc
import os
import sys
from collections.abc import Sequence
from typing import Final

HTOOLS: Final = "htools"
THREADS: Final = "OPENBLAS_NUM_THREADS"
"""How many threads numpy's library of linear algebra starts as it is loaded; no command has use for them."""
TOOLS: Final = ("hbal", "hspace", "hcheck", "hinfo", "hroller", "hsqueeze", "hail")


def call(program: str, words: Sequence[str]) -> int | None:
    """Run one of Ganeti's tools and return its exit code; None where none was called."""
    name = os.path.basename(program)  # noqa: PTH119 - pathlib would cost start-up time
    if name not in TOOLS and list(words[:1]) != [HTOOLS]:
        return None
    from ullage.cli.ganeti_tools import run, run_tool

    return run_tool(name, words) if name in TOOLS else run(words[1:], program)


def main() -> None:
    """Run this process."""
    os.environ.setdefault(THREADS, "1")
    gc.disable()
    code = call(sys.argv[0], sys.argv[1:])
    if code is not None:
        gc.freeze()  # nor are cycles looked for at the very end
        sys.exit(code)
    gc.enable()
    from ullage.cli.main import main as whole

    whole()
