"""`ullage completion`, and what completes."""

import os
import shutil
import subprocess
import sys

import pytest

MARKS = {
    "bash": ("complete -o nosort -F _ullage_completion ullage kubectl-ullage\n",),
    "zsh": ("#compdef ullage kubectl-ullage\n", "compdef _ullage_completion ullage kubectl-ullage\n"),
    "fish": ("complete --no-files --command ullage --command kubectl-ullage ",),
}


@pytest.mark.parametrize("shell", MARKS)
def test_each_shell_gets_its_script(ask, shell):
    result = ask("completion", shell)
    assert (result.code, result.err) == (0, "")
    assert all(mark in result.out for mark in MARKS[shell])
    assert "_ULLAGE_COMPLETE" in result.out


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_takes_the_script(ask, tmp_path):
    path = tmp_path / "ullage.bash"
    path.write_text(ask("completion", "bash").out)
    subprocess.run(["bash", "-n", path], check=True)


def test_an_unknown_shell_is_one_line(ask):
    result = ask("completion", "csh")
    assert (result.code, result.out) == (1, "")
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in result.err


def completed(line: str) -> list[str]:
    """Return what bash would offer for the last word of a line."""
    words = line.split(" ")
    done = subprocess.run(
        [sys.executable, "-m", "ullage"],
        env={
            **os.environ,
            "_ULLAGE_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return [part.partition(",")[2] for part in done.stdout.splitlines() if not part.startswith("file")]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("ullage pol", ["policy"]),
        ("ullage policy s", ["show", "set"]),
        ("ullage status -o j", ["json"]),
        ("ullage status -c d", ["demo"]),
        ("ullage status --policy k", ["kubernetes"]),
        ("ullage explain n", ["node/"]),
    ],
)
def test_words_complete(line, offered):
    assert completed(line) == offered
