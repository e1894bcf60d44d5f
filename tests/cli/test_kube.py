import subprocess
import sys

import click
import pytest

from ullage.cli.kube import COMMANDS, command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there_with_its_line_of_help(name):
    found = command.get_command(click.Context(command), name)
    assert found.name == name
    assert found.help
    assert COMMANDS[name].endswith(".")


def test_the_group_alone_shows_its_commands(ask):
    asked = ask("kube")
    assert asked.code == 0
    for name, line in COMMANDS.items():
        assert name in asked.out
        assert line in asked.out


def test_an_unknown_command_is_refused_with_the_next_one(ask):
    asked = ask("kube", "instal")
    assert asked.code == 1
    assert "did you mean 'install'?" in asked.err


def test_help_loads_no_client_and_no_command():
    script = (
        "import sys; from ullage.cli.main import run; run(['kube', '--help']); "
        "loaded = {'numpy', 'httptools', 'yaml', 'ullage.kube'} & set(sys.modules); "
        "sys.exit(bool(loaded))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0
