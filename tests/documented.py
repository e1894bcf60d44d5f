"""Examples in documentation, run: a fenced block of `$ command` lines and what they print.

    python tests/documented.py FILE...     writes what the commands print now into the blocks

A block that starts with `$ ullage` is an example. Commands run at the project's root with 90 columns, each in
a home of its own at one and the same time. Those about the ledger find there what PROMISED has promised.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WIDTH = "90"
NOW = "1795000000"
PROMISED = "fit -c examples/room.yaml -f examples/orders.yaml --commit --hold 900"
COMMAND_SECONDS_MAX = 60


def pages():
    """Every page of documentation that people read, but for the reference, which has a test of its own."""
    written = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "cli.md"]
    return sorted([ROOT / "README.md", *written])


def examples(page):
    """The blocks of a page, each as a list of (command, printed)."""
    return [list(_commands(found.group(1))) for found in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def _commands(block):
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    for command, printed in zip(parts[1::2], parts[2::2], strict=True):
        yield command, printed.rstrip("\n")


def output(command):
    """What a documented command prints now; `; echo $?` shows its exit code."""
    program, *arguments = shlex.split(command.removesuffix("; echo $?"))
    assert program == "ullage", command
    with tempfile.TemporaryDirectory() as home:
        if arguments[0] == "ledger":
            _run(shlex.split(PROMISED), home)
        done = _run(arguments, home)
    printed = (done.stdout + done.stderr).rstrip("\n")
    return f"{printed}\n{done.returncode}" if command.endswith("; echo $?") else printed


def _run(arguments, home):
    settings = {
        "COLUMNS": WIDTH,
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
        "ULLAGE_NOW": NOW,
        "HOME": home,
    }
    environment = {**os.environ, **settings}
    for name in ("ULLAGE_CLUSTER", "ULLAGE_LEDGER", "ULLAGE_USAGE", "XDG_DATA_HOME"):
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, "-m", "ullage", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=COMMAND_SECONDS_MAX,
        check=False,
    )


def rewrite(page):
    """Put what the commands print now into the blocks of a page."""

    def block(found):
        lines = [f"$ {command}\n{output(command)}\n" for command, _ in _commands(found.group(1))]
        return "```console\n" + "".join(lines) + "```"

    page.write_text(BLOCK.sub(block, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
