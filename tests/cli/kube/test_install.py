import json

import click
import pytest
import yaml

from ullage.cli.kube.install import command
from ullage.kube.install.choices import COMPONENTS, Choices
from ullage.kube.install.objects import objects


def test_objects_are_printed_as_kubectl_takes_them(ask):
    made = objects(Choices())
    asked = ask("kube", "install")
    assert asked.code == 0
    assert not asked.err
    assert list(yaml.safe_load_all(asked.out)) == made
    assert json.loads(ask("kube", "install", "-o", "json").out)["items"] == made


def test_every_choice_can_be_made(ask):
    words = (
        "-n here --image example.com/u:1 --replicas 3 --gpu-memory-gb 80 --no-sequential-lvg --without-crds"
    )
    words += " --no-node-capacity"
    words += "".join(f" --component {component}" for component in COMPONENTS)
    words += " --scheduler-name ullage --scheduler-name nos-scheduler"
    chosen = Choices(
        namespace="here",
        image="example.com/u:1",
        replicas=3,
        components=COMPONENTS,
        scheduler_names=("ullage", "nos-scheduler"),
        gpu_memory_gigabytes=80,
        sequential_volume_groups=False,
        node_capacity=False,
        definitions=False,
    )
    assert list(yaml.safe_load_all(ask("kube", "install", *words.split()).out)) == objects(chosen)


def test_without_options_the_choices_are_the_defaults():
    with click.Context(command) as context:
        defaults = {each.name: each.get_default(context) for each in command.params}
    for name in ("namespace", "replicas", "components", "scheduler_names", "gpu_memory_gigabytes"):
        assert defaults[name] == getattr(Choices(), name), name
    assert defaults["sequential_volume_groups"] is Choices().sequential_volume_groups
    assert defaults["node_capacity"] is Choices().node_capacity


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-n Here", "'Here' is no namespace; use lower-case letters, digits and '-'"),
        ("--component web", "'web' is not one of 'operator', 'scheduler', 'extender'"),
        ("--replicas 0", "0 is not in the range 1<=x<=9"),
        ("-o table", "-o table goes with --apply; objects are yaml or json"),
        ("--apply --kubeconfig absent.yaml", "absent.yaml"),
    ],
)
def test_what_cannot_be_installed_is_one_line(ask, words, said):
    asked = ask("kube", "install", *words.split())
    assert asked.code == 1
    assert said in asked.err
    assert asked.err.count("\n") == 1
    assert not asked.out


def test_a_cluster_that_does_not_answer_is_named(ask, tmp_path):
    config = {
        "current-context": "away",
        "clusters": [{"name": "away", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "me", "user": {"token": "x"}}],
        "contexts": [{"name": "away", "context": {"cluster": "away", "user": "me"}}],
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    asked = ask("kube", "install", "--apply", "--kubeconfig", str(path))
    assert asked.code == 1
    assert "away: the API server cannot be reached" in asked.err
