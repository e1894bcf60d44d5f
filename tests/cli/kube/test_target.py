import click

from ullage.cli.kube.target import face, on_cluster


def test_a_command_says_which_cluster_and_as_whom():
    @click.command()
    @on_cluster
    def command():
        """Do nothing."""

    assert [each.name for each in command.params] == ["context", "kubeconfig", "as_user"]


def test_what_installs_is_found():
    assert {"install", "uninstall", "documents_text", "Choices", "Target"} <= set(dir(face()))
