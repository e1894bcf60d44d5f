"""Shared options count before a command as they do behind it."""

import json

import pytest

from ullage.cli.groups import SHARED, moved_behind
from ullage.cli.status import command


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["status"], ["status"]),
        (["-c", "demo", "status"], ["status", "-c", "demo"]),
        (["--cluster=demo", "status", "-q"], ["status", "--cluster=demo", "-q"]),
        (["-cdemo", "-A", "status"], ["status", "-cdemo", "-A"]),
        (["-o", "json", "policy", "show"], ["policy", "-o", "json", "show"]),
        (["--help"], ["--help"]),
        (["-c", "demo", "--help"], ["-c", "demo", "--help"]),
        (["-c", "demo"], ["-c", "demo"]),
        (["-c"], ["-c"]),
        ([], []),
        (["--unknown", "status"], ["--unknown", "status"]),
    ],
)
def test_shared_options_move_behind_the_command(before, after):
    assert moved_behind(before) == after


def test_the_table_of_shared_options_is_the_one_that_commands_define():
    defined = {
        name: int(not parameter.is_flag)
        for parameter in command.params
        if parameter.name != "by"
        for name in parameter.opts
    }
    assert defined == dict(SHARED)


def test_both_orders_give_the_same_answer(ask):
    before = ask("-c", "demo", "-o", "json", "status")
    assert before == ask("status", "-c", "demo", "-o", "json")
    assert json.loads(before.out)["kind"] == "StatusReport"


def test_they_reach_commands_of_groups(ask):
    assert ask("-c", "demo", "policy", "show").out == ask("policy", "show", "-c", "demo").out
    assert ask("policy", "-c", "demo", "show").out == ask("policy", "show", "-c", "demo").out


def test_a_later_option_wins(ask):
    assert ask("-o", "json", "status", "-c", "demo", "-o", "csv").out.startswith("node,state")
