"""The group of commands about usage; without a command it shows who uses what."""

import subprocess
import sys

import click
import pytest

from ullage.cli.usage import COMMANDS, command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there_with_its_line_of_help(name):
    found = command.get_command(click.Context(command), name)
    assert found.name == name
    assert found.help
    assert COMMANDS[name].endswith(".")


@pytest.mark.parametrize(
    "words",
    [
        ("-c", "demo", "--usage", "usage.csv"),
        ("--usage", "usage.csv", "-c", "demo"),
        ("--usage=usage.csv", "-c", "demo", "--by", "pod"),
        ("-c", "demo", "node/n3", "--usage", "usage.csv"),
        ("cluster", "-c", "demo", "--usage", "usage.csv"),
    ],
)
def test_without_a_command_it_is_show(ask, files, monkeypatch, words):
    monkeypatch.chdir(files)
    asked = ask("usage", *words)
    assert asked.code == 0
    subject = [word for word in words if "/" in word or word == "cluster"]
    rest = [word for word in words if word not in subject]
    assert asked.out == ask("usage", "show", *subject, *rest).out


def test_shared_options_may_stand_before_the_group(ask, files, monkeypatch):
    monkeypatch.chdir(files)
    before = ask("-c", "demo", "--usage", "usage.csv", "usage")
    assert before.out == ask("usage", "show", "-c", "demo", "--usage", "usage.csv").out


def test_help_is_that_of_the_group_and_loads_nothing():
    script = (
        "import sys; from ullage.cli.main import run; run(['usage', '--help']); "
        "sys.exit(bool({'numpy', 'yaml', 'ullage.service'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, text=True)
    assert done.returncode == 0
    for line in COMMANDS.values():
        assert line in done.stdout


def test_an_unknown_command_is_refused_with_the_next_one(ask):
    asked = ask("usage", "obserb")
    assert asked.code == 1
    assert "did you mean 'observe'?" in asked.err
