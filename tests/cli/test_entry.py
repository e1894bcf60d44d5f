"""The way into the program: a tool by the name it is called by, else the whole command line."""

import os
import subprocess
import sys

import pytest

from ullage.cli.entry import THREADS, TOOLS, call
from ullage.service.htools.option_table import TOOLS as WITH_OPTIONS

HEAVY = ("click", "numpy", "yaml", "rich", "http.client", "asyncio")


def test_every_tool_is_called_by_its_name():
    assert set(TOOLS) == set(WITH_OPTIONS)


@pytest.mark.parametrize(
    ("program", "words", "code"),
    [
        ("/usr/bin/hbal", ["--version"], 0),
        ("ullage", ["htools", "hcheck", "--version"], 0),
        ("hail", [], 1),
        ("ullage", ["htools"], 1),
        ("ullage", ["htools", "--help"], 0),
        ("ullage", ["htools", "hnone"], 1),
        ("ullage", ["status"], None),
        ("kubectl-ullage", [], None),
    ],
)
def test_a_tool_answers_where_one_is_called(program, words, code, capfd):
    assert call(program, words) == code
    capfd.readouterr()


def test_a_tool_starts_without_anything_heavy(tmp_path):
    data = tmp_path / "cluster.data"
    data.write_text("g|u|preferred||\n\na|4096|0|4096|9999|9999|8|N|u|1\n\n\n\n", encoding="utf-8")
    code = (
        "import sys; from ullage.cli.entry import call\n"
        f"call('hinfo', ['-t', {str(data)!r}]); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Cluster score" in done.stdout
    assert not set(done.stderr.split()) & set(HEAVY)


def test_the_module_runs_tools_and_commands():
    for words in (["htools", "hbal", "--version"], ["version"]):
        done = subprocess.run(
            [sys.executable, "-m", "ullage", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout


@pytest.mark.parametrize(("asked", "used"), [(None, "1"), ("2", "2")])
def test_a_process_starts_one_thread_of_linear_algebra_unless_more_are_asked_for(asked, used):
    code = (
        "import os, sys; from ullage.cli.entry import main\n"
        "sys.argv = ['hbal', '--version']\n"
        "try: main()\n"
        "finally: print(os.environ['OPENBLAS_NUM_THREADS'], file=sys.stderr)"
    )
    environment = {name: value for name, value in os.environ.items() if name != THREADS}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment | ({} if asked is None else {THREADS: asked}),
    )
    assert done.stderr == f"{used}\n"
