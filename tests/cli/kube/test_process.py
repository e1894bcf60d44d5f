"""Options that all processes of a cluster have."""

import click

from ullage.cli.kube.process import of_process, options_of

GIVEN = {
    "context": "west",
    "kubeconfig": "file",
    "as_user": "",
    "namespace": "",
    "elects_leader": True,
    "host": "127.0.0.1",
    "port": 8080,
    "profile": "kubernetes",
    "gpu_memory_gigabytes": None,
    "sequential_volume_groups": True,
}


def test_every_option_of_a_process_has_a_field_and_those_of_the_command_are_left():
    given = {**GIVEN, "names": ("ullage",)}
    options = options_of("scheduler", given)
    assert given == {"names": ("ullage",)}
    assert (options.component, options.context, options.kubeconfig) == ("scheduler", "west", "file")
    assert options.settings == {"few-drives": "yes"}
    assert options_of("scheduler", {**GIVEN, "gpu_memory_gigabytes": 5}).settings["gpu-memory"] == "5"


def test_a_command_of_a_process_has_them():
    @click.command()
    @of_process
    def command():
        """Do nothing."""

    assert {each.name for each in command.params} == set(GIVEN)
