"""The parameters of questions are the options of the command line: every one, with its default and bounds."""

import click
import msgspec
import pytest

from ullage.cli.main import COMMANDS, root
from ullage.model.policy import PROFILE_NAMES
from ullage.service.questions import QUESTIONS, parameters_of

NO_QUESTIONS = {
    "htools": "the tools of Ganeti read files of their own",
    "inspect": "is about the host that it runs on",
    "kube": "installs, and runs processes",
    "serve": "runs the service",
    "token": "is about the service's own files",
    "demo": "is a tour on a terminal",
    "completion": "is about the shell",
    "version": "is about the program",
    "policy/set": "writes a file",
    "snapshot/save": "writes a file",
    "snapshot/edit": "writes a file",
    "ledger/expire": "changes the ledger",
    "ledger/extend": "changes the ledger",
    "ledger/bind": "changes the ledger",
    "ledger/cache": "changes the ledger",
    "ledger/pause": "changes the ledger",
    "ledger/release": "changes the ledger",
    "ledger/backup": "writes a file",
    "usage/observe": "changes the ledger",
    "usage/meter": "changes the ledger",
}
LEFT_OUT = {
    "output": "of the terminal",
    "exit_zero": "of the terminal",
    "no_color": "of the terminal",
    "width": "of the terminal",
    "quiet": "of the terminal",
    "cluster": "the address names it",
    "context": "the server was told",
    "kubeconfig": "the server was told",
    "as_user": "the server was told",
    "token_file": "of the way to a server",
    "ca_file": "of the way to a server",
    "ledger": "the cluster's own",
    "all_namespaces": "the default",
    "types": "sent along",
    "paths": "sent along",
    "catalog": "sent along",
    "quotas": "sent along",
    "counters": "sent along",
    "prices": "sent along",
    "path": "the cluster is named, not a file",
}
OF_USE = {"usage"}  # what the cluster's own ledger has recorded
LEFT_OUT_OF = {
    **dict.fromkeys(("forecast", "advise/ratio", "advise/requests"), OF_USE),
    **dict.fromkeys(("usage/show", "usage/report"), OF_USE),
    "fit": {"commit", "hold_seconds", "key", "waits"},  # plans are committed
    "snapshot/diff": {"before", "after"},  # the cluster, and what is sent along
}


def commands():
    """Every command of the command line that is no group, by its name."""
    context = click.Context(root)
    for name in COMMANDS:
        command = root.get_command(context, name)
        if name in NO_QUESTIONS or not isinstance(command, click.Group):
            yield name, command
        else:
            for part in command.list_commands(context):
                yield f"{name}/{part}", command.get_command(context, part)


ASKED = {name: command for name, command in commands() if name not in NO_QUESTIONS}


def test_every_command_that_answers_is_a_question():
    assert set(ASKED) == set(QUESTIONS)
    assert set(NO_QUESTIONS) <= {name for name, _ in commands()} | {"serve", "token"}


def usual(option):
    """The value of an option that is not given."""
    if option.multiple or option.nargs != 1:
        return ()
    default = option.default if isinstance(option.default, str | int | float) else None
    return bool(default) if getattr(option, "is_flag", False) else default


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_option_is_a_parameter_with_the_same_default(name):
    left_out = {*LEFT_OUT, *LEFT_OUT_OF.get(name, ())}
    options = {each.name: each for each in ASKED[name].params if each.name not in left_out}
    fields = {each.name: each for each in msgspec.structs.fields(QUESTIONS[name].parameters)}
    assert set(options) == set(fields)
    for each in fields.values():
        if each.required:
            assert options[each.name].required
        else:
            wanted = None if each.name == "usage" else usual(options[each.name])  # "" names no source
            assert each.default == wanted, each.name


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_choice_and_bound_of_an_option_is_that_of_its_parameter(name):
    _, defined = msgspec.json.schema_components([QUESTIONS[name].parameters])
    (schema,) = defined.values()
    for option in ASKED[name].params:
        field = next(
            (each for each in msgspec.structs.fields(QUESTIONS[name].parameters) if each.name == option.name),
            None,
        )
        if field is None:
            continue
        told = schema["properties"][field.encode_name]
        assert told["description"].endswith(".")
        kinds = told.get("anyOf", [told])
        if isinstance(option.type, click.Choice):
            assert {word for kind in kinds for word in kind.get("enum", ()) if word} == set(
                option.type.choices
            )
        if isinstance(option.type, click.IntRange | click.FloatRange):
            bounds = next(kind for kind in kinds if kind.get("type") in {"integer", "number"})
            assert (bounds.get("minimum"), bounds.get("maximum")) == (option.type.min, option.type.max)


def test_every_profile_may_be_named():
    for profile in PROFILE_NAMES:
        assert parameters_of(QUESTIONS["status"], {"policy": profile}).policy == profile
