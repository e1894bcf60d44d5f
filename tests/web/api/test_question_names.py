"""A question is told over HTTP what the command line is told, under the same names."""

import click
import msgspec
import pytest

from ullage.cli.groups import SHARED
from ullage.cli.main import root
from ullage.service.questions import QUESTIONS

UNITS = ("", "Seconds", "Days")
"""What a number may have behind the name of its option."""
SENT = {"filename", "catalog", "quotas", "prices", "counters"}
"""Options that name files: over HTTP these are the body."""
NOT_ASKED = {"commit", "hold", "key", "wait"}
"""Options of what is no question: plans and the ledger have paths of their own."""
OF_USE = ("usage", "forecast", "advise")
"""Questions that a server answers from what it has recorded anyway."""


def command_of(name):
    found = root
    for word in name.split("/"):
        found = found.get_command(click.Context(root), word)
    return found


def camel(option):
    first, *rest = option.removeprefix("--").split("-")
    return first + "".join(word.title() for word in rest)


@pytest.mark.parametrize("name", QUESTIONS)
def test_options_are_parameters_in_camel_case_perhaps_with_their_unit(name):
    known = {each.encode_name for each in msgspec.structs.fields(QUESTIONS[name].parameters)}
    for option in command_of(name).params:
        if isinstance(option, click.Argument) or SHARED.keys() & set(option.opts):
            continue
        words = next(each for each in option.opts if each.startswith("--"))
        passed = SENT | NOT_ASKED | ({"usage"} if name.partition("/")[0] in OF_USE else set())
        if words.removeprefix("--") not in passed:
            assert {camel(words) + unit for unit in UNITS} & known, words
